import BraidEngine
import BraidStore

/// What needs no session.
func statelessRoutes() -> [Route] {
    [
        Route("POST", "/v1/diff", query: ["form"], takesBody: true) { context in
            let body = try context.json()
            let form = try CommandForm(context)
            return .later {
                guard let members = body.members() else { throw Refusal(.badRequest, "The body must be an object: {\"from\": snapshot, \"to\": snapshot}.") }
                for (name, _) in members where name != "from" && name != "to" {
                    throw Refusal(.badRequest, "The body has `from` and `to`, not `\(name)`.", faults: [.init(pointer: JSONPointer.root.appending(name), detail: "there is no such member")])
                }
                func snapshot(_ name: String) throws -> Snapshot {
                    guard let text = body[name] else {
                        throw Refusal(.badRequest, "The body's member `\(name)`, a snapshot, is missing.", faults: [.init(pointer: .root, detail: "`\(name)` is missing")])
                    }
                    return try Snapshot(json: text, at: JSONPointer.root.appending(name))
                }
                let update = try BatchUpdate(from: snapshot("from"), to: snapshot("to"))
                return HTTPResponse(
                    status: 200, headers: [("Content-Type", "application/json")],
                    body: .bytes((form.isSequential ? update.sequentialJSON : update.json).bytes))
            }
        },
    ]
}

/// Liveness, readiness, and the explanations of problems.
func operationRoutes(store: any SessionStore) -> [Route] {
    [
        Route("GET", "/healthz") { _ in .ready(healthy) },
        Route("GET", "/readyz") { _ in
            .later {
                do {
                    try await store.check()
                } catch {
                    throw ProblemError(.unavailable, "The database does not answer.", headers: [("Retry-After", "1")])
                }
                return .json { writer in
                    writer.beginObject()
                    writer.name("status")
                    writer.value("ready")
                    writer.endObject()
                }
            }
        },
        Route("GET", "/problems/{name}") { context in
            guard let problem = Problem(rawValue: context.parameter("name")) else { throw ProblemError(.notFound, "There is no problem of this name.") }
            return .ready(.json { writer in
                writer.beginObject()
                writer.name("type")
                writer.value("/problems/\(problem.rawValue)")
                writer.name("title")
                writer.value(problem.title)
                writer.name("status")
                writer.value(problem.status)
                writer.name("detail")
                writer.value(problem.explanation)
                writer.endObject()
            })
        },
    ]
}

private let healthy = HTTPResponse(
    status: 200, headers: [("Content-Type", "application/json"), ("Cache-Control", "no-store")], body: .bytes(Array(#"{"status":"ok"}"#.utf8)))

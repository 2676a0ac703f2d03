import BraidEngine
import BraidHTTP
import BraidSessions
import BraidStore
import Synchronization

/// Returns two routes that need no session: `POST /v1/diff` and `POST /v1/render`.
func statelessRoutes(clock: Clock) -> [Route] {
    [
        Route("POST", "/v1/diff", query: ["form"], takesBody: true) { context in
            // Allow a deeper nesting than for models: the body contains snapshots, which contain the models.
            let body = try context.json(deeper: 12)
            let form = try CommandForm(context)
            let object = try body.object(of: ["from", "to"])
            func snapshot(_ name: String) throws -> Snapshot {
                guard let text = object[name] else {
                    throw Refusal.missing(name, "must be a snapshot")
                }
                return try Snapshot(json: text, at: JSONPointer.root.appending(name))
            }
            let update = try BatchUpdate(from: snapshot("from"), to: snapshot("to"))
            return .json((form.isSequential ? update.sequentialJSON : update.json).bytes)
        },
        Route("POST", "/v1/render", takesBody: true) { context in
            let body = try context.json()
            let now = Instant(millisecondsSince1970: clock.now()).text
            let object = try body.object(of: ["template", "context"])
            guard let source = object["template"] else {
                throw Refusal.missing("template", "must be a JSON-e template")
            }
            guard case .object(let given) = object["context"]?.value() ?? .object(JSONObject()) else {
                throw Refusal(
                    .badRequest, "The body's member `context` must be an object.",
                    faults: [
                        .init(
                            pointer: JSONPointer.root.appending("context"), code: .wrongType,
                            detail: "must be an object")
                    ])
            }
            let names: JSONeContext
            do throws(JSONeError) {
                names = try JSONeContext(now: now, given)
            } catch {
                let pointer = error.pointer.reduce(JSONPointer.root.appending("context")) { $0.appending($1) }
                throw Refusal(
                    .badRequest, "The body's member `context` is not valid: \(error.message).",
                    faults: [.init(pointer: pointer, code: .invalidValue, detail: error.message)])
            }
            do throws(JSONeError) {
                let template = try JSONeTemplate(source.value())
                var budget = JSONeBudget()
                let result = try template.render(names, budget: &budget)
                return .json { writer in
                    writer.beginObject()
                    // A template can evaluate to no value. The answer to such a template has no member `result`.
                    if let result {
                        writer.name("result")
                        writer.value(result)
                    }
                    writer.endObject()
                }
            } catch {
                let pointer = error.pointer(from: JSONPointer.root.appending("template"))
                throw ProblemError(
                    .templateFailed, "The template failed: \(error.detail).",
                    faults: [.init(pointer: pointer, code: .templateFailed, detail: error.detail)])
            }
        },
    ]
}

extension Refusal {
    /// A refusal of a request whose JSON body lacks the member `name`. `rule` says what the member must be, as in "must
    /// be a snapshot".
    static func missing(_ name: String, _ rule: String) -> Refusal {
        Refusal(
            .badRequest, "The body's member `\(name)` is missing. It \(rule).",
            faults: [
                .init(pointer: .root, code: .missingMember, detail: "the member `\(name)` is missing; it \(rule)")
            ])
    }
}

extension JSONText {
    /// Returns the members of a request's JSON body, by name. Throws `badRequest` if the body is not an object, or has
    /// a member that is not in `names`.
    package func object(of names: [String]) throws -> [String: JSONText] {
        let known = names.map { "`\($0)`" }.joined(separator: ", ")
        guard let members = members() else {
            throw Refusal(
                .badRequest, "The body must be an object of \(known).",
                faults: [.init(pointer: .root, code: .wrongType, detail: "must be an object of \(known)")])
        }
        var object: [String: JSONText] = [:]
        for (name, value) in members {
            guard names.contains(name) else {
                let hint = Spelling.hint(for: name, among: names, else: "the known members are")
                throw Refusal(
                    .badRequest, "The body's member `\(name)` is unknown; \(hint.asSentence)",
                    faults: [
                        .init(
                            pointer: JSONPointer.root.appending(name), code: .unknownMember,
                            detail: "the member is unknown; \(hint)")
                    ])
            }
            object[name] = value
        }
        return object
    }
}

/// Returns the routes for liveness (`/healthz`), for readiness (`/readyz`) and for the explanations of problems.
func operationRoutes(health: StoreHealth, phase: ServerPhase, log: LogLines?) -> [Route] {
    let readiness = Readiness(log)
    return [
        Route("GET", "/healthz", for: .everyone, isProbe: true, lane: .operations, atOnce: { _ in healthy }) { _ in
            healthy
        },
        Route("GET", "/readyz", for: .everyone, isProbe: true, lane: .operations) { _ in
            try phase.checkReady()
            do {
                let condition = try await health.condition()
                readiness.succeeded()
                return condition == .full ? readOnly : ready
            } catch {
                readiness.failed(error)
                throw ProblemError(
                    unavailable: "The database cannot be read and written. The server's log contains the cause.")
            }
        },
        Route.inMemory("GET", "/problems/{name}", for: .everyone) { context in
            guard let problem = Problem(rawValue: context.parameter("name")) else {
                let name = context.parameter("name")
                throw ProblemError(
                    .noSuchResource,
                    "The problem \"\(name)\" does not exist. The schema `ProblemName` of /openapi.json lists all.")
            }
            return .json { problem.writePage(to: &$0) }
        },
    ]
}

/// The result of the last check of the store for `/readyz`. The log contains a line for each change of this result.
private final class Readiness: Sendable {
    private let isReady = Atomic<Bool>(true)
    private let log: LogLines?

    init(_ log: LogLines?) { self.log = log }

    func succeeded() {
        if !isReady.exchange(true, ordering: .relaxed) { log?.write(.warning, "ready again") }
    }

    func failed(_ error: any Error) {
        if isReady.exchange(false, ordering: .relaxed) { log?.write(.warning, "not ready: \(error)") }
    }
}

private let healthy = HTTPResponse.json(Array(#"{"status":"ok"}"#.utf8), headers: [("Cache-Control", "no-store")])
private let ready = HTTPResponse.json(Array(#"{"status":"ready"}"#.utf8))
private let readOnly = HTTPResponse.json(
    Array(
        #"{"status":"ready, read-only","detail":"The disk is full. The server answers reads and deletes, and refuses other changes with 507."}"#
            .utf8))

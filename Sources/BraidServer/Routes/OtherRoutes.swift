import BraidEngine
import BraidHTTP
import BraidRuntime
import BraidSessions
import BraidStore
import Synchronization

/// Routes that need no session.
func statelessRoutes(clock: Clock) -> [Route] {
    [
        Route("POST", "/v1/diff", query: ["form"], takesBody: true, servesLimitedTokens: true) { context in
            // Deeper than models: the body's snapshots contain them.
            let body = try context.json(deeper: 12)
            let isSequential = try context.isSequential()
            let object = try body.object(of: ["from", "to"])
            func snapshot(_ name: String) throws -> Snapshot {
                guard let text = object[name] else {
                    throw Refusal.missing(name, "must be a snapshot")
                }
                return try Snapshot(json: text, at: JSONPointer.root.appending(name))
            }
            let update = try BatchUpdate(from: snapshot("from"), to: snapshot("to"))
            return .json((isSequential ? update.sequentialJSON : update.json).bytes)
        },
        Route("POST", "/v1/render", takesBody: true, servesLimitedTokens: true) { context in
            let body = try context.json()
            let now = Instant(millisecondsSince1970: clock.now()).text
            let object = try body.object(of: ["template", "context"])
            guard let source = object["template"] else {
                throw Refusal.missing("template", "must be a JSON-e template")
            }
            guard case .object(let given) = object["context"]?.value() ?? .object(JSONObject()) else {
                throw Refusal.member("context", .wrongType, "must be an object")
            }
            let names: JSONeContext
            do throws(JSONeError) {
                names = try JSONeContext(now: now, given)
            } catch {
                let pointer = error.pointer.reduce(JSONPointer.root.appending("context")) { $0.appending($1) }
                throw Refusal(
                    "The body's member `context` is not valid: \(error.message).", at: pointer, .invalidValue,
                    error.message)
            }
            do throws(JSONeError) {
                let template = try JSONeTemplate(source.value())
                var budget = JSONeBudget()
                let result = try template.render(names, budget: &budget)
                return .object { $0.member("result", result) }
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
    /// For one fault of the body.
    package init(_ detail: String, at pointer: JSONPointer = .root, _ code: FaultCode, _ rule: String) {
        self.init(.badRequest, detail, faults: [.init(pointer: pointer, code: code, detail: rule)])
    }

    /// `rule`: "must be a snapshot".
    package static func member(_ name: String, _ code: FaultCode, _ rule: String) -> Refusal {
        Refusal("The body's member `\(name)` \(rule).", at: JSONPointer.root.appending(name), code, rule)
    }

    static func missing(_ name: String, _ rule: String) -> Refusal {
        Refusal(
            "The body's member `\(name)` is missing. It \(rule).", .missingMember,
            "the member `\(name)` is missing; it \(rule)")
    }
}

extension JSONText {
    /// Throws `badRequest` for other members.
    package func object(of names: [String]) throws -> [String: JSONText] {
        let known = names.map { "`\($0)`" }.joined(separator: ", ")
        guard let members = members() else {
            throw Refusal("The body must be an object of \(known).", .wrongType, "must be an object of \(known)")
        }
        var object: [String: JSONText] = [:]
        for (name, value) in members {
            guard names.contains(name) else {
                let hint = Spelling.hint(for: name, among: names, else: "the known members are")
                throw Refusal(
                    "The body's member `\(name)` is unknown; \(hint.asSentence)",
                    at: JSONPointer.root.appending(name), .unknownMember, "the member is unknown; \(hint)")
            }
            object[name] = value
        }
        return object
    }
}

/// Liveness, readiness, explanations of problems.
func operationRoutes(health: StoreHealth, phase: ServerPhase, log: LogLines?) -> [Route] {
    let readiness = Readiness(log)
    return [
        Route("GET", "/healthz", for: .everyone, isProbe: true, pool: Workers.shared.probes, atOnce: { _ in healthy }) {
            _ in
            healthy
        },
        Route("GET", "/readyz", for: .everyone, isProbe: true, pool: Workers.shared.probes) { _ in
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
            return .object(problem.writePage)
        },
    ]
}

/// Logs when the store fails, or works again.
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

private let healthy = HTTPResponse.object(headers: [("Cache-Control", "no-store")]) { $0.member("status", "ok") }
private let ready = HTTPResponse.object { $0.member("status", "ready") }
private let readOnly = HTTPResponse.object {
    $0.member("status", "ready, read-only")
    $0.member(
        "detail", "The disk is full. The server answers reads and deletes, and refuses other changes with 507.")
}

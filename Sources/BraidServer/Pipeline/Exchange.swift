import BraidEngine
import BraidHTTP
import BraidRuntime
import BraidSessions
import BraidStore

/// A request on its way through five stages: admit, decode, handle, encode, account. Each is a file here.
package struct Exchange: HTTPExchange {
    private var request: Request
    /// Empty until it has arrived.
    package var body: [UInt8] = []
    /// For routes that read it while it arrives.
    var streamedBody: HTTPBodyReader?
    var verdict: Verdict
    /// Monotonic nanoseconds when handling began: after a buffered body has arrived.
    package var start = 0
    /// Its place among `--max-requests`.
    var lease: Quota.Lease?

    init(app: App, head: HTTPRequestHead, requestID: String, route: Route?, verdict: Verdict) {
        request = Request(app: app, head: head, requestID: requestID, route: route)
        self.verdict = verdict
    }

    /// What no stage changes, as one object: otherwise each copy counts ten references more (2% of a 304's time).
    private final class Request: Sendable {
        let app: App
        let head: HTTPRequestHead
        let requestID: String
        let route: Route?

        init(app: App, head: HTTPRequestHead, requestID: String, route: Route?) {
            (self.app, self.head, self.requestID, self.route) = (app, head, requestID, route)
        }
    }

    package var app: App { request.app }
    /// Set by the test mode only.
    package var head: HTTPRequestHead {
        get { request.head }
        set { request = Request(app: app, head: newValue, requestID: requestID, route: route) }
    }
    /// The client's `X-Request-Id`, or one of ours.
    package var requestID: String { request.requestID }
    /// `nil`: none matches.
    package var route: Route? { request.route }

    /// What is known before the handler runs.
    enum Verdict: Sendable {
        case admitted(Requester)
        /// Ask the store about the token, or check its signature.
        case claimed(PresentedToken)
        /// Refuse token or page: at once, or after the body, whose faults come first.
        case refused(any Error, afterBody: Bool = false)
        /// Needs no handler: OPTIONS, an unknown path.
        indirect case answered(HTTPResponse)
    }

    var limits: ServerLimits { app.limits }

    /// `nil` until identified. On a route for everyone, all are controllers.
    package var sender: Requester? { if case .admitted(let requester) = verdict { requester } else { nil } }

    /// For handlers: they run after identification.
    var requester: Requester { sender ?? Requester(role: .viewer) }

    /// What leases count against. Empty until the sender is identified: nobody uses up a session's share without a
    /// token for it.
    package var account: Quota.Account {
        guard let sender else { return Quota.Account() }
        return Quota.Account(resource: route?.parameter("id", of: head.path), client: sender.token?.id)
    }

    /// A copy with its body; starts the time.
    package func begun(with body: [UInt8] = [], reading streamedBody: HTTPBodyReader? = nil) -> Exchange {
        var exchange = self
        exchange.body = body
        exchange.streamedBody = streamedBody
        exchange.start = monotonicNanoseconds()
        return exchange
    }

    package func endLease() { lease?.end() }

    // MARK: For handlers

    /// The path's segment at `{name}`.
    func parameter(_ name: String) -> String { route?.parameter(name, of: head.path) ?? "" }

    func hasParameter(_ name: String) -> Bool { route?.parameter(name, of: head.path) != nil }

    /// Throws `noSession` for another session's token.
    func require(_ session: Session) throws { try requester.require(sessionNumber: session.number, id: session.id) }

    /// Calls `body` with the path's session. Throws `noSession` for another session's token.
    @inline(__always)
    func withSession<Value>(_ sessions: SessionHost, _ body: (Session) async throws -> Value) async throws -> Value {
        try await sessions.withCurrent(parameter("id")) { session in
            try require(session)
            return try await body(session)
        }
    }

    func session(_ sessions: SessionHost) async throws -> Session { try await withSession(sessions) { $0 } }

    /// Without loading it.
    func summary(_ sessions: SessionHost) async throws -> SessionSummary {
        let id = parameter("id")
        guard let summary = try await sessions.summary(id) else { throw SessionError(noSession: id) }
        try requester.require(sessionNumber: summary.number, id: id)
        return summary
    }

    /// `nil` without the parameter, "" without a value.
    func query(_ name: String) -> String? { head.query.last { $0.name == name }?.value }

    /// `?name`, `?name=true` or `?name=1`. Throws `badRequest` unless it is one of these, `false` or `0`.
    func flag(_ name: String) throws -> Bool {
        switch query(name) {
        case nil, "false", "0": return false
        case "", "true", "1": return true
        case let value?:
            throw ProblemError(
                .badRequest,
                "The query parameter `\(name)` is a flag: it has no value, or true or false, not \"\(value)\".")
        }
    }

    /// `nil` without the parameter. Throws `badRequest` for anything but an integer in the range.
    func integer(_ name: String, in range: ClosedRange<Int>) throws -> Int? {
        guard let text = query(name) else { return nil }
        guard let value = Int(digits: text), range.contains(value) else {
            throw ProblemError(
                .badRequest,
                "The query parameter `\(name)` must be an integer from \(range.lowerBound)\(range.upperBound == .max ? "" : " to \(range.upperBound)"), not \"\(text)\"."
            )
        }
        return value
    }

    package func logAct(_ act: String, _ values: (name: String, value: String)...) { logAct(act, values: values) }

    func logAct(_ act: String, values: [(name: String, value: String)]) { app.log.act(act, values, by: self) }
}

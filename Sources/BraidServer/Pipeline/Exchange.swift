import BraidEngine
import BraidHTTP
import BraidRuntime
import BraidSessions

/// A request on its way through the five stages: admit, decode, handle, encode, account. Each has its file here.
package struct Exchange: HTTPExchange {
    package let app: App
    package var head: HTTPRequestHead
    /// Empty until it has arrived.
    package var body: [UInt8] = []
    /// The body of a route that reads it while it arrives.
    var streamedBody: HTTPBodyReader?
    /// The client's `X-Request-Id`, or an ID of the server's.
    package let requestID: String
    /// `nil` if no route takes the request.
    package let route: Route?
    var verdict: Verdict
    /// When handling began, in nanoseconds of the monotonic clock: after the arrival of a buffered body.
    package var start = 0
    /// Its place among the `--max-requests` current ones.
    var lease: Quota.Lease?

    /// What is decided of a request before its route's handler runs.
    enum Verdict: Sendable {
        case admitted(Requester)
        /// The store must be asked about the token.
        case claimed(PresentedToken)
        /// The token or the page is refused: at once, or after the body, whose own faults come first.
        case refused(any Error, afterBody: Bool = false)
        /// No handler is needed, as for OPTIONS or an unknown path.
        indirect case answered(HTTPResponse)
    }

    var limits: ServerLimits { app.limits }

    /// `nil` until the sender is identified. On a route for everyone, each sender is a controller.
    package var sender: Requester? { if case .admitted(let requester) = verdict { requester } else { nil } }

    /// For handlers, which run only after the sender is identified.
    var requester: Requester { sender ?? Requester(role: .viewer) }

    /// The session and the token that the request's leases count against. Empty until the sender is identified, so that
    /// nobody uses up a session's share without a token for it.
    package var account: Quota.Account {
        guard let sender else { return Quota.Account() }
        return Quota.Account(resource: route?.parameter("id", of: head.path), client: sender.token?.id)
    }

    /// Sets the body and starts the time.
    package func begun(with body: [UInt8] = [], reading streamedBody: HTTPBodyReader? = nil) -> Exchange {
        var exchange = self
        exchange.body = body
        exchange.streamedBody = streamedBody
        exchange.start = monotonicNanoseconds()
        return exchange
    }

    package func endLease() { lease?.end() }

    // MARK: For handlers

    /// The segment of the path that matches `{name}` in the route's pattern.
    func parameter(_ name: String) -> String { route?.parameter(name, of: head.path) ?? "" }

    func hasParameter(_ name: String) -> Bool { route?.parameter(name, of: head.path) != nil }

    /// Throws `noSession` if the requester's token is for another session.
    func require(_ session: Session) throws { try requester.require(sessionNumber: session.number, id: session.id) }

    /// `nil` without the parameter, "" for one without a value.
    func query(_ name: String) -> String? { head.query.last { $0.name == name }?.value }

    /// Whether a flag is set: `?name`, `?name=true` or `?name=1`. Throws `badRequest` for other values than these,
    /// `false` and `0`.
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

    /// `nil` without the parameter. Throws `badRequest` unless it is an integer in the range.
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

    /// Logs an administrative act of this request.
    package func logAct(_ act: String, _ values: (name: String, value: String)...) { logAct(act, values: values) }

    func logAct(_ act: String, values: [(name: String, value: String)]) { app.log.act(act, values, by: self) }
}

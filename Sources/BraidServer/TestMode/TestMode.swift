import BraidEngine
import BraidHTTP
import BraidSessions
import BraidStore
import Synchronization

/// The state of a server that runs with `--test-mode`: what tests can set and ask in addition to the ordinary API.
package final class TestMode: Sendable {
    /// The rules of the faults that the server injects.
    let faults = Faults()
    private let delays = Delays()
    /// Closes all connections and refuses new ones for a time.
    private let refusal = Mutex<@Sendable (Duration) async -> Void>({ _ in })
    let requests = RequestRecord()
    let gate = Gate()
    private let store: any TestableStore
    private let clock: Clock
    private let idleSessions: IdleSessions
    private let start = Mutex<StartingPoint?>(nil)

    /// - Parameters:
    ///   - store: the store of the server's application.
    ///   - clock: the clock of the server's application.
    ///   - idleSessions: the sweeps for idle sessions, which a test that advances the clock hastens.
    package init(store: any TestableStore, clock: Clock, idleSessions: IdleSessions) {
        self.store = store
        self.clock = clock
        self.idleSessions = idleSessions
    }

    /// The header field of every answer of a server in test mode.
    static let header = ("Braid-Test-Mode", "true")

    /// Returns whether the test mode concerns a request: whether a fault may apply to it. The routes of the test mode
    /// itself, probes, assets and documents never meet a fault.
    static func concerns(_ head: HTTPRequestHead) -> Bool {
        head.path.first == "v1" && head.path.dropFirst().first != "test"
    }

    /// Connects the test mode to the HTTP server whose connections a fault closes.
    func follow(_ server: HTTPServer) {
        refusal.withLock { $0 = { [weak server] in await server?.refuseConnections(for: $0) } }
    }

    /// Closes the connections of the requests that a fault delays, because the server stops. These requests are not
    /// carried out.
    package func cancelDelays() { delays.cancel() }

    /// Returns the routes of the test mode.
    func routes(_ sessions: Sessions) -> [Route] {
        faultRoutes(faults) + requestRoutes(requests)
            + clockRoutes(TestClock(sessions: sessions, idleSessions: idleSessions)) + [resetRoute(sessions)]
    }

    /// Called when a request has arrived. Returns the request with the fault that it meets.
    func meets(_ request: TestedRequest) -> TestedExchange {
        TestedExchange(request: request, fault: faults.fault(for: request))
    }

    /// Waits for the delay of a request's fault. Returns the answer if the request must not be handled after it.
    func delay(_ exchange: TestedExchange, in pass: Gate.Pass) async -> HTTPResponse? {
        guard let delay = exchange.fault?.delay else { return nil }
        let isOver = await pass.waiting { [delays] in (try? await delays.wait(for: delay)) != nil }
        return isOver ? nil : HTTPResponse.withheld
    }

    /// Carries out the part of a request's fault that comes before the request is handled. Returns the answer if the
    /// request must not be handled.
    ///
    /// - Parameter head: the head of the request, which a fault can change.
    /// - Throws: the problem with which the fault answers.
    func begins(
        _ exchange: TestedExchange, _ head: inout HTTPRequestHead, in sessions: Sessions
    ) async throws -> HTTPResponse? {
        switch exchange.fault?.action {
        case .respond(let problem)?: throw problem
        case .close?: return HTTPResponse.withheld
        case .refuseConnections(let milliseconds)?:
            let refuse = refusal.withLock { $0 }
            await refuse(.milliseconds(milliseconds))
            return HTTPResponse.withheld
        case .snapshot?: head.loseHistory()
        case .newEpoch?:
            if let session = exchange.request.session { try await sessions.renewEpoch(of: session, in: store) }
        case .loseAnswer?, .truncate?, .throttle?, .cutStream?, .pauseStream?, nil: break
        }
        return nil
    }

    /// Called after the answer to a request is made, before it is compressed. Records the answer, and returns it as the
    /// request's fault sends it.
    ///
    /// - Parameters:
    ///   - id: the request's ID.
    ///   - start: the time at which the server began to handle the request, in nanoseconds of the monotonic clock.
    func answers(_ exchange: TestedExchange, id: String, start: Int, with response: HTTPResponse) -> HTTPResponse {
        requests.append(
            RecordedRequest(
                exchange, id: id, start: start, answer: response.isWithheld ? nil : response, time: clock.now()))
        var response = response
        if case .loseAnswer? = exchange.fault?.action { response.isWithheld = true }
        response.body = RelayedBody.body(of: response, in: exchange)
        return response
    }
}

// MARK: - Reset

extension TestMode {
    /// Keeps the state of the server, to which a reset leads back. Called at the end of the server's start.
    package func begin(_ sessions: Sessions) throws {
        let point = try sessions.startingPoint(in: store)
        start.withLock { $0 = point }
    }

    private func resetRoute(_ sessions: Sessions) -> Route {
        Route("POST", "/v1/test/reset") { [self] context in
            try await reset(sessions)
            context.logAct("server reset")
            return HTTPResponse(status: 204)
        }
    }

    private func reset(_ sessions: Sessions) async throws {
        guard let start = start.withLock({ $0 }) else { throw ProblemError(unavailable: "The server is starting.") }
        try await gate.alone {
            try await sessions.restore(start, in: store)
            faults.reset()
            requests.removeAll()
        }
    }
}

extension HTTPResponse {
    /// The answer of a connection that is closed without one. The log and the metrics count it as a failure.
    fileprivate static var withheld: HTTPResponse {
        var response = HTTPResponse(status: 500)
        response.isWithheld = true
        return response
    }
}

extension HTTPRequestHead {
    /// Replaces the client's position in a request for updates by one that no session's journal has.
    fileprivate mutating func loseHistory() {
        for index in query.indices where query[index].name == "since" && (try? Position(query[index].value)) != nil {
            query[index].value = Position(epoch: "-", revision: 0).description
        }
        headers = headers.without("last-event-id", "if-none-match")
    }
}

import BraidEngine
import BraidHTTP
import BraidSessions
import BraidStore
import Synchronization

/// The state of a server that runs with `--test-mode`: what tests can set and read in addition to the ordinary API.
package final class TestMode: Sendable {
    /// The rules of the faults that the server injects into requests.
    let faults = Faults()
    private let delays = Delays()
    /// The function that closes all connections of the HTTP server and refuses new ones for a time.
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
    ///   - idleSessions: drops idle sessions from memory. A test that advances the clock makes sessions idle earlier.
    package init(store: any TestableStore, clock: Clock, idleSessions: IdleSessions) {
        self.store = store
        self.clock = clock
        self.idleSessions = idleSessions
    }

    /// The header field that every answer of a server in test mode has.
    static let header = ("Braid-Test-Mode", "true")

    /// Returns whether a request can meet a fault. Such requests are also recorded. The routes of the test mode itself,
    /// probes, assets and documents never meet a fault.
    static func concerns(_ head: HTTPRequestHead) -> Bool {
        head.path.first == "v1" && head.path.dropFirst().first != "test"
    }

    /// Connects the test mode to the HTTP server, so that a fault can close the server's connections.
    func follow(_ server: HTTPServer) {
        refusal.withLock { $0 = { [weak server] in await server?.refuseConnections(for: $0) } }
    }

    /// Closes the connections of the requests that a fault delays, because the server stops. The server does not
    /// execute these requests.
    package func cancelDelays() { delays.cancel() }

    /// Returns the routes under `/v1/test`, which only a server in test mode has.
    func routes(_ sessions: SessionHost) -> [Route] {
        faultRoutes(faults) + requestRoutes(requests)
            + clockRoutes(TestClock(sessions: sessions, idleSessions: idleSessions)) + [resetRoute(sessions)]
    }

    /// Chooses the fault that a request meets, if any, when the request has arrived. Returns the request with this
    /// fault.
    func meets(_ request: TestedRequest) -> TestedExchange {
        TestedExchange(request: request, fault: faults.fault(for: request))
    }

    /// Waits for the time by which a fault delays a request. Returns `nil` after this time. If the waiting is
    /// cancelled, by a reset for example, returns an answer that closes the connection.
    func delay(_ exchange: TestedExchange, in pass: Gate.Pass) async -> HTTPResponse? {
        guard let delay = exchange.fault?.delay else { return nil }
        let isOver = await pass.waiting { [delays] in (try? await delays.wait(for: delay)) != nil }
        return isOver ? nil : HTTPResponse.withheld
    }

    /// Performs the part of a fault that comes before the server executes the request. Returns the answer if the server
    /// must not execute the request, otherwise `nil`.
    ///
    /// - Parameter head: the head of the request, which a fault can change.
    /// - Throws: the problem with which the fault's action `respond` answers, or the error of the action `newEpoch`.
    func begins(
        _ exchange: TestedExchange, _ head: inout HTTPRequestHead, in sessions: SessionHost
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

    /// Records the answer to a request, before the answer is compressed. Returns the answer as the fault changes it:
    /// withheld, slowed down or cut.
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
    /// Stores the present state of the server, to which a reset returns. Called at the end of the server's start.
    package func begin(_ sessions: SessionHost) throws {
        let point = try sessions.startingPoint(in: store)
        start.withLock { $0 = point }
    }

    private func resetRoute(_ sessions: SessionHost) -> Route {
        Route("POST", "/v1/test/reset") { [self] context in
            try await reset(sessions)
            context.logAct("server reset")
            return HTTPResponse(status: 204)
        }
    }

    private func reset(_ sessions: SessionHost) async throws {
        guard let start = start.withLock({ $0 }) else { throw ProblemError(unavailable: "The server is starting.") }
        try await gate.alone {
            try await sessions.restore(start, in: store)
            faults.reset()
            requests.removeAll()
        }
    }
}

extension HTTPResponse {
    /// The placeholder for an answer that the server does not send: the server closes the connection instead. The log
    /// and the metrics count this answer as a failure (500).
    fileprivate static var withheld: HTTPResponse {
        var response = HTTPResponse(status: 500)
        response.isWithheld = true
        return response
    }
}

extension HTTPRequestHead {
    /// Replaces the client's position in a request for updates by a position that no session has, so that the server
    /// answers with a snapshot.
    fileprivate mutating func loseHistory() {
        for index in query.indices where query[index].name == "since" && (try? Position(query[index].value)) != nil {
            query[index].value = Position(epoch: "-", revision: 0).description
        }
        headers = headers.without("last-event-id", "if-none-match")
    }
}

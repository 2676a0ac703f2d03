import BraidEngine
import BraidHTTP
import BraidServer
import BraidSessions
import BraidStore
import Synchronization

/// `--test-mode`: what tests can set and read besides the ordinary API.
///
/// ```swift
/// let app = App(store: store, controllers: tokens, routes: testMode.routes)
/// let server = HTTPServer(configuration: configuration, handler: testMode.decorating(app))
/// ```
package final class TestMode: Sendable {
    let faults = Faults()
    /// Closes all connections, refuses new ones for a time.
    private let refusal = Mutex<@Sendable (Duration) async -> Void>({ _ in })
    let requests = RequestRecord()
    let gate = Gate()
    private let store: any TestableStore
    private let clock: Clock
    private let idleSessions: IdleSessions
    private let start = Mutex<StartingPoint?>(nil)

    /// `store` and `clock` are the application's. `idleSessions` follows an advanced clock.
    package init(store: any TestableStore, clock: Clock, idleSessions: IdleSessions) {
        self.store = store
        self.clock = clock
        self.idleSessions = idleSessions
    }

    package func decorating(_ app: App) -> any HTTPHandler { TestModeHandler(testMode: self, app: app) }

    package func follow(_ server: HTTPServer) {
        refusal.withLock { $0 = { [weak server] in await server?.refuseConnections(for: $0) } }
    }

    /// Called when the server stops: delayed requests are closed and not executed.
    package func cancelDelays() { gate.cancelDelays() }

    package func routes(_ sessions: SessionHost) -> [Route] {
        faultRoutes(faults) + requestRoutes(requests)
            + clockRoutes(TestClock(sessions: sessions, idleSessions: idleSessions)) + [resetRoute(sessions)]
    }

    /// The answer closes the connection if the delay is cancelled, by a reset for example.
    func delay(_ request: TestedRequest, in pass: Gate.Pass) async -> HTTPResponse? {
        guard let delay = request.fault?.delay else { return nil }
        let isOver = await pass.waiting(isDelay: true) { (try? await Task.sleep(for: delay)) != nil }
        return isOver ? nil : HTTPResponse.withheld
    }

    /// What comes before execution; an answer if there must be none. A fault can change `head`. Throws the problem of
    /// `respond`, or the error of `newEpoch`.
    func begins(
        _ request: TestedRequest, _ head: inout HTTPRequestHead, in sessions: SessionHost
    ) async throws -> HTTPResponse? {
        switch request.fault?.action {
        case .respond(let problem)?: throw problem
        case .close?: return HTTPResponse.withheld
        case .refuseConnections(let milliseconds)?:
            let refuse = refusal.withLock { $0 }
            await refuse(.milliseconds(milliseconds))
            return HTTPResponse.withheld
        case .snapshot?: head.loseHistory()
        case .newEpoch?:
            if let session = request.session { try await sessions.renewEpoch(of: session, in: store) }
        case .loseAnswer?, .truncate?, .throttle?, .cutStream?, .pauseStream?, nil: break
        }
        return nil
    }

    /// Records the answer before compression, and returns it as the fault changes it: withheld, slowed down or cut.
    /// `start` is in monotonic nanoseconds.
    func answers(_ request: TestedRequest, id: String, start: Int, with response: HTTPResponse) -> HTTPResponse {
        requests.append(
            RecordedRequest(
                request, id: id, start: start, answer: response.isWithheld ? nil : response, time: clock.now()))
        var response = response
        if case .loseAnswer? = request.fault?.action { response.isWithheld = true }
        response.body = RelayedBody.body(of: response, to: request)
        return response
    }
}

// MARK: - Reset

extension TestMode {
    /// Called at the end of the server's start, to whose state a reset returns.
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
    /// The connection closes instead. Counted and logged as 500.
    fileprivate static var withheld: HTTPResponse {
        var response = HTTPResponse(status: 500)
        response.isWithheld = true
        return response
    }
}

extension HTTPRequestHead {
    /// Changes the position to one that no session has: the answer is a snapshot.
    fileprivate mutating func loseHistory() {
        for index in query.indices where query[index].name == "since" && (try? Position(query[index].value)) != nil {
            query[index].value = Position(epoch: "-", revision: 0).description
        }
        headers = headers.without("last-event-id", "if-none-match")
    }
}

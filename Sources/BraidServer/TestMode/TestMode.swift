import BraidEngine
import BraidHTTP
import BraidRuntime
import BraidSessions
import BraidStore
import Synchronization

/// The state of a server that runs with `--test-mode`: what tests can set and ask beyond the ordinary API.
package final class TestMode: Sendable {
    /// The rules of the faults that the server injects.
    let faults = Faults()
    let requests = RequestRecord()
    let gate = Gate()
    private let store: any RestorableStore
    private let clock: Clock
    private let idleSessions: IdleSessions
    private let start = Mutex<StartingPoint?>(nil)

    /// - Parameters:
    ///   - store: the store of the server's application.
    ///   - clock: the clock of the server's application.
    ///   - idleSessions: which sessions leave memory as idle when a test advances the clock.
    package init(store: any RestorableStore, clock: Clock, idleSessions: IdleSessions) {
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

    /// Called before a request is handled.
    func receives(_ request: TestedRequest) {}

    /// Called after the answer to a request is made, before it is compressed. Without an answer, the server closes the
    /// connection.
    func answers(_ request: TestedRequest, with response: HTTPResponse?) {
        requests.append(RecordedRequest(request, answer: response, time: clock.now()))
    }

    /// Returns the routes of the test mode.
    func routes(_ sessions: Sessions) -> [Route] {
        faultRoutes(faults) + requestRoutes(requests)
            + clockRoutes(TestClock(sessions: sessions, idleSessions: idleSessions)) + [resetRoute(sessions)]
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

/// A request that a server in test mode handles.
final class TestedRequest: Sendable {
    /// The request's ID (`X-Request-Id`).
    let id: String
    /// The time at which the server began to handle the request, in nanoseconds of the monotonic clock.
    let start: Int
    /// The request's head as the client sent it.
    let head: HTTPRequestHead
    /// The request's body as the client sent it. Empty if the route's handler reads the body while it arrives.
    let body: [UInt8]
    /// The session that the request's path names. `nil` if it names none.
    let session: String?
    /// The sender of the request. `nil` if the request has no acceptable token, or no route.
    let requester: Requester?
    let fault: String? = nil
    let isLost = false

    init(
        id: String, start: Int, head: HTTPRequestHead, body: [UInt8] = [], session: String? = nil,
        requester: Requester? = nil
    ) {
        self.id = id
        self.start = start
        self.head = head
        self.body = body
        self.session = session
        self.requester = requester
    }
}

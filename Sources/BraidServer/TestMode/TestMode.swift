import BraidEngine
import BraidHTTP
import BraidSessions
import Synchronization

/// The state of a server that runs with `--test-mode`: what tests can set and ask in addition to the ordinary API.
package final class TestMode: Sendable {
    /// The rules of the faults that the server injects.
    let faults = Faults()
    private let delays = Delays()
    /// Closes all connections and refuses new ones for a time.
    private let refusal = Mutex<@Sendable (Duration) async -> Void>({ _ in })

    package init() {}

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

    /// Closes the connections of the requests that a fault delays, because the server is reset or stops. These requests
    /// are not carried out.
    package func cancelDelays() { delays.cancel() }

    /// Returns the routes of the test mode.
    func routes() -> [Route] { faultRoutes(faults) }

    /// Called when a request has arrived. Returns the request with the fault that it meets.
    func meets(_ request: TestedRequest) -> TestedExchange {
        TestedExchange(request: request, fault: faults.fault(for: request))
    }

    /// Carries out the part of a request's fault that comes before the request is handled. Returns the answer if the
    /// request must not be handled.
    ///
    /// - Parameter head: the head of the request, which a fault can change.
    /// - Throws: the problem with which the fault answers.
    func begins(
        _ exchange: TestedExchange, _ head: inout HTTPRequestHead, in sessions: Sessions
    ) async throws -> HTTPResponse? {
        guard let fault = exchange.fault else { return nil }
        if let delay = fault.delay {
            do { try await delays.wait(for: delay) } catch { return HTTPResponse.withheld }
        }
        switch fault.action {
        case .respond(let problem)?: throw problem
        case .close?: return HTTPResponse.withheld
        case .refuseConnections(let milliseconds)?:
            let refuse = refusal.withLock { $0 }
            await refuse(.milliseconds(milliseconds))
            return HTTPResponse.withheld
        case .snapshot?: head.loseHistory()
        case .newEpoch?: if let session = exchange.request.session { try await sessions.renewEpoch(of: session) }
        case .loseAnswer?, .truncate?, .throttle?, .cutStream?, .pauseStream?, nil: break
        }
        return nil
    }

    /// Called after the answer to a request is made, before it is compressed. Returns the answer as the request's fault
    /// sends it.
    func answers(_ exchange: TestedExchange, with response: HTTPResponse) -> HTTPResponse {
        var response = response
        if case .loseAnswer? = exchange.fault?.action { response.isWithheld = true }
        response.body = RelayedBody.body(of: response, in: exchange)
        return response
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

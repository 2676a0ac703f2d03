import BraidHTTP
import BraidSessions

/// The state of a server that runs with `--test-mode`: what tests can set and ask beyond the ordinary API.
package final class TestMode: Sendable {
    /// The rules of the faults that the server injects.
    let faults = Faults()

    package init() {}

    /// The header field of every answer of a server in test mode.
    static let header = ("Braid-Test-Mode", "true")

    /// Returns whether the test mode concerns a request: whether a fault may apply to it. The routes of the test mode
    /// itself, probes, assets and documents never meet a fault.
    static func concerns(_ head: HTTPRequestHead) -> Bool {
        head.path.first == "v1" && head.path.dropFirst().first != "test"
    }

    /// Called before a request is handled.
    func receives(_ head: HTTPRequestHead, body: [UInt8], session: String?, requester: Requester?) -> TestedRequest {
        TestedRequest(head: head, body: body, session: session, requester: requester)
    }

    /// Called after the answer to a request is made, before it is compressed.
    func answers(_ request: TestedRequest, with response: HTTPResponse) {}

    /// Returns the routes of the test mode.
    func routes() -> [Route] { faultRoutes(faults) }
}

/// A request that a server in test mode handles.
final class TestedRequest: Sendable {
    /// The request's head as the client sent it.
    let head: HTTPRequestHead
    /// The request's body as the client sent it. Empty if the route's handler reads the body while it arrives.
    let body: [UInt8]
    /// The session that the request's path names. `nil` if it names none.
    let session: String?
    /// The sender of the request. `nil` if the request has no acceptable token, or no route.
    let requester: Requester?

    init(head: HTTPRequestHead, body: [UInt8], session: String?, requester: Requester?) {
        self.head = head
        self.body = body
        self.session = session
        self.requester = requester
    }
}

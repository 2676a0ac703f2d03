import BraidEngine
import BraidHTTP
import Synchronization

/// A request that a server in test mode handles, as fault rules and claims of tests see it.
struct TestedRequest: Sendable {
    /// The request's head as the client sent it.
    let head: HTTPRequestHead
    /// The request's body, decompressed. Empty if the route's handler reads the body while it arrives, or if the record
    /// does not keep the body.
    var body: [UInt8]
    /// The request's JSON body. `nil` if the body is not JSON, or if the record does not keep the body.
    var json: JSONValue?
    /// The ID of the session in the request's path. `nil` if the path names no session, or if the HTTP server has
    /// refused the request.
    let session: String?
    /// The sender of the request. `nil` if the request has no acceptable token, or no route.
    let requester: Requester?
    /// Whether the request is for a session's updates: as a list, by long polling, or as an event stream.
    let wantsUpdates: Bool

    init(_ request: HTTPRequest, _ route: Route?, _ requester: Requester?) {
        head = request.head
        body = request.body
        json = (try? JSONText(parsing: request.body, depthLimit: 1_000))?.value()
        session = route?.pattern.dropFirst().first == "sessions" ? route?.parameter("id", of: head.path) : nil
        self.requester = requester
        // `GET /v1/fixtures` can also wait for changes, but the changes are not those of a session.
        wantsUpdates = session != nil && route?.endsAtStop == true
    }

    /// Whether the request opens an event stream.
    var opensStream: Bool { wantsUpdates && head.prefers("text/event-stream") }
}

/// A request that a server in test mode handles, and the fault that the request meets, if any.
final class TestedExchange: Sendable {
    let request: TestedRequest
    let fault: Fault?
    /// The number of events that the server has sent, if the answer is an event stream.
    let eventCount = Atomic(0)

    init(request: TestedRequest, fault: Fault?) {
        self.request = request
        self.fault = fault
    }
    /// Creates the exchange of a request that the server refuses before it looks for a fault, so the request meets no
    /// fault.
    convenience init(refused head: HTTPRequestHead) {
        self.init(request: TestedRequest(HTTPRequest(head: head), nil, nil), fault: nil)
    }
}

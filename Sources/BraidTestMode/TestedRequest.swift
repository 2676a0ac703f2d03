import BraidEngine
import BraidHTTP
import BraidServer
import Synchronization

/// A request in test mode, as fault rules and claims of tests see it.
struct TestedRequest: Sendable {
    /// As the client sent it.
    let head: HTTPRequestHead
    /// Decompressed. Empty if the handler reads the body while it arrives, or if the record does not keep it.
    var body: [UInt8]
    /// `nil` if the body is not JSON, or if the record does not keep it.
    var json: JSONValue?
    /// The ID of the session in the path. `nil` also if the HTTP server has refused the request.
    let session: String?
    /// `nil` without an acceptable token, or without a route.
    let requester: Requester?
    /// Whether the request is for a session's updates: as a list, by long polling, or as an event stream.
    let wantsUpdates: Bool

    init(_ head: HTTPRequestHead, _ body: [UInt8], _ route: Route?, _ requester: Requester?) {
        self.head = head
        self.body = body
        json = (try? JSONText(parsing: body, depthLimit: 1_000))?.value()
        session = route?.pattern.dropFirst().first == "sessions" ? route?.parameter("id", of: head.path) : nil
        self.requester = requester
        // `GET /v1/fixtures` can also wait for changes, but the changes are not those of a session.
        wantsUpdates = session != nil && route?.endsAtStop == true
    }

    /// The request of an exchange whose sender is identified.
    init(_ exchange: Exchange) {
        var body = exchange.body
        let limits = exchange.app.limits
        _ = try? exchange.head.decompress(&body, limit: limits.bodyBytes, memory: limits.bodies, for: exchange.account)
        self.init(exchange.head, body, exchange.route, exchange.sender)
    }

    var opensStream: Bool { wantsUpdates && head.prefers("text/event-stream") }
}

/// A request in test mode, and the fault that it meets, if any.
final class TestedExchange: Sendable {
    let request: TestedRequest
    let fault: Fault?
    /// The number of events that the server has sent, if the answer is an event stream.
    let eventCount = Atomic(0)

    init(request: TestedRequest, fault: Fault?) {
        self.request = request
        self.fault = fault
    }

    /// A request that is refused before it can meet a fault.
    convenience init(refused head: HTTPRequestHead) {
        self.init(request: TestedRequest(head, [], nil, nil), fault: nil)
    }
}

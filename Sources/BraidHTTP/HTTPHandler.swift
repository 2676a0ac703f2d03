import BraidRuntime

/// The application. The event loops' threads call it, so no method may block.
///
/// ```swift
/// let server = HTTPServer(configuration: .init(), handler: app)
/// try server.start()
/// ```
package protocol HTTPHandler: Sendable {
    associatedtype Exchange: HTTPExchange
    func receive(_ head: HTTPRequestHead) -> Exchange
    /// The head is malformed, too large or late; perhaps only its `peer` is known.
    func refusal(for failure: HTTPFailure, unreadable head: HTTPRequestHead) -> HTTPResponse
}

/// One request. All but `respond(reading:)` run on an event loop's thread.
package protocol HTTPExchange: Sendable {
    var head: HTTPRequestHead { get }
    /// A health check, answered even when `maxConnections` are open.
    var isProbe: Bool { get }
    /// Asked again of the exchange that an `undecided` one becomes.
    var disposition: HTTPBodyDisposition { get }
    func reply(to body: [UInt8]) -> HTTPReply
    /// Runs while the body arrives. If it returns before the body's end, the connection closes after the answer.
    func respond(reading body: HTTPBodyReader) async -> HTTPResponse
    /// The server gives up the request: a framing error, a limit, a timeout. `isHandled`: `respond(reading:)` runs,
    /// gets the failure too, and its answer is dropped.
    func refusal(for failure: HTTPFailure, isHandled: Bool) -> HTTPResponse
}

/// How a body reaches the application.
package enum HTTPBodyDisposition: Sendable {
    /// Whole, for `reply(to:)`. Above `limit` bytes the answer is 413.
    case gather(limit: Int, account: Quota.Account = Quota.Account())
    /// While it arrives, for `respond(reading:)`.
    case stream(account: Quota.Account = Quota.Account())
    /// Not at all: the connection closes after this answer.
    case refuse(HTTPResponse)
    /// A task decides, for example after looking up the token. Until then the server holds less than 64 KiB of the
    /// body, read with the head.
    case undecided(on: any TaskExecutor, @Sendable () async -> any HTTPExchange)

    /// Bytes. Bodies up to here need no lease: they pass even when the quota is used up.
    package static let smallBody = 16 * 1024
}

package enum HTTPReply: Sendable {
    case ready(HTTPResponse)
    /// Cancelled when the connection is lost, for a GET or HEAD also when the client closes its sending side. With
    /// `endsAtStop`, because the task may wait forever, that and the server's stop cancel it, too.
    case task(on: any TaskExecutor, endsAtStop: Bool = false, @Sendable () async -> HTTPResponse)
}

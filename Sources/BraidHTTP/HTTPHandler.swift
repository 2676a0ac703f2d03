import BraidRuntime

/// The application behind an HTTP server.
///
/// ```swift
/// let server = HTTPServer(configuration: .init(), handler: app)
/// try server.start()
/// ```
///
/// The event loops' threads call it, so no method may block.
public protocol HTTPHandler: Sendable {
    associatedtype Exchange: HTTPExchange
    /// Takes a request whose head has arrived.
    func receive(_ head: HTTPRequestHead) -> Exchange
    /// Returns the answer to a request whose head is malformed, too large or late.
    ///
    /// - Parameter head: what is known of the head, without its framing; perhaps only `peer`.
    func refusal(for failure: HTTPFailure, unreadable head: HTTPRequestHead) -> HTTPResponse
}

/// One request, from its head to its answer. All methods but `respond(reading:)` run on an event loop's thread.
public protocol HTTPExchange: Sendable {
    var head: HTTPRequestHead { get }
    /// Whether the request is a health check, which the server answers even when `maxConnections` are open.
    var isProbe: Bool { get }
    /// Asked first, and again of the exchange that an `undecided` one has become.
    var disposition: HTTPBodyDisposition { get }
    /// Answers the request after its whole body has arrived.
    func reply(to body: [UInt8]) -> HTTPReply
    /// Answers the request while its body arrives. If it returns before the body's end, the server closes the
    /// connection after the answer.
    func respond(reading body: HTTPBodyReader) async -> HTTPResponse
    /// Returns the answer to a request that the server gives up: a framing error, an exceeded limit, a timeout.
    ///
    /// - Parameter isHandled: whether `respond(reading:)` runs. It gets the failure, too, and its answer is dropped.
    func refusal(for failure: HTTPFailure, isHandled: Bool) -> HTTPResponse
}

/// How a request's body reaches the application.
public enum HTTPBodyDisposition: Sendable {
    /// As a whole, for `reply(to:)`. Above `limit` bytes the answer is 413. The memory counts for `account`.
    case gather(limit: Int, account: Quota.Account = Quota.Account())
    /// While it arrives, for `respond(reading:)`.
    case stream(account: Quota.Account = Quota.Account())
    /// Not at all: the connection closes after this answer.
    case refuse(HTTPResponse)
    /// A task decides, for example by a look-up of the token. Until then the server holds less than 64 KiB of the body:
    /// what it has read together with the head.
    case undecided(on: any TaskExecutor, @Sendable () async -> any HTTPExchange)

    /// The bytes of a body that need no lease, so that small requests pass even if the quota for bodies is used up.
    public static let smallBody = 16 * 1024
}

/// The answer to a request, or the task that makes it.
public enum HTTPReply: Sendable {
    /// Sent at once.
    case ready(HTTPResponse)
    /// The task is cancelled when the connection is lost; that of a GET or HEAD also when the client closes its sending
    /// side. One with `endsAtStop` may wait forever, so the server's stop and a closed sending side cancel it as well.
    case task(on: any TaskExecutor, endsAtStop: Bool = false, @Sendable () async -> HTTPResponse)
}

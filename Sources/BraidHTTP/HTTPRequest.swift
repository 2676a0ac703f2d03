import BraidRuntime

/// The head of an HTTP request: the request line and the header fields, without the body.
public struct HTTPRequestHead: Sendable {
    /// How the request's head announces the length of the body (RFC 9112, 6.3).
    public enum Framing: Sendable, Equatable {
        case none
        case length(Int)
        case chunked
    }

    public var method: String
    /// The request's target as the client sent it, for example `/v1/tables?pretty`.
    public var target: String
    /// The segments of the target's path, each percent-decoded once. An encoded slash, `%2F`, does not end a segment.
    /// The path "/v1/x/" ends with an empty segment, and "/" is one empty segment. The target `*` has no segments.
    public var path: [String]
    /// The query parameters in order, decoded. A `+` in the query becomes a space. A parameter without "=", as in
    /// "?pretty", has the value "".
    public var query: [(name: String, value: String)]
    public var headers: HTTPHeaders
    /// The second number of the request's HTTP version: 1 for HTTP/1.1, 0 for HTTP/1.0.
    public var minor: Int
    /// Whether the client wants to send further requests on the same connection after the answer.
    public var keepsAlive: Bool
    public var framing: Framing = .none
    /// Whether the client waits for `100 Continue` before it sends the body.
    public var expectsContinue = false
    /// The host and port of a request target in absolute form, such as `GET http://host:port/path`. This host and port
    /// take precedence over the Host field (RFC 9112, 3.2.2).
    public var authority: String?
    /// The IP address of the other end of the connection: a client or a proxy. `nil` with a Unix socket.
    public var peer: IPAddress?

    public var isHead: Bool { method == "HEAD" }
    /// The request's host and port. If the request target contains them, they come from there, otherwise from the Host
    /// field.
    public var host: String? { authority ?? headers["host"] }
}

/// An HTTP request whose whole body the server has received.
public struct HTTPRequest: Sendable {
    public var head: HTTPRequestHead
    public var body: [UInt8]

    public init(head: HTTPRequestHead, body: [UInt8] = []) {
        self.head = head
        self.body = body
    }
}

/// An error of a request that the HTTP server itself detects, such as malformed framing or an exceeded limit. The
/// server answers the request with the error. Then it closes the connection, as the start of the next request may be
/// unknown. After `noRoomForAnswer` for a GET or HEAD, the connection can stay open. For another method, the server
/// closes the connection without an answer.
public struct HTTPFailure: Error, Sendable, Equatable {
    public var status: Int
    /// A text for the client that says what is wrong with the request and what would be right.
    public var detail: String
    /// Whether the request failed because the server's memory for bodies or answers is used up, or the account's share
    /// of this memory.
    public var isMemoryLimit: Bool

    public init(status: Int, detail: String, isMemoryLimit: Bool = false) {
        self.status = status
        self.detail = detail
        self.isMemoryLimit = isMemoryLimit
    }

    /// The failure of a request for whose body no memory can be leased. The quota of memory for bodies is used up, or
    /// the account's share of this quota.
    public static func noRoomForBody(_ refusal: Quota.Refusal) -> HTTPFailure { noRoom(refusal, "request bodies") }
    /// The failure of a request for whose answer no memory can be leased. The quota of memory for answers is used up,
    /// or the account's share of this quota.
    public static func noRoomForAnswer(_ refusal: Quota.Refusal) -> HTTPFailure { noRoom(refusal, "answers") }

    /// The failure of a request that came on a reserved connection and is not a probe without a body.
    static let noConnection = HTTPFailure(
        status: 503,
        detail: "All connections of the server are in use. Try again after the time in `Retry-After`.")

    private static func noRoom(_ refusal: Quota.Refusal, _ what: String) -> HTTPFailure {
        switch refusal {
        case .quota:
            HTTPFailure(
                status: 503,
                detail: "The server's memory for large \(what) is in use. Try again after the time in `Retry-After`.",
                isMemoryLimit: true)
        case .share:
            HTTPFailure(
                status: 429,
                detail:
                    "This session or this token already uses its share of the server's memory for large \(what). Wait until its other requests are answered.",
                isMemoryLimit: true)
        }
    }
}

/// How the server passes a request's body to the application: as a whole, piece by piece, or not at all.
public enum HTTPBodyDisposition: Sendable {
    /// The server buffers the whole body before it calls the application. The server answers 413 if the body has more
    /// than `limit` bytes. The memory for the body counts towards the share of `account`.
    case gather(limit: Int, account: Quota.Account = Quota.Account())
    /// The application's handler starts at once and reads the body piece by piece, while the body arrives.
    case stream(account: Quota.Account = Quota.Account())
    /// The server sends this answer without reading the body, and closes the connection.
    case refuse(HTTPResponse)
    /// The given task decides later how to handle the body, for example after a look-up of the token. Before the task
    /// returns, the server holds only bytes of the body that it has read together with the head: less than 64 KiB.
    case undecided(on: any TaskExecutor, @Sendable () async -> HTTPBodyDisposition)

    /// The size in bytes up to which a buffered body needs no lease of memory. So the server accepts small requests
    /// even if the quota of memory for bodies is used up.
    public static let smallBody = 16 * 1024
}

/// The application that an HTTP server calls to answer requests.
public protocol HTTPHandler: Sendable {
    /// Decides how the server reads a request's body. The server calls this method on an event loop's thread after the
    /// request's head has arrived, so this method must not block.
    func disposition(of head: HTTPRequestHead) -> HTTPBodyDisposition
    /// Returns whether a request is a probe, such as a health check. The server answers probes even when
    /// `maxConnections` connections are open. The server calls this method on an event loop's thread, so this method
    /// must not block.
    func isProbe(_ head: HTTPRequestHead) -> Bool
    /// Answers a request whose whole body the server has buffered. The server calls this method on an event loop's
    /// thread, so this method must not block.
    func handle(_ request: HTTPRequest) -> HTTPReply
    /// Answers a request whose body this handler itself reads while it arrives. If the method returns before the whole
    /// body has arrived, the server closes the connection after the answer.
    func handle(_ head: HTTPRequestHead, body: HTTPBodyReader) async -> HTTPResponse
    /// Returns the error answer to a request that the server refuses, for example because of a framing error, an
    /// exceeded limit or a timeout. The server calls this method on an event loop's thread, so this method must not
    /// block.
    ///
    /// - Parameters:
    ///   - head: the known part of the request's head. If the head itself failed, the known part contains no framing.
    ///   - isHandled: whether a handler that reads the request's body while it arrives is running. The handler also
    ///     receives the failure. The server ignores the handler's answer.
    ///   - peer: the IP address of the other end of the connection. `nil` with a Unix socket.
    func response(to failure: HTTPFailure, head: HTTPRequestHead?, isHandled: Bool, peer: IPAddress?) -> HTTPResponse
}

import BraidRuntime

/// A request without its body.
public struct HTTPRequestHead: Sendable {
    /// How the body's length is known (RFC 9112, 6.3).
    public enum Framing: Sendable, Equatable {
        /// There is no body.
        case none
        /// `Content-Length`, in bytes.
        case length(Int)
        /// `Transfer-Encoding: chunked`.
        case chunked
    }

    /// As sent: `GET`.
    public var method: String
    /// As sent: `/v1/tables?pretty`.
    public var target: String
    /// Percent-decoded once; `%2F` ends no segment. "/v1/x/" ends with an empty segment, "/" is one, and `*` has
    /// none.
    public var path: [String]
    /// Decoded, in order; a `+` is a space. Without "=", the value is "".
    public var query: [(name: String, value: String)]
    /// The fields, as sent.
    public var headers: HTTPHeaders
    /// 1 for HTTP/1.1, 0 for HTTP/1.0.
    public var minor: Int
    /// Whether the connection stays open after the answer (RFC 9112, 9.3).
    public var keepsAlive: Bool
    /// How the body's length is known.
    public var framing: Framing = .none
    /// Whether the client waits for `100 Continue` before it sends the body.
    public var expectsContinue = false
    /// Of a target such as `GET http://host:port/path`. Takes precedence over `Host` (RFC 9112, 3.2.2).
    public var authority: String?
    /// The client, or the last proxy. `nil` with a Unix socket.
    package var peer: IPAddress?

    static let unknown = HTTPRequestHead(
        method: "", target: "", path: [], query: [], headers: HTTPHeaders(bytes: [], fields: []), minor: 1,
        keepsAlive: false)

    package var isHead: Bool { method == "HEAD" }
    package var isRead: Bool { method == "GET" || method == "HEAD" }
    /// The host that the client asks for, with its port, if any.
    public var host: String? { authority ?? headers["host"] }
}

/// An error that the server itself detects. The connection closes after the answer, because the next request's start
/// may be unknown, except that after `noRoomForAnswer` to a GET or HEAD it can stay open.
public struct HTTPFailure: Error, Sendable, Equatable {
    /// 400 to 599.
    public var status: Int
    /// What is wrong, and what would be right.
    public var detail: String
    /// Whether there was no memory for a body or an answer, or none of the account's share.
    public var isMemoryLimit: Bool

    package init(status: Int, detail: String, isMemoryLimit: Bool = false) {
        self.status = status
        self.detail = detail
        self.isMemoryLimit = isMemoryLimit
    }

    package static func noRoomForBody(_ refusal: Quota.Exceeded) -> HTTPFailure { noRoom(refusal, "request bodies") }
    package static func noRoomForAnswer(_ refusal: Quota.Exceeded) -> HTTPFailure { noRoom(refusal, "answers") }

    /// On a reserved connection, anything but a probe without a body.
    static let noConnection = HTTPFailure(
        status: 503,
        detail: "All connections of the server are in use. Try again after the time in `Retry-After`.")

    private static func noRoom(_ refusal: Quota.Exceeded, _ what: String) -> HTTPFailure {
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

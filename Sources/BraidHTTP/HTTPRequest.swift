import BraidRuntime

public struct HTTPRequestHead: Sendable {
    /// RFC 9112, 6.3.
    public enum Framing: Sendable, Equatable {
        case none
        case length(Int)
        case chunked
    }

    public var method: String
    /// As sent: `/v1/tables?pretty`.
    public var target: String
    /// Percent-decoded once; `%2F` ends no segment. "/v1/x/" ends with an empty segment, "/" is one, and `*` has
    /// none.
    public var path: [String]
    /// Decoded, in order; a `+` is a space. Without "=", the value is "".
    public var query: [(name: String, value: String)]
    public var headers: HTTPHeaders
    /// 1 for HTTP/1.1, 0 for HTTP/1.0.
    public var minor: Int
    public var keepsAlive: Bool
    public var framing: Framing = .none
    /// `Expect: 100-continue`.
    public var expectsContinue = false
    /// Of a target such as `GET http://host:port/path`. Takes precedence over `Host` (RFC 9112, 3.2.2).
    public var authority: String?
    /// A client or a proxy. `nil` with a Unix socket.
    public var peer: IPAddress?

    static let unknown = HTTPRequestHead(
        method: "", target: "", path: [], query: [], headers: HTTPHeaders(bytes: [], fields: []), minor: 1,
        keepsAlive: false)

    public var isHead: Bool { method == "HEAD" }
    public var isRead: Bool { method == "GET" || method == "HEAD" }
    /// With its port, if any.
    public var host: String? { authority ?? headers["host"] }
}

/// An error that the server itself detects. The connection closes after the answer, because the next request's start
/// may be unknown, except that after `noRoomForAnswer` to a GET or HEAD it can stay open.
public struct HTTPFailure: Error, Sendable, Equatable {
    public var status: Int
    /// What is wrong, and what would be right.
    public var detail: String
    /// No memory for bodies or answers, or none of the account's share.
    public var isMemoryLimit: Bool

    public init(status: Int, detail: String, isMemoryLimit: Bool = false) {
        self.status = status
        self.detail = detail
        self.isMemoryLimit = isMemoryLimit
    }

    public static func noRoomForBody(_ refusal: Quota.Exceeded) -> HTTPFailure { noRoom(refusal, "request bodies") }
    public static func noRoomForAnswer(_ refusal: Quota.Exceeded) -> HTTPFailure { noRoom(refusal, "answers") }

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

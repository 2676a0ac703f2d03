import BraidRuntime

/// What stands before a request's body.
public struct HTTPRequestHead: Sendable {
    /// How the body is delimited (RFC 9112, 6.3).
    public enum Framing: Sendable, Equatable {
        case none
        case length(Int)
        case chunked
    }

    public var method: String
    /// As it was sent.
    public var target: String
    /// Percent-decoded once, segment by segment: `%2F` stays inside its segment; "/v1/x/" ends in an empty segment,
    /// "/" is one empty segment, `*` none.
    public var path: [String]
    /// In order. `+` is a space; "?pretty" has the value "".
    public var query: [(name: String, value: String)]
    public var headers: HTTPHeaders
    /// Of HTTP/1.
    public var minor: Int
    /// Whether the client wants the connection to go on after the answer.
    public var keepsAlive: Bool
    public var framing: Framing = .none
    /// Whether the client waits for `100 Continue` before it sends the body.
    public var expectsContinue = false
    /// The host and port of an absolute-form target, which stand above the Host field (RFC 9112, 3.2.2).
    public var authority: String?

    public var isHead: Bool { method == "HEAD" }
    public var host: String? { authority ?? headers["host"] }
}

/// A request whose body was gathered.
public struct HTTPRequest: Sendable {
    public var head: HTTPRequestHead
    public var body: [UInt8]

    public init(head: HTTPRequestHead, body: [UInt8] = []) {
        self.head = head
        self.body = body
    }
}

/// What a client did wrong, before its request reached the application. The connection ends with its answer: nobody
/// knows where the next request starts.
public struct HTTPFailure: Error, Sendable, Equatable {
    public var status: Int
    /// One sentence: what is wrong and what would be right.
    public var detail: String

    public init(status: Int, detail: String) {
        self.status = status
        self.detail = detail
    }

    /// The server has no memory left for the body, or the account has used its share of that memory.
    static func noRoomForBody(_ refusal: Budget.Refusal) -> HTTPFailure { noRoom(refusal, "request bodies") }
    /// The same for an answer.
    public static func noRoomForAnswer(_ refusal: Budget.Refusal) -> HTTPFailure { noRoom(refusal, "answers") }

    private static func noRoom(_ refusal: Budget.Refusal, _ what: String) -> HTTPFailure {
        switch refusal {
        case .budget:
            HTTPFailure(
                status: 503,
                detail: "The server's memory for large \(what) is in use. Try again after the time in `Retry-After`.")
        case .share:
            HTTPFailure(
                status: 429,
                detail:
                    "This session or this token already uses its share of the server's memory for large \(what). Wait until its other requests are answered."
            )
        }
    }
}

/// How a request's body reaches the application.
public enum HTTPBodyDisposition: Sendable {
    /// As a whole. A body that is longer than `limit` bytes is answered with 413. Its memory counts for `account`.
    case gather(limit: Int, account: Budget.Account = Budget.Account())
    /// Piece by piece: the handler runs while the body arrives.
    case stream(account: Budget.Account = Budget.Account())
    /// Not at all: the client gets this answer, and the connection is closed.
    case refuse(HTTPResponse)
    /// Not known yet. No byte of the body is read until the work has returned.
    case undecided(on: any TaskExecutor, @Sendable () async -> HTTPBodyDisposition)

    /// Bytes of a gathered body that are not counted in the budget for bodies: a small request is always admitted.
    public static let smallBody = 16 * 1024
}

/// The application.
public protocol HTTPHandler: Sendable {
    /// Called after the head, on the loop's thread: must not block.
    func disposition(of head: HTTPRequestHead) -> HTTPBodyDisposition
    /// Called on the loop's thread: must not block.
    func handle(_ request: HTTPRequest) -> HTTPReply
    /// A request whose disposition is `stream`. To return before the body's end closes the connection after the answer.
    func handle(_ head: HTTPRequestHead, body: HTTPBodyReader) async -> HTTPResponse
    /// The answer to framing errors, exceeded limits and time-outs; `head` as far as it was understood: without framing
    /// where it is itself what failed.
    /// Called on the loop's thread: must not block.
    func response(to failure: HTTPFailure, head: HTTPRequestHead?) -> HTTPResponse
}

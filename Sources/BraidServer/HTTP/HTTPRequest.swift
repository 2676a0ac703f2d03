/// What stands before a request's body.
struct HTTPRequestHead: Sendable {
    /// How the body is delimited (RFC 9112, 6.3).
    enum Framing: Sendable, Equatable {
        case none
        case length(Int)
        case chunked
    }

    var method: String
    /// As it was sent.
    var target: String
    /// Percent-decoded once, segment by segment: `%2F` stays inside its segment; "/v1/x/" ends in an empty segment,
    /// "/" is one empty segment, `*` none.
    var path: [String]
    /// In order. `+` is a space; "?pretty" has the value "".
    var query: [(name: String, value: String)]
    var headers: HTTPHeaders
    /// Of HTTP/1.
    var minor: Int
    /// Whether the client wants the connection to go on after the answer.
    var keepsAlive: Bool
    var framing: Framing = .none
    /// Whether the client waits for `100 Continue` before it sends the body.
    var expectsContinue = false
    /// The host and port of an absolute-form target, which stand above the Host field (RFC 9112, 3.2.2).
    var authority: String?

    var isHead: Bool { method == "HEAD" }
    var host: String? { authority ?? headers["host"] }
}

/// A request whose body was gathered.
struct HTTPRequest: Sendable {
    var head: HTTPRequestHead
    var body: [UInt8] = []
}

/// What a client did wrong, before its request reached the application. The connection ends with its answer: nobody knows where the
/// next request starts.
struct HTTPFailure: Error, Sendable, Equatable {
    var status: Int
    /// One sentence: what is wrong and what would be right.
    var detail: String

    /// The memory for large bodies is taken.
    static let noRoomForBody = HTTPFailure(status: 503, detail: "Too many large bodies are under way; try again.")
    static let noRoomForAnswer = HTTPFailure(status: 503, detail: "Too many large answers are under way; try again.")
}

/// How a request's body reaches the application.
enum HTTPBodyDisposition: Sendable {
    /// All of it, at once; a longer one is answered with 413.
    case gather(limit: Int)
    /// Piece by piece: the handler runs while the body arrives.
    case stream
}

/// The application.
protocol HTTPHandler: Sendable {
    /// Called after the head, on the loop's thread: must not block.
    func disposition(of head: HTTPRequestHead) -> HTTPBodyDisposition
    /// Called on the loop's thread: must not block.
    func handle(_ request: HTTPRequest) -> HTTPReply
    /// A request whose disposition is `stream`. To return before the body's end closes the connection after the answer.
    func handle(_ head: HTTPRequestHead, body: HTTPBodyReader) async -> HTTPResponse
    /// The answer to framing errors, exceeded limits and time-outs; `head` as far as it was understood: without framing where it is
    /// itself what failed.
    /// Called on the loop's thread: must not block.
    func response(to failure: HTTPFailure, head: HTTPRequestHead?) -> HTTPResponse
}

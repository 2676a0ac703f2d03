import BraidRuntime

/// An answer to a request. The server itself writes `Content-Length`, `Transfer-Encoding`, `Date` and `Connection`.
public struct HTTPResponse: Sendable {
    public var status: Int
    public var headers: [(String, String)]
    public var body: HTTPBody
    /// The account (session and token) of the request. The memory for a large body counts towards this account's share
    /// of the quota.
    public var account: Quota.Account
    /// Whether the server closes the connection instead of sending this answer.
    public var isWithheld = false
    /// The lease of memory that the application has taken for the body before it built the body. The connection takes
    /// over the lease. No other answer may have the same lease. `nil` if the application has taken no lease.
    public var lease: Quota.Lease?

    public init(
        status: Int, headers: [(String, String)] = [], body: HTTPBody = .none,
        account: Quota.Account = Quota.Account()
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        self.account = account
    }
}

/// The body of an answer.
public enum HTTPBody: Sendable {
    case none
    case bytes([UInt8])
    /// Bytes in memory that several answers share.
    case shared(SharedBytes)
    /// A body whose bytes the server sends as a stream produces them. The body's length is unknown in advance, unless
    /// the stream has a `length`.
    case stream(ByteStream)

    /// The body's bytes. `nil` if the body is a stream.
    public var bytes: [UInt8]? {
        switch self {
        case .none: []
        case .bytes(let bytes): bytes
        case .shared(let bytes): bytes.plain
        case .stream: nil
        }
    }

    /// The body's size in bytes. `nil` if the body is a stream.
    public var count: Int? { bytes?.count }

    /// The body's length in bytes, which the server announces in `Content-Length`. `nil` if the length is unknown.
    var length: Int? {
        if case .stream(let stream) = self { stream.length } else { count }
    }
}

/// What the application returns for a request: a response that is ready, or a task that produces the response.
public enum HTTPReply: Sendable {
    /// The response is ready: the event loop's thread sends it at once, without a task.
    case ready(HTTPResponse)
    /// A task produces the response on an executor.
    ///
    /// The task is cancelled when the connection is lost. The task of a GET or HEAD is also cancelled when the client
    /// closes its sending side while the task runs. A task with `endsAtStop` waits for an event that may never happen.
    /// So such a task is also cancelled when the client closes its sending side or the server stops.
    case task(on: any TaskExecutor, endsAtStop: Bool = false, @Sendable () async -> HTTPResponse)
}

// MARK: - Encoding

/// The properties of a request on which the encoding of its answer depends, such as the method HEAD and the HTTP
/// version.
struct HTTPExchange {
    var isHead = false
    var minor = 1
    var keepsAlive = true

    init() {}

    init(_ head: HTTPRequestHead) {
        isHead = head.isHead
        minor = head.minor
        keepsAlive = head.keepsAlive
    }
}

extension HTTPResponse {
    /// Whether the server sends the answer's body after the head. It sends none in the answer to a HEAD request, or
    /// with the status 204 or 304 (RFC 9112, 6.3).
    func sendsBody(in exchange: HTTPExchange) -> Bool {
        !exchange.isHead && mayHaveBody
    }

    private var mayHaveBody: Bool { status != 204 && status != 304 }

    /// Appends the answer's status line, header fields and empty line to `out` (RFC 9112, 4 and 6).
    ///
    /// - Parameter date: the answer's `Date` line, with its line end.
    func encodeHead(for exchange: HTTPExchange, keepsAlive: Bool, date: [UInt8], to out: inout [UInt8]) {
        let status = safeStatus
        out.append("HTTP/1.1 ")
        out.append(decimal: status)
        out.append(UInt8.space)
        out.append(Self.reason(status))
        out.append("\r\n")
        out.append(contentsOf: date)
        for (name, value) in headers where !Self.isServers(name) {
            out.append(fieldText: name)
            out.append(": ")
            out.append(fieldText: value)
            out.append("\r\n")
        }
        // An answer whose status allows no body gets no `Content-Length`. The answer to a HEAD request announces the
        // length that the body of a GET would have.
        if mayHaveBody {
            if let length = body.length {
                out.append("Content-Length: ")
                out.append(decimal: length)
                out.append("\r\n")
            } else if exchange.minor > 0 {
                out.append("Transfer-Encoding: chunked\r\n")
            }
        }
        if !keepsAlive {
            out.append("Connection: close\r\n")
        } else if exchange.minor == 0 {
            out.append("Connection: keep-alive\r\n")
        }
        out.append("\r\n")
    }

    /// The answer's status, or 500 if the application set a status outside 200…599.
    private var safeStatus: Int { (200...599).contains(status) ? status : 500 }

    private static func isServers(_ name: String) -> Bool {
        switch name.utf8.count {
        case 4: names(name, "date")
        case 10: names(name, "connection")
        case 14: names(name, "content-length")
        case 17: names(name, "transfer-encoding")
        default: false
        }
    }

    private static func names(_ name: String, _ lowercase: String) -> Bool {
        name.utf8.count == lowercase.utf8.count && name.utf8.elementsEqual(lowercase.utf8) { $0.lowercased == $1 }
    }

    /// Returns the reason phrase of a status that the server uses. Sources: RFC 9110, section 15; RFC 4918 (507); RFC
    /// 6585 (429, 431).
    public static func reason(_ status: Int) -> StaticString {
        switch status {
        case 200: "OK"
        case 201: "Created"
        case 204: "No Content"
        case 304: "Not Modified"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 406: "Not Acceptable"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 412: "Precondition Failed"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 415: "Unsupported Media Type"
        case 417: "Expectation Failed"
        case 421: "Misdirected Request"
        case 422: "Unprocessable Content"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 503: "Service Unavailable"
        case 505: "HTTP Version Not Supported"
        case 507: "Insufficient Storage"
        default: "Status"
        }
    }
}

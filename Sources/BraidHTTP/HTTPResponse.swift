import BraidRuntime

/// The server adds `Content-Length`, `Transfer-Encoding`, `Date` and `Connection`.
package struct HTTPResponse: Sendable {
    package var status: Int
    package var headers: [(String, String)]
    package var body: HTTPBody
    /// Who leases the memory of a large body.
    package var account: Quota.Account
    /// The connection closes in place of an answer.
    package var isWithheld = false
    /// Leased before the body was built. The connection takes it over, so no other answer may have it.
    package var lease: Quota.Lease?

    package init(
        status: Int, headers: [(String, String)] = [], body: HTTPBody = .none,
        account: Quota.Account = Quota.Account()
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        self.account = account
    }
}

package enum HTTPBody: Sendable {
    case none
    case bytes([UInt8])
    /// Several answers share the bytes.
    case shared(SharedBytes)
    case stream(ByteStream)

    /// `nil` for a stream.
    package var bytes: [UInt8]? {
        switch self {
        case .none: []
        case .bytes(let bytes): bytes
        case .shared(let bytes): bytes.plain
        case .stream: nil
        }
    }

    package var count: Int? { bytes?.count }

    package var estimatedCount: Int? { if case .stream(let stream) = self { stream.estimatedLength } else { count } }

    /// `nil` if unknown.
    var length: Int? {
        if case .stream(let stream) = self { stream.length } else { count }
    }
}

struct ResponseFraming {
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
    /// RFC 9112, 6.3.
    func sendsBody(in framing: ResponseFraming) -> Bool {
        !framing.isHead && mayHaveBody
    }

    private var mayHaveBody: Bool { status != 204 && status != 304 }

    /// Status line, fields and empty line (RFC 9112, 4 and 6). `date` is the `Date` line with its end.
    func encodeHead(for framing: ResponseFraming, date: [UInt8], to out: inout [UInt8]) {
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
        // A HEAD's answer announces the length of a GET's.
        if mayHaveBody {
            if let length = body.length {
                out.append("Content-Length: ")
                out.append(decimal: length)
                out.append("\r\n")
            } else if framing.minor > 0 {
                out.append("Transfer-Encoding: chunked\r\n")
            }
        }
        if !framing.keepsAlive {
            out.append("Connection: close\r\n")
        } else if framing.minor == 0 {
            out.append("Connection: keep-alive\r\n")
        }
        out.append("\r\n")
    }

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

    /// RFC 9110, 15; RFC 4918 (507); RFC 6585 (429, 431).
    package static func reason(_ status: Int) -> StaticString {
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

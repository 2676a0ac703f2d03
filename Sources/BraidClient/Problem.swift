import Foundation

/// A refused request: a problem document (RFC 9457), or the answer of a proxy.
///
/// docs/http-api/errors-and-limits.md, "Problems", lists the kinds of problems.
public struct Problem: Error, Sendable, Hashable, CustomStringConvertible {
    /// The HTTP status.
    public var status: Int
    /// The problem's type, a URI such as `/problems/row-gone`. The type is `about:blank` if the answer is not a problem
    /// document, for example because a proxy answered.
    public var type = "about:blank"
    /// A short text that is the same for every problem of this kind.
    public var title: String?
    /// A sentence for a developer: what was refused in this request.
    public var detail: String?
    /// The path of the request.
    public var instance: String?
    /// The request's id, which the server's log can contain too. The server takes a valid `X-Request-Id` of the request
    /// as the id, or makes a new id.
    public var requestID: String?
    /// The number of the first line that was not applied, from 1, in a request body that the server reads line by line.
    public var line: Int?
    /// The faults of the request's body, each with a JSON Pointer to the faulty value.
    public var errors: [Fault] = []
    /// The delay after which the server asks the client to try again. `nil` if the server did not set it.
    public var retryAfter: Duration?

    /// One fault of a request's body, or a failure of a template.
    public struct Fault: Codable, Sendable, Hashable {
        /// The JSON Pointer (RFC 6901) to the faulty value, or to the template in the table description.
        public var pointer: String
        /// The kind of the fault, for example `missing-member`. docs/http-api/error-codes.md lists the codes.
        public var code: String
        /// What is wrong with the value at ``pointer``.
        public var detail: String
        /// The section for which a template failed.
        public var section: String?
        /// The index of the row for which a template failed, among all rows of its section.
        public var row: Int?
        /// The id of the row for which a template failed.
        public var id: String?
    }

    /// The last part of the problem's type, such as `row-gone`.
    public var kind: String { type.split(separator: "/").last.map(String.init) ?? type }
    public var description: String { "\(status) \(kind): \(detail ?? title ?? "no details")" }
}

/// The failure of a request without a complete answer, or with an answer that does not match the API. The server may
/// have applied the command of this request. To be safe, the program can send the command again with the same
/// idempotency key.
public struct ConnectionFailure: Error, CustomStringConvertible {
    /// The error of the connection, the decoder or the token provider, if there is one.
    public var underlying: (any Error)?
    /// A sentence for a developer about what failed.
    public var detail: String

    public var description: String { underlying.map { "\(detail): \($0)" } ?? detail }
}

extension Problem: LocalizedError {
    public var errorDescription: String? { detail ?? title }
}

extension ConnectionFailure: LocalizedError {
    public var errorDescription: String? { detail }
}

// MARK: Reading

extension Problem {
    private struct Document: Decodable {
        var type, title, detail, instance, requestId: String?
        var line: Int?
        var errors: [Fault]?
    }

    init(status: Int, body: Data, retryAfter: String?) {
        self.status = status
        self.retryAfter = retryAfter.flatMap(Self.duration)
        guard let document = try? JSONDecoder().decode(Document.self, from: body) else { return }
        type = document.type ?? type
        title = document.title
        detail = document.detail
        instance = document.instance
        requestID = document.requestId
        line = document.line
        errors = document.errors ?? []
    }

    /// Returns the duration of a `Retry-After` header, at most one year. A `Retry-After` contains seconds or, from some
    /// proxies, a date (RFC 9110, section 10.2.3). The limit of one year keeps clock arithmetic from overflowing.
    private static func duration(_ text: String) -> Duration? {
        if let seconds = Int(text) { return .seconds(min(max(0, seconds), year)) }
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(identifier: "GMT")
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
        return format.date(from: text).map { .seconds(min(max(0, $0.timeIntervalSinceNow), Double(year))) }
    }

    private static let year = 365 * 86_400
}

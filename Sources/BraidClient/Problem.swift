import Foundation

/// A refused request: a problem document (RFC 9457), or the answer of a proxy. docs/http-api/errors-and-limits.md lists
/// the kinds.
public struct Problem: Error, Sendable, Hashable, CustomStringConvertible {
    /// The HTTP status.
    public var status: Int
    /// A URI such as `/problems/row-gone`; `about:blank` if a proxy answered.
    public var type = "about:blank"
    /// The same for every problem of this kind.
    public var title: String?
    /// For a developer: what was refused.
    public var detail: String?
    /// The path of the request.
    public var instance: String?
    /// For the server's log: the request's own valid `X-Request-Id`, or a new id.
    public var requestID: String?
    /// The first line that was not applied, from 1, of a body that is read line by line.
    public var line: Int?
    /// The faults of the request's body.
    public var errors: [Fault] = []
    /// When the server asks to try again.
    public var retryAfter: Duration?

    /// A fault of a request's body, or a failure of a template.
    public struct Fault: Codable, Sendable, Hashable {
        /// A JSON Pointer (RFC 6901) to the faulty value, or to the template in the description.
        public var pointer: String
        /// For example `missing-member`: see docs/http-api/error-codes.md.
        public var code: String
        /// What is wrong.
        public var detail: String
        /// For which a template failed.
        public var section: String?
        /// The row for which a template failed, among all of its section.
        public var row: Int?
        /// The id of that row.
        public var id: String?
    }

    /// The last part of the type, such as `row-gone`.
    public var kind: String { type.split(separator: "/").last.map(String.init) ?? type }
    public var description: String { "\(status) \(kind): \(detail ?? title ?? "no details")" }
}

/// No complete answer, or one that does not match the API. The command may have been applied: it can be repeated with
/// the same idempotency key.
public struct ConnectionFailure: Error, CustomStringConvertible {
    /// Of the connection, the decoder or the token provider.
    public var underlying: (any Error)?
    /// For a developer: what failed.
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

    /// Seconds, or from some proxies a date (RFC 9110, section 10.2.3). At most a year, so that clock arithmetic does
    /// not overflow.
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

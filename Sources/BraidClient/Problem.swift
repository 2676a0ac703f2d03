import Foundation

/// A refused request: a problem document (RFC 9457) or a proxy's answer. Kinds: docs/http-api/errors-and-limits.md.
public struct Problem: Error, Sendable, Hashable, CustomStringConvertible {
    /// The HTTP status.
    public var status: Int
    /// Such as `/problems/row-gone`; `about:blank` from a proxy.
    public var type = "about:blank"
    /// The same for all of its kind.
    public var title: String?
    /// What was refused, for developers.
    public var detail: String?
    /// The request's path.
    public var instance: String?
    /// To find it in the server's log: your `X-Request-Id`, or a new id.
    public var requestID: String?
    /// In a body read line by line, the first line not applied, from 1.
    public var line: Int?
    /// Faults of the body.
    public var errors: [Fault] = []
    /// When to try again.
    public var retryAfter: Duration?

    /// A fault of a body, or a failed template.
    public struct Fault: Codable, Sendable, Hashable {
        /// JSON Pointer (RFC 6901) to the value, or to the template in the description.
        public var pointer: String
        /// Such as `missing-member`: docs/http-api/error-codes.md.
        public var code: String
        /// What is wrong.
        public var detail: String
        /// For which section a template failed.
        public var section: String?
        /// For which row, counted among all rows of the section.
        public var row: Int?
        /// That row's id.
        public var id: String?
    }

    /// The type's last part: `row-gone`.
    public var kind: String { type.split(separator: "/").last.map(String.init) ?? type }
    public var description: String { "\(status) \(kind): \(detail ?? title ?? "no details")" }
}

/// No complete answer, or one that is not the API's. The command may have been applied: repeat it with the same key.
public struct ConnectionFailure: Error, CustomStringConvertible {
    /// From the connection, decoder or token provider.
    public var underlying: (any Error)?
    /// What failed, for developers.
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

    /// Seconds or, from some proxies, a date (RFC 9110, 10.2.3). At most a year: clock arithmetic must not overflow.
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

import Foundation

/// The server refused: a problem document (RFC 9457), or what a proxy on the way said in its place.
public struct Problem: Error, Sendable, Hashable, CustomStringConvertible {
    /// HTTP's.
    public var status: Int
    /// `/problems/row-gone`; `about:blank` where a proxy answered.
    public var type = "about:blank"
    public var title: String?
    public var detail: String?
    public var instance: String?
    public var requestID: String?
    /// Of a body that is taken line by line, the one at fault; from 1.
    public var line: Int?
    /// What is wrong where in the request's body.
    public var errors: [Fault] = []
    /// After how long to try again, if the server said so.
    public var retryAfter: Duration?

    public struct Fault: Codable, Sendable, Hashable {
        /// A JSON Pointer (RFC 6901).
        public var pointer: String
        public var detail: String
    }

    /// The last part of the type: `row-gone`.
    public var kind: String { type.split(separator: "/").last.map(String.init) ?? type }
    public var description: String { "\(status) \(kind): \(detail ?? title ?? "no more was said")" }
}

/// No whole answer came. A command that failed so may have been carried out: sent again with the same key, it is not done twice.
public struct ConnectionFailure: Error, CustomStringConvertible {
    public var underlying: (any Error)?
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

    /// Of `Retry-After`: seconds, or, as proxies may have it, a date (RFC 9110, 10.2.3). Clocks do not count as far as integers:
    /// what is longer than a year is one.
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

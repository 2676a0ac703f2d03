import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Before it becomes a `URLRequest`.
struct Request: Sendable {
    var method: String
    /// Segments, without percent-encoding.
    var path: [String]
    var query: [String: String?] = [:]
    var headers: [String: String] = [:]
    var body: JSON?
    /// A long poll's, added to the client's timeout.
    var wait: Duration = .zero
    /// Whether it may be sent again even if the server may have handled it.
    var isRepeatable = true
    /// Whether a 404 for a repeated request means that an earlier attempt succeeded.
    var isDeletion = false

    init(
        _ method: String, _ path: [String], query: [String: String?] = [:], headers: [String: String] = [:],
        body: JSON? = nil,
        wait: Duration = .zero, isRepeatable: Bool = true, isDeletion: Bool = false
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        self.body = body
        self.wait = wait
        self.isRepeatable = isRepeatable
        self.isDeletion = isDeletion
    }

    /// - Parameter longest: if the server asks for a longer pause, the error is the program's.
    func isWorthRetrying(after error: any Error, longest: Duration) -> Bool {
        guard !Task.isCancelled else { return false }
        guard let problem = error as? Problem else { return error is ConnectionFailure && isRepeatable }
        if let retryAfter = problem.retryAfter, retryAfter > longest { return false }
        switch problem.status {
        // With 408, the request did not arrive whole.
        case 503 where problem.kind == "outcome-unknown": return isRepeatable
        case 408, 429, 503: return true
        case 502, 504: return isRepeatable
        default: return problem.kind == "idempotency-key-in-use"
        }
    }
}

extension BraidClient {
    func urlRequest(_ request: Request) throws -> URLRequest {
        let query = Self.query(request.query)
        let base = url.absoluteString.hasSuffix("/") ? String(url.absoluteString.dropLast()) : url.absoluteString
        let target =
            base + request.path.map { "/" + Self.escaped($0) }.joined()
            + (query.isEmpty ? "" : "?" + query)
        guard let url = URL(string: target) else { throw URLError(.badURL) }
        var result = URLRequest(url: url)
        result.httpMethod = request.method
        result.timeoutInterval = (timeout + request.wait) / .seconds(1)
        result.setValue("application/json", forHTTPHeaderField: "Accept")
        if let body = request.body {
            result.setValue("application/json", forHTTPHeaderField: "Content-Type")
            let encoder = JSONEncoder()
            // The server refuses other bytes for the same idempotency key, so the encoding must be the same each time.
            encoder.outputFormatting = .sortedKeys
            result.httpBody = try encoder.encode(body)
        }
        #if canImport(FoundationNetworking)
        // If the server has closed a reused connection, libcurl repeats the request, and Foundation on Linux leaves out
        // its body, for which the server would wait.
        result.setValue("close", forHTTPHeaderField: "Connection")
        #endif
        for (name, value) in request.headers { result.setValue(value, forHTTPHeaderField: name) }
        return result
    }

    /// Sorted by name, without those that have no value.
    static func query(_ parameters: [String: String?]) -> String {
        parameters.compactMap { name, value in value.map { "\(escaped(name))=\(escaped($0))" } }.sorted()
            .joined(separator: "&")
    }

    /// Leaves only the unreserved characters of RFC 3986.
    private static func escaped(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
    }

    private static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
}

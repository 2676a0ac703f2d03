import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

struct Request: Sendable {
    var method: String
    /// Not yet percent-encoded.
    var path: [String]
    var query: [String: String?] = [:]
    var headers: [String: String] = [:]
    var body: JSON?
    /// A long poll's; extends the timeout.
    var wait: Duration = .zero
    /// May be sent again even if the server may have handled it.
    var isRepeatable = true
    /// If so, a 404 at a later attempt means that the first one succeeded.
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

    /// - Parameter longest: if asked to wait longer, give up.
    func isWorthRetrying(after error: any Error, longest: Duration) -> Bool {
        guard !Task.isCancelled else { return false }
        guard let problem = error as? Problem else { return error is ConnectionFailure && isRepeatable }
        if let retryAfter = problem.retryAfter, retryAfter > longest { return false }
        switch problem.status {
        // 408: the request did not arrive whole.
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
            // The same bytes each time: an idempotency key must not come with others.
            encoder.outputFormatting = .sortedKeys
            result.httpBody = try encoder.encode(body)
        }
        #if canImport(FoundationNetworking)
        // When a reused connection turns out closed, libcurl repeats the request, but Foundation on Linux without its
        // body, for which the server waits.
        result.setValue("close", forHTTPHeaderField: "Connection")
        #endif
        for (name, value) in request.headers { result.setValue(value, forHTTPHeaderField: name) }
        return result
    }

    /// Sorted; without parameters that are `nil`.
    static func query(_ parameters: [String: String?]) -> String {
        parameters.compactMap { name, value in value.map { "\(escaped(name))=\(escaped($0))" } }.sorted()
            .joined(separator: "&")
    }

    /// All but the unreserved characters of RFC 3986.
    private static func escaped(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
    }

    private static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
}

import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A request on its way to being one of URLSession's.
struct Request: Sendable {
    var method: String
    /// Its segments.
    var path: [String]
    var query: [String: String?] = [:]
    var headers: [String: String] = [:]
    var body: JSON?
    /// How long the server may take to answer, beside the usual.
    var wait: Duration = .zero
    /// Whether it does no harm to send it twice.
    var isRepeatable = true
    /// Whether it asks for something to go: what is gone when it is asked again went the first time.
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

    /// `longest`: for how long the server may ask to be left alone; for longer, who asked knows better what to do.
    func isWorthRetrying(after error: any Error, longest: Duration) -> Bool {
        guard !Task.isCancelled else { return false }
        guard let problem = error as? Problem else { return error is ConnectionFailure && isRepeatable }
        if let retryAfter = problem.retryAfter, retryAfter > longest { return false }
        switch problem.status {
        // 408: it did not arrive whole.
        case 408, 429, 503: return true
        case 502, 504: return isRepeatable
        default: return problem.kind == "idempotency-key-in-use"
        }
    }
}

extension BraidClient {
    func urlRequest(_ request: Request) throws -> URLRequest {
        let query = request.query.compactMap { name, value in value.map { "\(Self.escaped(name))=\(Self.escaped($0))" }
        }.sorted()
        let base = url.absoluteString.hasSuffix("/") ? String(url.absoluteString.dropLast()) : url.absoluteString
        let target =
            base + request.path.map { "/" + Self.escaped($0) }.joined()
            + (query.isEmpty ? "" : "?" + query.joined(separator: "&"))
        guard let url = URL(string: target) else { throw URLError(.badURL) }
        var result = URLRequest(url: url)
        result.httpMethod = request.method
        result.timeoutInterval = (timeout + request.wait) / .seconds(1)
        result.setValue("application/json", forHTTPHeaderField: "Accept")
        if let body = request.body {
            result.setValue("application/json", forHTTPHeaderField: "Content-Type")
            let encoder = JSONEncoder()
            // Sent again under the same key, it must have the same bytes.
            encoder.outputFormatting = .sortedKeys
            result.httpBody = try encoder.encode(body)
        }
        #if canImport(FoundationNetworking)
        // When the server has closed a connection that is used again, libcurl sends the request anew, and this
        // Foundation no body with it: the server waits for one.
        result.setValue("close", forHTTPHeaderField: "Connection")
        #endif
        for (name, value) in request.headers { result.setValue(value, forHTTPHeaderField: name) }
        return result
    }

    /// Everything but the unreserved characters of RFC 3986.
    private static func escaped(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
    }

    private static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
}

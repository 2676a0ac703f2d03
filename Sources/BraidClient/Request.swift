import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A request to the server, before the client converts it to a `URLRequest`.
struct Request: Sendable {
    var method: String
    /// The segments of the request's path, without percent-encoding.
    var path: [String]
    var query: [String: String?] = [:]
    var headers: [String: String] = [:]
    var body: JSON?
    /// The time that the client waits for the answer in addition to its timeout. A long poll needs this time.
    var wait: Duration = .zero
    /// Whether the client may send the request again even if the server may have handled it.
    var isRepeatable = true
    /// Whether the request deletes something. The client takes a 404 for a repeated deletion as a sign that an earlier
    /// attempt succeeded.
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

    /// Returns whether the client should send the request again after an error.
    ///
    /// - Parameter longest: the longest pause that the server may ask for. If the server asks for a longer pause, the
    ///   client throws the error, and the program decides what to do.
    func isWorthRetrying(after error: any Error, longest: Duration) -> Bool {
        guard !Task.isCancelled else { return false }
        guard let problem = error as? Problem else { return error is ConnectionFailure && isRepeatable }
        if let retryAfter = problem.retryAfter, retryAfter > longest { return false }
        switch problem.status {
        // Status 408 means that the request did not arrive completely, so the client may send it again.
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
            // The server refuses a repeated request whose bytes differ from those of the first request with the same
            // idempotency key. So the encoding must always produce the same bytes.
            encoder.outputFormatting = .sortedKeys
            result.httpBody = try encoder.encode(body)
        }
        #if canImport(FoundationNetworking)
        // If the server has closed a reused connection, libcurl sends the request again, and Foundation on Linux then
        // omits the body. The server would wait for this body. So the client uses a new connection for each request.
        result.setValue("close", forHTTPHeaderField: "Connection")
        #endif
        for (name, value) in request.headers { result.setValue(value, forHTTPHeaderField: name) }
        return result
    }

    /// Returns the parameters as a query, sorted by their names. Parameters without a value are left out.
    static func query(_ parameters: [String: String?]) -> String {
        parameters.compactMap { name, value in value.map { "\(escaped(name))=\(escaped($0))" } }.sorted()
            .joined(separator: "&")
    }

    /// Returns the percent-encoded text, in which only the unreserved characters of RFC 3986 are not escaped.
    private static func escaped(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
    }

    private static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
}

import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A Braid server, seen from an app. docs/clients.md says how to use it, docs/http-api.md what the server does.
///
/// Requests are sent again when the connection failed or the server had no time. Commands carry a key, so that none is done
/// twice. Refusals throw `Problem`, and changed nothing.
public struct BraidClient: Sendable {
    public let url: URL
    /// Of silence, after which a connection is given up. Longer than the 15 seconds between two signs of life of a stream.
    public let timeout: Duration
    public let retrying: Retrying
    private let tokens: TokenSource
    private let transport = Transport()
    let commands = CommandQueue()

    /// How often, and how long after a failure, a request is sent again: anywhere between at once and twice as long as the time
    /// before (full jitter).
    public struct Retrying: Sendable, Hashable {
        public var count: Int
        public var first: Duration
        public var longest: Duration

        public init(count: Int = 6, first: Duration = .milliseconds(500), longest: Duration = .seconds(30)) {
            self.count = count
            self.first = first
            self.longest = longest
        }

        /// `tries` counts from 1.
        func delay(tries: Int, after least: Duration? = nil, first: Duration? = nil) -> Duration {
            let grown = (first ?? self.first) * Double(1 << min(tries - 1, 20))
            return (least ?? .zero) + min(longest, grown) * Double.random(in: 0...1)
        }
    }

    /// A client with a fixed token: the controller's, or one for a session.
    public init(url: URL, token: String? = nil, timeout: Duration = .seconds(40), retrying: Retrying = Retrying()) {
        self.init(url: url, timeout: timeout, retrying: retrying) { _ in token }
    }

    /// A client that asks `tokenProvider` for its token, and for another one when the server refuses that.
    public init(url: URL, timeout: Duration = .seconds(40), retrying: Retrying = Retrying(), tokenProvider: @escaping TokenProvider) {
        self.url = url
        self.timeout = timeout
        self.retrying = retrying
        tokens = TokenSource(tokenProvider)
    }

    // MARK: Tables

    public struct TableFacts: Decodable, Sendable, Hashable {
        public var table: String
        public var version: Int
        public var updated: String?
    }

    public func tables() async throws -> [TableFacts] {
        struct List: Decodable { var tables: [TableFacts] }
        return try await value(of: Request("GET", ["v1", "tables"]), as: List.self).tables
    }

    public func table(_ name: String) async throws -> JSON { try await value(of: Request("GET", ["v1", "tables", name])) }

    /// Registers a description, or replaces it: sessions that are open keep theirs.
    @discardableResult
    public func putTable(_ name: String, _ description: JSON) async throws -> TableFacts {
        try await value(of: Request("PUT", ["v1", "tables", name], body: description))
    }

    public func deleteTable(_ name: String) async throws { _ = try await data(of: Request("DELETE", ["v1", "tables", name], isDeletion: true)) }

    /// Throws a `Problem` whose `errors` name every fault. What is left is allowed, but surely not meant.
    @discardableResult
    public func validate(_ description: JSON) async throws -> [Problem.Fault] {
        struct Answer: Decodable { var warnings: [Problem.Fault]? }
        return try await value(of: Request("POST", ["v1", "tables", "validate"], body: description), as: Answer.self).warnings ?? []
    }

    // MARK: Sessions

    public struct SessionFacts: Decodable, Sendable, Hashable {
        public var id: String
        public var table: String?
        public var epoch: String
        public var revision: Int
        public var created: String
        public var updated: String
        public var totalRowCount: Int
    }

    public struct SessionPage: Decodable, Sendable, Hashable {
        public var sessions: [SessionFacts]
        /// The `after` of the next page.
        public var next: String?
    }

    public func sessions(limit: Int? = nil, after: String? = nil) async throws -> SessionPage {
        try await value(of: Request("GET", ["v1", "sessions"], query: ["limit": limit.map { String($0) }, "after": after]))
    }

    public func session(_ id: String) -> BraidSession { BraidSession(client: self, id: id) }

    /// `opening`: `["table": "attendees", "models": …]`, or one of the data source's forms. docs/http-api.md, "Opening a session".
    public func openSession(_ opening: JSON, key: String = UUID().uuidString) async throws -> (session: BraidSession, snapshot: Snapshot) {
        let snapshot: Snapshot = try await value(of: Request("POST", ["v1", "sessions"], headers: ["Idempotency-Key": key], body: opening))
        return (session(snapshot.session ?? ""), snapshot)
    }

    // MARK: Without a session

    public func render(_ template: JSON, context: JSON = [:]) async throws -> JSON? {
        struct Rendered: Decodable { var result: JSON? }
        return try await value(of: Request("POST", ["v1", "render"], body: ["template": template, "context": context]), as: Rendered.self).result
    }

    public func diff(from: Snapshot, to: Snapshot) async throws -> Update {
        try await value(of: Request("POST", ["v1", "diff"], body: ["from": JSON(encoding: from), "to": JSON(encoding: to)]))
    }

    /// Throws at once where the server cannot serve.
    public func checkHealth() async throws {
        _ = try await body(of: exchange(urlRequest(Request("GET", ["readyz"]))))
    }

    // MARK: Requests

    /// The answer's value.
    func value<Value: Decodable>(of request: Request, as type: Value.Type = Value.self) async throws -> Value {
        let data = try await data(of: request)
        do {
            return try JSONDecoder().decode(type, from: data)
        } catch {
            throw ConnectionFailure(underlying: error, detail: "The answer is not what the API says")
        }
    }

    /// The answer's body, after as many tries as it takes.
    func data(of request: Request) async throws -> Data {
        let sent = try urlRequest(request)
        var tries = 0
        while true {
            tries += 1
            let answer: (head: HTTPURLResponse, body: Data)
            do {
                answer = try await exchange(sent)
            } catch let problem as Problem where problem.status == 404 && request.isDeletion && tries > 1 {
                return Data()
            } catch where tries <= retrying.count && request.isWorthRetrying(after: error, longest: max(retrying.longest, .seconds(30))) {
                try await Task.sleep(for: retrying.delay(tries: tries, after: (error as? Problem)?.retryAfter))
                continue
            }
            return try body(of: answer)
        }
    }

    /// Of what the server says, and not a page in its place, where the network wants a log-in first: nothing was done then.
    private func body(of answer: (head: HTTPURLResponse, body: Data)) throws -> Data {
        guard answer.head.statusCode == 204 || answer.head.mimeType?.lowercased().hasPrefix("application/") == true else {
            throw ConnectionFailure(detail: "The answer is not what the API says")
        }
        return answer.body
    }

    private func exchange(_ request: URLRequest) async throws -> (head: HTTPURLResponse, body: Data) {
        let (head, parts) = try await open(request)
        var body = Data()
        do {
            for try await case .bytes(let bytes) in parts { body += bytes }
        } catch {
            throw ConnectionFailure(underlying: error, detail: "The connection was lost before the whole answer came")
        }
        try Task.checkCancellation()
        guard 200..<300 ~= head.statusCode else {
            throw Problem(status: head.statusCode, body: body, retryAfter: head.value(forHTTPHeaderField: "Retry-After"))
        }
        return (head, body)
    }

    /// The head of the answer, and the body as it arrives. A request whose token is refused is sent once more if the provider
    /// has another token.
    func open(_ request: URLRequest) async throws -> (HTTPURLResponse, AsyncThrowingStream<Transport.Part, any Error>) {
        let token = try await tokens.token()
        let answer = try await open(request, token: token.value)
        guard answer.0.statusCode == 401 else { return answer }
        let other = try await tokens.token(after: token)
        return other.value == token.value ? answer : try await open(request, token: other.value)
    }

    private func open(_ request: URLRequest, token: String?) async throws -> (HTTPURLResponse, AsyncThrowingStream<Transport.Part, any Error>) {
        try Task.checkCancellation()
        var request = request
        if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
        let parts = transport.parts(of: request)
        var first: Transport.Part?
        do {
            for try await part in parts {
                first = part
                break
            }
        } catch {
            throw ConnectionFailure(underlying: error, detail: "There is no connection to \(url)")
        }
        try Task.checkCancellation()
        guard case .head(let head)? = first else { throw ConnectionFailure(detail: "No answer came from \(url)") }
        return (head, parts)
    }
}

import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A client of a Braid server. Guide: docs/clients/swift.md.
///
/// ```swift
/// let client = BraidClient(url: url, token: token)
/// let party = client.session("party")
/// try await party.perform(.tap(.id("kim")))
/// for try await event in party.subscribe() { … }
/// ```
/// Failed requests are sent again, with an idempotency key, so that no command is applied twice. A refusal is a thrown
/// ``Problem``.
public struct BraidClient: Sendable {
    /// May have a path: `https://example.com/braid`.
    public let url: URL
    /// A connection silent for so long is dropped. Longer than 15 seconds, the interval of a stream's keep-alives; long
    /// polls add their wait.
    public let timeout: Duration
    /// When to send a request again.
    public let retrying: Retrying
    private let tokens: TokenSource
    private let transport = Transport()
    let commands = CommandQueue()
    let presence = OwnPresence()

    /// Exponential backoff with full jitter, plus the server's `Retry-After`.
    public struct Retrying: Sendable, Hashable {
        /// Per request; streams have no limit.
        public var count: Int
        /// The first bound. The server can set it for streams (1 second otherwise).
        public var first: Duration
        /// The highest bound. A request fails if the server asks for more than this and 30 seconds; a stream waits.
        public var longest: Duration

        /// Creates a rule.
        public init(count: Int = 6, first: Duration = .milliseconds(500), longest: Duration = .seconds(30)) {
            self.count = count
            self.first = first
            self.longest = longest
        }

        /// `least`: what the server asked for. `first`: instead of the property.
        func delay(tries: Int, after least: Duration? = nil, first: Duration? = nil) -> Duration {
            let grown = (first ?? self.first) * Double(1 << min(tries - 1, 20))
            return (least ?? .zero) + min(longest, grown) * Double.random(in: 0...1)
        }
    }

    /// With a fixed token; `nil` for a server without tokens.
    public init(url: URL, token: String? = nil, timeout: Duration = .seconds(40), retrying: Retrying = Retrying()) {
        self.init(url: url, timeout: timeout, retrying: retrying) { _ in token }
    }

    /// With a provider that is asked for a token, and for another when one is refused.
    public init(
        url: URL, timeout: Duration = .seconds(40), retrying: Retrying = Retrying(),
        tokenProvider: @escaping TokenProvider
    ) {
        self.url = url
        self.timeout = timeout
        self.retrying = retrying
        tokens = TokenSource(tokenProvider)
    }

    // MARK: Tables

    /// A registered table description.
    public struct TableSummary: Decodable, Sendable, Hashable {
        /// The table's name.
        public var table: String
        /// +1 with each change.
        public var version: Int
        /// RFC 3339.
        public var updated: String?
    }

    /// All registered descriptions, without their texts.
    public func tables() async throws -> [TableSummary] {
        struct List: Decodable { var tables: [TableSummary] }
        return try await value(of: Request("GET", ["v1", "tables"]), as: List.self).tables
    }

    /// A description as registered; by default the latest version.
    public func table(_ name: String, version: Int? = nil) async throws -> JSON {
        try await value(
            of: Request("GET", ["v1", "tables", name] + (version.map { ["versions", String($0)] } ?? [])))
    }

    /// One version of a description.
    public struct TableVersion: Decodable, Sendable, Hashable {
        /// 1, 2, 3, …
        public var version: Int
        /// RFC 3339.
        public var updated: String
    }

    /// Oldest first.
    public func versions(ofTable name: String) async throws -> [TableVersion] {
        struct List: Decodable { var versions: [TableVersion] }
        return try await value(of: Request("GET", ["v1", "tables", name, "versions"]), as: List.self).versions
    }

    /// Registers or replaces a description; open sessions keep their version. Throws ``Problem`` 422 with up to a
    /// hundred `errors`, or 412 if it exists and `onlyIfNew`.
    @discardableResult
    public func putTable(_ name: String, _ description: JSON, onlyIfNew: Bool = false) async throws -> TableSummary {
        try await value(
            of: Request(
                "PUT", ["v1", "tables", name], headers: onlyIfNew ? ["If-None-Match": "*"] : [:], body: description))
    }

    /// Deletes a description. Throws ``Problem`` 409 while open sessions use it.
    public func deleteTable(_ name: String) async throws {
        _ = try await data(of: Request("DELETE", ["v1", "tables", name], isDeletion: true))
    }

    /// Checks a description without storing it, and returns warnings. Throws ``Problem`` 422 with up to a hundred
    /// `errors`.
    @discardableResult
    public func validate(_ description: JSON) async throws -> [Problem.Fault] {
        struct Validation: Decodable { var warnings: [Problem.Fault]? }
        return try await value(
            of: Request("POST", ["v1", "tables", "validate"], body: description), as: Validation.self
        )
        .warnings ?? []
    }

    // MARK: Sessions

    /// A session in a list.
    public struct SessionSummary: Decodable, Sendable, Hashable {
        /// The session's id.
        public var id: String
        /// `nil` without a description.
        public var table: String?
        /// `nil` without a registered description.
        public var tableVersion: Int?
        /// Changes when revisions may have been lost.
        public var epoch: String
        /// 0 at creation, +1 per command.
        public var revision: Int
        /// RFC 3339.
        public var created: String
        /// The last commit, RFC 3339.
        public var updated: String
        /// Displayed, in all sections.
        public var totalRowCount: Int
    }

    /// One page.
    public struct SessionPage: Decodable, Sendable, Hashable {
        /// The sessions of this page.
        public var sessions: [SessionSummary]
        /// For `after`; `nil` on the last page.
        public var next: String?
    }

    /// One page, of one table or all.
    public func sessions(of table: String? = nil, limit: Int? = nil, after: String? = nil) async throws -> SessionPage {
        try await value(
            of: Request(
                "GET", ["v1", "sessions"], query: ["table": table, "limit": limit.map { String($0) }, "after": after]))
    }

    /// A handle, without a request: the session may not exist.
    public func session(_ id: String) -> BraidSession { BraidSession(client: self, id: id) }

    /// Opens a session; for the body, see docs/http-api/sessions-and-snapshots.md.
    ///
    /// ```swift
    /// let (party, snapshot) = try await client.openSession(["table": "attendees", "models": models])
    /// let fork = try await client.openSession(["from": ["session": "party", "revision": 12]])
    /// ```
    /// If the answer was lost, repeat the call with the same `key`; the snapshot is that of now. Throws ``Problem`` 422
    /// (invalid models), 409 `session-exists`, 410 (the journal does not reach back).
    public func openSession(_ opening: JSON, key: String = UUID().uuidString) async throws -> (
        session: BraidSession, snapshot: Snapshot
    ) {
        let snapshot: Snapshot = try await value(
            of: Request("POST", ["v1", "sessions"], headers: ["Idempotency-Key": key], body: opening))
        return (session(snapshot.session ?? ""), snapshot)
    }

    // MARK: Without a session

    /// Renders a JSON-e template.
    public func render(_ template: JSON, context: JSON = [:]) async throws -> JSON? {
        struct Rendered: Decodable { var result: JSON? }
        return try await value(
            of: Request("POST", ["v1", "render"], body: ["template": template, "context": context]), as: Rendered.self
        ).result
    }

    /// The update between two snapshots, computed by the server.
    public func diff(from: Snapshot, to: Snapshot) async throws -> Update {
        try await value(
            of: Request("POST", ["v1", "diff"], body: ["from": JSON(encoding: from), "to": JSON(encoding: to)]))
    }

    /// Asks once whether the server can serve; throws if not.
    public func checkHealth() async throws {
        _ = try await body(of: exchange(urlRequest(Request("GET", ["readyz"]))))
    }

    // MARK: Requests

    func value<Value: Decodable>(of request: Request, as type: Value.Type = Value.self) async throws -> Value {
        let data = try await data(of: request)
        do {
            return try JSONDecoder().decode(type, from: data)
        } catch {
            throw ConnectionFailure(underlying: error, detail: "The answer does not match the API")
        }
    }

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
            } catch
                where tries <= retrying.count
                && request.isWorthRetrying(after: error, longest: max(retrying.longest, .seconds(30)))
            {
                try await Task.sleep(for: retrying.delay(tries: tries, after: (error as? Problem)?.retryAfter))
                continue
            }
            return try body(of: answer)
        }
    }

    /// Another content type may be a network's log-in page.
    private func body(of answer: (head: HTTPURLResponse, body: Data)) throws -> Data {
        guard answer.head.statusCode == 204 || answer.head.mimeType?.lowercased().hasPrefix("application/") == true
        else {
            throw ConnectionFailure(detail: "The answer does not match the API")
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
            throw Problem(
                status: head.statusCode, body: body, retryAfter: head.value(forHTTPHeaderField: "Retry-After"))
        }
        return (head, body)
    }

    /// The head, and the body as it arrives. After a 401, tries another token of the provider.
    func open(_ request: URLRequest) async throws -> (HTTPURLResponse, AsyncThrowingStream<Transport.Part, any Error>) {
        let token = try await tokens.token()
        let answer = try await open(request, token: token.value)
        guard answer.0.statusCode == 401 else { return answer }
        let other = try await tokens.token(after: token)
        return other.value == token.value ? answer : try await open(request, token: other.value)
    }

    private func open(_ request: URLRequest, token: String?) async throws -> (
        HTTPURLResponse, AsyncThrowingStream<Transport.Part, any Error>
    ) {
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

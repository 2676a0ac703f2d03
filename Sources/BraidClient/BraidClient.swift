import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A client of a Braid server: docs/clients.md is its guide.
///
/// A request is sent again if the connection failed or the server was overloaded; an idempotency key keeps a command
/// from being applied twice. A refusal is thrown as a ``Problem``.
///
/// ```swift
/// let client = BraidClient(url: url, token: token)
/// let party = client.session("party")
/// for try await event in party.subscribe() { … }
/// ```
public struct BraidClient: Sendable {
    /// May contain a path, such as `https://example.com/braid`.
    public let url: URL
    /// Without a byte for so long, a connection is dropped. Longer than 15 seconds, the interval of keep-alives on a
    /// stream; a long poll's waiting time is added.
    public let timeout: Duration
    /// How often, and after which delays, a request is sent again.
    public let retrying: Retrying
    private let tokens: TokenSource
    private let transport = Transport()
    let commands = CommandQueue()

    /// Exponential backoff with full jitter: a random delay up to a bound that doubles with each attempt, plus the
    /// server's `Retry-After`.
    public struct Retrying: Sendable, Hashable {
        /// How often a failed request is sent again. Streams have no such limit.
        public var count: Int
        /// The bound of the first delay. For streams the server can set it; it is one second otherwise.
        public var first: Duration
        /// The bound of every delay. If the server asks for a pause longer than this and than 30 seconds, the request
        /// fails; a stream waits.
        public var longest: Duration

        /// Creates a rule.
        public init(count: Int = 6, first: Duration = .milliseconds(500), longest: Duration = .seconds(30)) {
            self.count = count
            self.first = first
            self.longest = longest
        }

        /// - Parameters:
        ///   - tries: the attempts so far, from 1.
        ///   - least: the pause that the server asked for.
        ///   - first: in place of the property.
        func delay(tries: Int, after least: Duration? = nil, first: Duration? = nil) -> Duration {
            let grown = (first ?? self.first) * Double(1 << min(tries - 1, 20))
            return (least ?? .zero) + min(longest, grown) * Double.random(in: 0...1)
        }
    }

    /// Creates a client with a fixed token, or with `nil` for a server without tokens.
    public init(url: URL, token: String? = nil, timeout: Duration = .seconds(40), retrying: Retrying = Retrying()) {
        self.init(url: url, timeout: timeout, retrying: retrying) { _ in token }
    }

    /// Creates a client that asks for a token, and for another when the server refuses it.
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
        /// Grows with each change.
        public var version: Int
        /// The last change, in RFC 3339.
        public var updated: String?
    }

    /// Returns the registered table descriptions, without their texts.
    public func tables() async throws -> [TableSummary] {
        struct List: Decodable { var tables: [TableSummary] }
        return try await value(of: Request("GET", ["v1", "tables"]), as: List.self).tables
    }

    /// Returns a table description as it was registered.
    ///
    /// - Parameter version: `nil` for the latest.
    /// - Throws: ``Problem`` 404 if there is no such table or version.
    public func table(_ name: String, version: Int? = nil) async throws -> JSON {
        try await value(
            of: Request("GET", ["v1", "tables", name] + (version.map { ["versions", String($0)] } ?? [])))
    }

    /// One stored version of a table description.
    public struct TableVersion: Decodable, Sendable, Hashable {
        /// 1, 2, 3, …
        public var version: Int
        /// When it was registered, in RFC 3339.
        public var updated: String
    }

    /// Returns the stored versions of a table description, the oldest first.
    ///
    /// - Throws: ``Problem`` 404 if there is no such table.
    public func versions(ofTable name: String) async throws -> [TableVersion] {
        struct List: Decodable { var versions: [TableVersion] }
        return try await value(of: Request("GET", ["v1", "tables", name, "versions"]), as: List.self).versions
    }

    /// Registers or replaces a table description. Open sessions keep their version.
    ///
    /// - Parameters:
    ///   - name: the description's member `table`.
    ///   - description: see docs/table-description.md.
    ///   - onlyIfNew: whether an existing description makes the server refuse with 412 `etag-mismatch`.
    /// - Throws: ``Problem`` 422 whose `errors` name up to a hundred faults.
    @discardableResult
    public func putTable(_ name: String, _ description: JSON, onlyIfNew: Bool = false) async throws -> TableSummary {
        try await value(
            of: Request(
                "PUT", ["v1", "tables", name], headers: onlyIfNew ? ["If-None-Match": "*"] : [:], body: description))
    }

    /// Deletes a table description.
    ///
    /// - Throws: ``Problem`` 409 `table-in-use` if open sessions use it.
    public func deleteTable(_ name: String) async throws {
        _ = try await data(of: Request("DELETE", ["v1", "tables", name], isDeletion: true))
    }

    /// Checks a table description without storing it, and returns warnings about probable mistakes.
    ///
    /// - Throws: ``Problem`` 422 whose `errors` name up to a hundred faults.
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
        /// `nil` if the session was opened without a description.
        public var table: String?
        /// `nil` without a description, or with one that is not registered.
        public var tableVersion: Int?
        /// An opaque word that changes when the server may have lost revisions.
        public var epoch: String
        /// 0 at creation, one more for each committed command.
        public var revision: Int
        /// In RFC 3339.
        public var created: String
        /// The last commit, in RFC 3339.
        public var updated: String
        /// The displayed rows of all sections.
        public var totalRowCount: Int
    }

    /// One page of a list of sessions.
    public struct SessionPage: Decodable, Sendable, Hashable {
        /// The sessions of this page.
        public var sessions: [SessionSummary]
        /// `after` for the next page; `nil` on the last.
        public var next: String?
    }

    /// Returns one page of the server's sessions.
    ///
    /// - Parameters:
    ///   - table: only the sessions of this table.
    ///   - limit: `nil` for the server's default.
    ///   - after: the previous page's `next`.
    public func sessions(of table: String? = nil, limit: Int? = nil, after: String? = nil) async throws -> SessionPage {
        try await value(
            of: Request(
                "GET", ["v1", "sessions"], query: ["table": table, "limit": limit.map { String($0) }, "after": after]))
    }

    /// Returns a handle, without a request: the session may not exist.
    public func session(_ id: String) -> BraidSession { BraidSession(client: self, id: id) }

    /// Opens a session.
    ///
    /// - Parameters:
    ///   - opening: the request's body, such as `["table": "attendees", "models": …]`, or `["from": ["session":
    ///     "party", "revision": 12]]` for a fork. See docs/http-api/sessions-and-snapshots.md.
    ///   - key: the idempotency key, with which a call whose answer was lost can be repeated.
    /// - Returns: a handle, and the snapshot of now, also after a repeat.
    /// - Throws: ``Problem`` 422 if a model is invalid, 409 `session-exists` if the id is taken, 410
    ///   `revision-not-available` if the other session's journal does not reach back to the revision.
    public func openSession(_ opening: JSON, key: String = UUID().uuidString) async throws -> (
        session: BraidSession, snapshot: Snapshot
    ) {
        let snapshot: Snapshot = try await value(
            of: Request("POST", ["v1", "sessions"], headers: ["Idempotency-Key": key], body: opening))
        return (session(snapshot.session ?? ""), snapshot)
    }

    // MARK: Without a session

    /// Renders a JSON-e template on the server.
    public func render(_ template: JSON, context: JSON = [:]) async throws -> JSON? {
        struct Rendered: Decodable { var result: JSON? }
        return try await value(
            of: Request("POST", ["v1", "render"], body: ["template": template, "context": context]), as: Rendered.self
        ).result
    }

    /// Asks the server for the update from one snapshot to another.
    public func diff(from: Snapshot, to: Snapshot) async throws -> Update {
        try await value(
            of: Request("POST", ["v1", "diff"], body: ["from": JSON(encoding: from), "to": JSON(encoding: to)]))
    }

    /// Asks, once, whether the server can serve.
    ///
    /// - Throws: ``Problem`` if it cannot, ``ConnectionFailure`` if no valid answer arrived.
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

    /// Repeats the request after temporary failures, as often as `retrying` allows.
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

    /// Throws for a content type that the API does not use, such as that of a network's log-in page.
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

    /// Returns the head, and the body as it arrives. If the token is refused and the provider has another, asks once
    /// more.
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

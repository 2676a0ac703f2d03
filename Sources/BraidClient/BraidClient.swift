import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A client of a Braid server. docs/clients.md explains its use, and docs/http-api the server's API.
///
/// The client normally sends a request again if the connection failed or the server was overloaded. Commands carry an
/// idempotency key, so that the server does not apply a repeated command twice. If the server refuses a request, the
/// client throws a ``Problem``.
public struct BraidClient: Sendable {
    /// The server's base URL. It may contain a path, such as `https://example.com/braid`.
    public let url: URL
    /// The time without any received byte after which the client drops an HTTP connection. The timeout must be longer
    /// than 15 seconds, the interval at which the server sends keep-alives on a stream. For a
    /// long poll, the client adds the poll's waiting time to the timeout.
    public let timeout: Duration
    /// The rule for how often, and after which delays, the client sends a request again.
    public let retrying: Retrying
    private let tokens: TokenSource
    private let transport = Transport()
    let commands = CommandQueue()

    /// The rule for sending a request again: exponential backoff with full jitter.
    ///
    /// Each delay is random, between 0 and a bound that doubles with each attempt, up to ``longest``. A `Retry-After`
    /// of the server is added to the random delay.
    public struct Retrying: Sendable, Hashable {
        /// The largest number of times that the client sends a failed request again. For streams of events, there is no
        /// such limit.
        public var count: Int
        /// The upper bound of the first random delay. For streams of events, the server can set this bound; it is one
        /// second otherwise.
        public var first: Duration
        /// The upper bound of every random delay. The bound of a single delay doubles only up to this value.
        ///
        /// If the server asks for a pause that is longer than this bound and longer than 30 seconds, the client does
        /// not send the request again. The client repeats the request for a stream of events after any pause.
        public var longest: Duration

        /// Creates a rule for how often, and after which delays, the client sends a request again.
        public init(count: Int = 6, first: Duration = .milliseconds(500), longest: Duration = .seconds(30)) {
            self.count = count
            self.first = first
            self.longest = longest
        }

        /// Returns the delay before the next attempt to send a request.
        ///
        /// - Parameters:
        ///   - tries: the number of attempts so far, from 1.
        ///   - least: the pause that the server asked for.
        ///   - first: the upper bound of the first random delay. `nil` for the value of the property ``first``.
        func delay(tries: Int, after least: Duration? = nil, first: Duration? = nil) -> Duration {
            let grown = (first ?? self.first) * Double(1 << min(tries - 1, 20))
            return (least ?? .zero) + min(longest, grown) * Double.random(in: 0...1)
        }
    }

    /// Creates a client with a fixed token: the controller's token, or a token for one session. The token is `nil` for
    /// a server without tokens.
    public init(url: URL, token: String? = nil, timeout: Duration = .seconds(40), retrying: Retrying = Retrying()) {
        self.init(url: url, timeout: timeout, retrying: retrying) { _ in token }
    }

    /// Creates a client that gets its token from a provider. When the server refuses the token, the client asks the
    /// provider for another token.
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

    /// The server's summary of a registered table description.
    public struct TableSummary: Decodable, Sendable, Hashable {
        /// The table's name.
        public var table: String
        /// The number of the description's version, which grows with each change.
        public var version: Int
        /// The time of the table description's last change, in RFC 3339.
        public var updated: String?
    }

    /// Returns a summary of each registered table description. The summaries do not contain the descriptions
    /// themselves.
    public func tables() async throws -> [TableSummary] {
        struct List: Decodable { var tables: [TableSummary] }
        return try await value(of: Request("GET", ["v1", "tables"]), as: List.self).tables
    }

    /// Returns the table description with this name, as it was registered.
    ///
    /// - Parameter version: the version. `nil` for the latest one.
    /// - Throws: ``Problem`` 404 if there is no such table or version.
    public func table(_ name: String, version: Int? = nil) async throws -> JSON {
        try await value(
            of: Request("GET", ["v1", "tables", name] + (version.map { ["versions", String($0)] } ?? [])))
    }

    /// One stored version of a table description.
    public struct TableVersion: Decodable, Sendable, Hashable {
        /// The version's number: 1, 2, 3, …
        public var version: Int
        /// The time at which the version was registered, in RFC 3339.
        public var updated: String
    }

    /// Returns all versions of a table description that the server stores, the oldest version first.
    ///
    /// - Throws: ``Problem`` 404 if there is no such table.
    public func versions(ofTable name: String) async throws -> [TableVersion] {
        struct List: Decodable { var versions: [TableVersion] }
        return try await value(of: Request("GET", ["v1", "tables", name, "versions"]), as: List.self).versions
    }

    /// Registers a table description, or replaces it. Open sessions keep the version of the description that they use.
    ///
    /// - Parameters:
    ///   - name: the table's name, which must be the description's member `table`.
    ///   - description: the document. docs/table-description.md says what it contains.
    ///   - onlyIfNew: whether the server must refuse the request if a description with this name exists.
    /// - Throws: ``Problem`` 422 whose `errors` name up to a hundred faults. 412 `etag-mismatch` if `onlyIfNew` is true
    ///   and a description with this name exists.
    @discardableResult
    public func putTable(_ name: String, _ description: JSON, onlyIfNew: Bool = false) async throws -> TableSummary {
        try await value(
            of: Request(
                "PUT", ["v1", "tables", name], headers: onlyIfNew ? ["If-None-Match": "*"] : [:], body: description))
    }

    /// Deletes the table description with this name from the server.
    ///
    /// - Throws: ``Problem`` 409 `table-in-use` if open sessions use the table description.
    public func deleteTable(_ name: String) async throws {
        _ = try await data(of: Request("DELETE", ["v1", "tables", name], isDeletion: true))
    }

    /// Checks a table description without storing it.
    ///
    /// - Returns: the warnings: allowed parts of the description that are probably mistakes.
    /// - Throws: ``Problem`` 422 whose `errors` name up to a hundred faults.
    @discardableResult
    public func validate(_ description: JSON) async throws -> [Problem.Fault] {
        struct Answer: Decodable { var warnings: [Problem.Fault]? }
        return try await value(of: Request("POST", ["v1", "tables", "validate"], body: description), as: Answer.self)
            .warnings ?? []
    }

    // MARK: Sessions

    /// The server's summary of a session.
    public struct SessionSummary: Decodable, Sendable, Hashable {
        /// The session's id.
        public var id: String
        /// The name of the session's table description. `nil` if the session was opened without a description.
        public var table: String?
        /// The version of the session's registered table description. `nil` if the session has no description, or a
        /// description that is not registered.
        public var tableVersion: Int?
        /// The session's epoch: an opaque word that changes, for example, when the server may have lost revisions.
        public var epoch: String
        /// The session's revision: 0 at creation, one more for each committed command.
        public var revision: Int
        /// The time of the session's creation, in RFC 3339.
        public var created: String
        /// The time of the session's last commit, in RFC 3339.
        public var updated: String
        /// The number of displayed rows in all of the session's sections.
        public var totalRowCount: Int
    }

    /// One page of a list of sessions.
    public struct SessionPage: Decodable, Sendable, Hashable {
        /// The sessions of this page.
        public var sessions: [SessionSummary]
        /// The argument `after` of the call that returns the next page. `nil` on the last page.
        public var next: String?
    }

    /// Returns one page of the server's sessions.
    ///
    /// - Parameters:
    ///   - table: the name of the sessions' table description. `nil` for the sessions of all tables.
    ///   - limit: the largest number of sessions on the page. `nil` for the server's default.
    ///   - after: the `next` of the previous page of sessions.
    public func sessions(of table: String? = nil, limit: Int? = nil, after: String? = nil) async throws -> SessionPage {
        try await value(
            of: Request(
                "GET", ["v1", "sessions"], query: ["table": table, "limit": limit.map { String($0) }, "after": after]))
    }

    /// Returns a handle for the session with this id, without sending a request. The method does not check whether the
    /// session exists.
    public func session(_ id: String) -> BraidSession { BraidSession(client: self, id: id) }

    /// Opens a session.
    ///
    /// - Parameters:
    ///   - opening: the body of the request, such as `["table": "attendees", "models": …]`, or
    ///     `["from": ["session": "party", "revision": 12]]` for a fork of another session. See
    ///     docs/http-api/sessions-and-snapshots.md.
    ///   - key: the idempotency key. A program that keeps the key can repeat a call whose answer was lost.
    /// - Returns: a handle for the session, and the session's snapshot. If the request was repeated, this is the
    ///   snapshot at the time of the repeat.
    /// - Throws: ``Problem`` 422 if a model is invalid, 409 `session-exists` if the chosen id is taken, and 410
    ///   `revision-not-available` if the other session's journal does not reach back to the revision.
    public func openSession(_ opening: JSON, key: String = UUID().uuidString) async throws -> (
        session: BraidSession, snapshot: Snapshot
    ) {
        let snapshot: Snapshot = try await value(
            of: Request("POST", ["v1", "sessions"], headers: ["Idempotency-Key": key], body: opening))
        return (session(snapshot.session ?? ""), snapshot)
    }

    // MARK: Without a session

    /// Renders a JSON-e template on the server, for example to try out a template for a table description.
    public func render(_ template: JSON, context: JSON = [:]) async throws -> JSON? {
        struct Rendered: Decodable { var result: JSON? }
        return try await value(
            of: Request("POST", ["v1", "render"], body: ["template": template, "context": context]), as: Rendered.self
        ).result
    }

    /// Asks the server for the minimal update from one snapshot to another.
    public func diff(from: Snapshot, to: Snapshot) async throws -> Update {
        try await value(
            of: Request("POST", ["v1", "diff"], body: ["from": JSON(encoding: from), "to": JSON(encoding: to)]))
    }

    /// Asks the server whether it can serve requests. If this request fails, the client does not send it again.
    ///
    /// - Throws: ``Problem`` if the server cannot serve, and ``ConnectionFailure`` if no valid answer arrived.
    public func checkHealth() async throws {
        _ = try await body(of: exchange(urlRequest(Request("GET", ["readyz"]))))
    }

    // MARK: Requests

    /// Sends a request, and returns the body of the answer, decoded from JSON.
    func value<Value: Decodable>(of request: Request, as type: Value.Type = Value.self) async throws -> Value {
        let data = try await data(of: request)
        do {
            return try JSONDecoder().decode(type, from: data)
        } catch {
            throw ConnectionFailure(underlying: error, detail: "The answer does not match the API")
        }
    }

    /// Sends a request, and returns the body of the answer. After a temporary failure, sends the request again as often
    /// as `retrying` allows.
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

    /// Returns the body of an answer. Throws for a content type that the API does not use: for example, the answer may
    /// be a log-in page of the network.
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

    /// Sends a request, and returns the head of the answer and the body as it arrives. If the server refuses the token
    /// and the provider has another token, sends the request once more.
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

import Foundation

/// A handle for a session: one live instance of a table.
///
/// ```swift
/// let party = client.session("party")
/// let snapshot = try await party.snapshot()
/// try await party.perform(.delete(.id("kim")), base: snapshot.position)
/// ```
public struct BraidSession: Sendable {
    /// Sends the requests.
    public let client: BraidClient
    /// The session's id.
    public let id: String

    private func request(_ method: String, _ path: String..., query: [String: String?] = [:], wait: Duration = .zero)
        -> Request
    {
        Request(method, ["v1", "sessions", id] + path, query: query, wait: wait)
    }

    // MARK: Reading

    /// As in a list of sessions. Throws ``Problem`` 404 if there is no session, as all methods do.
    public func summary() async throws -> BraidClient.SessionSummary { try await client.value(of: request("GET")) }

    /// The whole table or a window, now or at an earlier position.
    ///
    /// - Throws: ``Problem`` 404 (no such section, or the anchor is not displayed), 409 `ambiguous-row` (several
    ///   sections display it), 410 (beyond the journal, or another epoch).
    public func snapshot(window: TableWindow? = nil, at position: Position? = nil) async throws -> Snapshot {
        var query = window?.parameters ?? [:]
        query["at"] = position?.description
        return try await client.value(of: request("GET", "snapshot", query: query))
    }

    /// What changed since a position.
    public enum News: Sendable, Hashable {
        /// One per revision; at most one if coalesced or of a window. `to` is for the next call.
        case updates([Update], to: Position)
        /// Instead of updates beyond the journal or of another epoch.
        case snapshot(Snapshot)
    }

    /// What changed since your snapshot's `position`.
    ///
    /// - Parameters:
    ///   - position: your snapshot's.
    ///   - wait: for a change; whole seconds, at most 60.
    ///   - coalesced: one update for all revisions.
    ///   - window: `nil` for the whole table. After a new anchor, that of ``Snapshot/window``.
    ///   - old: your snapshot's window, if another; the update leads to the new one.
    public func updates(
        since position: Position, waiting wait: Duration = .zero, coalesced: Bool = false, window: TableWindow? = nil,
        from old: TableWindow? = nil
    ) async throws -> News {
        struct List: Decodable {
            var to: Int?
            var updates: [Update]?
            var snapshot: Snapshot?
        }
        var query = window?.parameters ?? [:]
        query["since"] = position.description
        if wait > .zero { query["wait"] = String(wait.components.seconds) }
        if coalesced { query["coalesce"] = "true" }
        if let old { query["from"] = old.query }
        let list: List = try await client.value(of: request("GET", "updates", query: query, wait: wait))
        if let snapshot = list.snapshot { return .snapshot(snapshot) }
        return .updates(
            list.updates ?? [], to: Position(epoch: position.epoch, revision: list.to ?? position.revision))
    }

    /// The session's description. Throws ``Problem`` 404 if it has none.
    public func table() async throws -> JSON { try await client.value(of: request("GET", "table")) }

    /// A command and its update.
    public struct JournalRecord: Decodable, Sendable, Hashable {
        /// After the command.
        public var revision: Int
        /// The commit, RFC 3339.
        public var at: String
        /// Its JSON form.
        public var command: JSON
        /// Its effect.
        public var update: Update
        /// `nil` for a controller without a user.
        public var by: User?
    }

    /// One page.
    public struct JournalPage: Decodable, Sendable, Hashable {
        /// In order.
        public var records: [JournalRecord]
        /// For `after`; `nil` on the last page.
        public var next: Int?
    }

    /// One page of the journal.
    public func journal(after revision: Int = 0, limit: Int? = nil) async throws -> JournalPage {
        try await client.value(
            of: request("GET", "journal", query: ["after": String(revision), "limit": limit.map { String($0) }]))
    }

    /// The whole journal as lines of JSON, for `braid-server replay`.
    public func journalFile() async throws -> Data {
        var request = request("GET", "journal")
        request.headers["Accept"] = "application/x-ndjson"
        return try await client.data(of: request)
    }

    /// The stored model, unpublished changes included; without one, the view model or `null`.
    public func model(at path: RowPath) async throws -> JSON {
        struct Stored: Decodable { var model: JSON }
        return try await client.value(of: request("GET", "rows", "\(path.section)", "\(path.row)"), as: Stored.self)
            .model
    }

    /// The stored model, unpublished changes included.
    public func row(_ id: String, inSection section: String) async throws -> JSON {
        try await client.value(of: request("GET", "sections", section, "rows", id))
    }

    /// The stored header and footer, unpublished changes included.
    public func sectionData(at section: Int) async throws -> JSON {
        try await client.value(of: request("GET", "sections", "\(section)", "data"))
    }

    // MARK: Commanding

    /// Performs a command once, however often its request is sent.
    ///
    /// ```swift
    /// try await party.perform(.move(.id("kim"), to: .row(0, in: "attending")))
    /// ```
    /// A session's commands go out one after the other, in the order of the calls. Calls on one actor have an order;
    /// concurrent tasks have none. One that is cancelled while it waits is never sent.
    ///
    /// - Parameters:
    ///   - command: what to do.
    ///   - base: what index paths refer to, for the server to rebase; `nil` for now.
    ///   - ifMatch: where the session must be, or 412.
    ///   - dryRun: only computes the answer.
    ///   - key: repeat a command with its key after a ``ConnectionFailure``.
    ///   - isolation: the actor on which the command takes its place in the order at once.
    /// - Throws: ``Problem`` if refused: nothing changed. After 408, 429, 502, 503, 504, `idempotency-key-in-use` and
    ///   ``ConnectionFailure``, it may have been applied.
    @discardableResult
    public func perform(
        _ command: SessionCommand, base: Position? = nil, ifMatch: Position? = nil, dryRun: Bool = false,
        key: String = UUID().uuidString,
        isolation: isolated (any Actor)? = #isolation
    ) async throws -> Answer {
        // Before anything is awaited: the order is then that of the calls.
        let place = client.commands.enter(id)
        defer { client.commands.leave(place) }
        var query: [String: String?] = command.query.mapValues { $0 }
        query["base"] = .some(base?.description)
        if dryRun { query["dryRun"] = "true" }
        var headers = dryRun ? [:] : ["Idempotency-Key": key]
        headers["If-Match"] = ifMatch.map { "\"\($0)\"" }
        try await client.commands.wait(at: place)
        return try await client.value(
            of: Request(
                command.method, ["v1", "sessions", id] + command.path, query: query, headers: headers,
                body: command.body))
    }

    /// Ends the session, after the commands called before, and deletes its data.
    public func end(isolation: isolated (any Actor)? = #isolation) async throws {
        let place = client.commands.enter(id)
        defer { client.commands.leave(place) }
        try await client.commands.wait(at: place)
        _ = try await client.data(of: Request("DELETE", ["v1", "sessions", id], isDeletion: true))
    }

    // MARK: Tokens

    /// `participant` acts at the table, `viewer` only looks. No session's token is a `controller`'s.
    public enum Role: String, Codable, Sendable { case controller, participant, viewer }

    /// Whose a token is, and who acted with it.
    public struct User: Codable, Sendable, Hashable {
        /// In your own system; `nil` for a token without a user.
        public var id: String?
        /// For others to see.
        public var name: String?
        /// `nil` where only the user is told: in updates and of those present.
        public var role: Role?
        /// For handlers; only in the journal.
        public var claims: JSON?

        /// Creates a user.
        public init(id: String? = nil, name: String? = nil, role: Role? = nil, claims: JSON? = nil) {
            self.id = id
            self.name = name
            self.role = role
            self.claims = claims
        }
    }

    /// A token for one session.
    public struct Token: Decodable, Sendable, Hashable {
        /// Secret: only ``BraidSession/makeToken(_:expiringIn:user:name:claims:)`` returns it.
        public var token: String?
        /// Not secret.
        public var tokenId: String
        /// What it allows.
        public var role: Role
        /// The user's id.
        public var user: String?
        /// The user's, for others to see.
        public var name: String?
        /// For handlers.
        public var claims: JSON?
        /// RFC 3339.
        public var created: String
        /// RFC 3339.
        public var expires: String
    }

    /// Creates a token for at most ten years. `user`, `name` and `claims` say whose it is. Not sent again if the answer
    /// is lost.
    public func makeToken(
        _ role: Role, expiringIn seconds: Int, user: String? = nil, name: String? = nil, claims: JSON? = nil
    ) async throws -> Token {
        var body: [String: JSON] = ["role": .string(role.rawValue), "expiresIn": .integer(seconds)]
        body["user"] = user.map { .string($0) }
        body["name"] = name.map { .string($0) }
        body["claims"] = claims
        // Repeated, it could create a second token.
        return try await client.value(
            of: Request("POST", ["v1", "sessions", id, "tokens"], body: .object(body), isRepeatable: false))
    }

    /// One page.
    public struct TokenPage: Decodable, Sendable, Hashable {
        /// Without secrets, without expired ones.
        public var tokens: [Token]
        /// For `after`; `nil` on the last page.
        public var next: String?
    }

    /// One page of the tokens.
    public func tokens(limit: Int? = nil, after: String? = nil) async throws -> TokenPage {
        try await client.value(
            of: request("GET", "tokens", query: ["limit": limit.map { String($0) }, "after": after]))
    }

    /// Revokes a token; its streams and long polls end.
    public func revokeToken(_ tokenID: String) async throws {
        _ = try await client.data(of: Request("DELETE", ["v1", "sessions", id, "tokens", tokenID], isDeletion: true))
    }
}

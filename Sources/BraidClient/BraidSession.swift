import Foundation

/// A handle for a session: one live instance of a table.
public struct BraidSession: Sendable {
    /// Sends the session's requests.
    public let client: BraidClient
    /// The session's id.
    public let id: String

    private func request(_ method: String, _ path: String..., query: [String: String?] = [:], wait: Duration = .zero)
        -> Request
    {
        Request(method, ["v1", "sessions", id] + path, query: query, wait: wait)
    }

    // MARK: Reading

    /// Returns the server's summary of the session.
    ///
    /// - Throws: ``Problem`` 404 if the session does not exist, like all methods that ask for it.
    public func summary() async throws -> BraidClient.SessionSummary { try await client.value(of: request("GET")) }

    /// Returns a snapshot of the whole table or of a window.
    ///
    /// - Parameter position: of an earlier snapshot; `nil` for the current one.
    /// - Throws: ``Problem`` 404 `section-not-found` or `row-not-found` if the window's section does not exist or its
    ///   anchor is not displayed. 409 `ambiguous-row` if the window names no section, and several display the anchor.
    ///   410 `revision-not-available` if the journal does not reach back to the position, or its epoch is another.
    public func snapshot(window: TableWindow? = nil, at position: Position? = nil) async throws -> Snapshot {
        var query = window?.parameters ?? [:]
        query["at"] = position?.description
        return try await client.value(of: request("GET", "snapshot", query: query))
    }

    /// What has changed since a position.
    public enum News: Sendable, Hashable {
        /// One update for each revision, without a gap; at most one if coalesced or of a window. `to` is the position
        /// for the next call.
        case updates([Update], to: Position)
        /// In place of updates that the server does not have, because the journal does not reach back or the epoch is
        /// another.
        case snapshot(Snapshot)
    }

    /// Returns what has changed since a position.
    ///
    /// - Parameters:
    ///   - position: of the snapshot that the caller has.
    ///   - wait: how long the server waits for a change, at most one minute, in whole seconds.
    ///   - coalesced: whether all updates become one.
    ///   - window: `nil` for the whole table. Once its anchor has changed, use that of ``Snapshot/window``.
    ///   - old: the window of the caller's snapshot, if it is another: one update then leads to the new window.
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

    /// Returns the session's table description.
    ///
    /// - Throws: ``Problem`` 404 if it was opened without one.
    public func table() async throws -> JSON { try await client.value(of: request("GET", "table")) }

    /// A command, and the update that it led to.
    public struct JournalRecord: Decodable, Sendable, Hashable {
        /// After the command.
        public var revision: Int
        /// The commit, in RFC 3339.
        public var at: String
        /// In its JSON form.
        public var command: JSON
        /// What the command led to.
        public var update: Update
    }

    /// One page of a journal.
    public struct JournalPage: Decodable, Sendable, Hashable {
        /// In order.
        public var records: [JournalRecord]
        /// `after` for the next page; `nil` on the last.
        public var next: Int?
    }

    /// Returns one page of the session's journal.
    ///
    /// - Parameters:
    ///   - revision: the page begins after it.
    ///   - limit: `nil` for the server's default.
    public func journal(after revision: Int = 0, limit: Int? = nil) async throws -> JournalPage {
        try await client.value(
            of: request("GET", "journal", query: ["after": String(revision), "limit": limit.map { String($0) }]))
    }

    /// Returns the whole journal as lines of JSON, for `braid-server replay`.
    public func journalFile() async throws -> Data {
        var request = request("GET", "journal")
        request.headers["Accept"] = "application/x-ndjson"
        return try await client.data(of: request)
    }

    /// Returns the model of a row of the stored table, unpublished changes included; for a row without a model, its
    /// view model or `null`.
    ///
    /// - Parameter path: counts displayed sections and rows.
    /// - Throws: ``Problem`` 404 `section-not-found` or `row-not-found`.
    public func model(at path: RowPath) async throws -> JSON {
        struct Stored: Decodable { var model: JSON }
        return try await client.value(of: request("GET", "rows", "\(path.section)", "\(path.row)"), as: Stored.self)
            .model
    }

    /// Returns the model of a row of the stored table, unpublished changes included.
    ///
    /// - Throws: ``Problem`` 404 `section-not-found` or `row-not-found`.
    public func row(_ id: String, inSection section: String) async throws -> JSON {
        try await client.value(of: request("GET", "sections", section, "rows", id))
    }

    /// Returns the header and footer of a section of the stored table, unpublished changes included.
    ///
    /// - Parameter section: counts displayed sections.
    /// - Throws: ``Problem`` 404 `section-not-found`.
    public func sectionData(at section: Int) async throws -> JSON {
        try await client.value(of: request("GET", "sections", "\(section)", "data"))
    }

    // MARK: Commanding

    /// Performs a command, at most once even if its request is repeated.
    ///
    /// A session's commands are sent in the order of the calls, each after the answers to those before it. Calls on one
    /// actor have an order; concurrent tasks without a common actor have none. A command that is cancelled while it
    /// waits is never sent.
    ///
    /// - Parameters:
    ///   - base: the revision to which the command's index paths refer; the server rebases them. `nil` for the current
    ///     one.
    ///   - ifMatch: the position that the session must have, with its epoch; otherwise 412.
    ///   - dryRun: whether the server only computes the answer.
    ///   - key: the idempotency key, with which a command that threw ``ConnectionFailure`` can be repeated.
    ///   - isolation: the caller's actor, on which the command takes its place before other code runs.
    /// - Throws: ``Problem`` if the server refuses the command, which then changed nothing; but with status 408, 429,
    ///   502, 503 or 504, or `idempotency-key-in-use`, an earlier attempt may have applied it. ``ConnectionFailure`` if
    ///   no complete answer arrived: the command may have been applied.
    @discardableResult
    public func perform(
        _ command: SessionCommand, base: Position? = nil, ifMatch: Position? = nil, dryRun: Bool = false,
        key: String = UUID().uuidString,
        isolation: isolated (any Actor)? = #isolation
    ) async throws -> Answer {
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

    /// Ends the session and deletes its data, after the commands that were called before.
    public func end(isolation: isolated (any Actor)? = #isolation) async throws {
        let place = client.commands.enter(id)
        defer { client.commands.leave(place) }
        try await client.commands.wait(at: place)
        _ = try await client.data(of: Request("DELETE", ["v1", "sessions", id], isDeletion: true))
    }

    // MARK: Tokens

    /// `participant` may act as the person at the table, `viewer` may only look.
    public enum Role: String, Codable, Sendable { case participant, viewer }

    /// A token for one session.
    public struct Token: Decodable, Sendable, Hashable {
        /// The secret, only in the answer to ``BraidSession/makeToken(_:expiringIn:)``: the server does not store it.
        public var token: String?
        /// Not secret.
        public var tokenId: String
        /// What the token allows.
        public var role: Role
        /// In RFC 3339.
        public var created: String
        /// In RFC 3339.
        public var expires: String
    }

    /// Creates a token for this session. If the answer is lost, the request is not repeated, which would create a
    /// second token.
    ///
    /// - Parameter seconds: at most ten years.
    public func makeToken(_ role: Role, expiringIn seconds: Int) async throws -> Token {
        let body: JSON = ["role": .string(role.rawValue), "expiresIn": .integer(seconds)]
        // Repeated, it could create a second token.
        return try await client.value(
            of: Request("POST", ["v1", "sessions", id, "tokens"], body: body, isRepeatable: false))
    }

    /// One page of a session's tokens.
    public struct TokenPage: Decodable, Sendable, Hashable {
        /// Without their secrets, and without expired ones.
        public var tokens: [Token]
        /// `after` for the next page; `nil` on the last.
        public var next: String?
    }

    /// Returns one page of the session's tokens.
    ///
    /// - Parameters:
    ///   - limit: `nil` for the server's default.
    ///   - after: the previous page's `next`.
    public func tokens(limit: Int? = nil, after: String? = nil) async throws -> TokenPage {
        try await client.value(
            of: request("GET", "tokens", query: ["limit": limit.map { String($0) }, "after": after]))
    }

    /// Revokes a token, and ends its streams and long polls.
    public func revokeToken(_ tokenID: String) async throws {
        _ = try await client.data(of: Request("DELETE", ["v1", "sessions", id, "tokens", tokenID], isDeletion: true))
    }
}

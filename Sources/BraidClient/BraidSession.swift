import Foundation

/// A handle for a session on the server: one live instance of a table. The methods read, change and follow the session.
public struct BraidSession: Sendable {
    /// The client that sends the session's requests.
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
    /// - Throws: ``Problem`` 404 if the session does not exist. The other methods that send a request for the session
    ///   throw this problem, too.
    public func facts() async throws -> BraidClient.SessionSummary { try await client.value(of: request("GET")) }

    /// Returns the session's current or earlier snapshot, either of the whole table or of a window.
    ///
    /// - Parameter position: the position of an earlier snapshot. `nil` for the current one.
    /// - Throws: ``Problem`` 404 `section-not-found` or `row-not-found` if the window's section does not exist or its
    ///   anchor is not displayed. 409 `ambiguous-row` if the window names no section, and several sections display a
    ///   row with the anchor's id. 410 `revision-not-available` if the session's journal does not reach back to the
    ///   position, or the position has another epoch.
    public func snapshot(window: TableWindow? = nil, at position: Position? = nil) async throws -> Snapshot {
        var query = window?.parameters ?? [:]
        query["at"] = position?.description
        return try await client.value(of: request("GET", "snapshot", query: query))
    }

    /// The changes of a session since a position in its history.
    public enum News: Sendable, Hashable {
        /// The updates since the position: one for each revision, without a gap. If the caller asked for coalesced
        /// updates, there is at most one. For a window there is also at most one. `to` is the position up to which
        /// these updates lead, to be passed to the next call.
        case updates([Update], to: Position)
        /// The current snapshot, because the server does not have the updates since the position: for example, the
        /// session's journal does not reach back to the position, or the position has another epoch.
        case snapshot(Snapshot)
    }

    /// Returns the session's changes since a position in its history.
    ///
    /// - Parameters:
    ///   - position: the position of the snapshot that the caller already has.
    ///   - wait: how long the server waits for a change if there is none yet, at most one minute. The server refuses a
    ///     longer time. The duration is rounded down to whole seconds.
    ///   - coalesced: whether the server combines all updates into one.
    ///   - window: the window whose changes the caller wants. `nil` for the whole table. After a change of its anchor,
    ///     use the anchor that the snapshot's ``Snapshot/window`` names.
    ///   - old: the window of the caller's snapshot, if it is not `window`. One update then changes the snapshot of the
    ///     old window into the snapshot of the new one.
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

    /// Returns the table description to which the session is bound.
    ///
    /// - Throws: ``Problem`` 404 if the session was opened without a table description.
    public func table() async throws -> JSON { try await client.value(of: request("GET", "table")) }

    /// One record of a session's journal: a command and the update that it led to.
    public struct JournalRecord: Decodable, Sendable, Hashable {
        /// The session's revision after the command.
        public var revision: Int
        /// The time of the commit, in RFC 3339.
        public var at: String
        /// The command in its JSON form.
        public var command: JSON
        /// The update that the command led to.
        public var update: Update
    }

    /// One page of a session's journal.
    public struct JournalPage: Decodable, Sendable, Hashable {
        /// The records of this page, in order.
        public var records: [JournalRecord]
        /// The argument `after` of the call that returns the next page. `nil` on the last page.
        public var next: Int?
    }

    /// Returns one page of the session's journal.
    ///
    /// - Parameters:
    ///   - revision: the page starts with the record after this revision.
    ///   - limit: the largest number of records. `nil` for the server's default.
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

    /// Returns the model of the row at an index path of the stored table, which includes changes that are not published
    /// yet. For a row without a model, returns its view model or `null`.
    ///
    /// - Parameter path: the index path, which counts the displayed sections and rows of the stored table.
    /// - Throws: ``Problem`` 404 `section-not-found` or `row-not-found`.
    public func model(at path: RowPath) async throws -> JSON {
        struct Stored: Decodable { var model: JSON }
        return try await client.value(of: request("GET", "rows", "\(path.section)", "\(path.row)"), as: Stored.self)
            .model
    }

    /// Returns the stored model of the row with an id, in the section with an id. The stored table includes changes
    /// that are not published yet.
    ///
    /// - Throws: ``Problem`` 404 `section-not-found` or `row-not-found`.
    public func row(_ id: String, inSection section: String) async throws -> JSON {
        try await client.value(of: request("GET", "sections", section, "rows", id))
    }

    /// Returns the header and footer of the section at an index of the stored table, which includes changes that are
    /// not published yet.
    ///
    /// - Parameter section: the section's index, which counts the displayed sections of the stored table.
    /// - Throws: ``Problem`` 404 `section-not-found`.
    public func sectionData(at section: Int) async throws -> JSON {
        try await client.value(of: request("GET", "sections", "\(section)", "data"))
    }

    // MARK: Commanding

    /// Performs a command. Even if the client sends the command's request several times, the server applies the command
    /// at most once.
    ///
    /// The client sends the commands of a session in the order of the calls. The client sends each command after all
    /// earlier commands were answered or have failed. Calls on one actor have an order. Calls from concurrent tasks
    /// without a common actor have no defined order. A command that is cancelled while it waits for earlier commands is
    /// never sent at all.
    ///
    /// - Parameters:
    ///   - command: the command.
    ///   - base: the revision to which the command's index paths refer. The server rebases the index paths. `nil` means
    ///     the current revision.
    ///   - ifMatch: the position that the session must have, with its epoch. If the session has another position, the
    ///     server answers 412.
    ///   - dryRun: whether the server computes and answers the command, but does not apply it.
    ///   - key: the idempotency key. A program that keeps the key can repeat a command that threw
    ///     ``ConnectionFailure``.
    ///   - isolation: the caller's actor. The command gets its place in the order of commands on this actor, before
    ///     other code can run.
    /// - Returns: the server's answer.
    /// - Throws: ``Problem`` if the server refuses the command, which then changed nothing. But after a ``Problem``
    ///   with status 408, 429, 502, 503 or 504, or `idempotency-key-in-use`, an earlier attempt may have applied the
    ///   command. ``ConnectionFailure`` if no complete answer arrived: the server may have applied the command.
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

    /// Ends the session and deletes its data. The client sends this request after the commands that the program called
    /// earlier.
    public func end(isolation: isolated (any Actor)? = #isolation) async throws {
        let place = client.commands.enter(id)
        defer { client.commands.leave(place) }
        try await client.commands.wait(at: place)
        _ = try await client.data(of: Request("DELETE", ["v1", "sessions", id], isDeletion: true))
    }

    // MARK: Tokens

    /// The role of a token: `participant` may act as the person at the table, `viewer` may only look.
    public enum Role: String, Codable, Sendable { case participant, viewer }

    /// A token for one session.
    public struct Token: Decodable, Sendable, Hashable {
        /// The secret token. Only the answer to ``BraidSession/makeToken(_:expiringIn:)`` contains the secret, which
        /// the server does not store.
        public var token: String?
        /// The token's id, which is not secret.
        public var tokenId: String
        /// What the token allows.
        public var role: Role
        /// The time of the token's creation, in RFC 3339.
        public var created: String
        /// The time of the token's expiry, in RFC 3339.
        public var expires: String
    }

    /// Creates a token for this session alone. If the answer is lost, the client does not send the request again,
    /// because a repeated request would create a second token.
    ///
    /// - Parameters:
    ///   - role: what the token allows.
    ///   - seconds: the token's lifetime, at most ten years.
    public func makeToken(_ role: Role, expiringIn seconds: Int) async throws -> Token {
        let body: JSON = ["role": .string(role.rawValue), "expiresIn": .integer(seconds)]
        // The client does not send this request again, because the server could then create a second token.
        return try await client.value(
            of: Request("POST", ["v1", "sessions", id, "tokens"], body: body, isRepeatable: false))
    }

    /// One page of a session's tokens.
    public struct TokenPage: Decodable, Sendable, Hashable {
        /// The tokens of this page, without their secrets. Expired tokens are left out.
        public var tokens: [Token]
        /// The argument `after` of the call that returns the next page. `nil` on the last page.
        public var next: String?
    }

    /// Returns one page of the session's tokens.
    ///
    /// - Parameters:
    ///   - limit: the largest number of tokens. `nil` for the server's default.
    ///   - after: the `next` of the previous page of tokens.
    public func tokens(limit: Int? = nil, after: String? = nil) async throws -> TokenPage {
        try await client.value(
            of: request("GET", "tokens", query: ["limit": limit.map { String($0) }, "after": after]))
    }

    /// Revokes a token. Streams and long polls that were opened with this token end.
    ///
    /// - Parameter tokenID: the token's id.
    public func revokeToken(_ tokenID: String) async throws {
        _ = try await client.data(of: Request("DELETE", ["v1", "sessions", id, "tokens", tokenID], isDeletion: true))
    }
}

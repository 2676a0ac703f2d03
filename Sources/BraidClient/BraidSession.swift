import Foundation

/// A session: a table at work.
public struct BraidSession: Sendable {
    public let client: BraidClient
    public let id: String

    private func request(_ method: String, _ path: String..., query: [String: String?] = [:], wait: Duration = .zero) -> Request {
        Request(method, ["v1", "sessions", id] + path, query: query, wait: wait)
    }

    // MARK: Reading

    public func facts() async throws -> BraidClient.SessionFacts { try await client.value(of: request("GET")) }
    public func snapshot() async throws -> Snapshot { try await client.value(of: request("GET", "snapshot")) }

    /// Every section's facts, and of one section the rows from an offset.
    public func snapshot(ofSection section: String, offset: Int = 0, limit: Int) async throws -> Snapshot {
        try await client.value(of: request("GET", "snapshot", query: ["section": section, "offset": String(offset), "limit": String(limit)]))
    }

    public enum News: Sendable, Hashable {
        /// One for each revision, without a gap.
        case updates([Update])
        /// History does not reach back.
        case snapshot(Snapshot)
    }

    /// What happened after a position. `wait`: how long to wait for something, a minute at most. `coalesced`: one update for all.
    public func updates(since position: Position, waiting wait: Duration = .zero, coalesced: Bool = false) async throws -> News {
        struct List: Decodable {
            var updates: [Update]?
            var snapshot: Snapshot?
        }
        let query = ["since": position.description, "wait": wait > .zero ? String(wait.components.seconds) : nil, "coalesce": coalesced ? "true" : nil]
        let list: List = try await client.value(of: request("GET", "updates", query: query, wait: wait))
        return list.snapshot.map { .snapshot($0) } ?? .updates(list.updates ?? [])
    }

    public struct JournalRecord: Decodable, Sendable, Hashable {
        public var revision: Int
        public var at: String
        public var command: JSON
        public var update: Update
    }

    public struct JournalPage: Decodable, Sendable, Hashable {
        public var records: [JournalRecord]
        /// The `after` of the next page.
        public var next: Int?
    }

    public func journal(after revision: Int = 0, limit: Int? = nil) async throws -> JournalPage {
        try await client.value(of: request("GET", "journal", query: ["after": String(revision), "limit": limit.map { String($0) }]))
    }

    /// The whole journal as lines of JSON, for `braid-server replay`.
    public func journalFile() async throws -> Data {
        var request = request("GET", "journal")
        request.headers["Accept"] = "application/x-ndjson"
        return try await client.data(of: request)
    }

    /// The stored model of a data source's row.
    public func model(at path: RowPath) async throws -> JSON {
        struct Stored: Decodable { var model: JSON }
        return try await client.value(of: request("GET", "rows", "\(path.section)", "\(path.row)"), as: Stored.self).model
    }

    /// The stored header and footer of a data source's section.
    public func sectionData(at section: Int) async throws -> JSON {
        try await client.value(of: request("GET", "sections", "\(section)", "data"))
    }

    // MARK: Commanding

    /// Performs a command: once, however often its request has to be sent.
    ///
    /// Commands of one session are sent in the order in which they were called, each after those before it are answered or have
    /// failed. Calls on one actor have an order; calls from tasks that run at the same time have none. A cancelled command that
    /// still waits is never sent.
    ///
    /// - Parameters:
    ///   - base: as of which revision index paths are meant: the server follows the rows to where they are now.
    ///   - ifMatch: only if the session is still there; else 412.
    ///   - dryRun: checks and computes everything, and changes nothing.
    ///   - key: the Idempotency-Key. With a key of its own a program can send a command again that threw a `ConnectionFailure`.
    ///   - isolation: the caller's actor. The command takes its place in the order there, before anything else can run.
    @discardableResult
    public func perform(
        _ command: SessionCommand, base: Position? = nil, ifMatch: Position? = nil, dryRun: Bool = false, key: String = UUID().uuidString,
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
        return try await client.value(of: Request(command.method, ["v1", "sessions", id] + command.path, query: query, headers: headers, body: command.body))
    }

    /// Ends the session, after the commands that were called before.
    public func end(isolation: isolated (any Actor)? = #isolation) async throws {
        let place = client.commands.enter(id)
        defer { client.commands.leave(place) }
        try await client.commands.wait(at: place)
        _ = try await client.data(of: Request("DELETE", ["v1", "sessions", id], isDeletion: true))
    }

    // MARK: Tokens

    public enum Role: String, Codable, Sendable { case participant, viewer }

    public struct Token: Decodable, Sendable, Hashable {
        /// Told once, when it is made.
        public var token: String?
        public var tokenId: String
        public var role: Role
        public var created: String
        public var expires: String
    }

    /// Makes a token for this session alone.
    public func makeToken(_ role: Role, expiringIn seconds: Int) async throws -> Token {
        let body: JSON = ["role": .string(role.rawValue), "expiresIn": .integer(seconds)]
        // Sent twice, it would be two.
        return try await client.value(of: Request("POST", ["v1", "sessions", id, "tokens"], body: body, isRepeatable: false))
    }

    public struct TokenPage: Decodable, Sendable, Hashable {
        public var tokens: [Token]
        public var next: String?
    }

    public func tokens(limit: Int? = nil, after: String? = nil) async throws -> TokenPage {
        try await client.value(of: request("GET", "tokens", query: ["limit": limit.map { String($0) }, "after": after]))
    }

    public func revokeToken(_ tokenID: String) async throws {
        _ = try await client.data(of: Request("DELETE", ["v1", "sessions", id, "tokens", tokenID], isDeletion: true))
    }
}

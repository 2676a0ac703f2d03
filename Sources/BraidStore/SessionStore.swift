import BraidEngine

/// The storage of sessions and table descriptions. Each kind of database has its own store.
///
/// Each call has the effect of one transaction. A writing method returns when its writes are stored. Cancelling the
/// task that calls a writing method neither stops nor loses the write. A read sees the writes of all calls that have
/// returned before the read. Every store must pass `SessionStoreTests`.
public protocol SessionStore: Sendable {
    // MARK: Table descriptions

    /// Stores a table description as version 1, or, if its name already exists, as a new version.
    ///
    /// Also deletes versions that no session uses and that are not among the latest ``StoredTable/keptVersions``.
    ///
    /// - Parameters:
    ///   - latest: the version that must be the latest one before this call, or 0 if the name must be new. `nil`
    ///     accepts any version.
    ///   - at: the time, in milliseconds since 1970.
    /// - Returns: the version: 1, 2, 3, …
    /// - Throws: ``StoreError`` with `tableChanged` if `latest` is not the latest version.
    func putTable(_ name: String, description: JSONText, after latest: Int?, at: Int) async throws -> Int
    /// Returns a version of a table description, or its latest version if `version` is `nil`. Returns `nil` if the
    /// description or the version does not exist.
    func table(_ name: String, version: Int?) async throws -> StoredTable?
    /// Returns a summary of every stored version of a table description, by ascending version.
    func versions(ofTable name: String) async throws -> [TableSummary]
    /// Returns a summary of the latest version of every table description, by ascending name.
    func tables() async throws -> [TableSummary]
    /// Deletes every version of a table description. If a session uses one of the versions, the method deletes nothing.
    func deleteTable(_ name: String) async throws -> TableDeletion

    // MARK: SessionHost

    /// Stores a new session at revision 0.
    ///
    /// The session may use an older version of its table description. If that version was deleted, because newer
    /// versions exist and no session used it, this method stores it again.
    ///
    /// - Returns: the session's number, which is never used again.
    /// - Throws: ``StoreError`` with `sessionExists` or `exhausted`, or with `tableMissing` if the registered
    ///   description was deleted before the session was stored. A store that several servers share throws `answered` if
    ///   the requester's idempotency key already has an answer.
    func createSession(_ session: NewSession) async throws -> Int
    /// Returns a session with all its content, or `nil` if the session does not exist.
    ///
    /// - Complexity: O(rows · log rows).
    func session(_ id: String) async throws -> StoredSession?
    /// Returns a session as clients saw it at an earlier or the current revision. In the result, no change is
    /// unpublished. Returns `nil` if the session does not exist or has not reached the revision, or if its journal does
    /// not lead back to the revision.
    ///
    /// The result's `totalRowCount` is that of the current revision.
    ///
    /// - Complexity: O(rows · log rows + journal after the revision).
    func session(_ id: String, at revision: Int) async throws -> StoredSession?
    /// Returns the body and the description with which a session was opened (``StoredOpening``), or `nil` if the
    /// session does not exist.
    func opening(_ id: String) async throws -> StoredOpening?
    /// Returns a session's summary, or `nil` if the session does not exist.
    func sessionSummary(_ id: String) async throws -> SessionSummary?
    /// Returns at most `limit` sessions whose ids are greater than `after`, by ascending id in the order of UTF-8
    /// bytes. If `after` is `nil`, starts with the first session.
    ///
    /// - Parameter table: the name of the sessions' table description, or `nil` for the sessions of all tables.
    func sessions(of table: String?, after: String?, limit: Int) async throws -> [SessionSummary]
    /// Deletes a session with everything that belongs to it, such as its rows, journal and tokens.
    ///
    /// - Parameter facts: if not `nil`, the session is deleted only if it has the number and the revision of this
    ///   summary.
    /// - Returns: the session's number, or `nil` if nothing was deleted.
    func deleteSession(_ id: String, as facts: SessionSummary?) async throws -> Int?
    /// Returns the sessions that end when nobody uses them.
    func unusedSessions() async throws -> [UnusedSession]
    /// Stores the time at which sessions with an `unusedLimit` were used. Other sessions are not changed.
    func renew(_ sessions: [Int], at: Int) async throws

    // MARK: Revisions

    /// Stores one new revision of a session. Commits that wait for the disk at the same time can share a transaction.
    ///
    /// - Throws: ``StoreError``: an error of the disk or the database, or `revisionConflict`, `sessionMissing`,
    ///   `tableMissing`, `exhausted` or `answered`. These last five errors do not affect the other commits of the
    ///   transaction.
    func commit(_ commit: SessionCommit) async throws
    /// Returns the records of a session's journal that follow a revision, by ascending revision.
    ///
    /// - Parameters:
    ///   - limit: the largest number of records.
    ///   - bytes: the total size at which to stop. The record that brings the total size of the result to `bytes` is
    ///     its last record.
    func journal(of sessionNumber: Int, after revision: Int, limit: Int, bytes: Int) async throws -> [JournalRecord]

    /// Returns a session as it was just before the first record in its journal.
    ///
    /// The result is the session at the revision before the first record. If a change was unpublished at that revision,
    /// the result is the session at the first later revision at which everything was published. Without such a
    /// revision, the result is the current session.
    ///
    /// - Returns: `nil` if the journal still contains all revisions since the session was opened, or if the session
    ///   does not exist.
    /// - Complexity: O(rows · log rows + journal).
    func journalStart(of id: String) async throws -> StoredSession?

    // MARK: Answers

    /// The clock that measures the age of kept answers. The time of a ``KeptAnswer`` and the parameter `now` of a
    /// look-up are times of this clock.
    var answerClock: AnswerClock { get }
    /// Stores the answer to a request that stored nothing else, such as a refused command. A store that several servers
    /// share throws `answered` if the same requester's idempotency key already has an answer.
    func keep(_ answer: KeptAnswer) async throws
    /// Returns the stored answer to a request with an idempotency key. Returns `nil` if the requester's key has no
    /// answer in this session, or if the answer has expired at the time `now`.
    func answer(to key: String, by requester: String, of session: Int, now: Int) async throws -> KeptAnswer?

    // MARK: Tokens

    /// Stores a new token for a session. The store may also delete tokens that have expired at the new token's time
    /// `created`. Throws `sessionMissing` if the session does not exist.
    func createToken(_ token: NewToken, for sessionID: String) async throws
    /// Returns a token by its id, even if it has expired. Returns `nil` if the token or its session does not exist.
    func token(_ id: String) async throws -> StoredToken?
    /// Returns at most `limit` unexpired tokens of a session whose ids are greater than `after`, by ascending id.
    /// Returns `nil` if the session does not exist.
    func tokens(of sessionID: String, after: String?, limit: Int, now: Int) async throws -> [StoredToken]?
    /// Deletes a token of a session. Returns whether the session had a token with this id.
    func deleteToken(_ id: String, of sessionID: String) async throws -> Bool

    // MARK: Sharing

    /// The additional functions of a store that several servers can use at the same time. `nil` if only one server can
    /// use this store.
    var sharing: (any StoreSharing)? { get }

    // MARK: Running

    /// The statistics of this store's writes since it was opened.
    var statistics: StoreStatistics { get }
    /// Returns the size of the stored data, for metrics.
    ///
    /// - Complexity: O(sessions). The method reads one database page for every few hundred sessions.
    func size() async throws -> StoreSize
    /// Checks that the store can be read and written. If an SQLite store has found its disk full, returns `full`. For
    /// any other reason why the store cannot be read or written, the method throws this reason.
    func check() async throws -> StoreCondition
    /// Finishes the waiting writes and closes the store. Later calls of the store's methods throw `closed`.
    func close() async
}

extension SessionStore {
    /// Stores a table description as a new version, whatever its latest version is.
    @discardableResult
    public func putTable(_ name: String, description: JSONText, at: Int) async throws -> Int {
        try await putTable(name, description: description, after: nil, at: at)
    }

    /// Returns the latest version of a table description, or `nil` if it does not exist.
    public func table(_ name: String) async throws -> StoredTable? { try await table(name, version: nil) }

    /// Returns at most `limit` sessions, of all tables, whose ids are greater than `after`, by ascending id.
    public func sessions(after: String?, limit: Int) async throws -> [SessionSummary] {
        try await sessions(of: nil, after: after, limit: limit)
    }

    public var sharing: (any StoreSharing)? { nil }
}

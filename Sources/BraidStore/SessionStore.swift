import BraidEngine

/// The storage of sessions and table descriptions in one kind of database.
///
/// Each call is one transaction. A write returns when it is stored, and cancelling its task does not stop it. A read
/// sees the writes of all calls that have returned. Every store must pass `SessionStoreTests`. Times are in milliseconds
/// since 1970.
public protocol SessionStore: Sendable {
    // MARK: Table descriptions

    /// Stores a new version of a table description, and deletes versions that no session uses and that are not among the
    /// latest ``StoredTable/keptVersions``.
    ///
    /// - Parameter latest: the version that must be the latest before, or 0 for a new name. `nil` accepts any.
    /// - Returns: the version: 1, 2, 3, …
    /// - Throws: `tableChanged` if `latest` is not the latest version.
    func putTable(_ name: String, description: JSONText, after latest: Int?, at: Int) async throws -> Int
    /// Returns a version of a table description, by default the latest, or `nil` if it does not exist.
    func table(_ name: String, version: Int?) async throws -> StoredTable?
    /// By ascending version.
    func versions(ofTable name: String) async throws -> [TableSummary]
    /// The latest version of every table description, by ascending name.
    func tables() async throws -> [TableSummary]
    /// Deletes every version of a table description, or none if a session uses one.
    func deleteTable(_ name: String) async throws -> TableDeletion

    // MARK: Sessions

    /// Stores a new session at revision 0, and its version of the table description again, if that was deleted because
    /// newer ones exist and no session used it.
    ///
    /// - Returns: the session's number, which is never used again.
    /// - Throws: `sessionExists`, `exhausted`, or `tableMissing` if the whole description was deleted. A shared store
    ///   throws `answered` if the requester's idempotency key already has an answer.
    func createSession(_ session: NewSession) async throws -> Int
    /// - Complexity: O(rows · log rows).
    func session(_ id: String) async throws -> StoredSession?
    /// Returns a session as clients saw it at a revision, so without unpublished changes, but with the current
    /// `totalRowCount`. `nil` if the session has not reached the revision, or its journal does not lead back to it.
    ///
    /// - Complexity: O(rows · log rows + journal after the revision).
    func session(_ id: String, at revision: Int) async throws -> StoredSession?
    func opening(_ id: String) async throws -> StoredOpening?
    func sessionSummary(_ id: String) async throws -> SessionSummary?
    /// Returns sessions whose ids follow `after`, in the order of UTF-8 bytes.
    ///
    /// - Parameter table: the name of their table description, or `nil` for all.
    func sessions(of table: String?, after: String?, limit: Int) async throws -> [SessionSummary]
    /// Deletes a session with its rows, journal and tokens.
    ///
    /// - Parameter summary: the number and the revision that the session must have, or `nil`.
    /// - Returns: the session's number, or `nil` if nothing was deleted.
    func deleteSession(_ id: String, as summary: SessionSummary?) async throws -> Int?
    /// Returns the sessions that end when nobody uses them.
    func unusedSessions() async throws -> [UnusedSession]
    /// Stores when sessions with an `unusedLimit` were used. Other sessions are not changed.
    func renew(_ sessions: [Int], at: Int) async throws

    // MARK: Revisions

    /// Stores one new revision of a session. Commits that wait at the same time can share a transaction.
    ///
    /// - Throws: `revisionConflict`, `sessionMissing`, `tableMissing`, `exhausted` or `answered`, which do not affect
    ///   the other commits of the transaction, or an error of the disk or the database.
    func commit(_ commit: SessionCommit) async throws
    /// Returns the records that follow a revision.
    ///
    /// - Parameter bytes: the record that brings the total size to `bytes` is the last.
    func journal(of sessionNumber: Int, after revision: Int, limit: Int, bytes: Int) async throws -> [JournalRecord]

    /// Returns a session as it was before the first record in its journal, or at the first later revision at which
    /// everything was published. Without such a revision, the current session.
    ///
    /// - Returns: `nil` if the journal goes back to the opening, or if the session does not exist.
    /// - Complexity: O(rows · log rows + journal).
    func journalStart(of id: String) async throws -> StoredSession?

    // MARK: Answers

    /// Gives the times of answers, and `now` below.
    var answerClock: AnswerClock { get }
    /// Stores the answer to a request that stored nothing else, such as a refused command. A shared store throws
    /// `answered` if the requester's idempotency key already has an answer.
    func keep(_ answer: KeptAnswer) async throws
    /// Returns the answer, unless it has expired.
    func answer(to key: String, by requester: String, of session: Int, now: Int) async throws -> KeptAnswer?

    // MARK: Tokens

    /// Stores a token, and may delete tokens that have expired when it was `created`. Throws `sessionMissing`.
    func createToken(_ token: NewToken, for sessionID: String) async throws
    /// Returns a token even if it has expired, but not without its session.
    func token(_ id: String) async throws -> StoredToken?
    /// Returns unexpired tokens whose ids follow `after`, or `nil` if the session does not exist.
    func tokens(of sessionID: String, after: String?, limit: Int, now: Int) async throws -> [StoredToken]?
    func deleteToken(_ id: String, of sessionID: String) async throws -> Bool

    // MARK: Sharing

    /// `nil` if only one server can use this store.
    var sharing: (any StoreSharing)? { get }

    // MARK: Running

    /// What the log says of the database's schema, such as an upgrade. `nil` if it was new or of this version, or if
    /// there was no connection yet.
    var schemaNotice: String? { get }
    /// Of the writes since the store was opened.
    var statistics: StoreStatistics { get }
    /// - Complexity: O(sessions): one database page for every few hundred.
    func size() async throws -> StoreSize
    /// Checks that the store can be read and written, and throws why not, unless an SQLite store's disk is full.
    func check() async throws -> StoreCondition
    /// Finishes the waiting writes. Later calls throw `closed`.
    func close() async
}

extension SessionStore {
    @discardableResult
    public func putTable(_ name: String, description: JSONText, at: Int) async throws -> Int {
        try await putTable(name, description: description, after: nil, at: at)
    }

    public func table(_ name: String) async throws -> StoredTable? { try await table(name, version: nil) }

    public func sessions(after: String?, limit: Int) async throws -> [SessionSummary] {
        try await sessions(of: nil, after: after, limit: limit)
    }

    public var schemaNotice: String? { nil }

    public var sharing: (any StoreSharing)? { nil }
}

/// A store for a server in test mode.
public protocol TestableStore: SessionStore {
    /// Keeps a copy of the content in memory, in place of an earlier one.
    func keepContent() throws
    /// Goes back to the kept copy.
    ///
    /// - Parameter beginsEpochs: whether all sessions get new epochs.
    /// - Complexity: O(content of the store and of the copy).
    func restoreContent(beginsEpochs: Bool) async throws
    /// Stores a new epoch of a session, which keeps its revision and content.
    func setEpoch(_ epoch: String, of sessionNumber: Int) async throws
}

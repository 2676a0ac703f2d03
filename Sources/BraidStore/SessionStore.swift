import BraidEngine

/// Keeps sessions and table descriptions.
///
/// Each call is one transaction. A write returns when it is stored; cancelling its task does not stop it. A read sees
/// all writes that have returned. Times are milliseconds since 1970. Every store must pass `SessionStoreTests`.
package protocol SessionStore: Sendable {
    /// Also drops versions beyond ``StoredTable/keptVersions`` that no session uses. Returns 1, 2, 3, … Throws
    /// `tableChanged` if the version before is not `latest` (0: a new name; `nil`: any).
    func putTable(_ name: String, description: JSONText, after latest: Int?, at: Int) async throws -> Int
    /// Without a `version`, the latest.
    func table(_ name: String, version: Int?) async throws -> StoredTable?
    /// Ascending.
    func versions(ofTable name: String) async throws -> [TableSummary]
    /// The latest versions, ascending by name.
    func tables() async throws -> [TableSummary]
    /// All versions, or none if a session uses one.
    func deleteTable(_ name: String) async throws -> TableDeletion

    /// Begins at revision 0. Also restores its version of the table description, if that was dropped as unused.
    /// Returns the session's number, which is never used again.
    ///
    /// Throws `sessionExists`, `exhausted`, or `tableMissing` if the whole description was deleted; a shared store
    /// `answered` if the idempotency key has an answer.
    func createSession(_ session: NewSession) async throws -> Int
    /// - Complexity: O(rows · log rows).
    func session(_ id: String) async throws -> StoredSession?
    /// As clients saw it then, but with the current `totalRowCount`. `nil` if the session has not reached the
    /// revision, or the journal does not lead back to it.
    ///
    /// - Complexity: O(rows · log rows + journal after the revision).
    func session(_ id: String, at revision: Int) async throws -> StoredSession?
    func opening(_ id: String) async throws -> StoredOpening?
    func sessionSummary(_ id: String) async throws -> SessionSummary?
    /// Those with ids after `after`, in the order of UTF-8 bytes.
    func sessions(of table: String?, after: String?, limit: Int) async throws -> [SessionSummary]
    /// Returns the session's number, or `nil` if there is none, or not with the number and revision of `summary`.
    func deleteSession(_ id: String, as summary: SessionSummary?) async throws -> Int?
    func unusedSessions() async throws -> [UnusedSession]
    /// Skips sessions without an `unusedLimit`.
    func renew(_ sessions: [Int], at: Int) async throws

    /// Commits that wait at the same time can share a transaction.
    ///
    /// Calls `done` once, on any thread, with successes one at a time. Commits of one session that are not large
    /// (`isLarge`) are stored in the order of the calls; those that one such `done` makes share a transaction. Fails with
    /// `revisionConflict`, `sessionMissing`, `tableMissing`, `exhausted` or `answered`, which leave the transaction's
    /// other commits alone, or an error of the disk or the database.
    func commit(_ commit: SessionCommit, then done: @escaping @Sendable (Result<Void, any Error>) -> Void)
    /// Ends with the record that makes the total size reach `bytes`.
    func journal(of sessionNumber: Int, after revision: Int, limit: Int, bytes: Int) async throws -> [JournalRecord]

    /// How the revisions down from this one lead back, the latest first. Ends with the record that makes the total size
    /// reach `bytes`.
    func undos(of sessionNumber: Int, from revision: Int, limit: Int, bytes: Int) async throws -> [JournalUndo]

    /// The session as before the journal's first record, or at the first later revision with all published, otherwise
    /// the current session. `nil` if the journal goes back to the opening.
    ///
    /// - Complexity: O(rows · log rows + journal).
    func journalStart(of id: String) async throws -> StoredSession?

    var answerClock: AnswerClock { get }
    /// For a request that stored nothing else, such as a refused command. A shared store throws `answered` if the
    /// idempotency key has an answer.
    func keep(_ answer: KeptAnswer) async throws
    /// `nil` once expired.
    func answer(to key: String, by requester: String, of session: Int, now: Int) async throws -> KeptAnswer?

    // Without a session, tokens that are for no single one.

    /// Throws `sessionMissing`. May delete expired tokens.
    func createToken(_ token: NewToken, for sessionID: String?) async throws
    /// Also an expired one, but not without its session.
    func token(_ id: String) async throws -> StoredToken?
    /// Unexpired, with ids after `after`. `nil` if the session does not exist.
    func tokens(of sessionID: String?, after: String?, limit: Int, now: Int) async throws -> [StoredToken]?
    func deleteToken(_ id: String, of sessionID: String?) async throws -> Bool

    /// `nil` if only one server can use the store.
    var sharing: (any StoreSharing)? { get }

    /// For the log, such as an upgrade. `nil` before the first connection.
    var schemaNotice: String? { get }
    var statistics: StoreStatistics { get }
    /// - Complexity: O(sessions): one database page for every few hundred.
    func size() async throws -> StoreSize
    /// Throws why the store cannot be read or written. SQLite's full disk is a condition, no error.
    func check() async throws -> StoreCondition
    /// Returns after the waiting writes. Later calls throw `closed`.
    func close() async
}

extension SessionStore {
    @discardableResult
    package func putTable(_ name: String, description: JSONText, at: Int) async throws -> Int {
        try await putTable(name, description: description, after: nil, at: at)
    }

    package func table(_ name: String) async throws -> StoredTable? { try await table(name, version: nil) }

    package func commit(_ commit: SessionCommit) async throws {
        try await completion { self.commit(commit, then: $0) }
    }

    package func sessions(after: String?, limit: Int) async throws -> [SessionSummary] {
        try await sessions(of: nil, after: after, limit: limit)
    }

    package var schemaNotice: String? { nil }

    package var sharing: (any StoreSharing)? { nil }
}

/// What test mode needs of a store.
package protocol TestableStore: SessionStore {
    /// Copies the content to memory, in place of an earlier copy.
    func keepContent() throws
    /// `beginsEpochs`: for all sessions. O(content of the store and of the copy).
    func restoreContent(beginsEpochs: Bool) async throws
    func setEpoch(_ epoch: String, of sessionNumber: Int) async throws
}

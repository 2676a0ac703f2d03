import BraidEngine

/// The storage of sessions and table descriptions: the single interface between the server and a database.
///
/// Each method is one transaction. A writing method returns when its writes are on disk. Cancelling the task that calls
/// a writing method neither stops nor loses the write. A read sees every write that has returned. Every store must pass
/// `SessionStoreTests`.
public protocol SessionStore: Sendable {
    // MARK: Table descriptions

    /// Registers a table description, or replaces it by a new version.
    ///
    /// - Parameter at: the time, in milliseconds since 1970.
    /// - Returns: the version (1, 2, 3, …), and whether the description is new.
    func putTable(_ name: String, description: JSONText, at: Int) async throws -> (version: Int, isNew: Bool)
    /// Returns the latest version of a table description, or `nil` if it does not exist.
    func table(_ name: String) async throws -> StoredTable?
    /// Returns the latest version of every table description, by ascending name.
    func tables() async throws -> [TableSummary]
    /// Deletes every version of a table description, unless sessions use one of the versions.
    func deleteTable(_ name: String) async throws -> TableDeletion

    // MARK: Sessions

    /// Stores a new session at revision 0.
    ///
    /// Restores the session's version of a description, if that version was deleted because a newer version exists and
    /// no session used it.
    ///
    /// - Returns: the session's number, which is never used again.
    /// - Throws: ``StoreError`` with `sessionExists`, or with `tableMissing` if the registered description was deleted
    ///   before the session was stored.
    func createSession(_ session: NewSession) async throws -> Int
    /// Returns a whole session, or `nil` if it does not exist.
    ///
    /// - Complexity: O(rows · log rows).
    func session(_ id: String) async throws -> StoredSession?
    /// Returns the data with which a session was opened, or `nil` if the session does not exist.
    func opening(_ id: String) async throws -> StoredOpening?
    /// Returns a session's summary, or `nil` if the session does not exist.
    func sessionSummary(_ id: String) async throws -> SessionSummary?
    /// Returns at most `limit` sessions whose ids are after `after`, by ascending id in the order of UTF-8 bytes.
    func sessions(after: String?, limit: Int) async throws -> [SessionSummary]
    /// Deletes a session and everything that belongs to it.
    ///
    /// - Parameter facts: if not `nil`, the session is deleted only if it has this number and is at this revision.
    /// - Returns: the session's number, or `nil` if no session had the id and these facts.
    func deleteSession(_ id: String, as facts: SessionSummary?) async throws -> Int?

    // MARK: Revisions

    /// Stores one revision. Commits of revisions that wait for the disk at the same time share one transaction.
    ///
    /// - Throws: ``StoreError`` with `revisionConflict`, `sessionMissing` or `answered`, which does not affect the
    ///   other commits of the transaction, or the error of the disk.
    func commit(_ commit: SessionCommit) async throws
    /// Returns journal records after a revision, ascending.
    ///
    /// - Parameters:
    ///   - limit: the largest number of records.
    ///   - bytes: the size at which to stop. The record that brings the total size to `bytes` is the last record.
    func journal(of sessionNumber: Int, after revision: Int, limit: Int, bytes: Int) async throws -> [JournalRecord]

    /// Returns the session as it was at the start of its journal.
    ///
    /// The result is the session at the revision before the first record. If a change was unpublished at that revision,
    /// the result is the session at the first later revision at which everything was published. Without such a
    /// revision, the result is the current session.
    ///
    /// - Returns: `nil` if the journal begins with the opening, or if the session does not exist.
    /// - Complexity: O(rows · log rows + journal).
    func journalStart(of id: String) async throws -> StoredSession?

    // MARK: Answers

    /// Stores an answer to a request that stored nothing else. Throws `answered` if the key already has an answer.
    func keep(_ answer: KeptAnswer) async throws
    /// Returns the stored answer to a requester's key, or `nil` if it does not exist or has expired at `now`.
    func answer(to key: String, by requester: String, of session: Int, now: Int) async throws -> KeptAnswer?

    // MARK: Tokens

    /// Stores a token for a session. Tokens that have expired at its `created` may be deleted. Throws `sessionMissing`.
    func createToken(_ token: NewToken, for sessionID: String) async throws
    /// Returns a token, expired or not, while its session exists.
    func token(_ id: String) async throws -> StoredToken?
    /// Returns at most `limit` unexpired tokens of a session whose ids are after `after`, by ascending id. `nil` if the
    /// session does not exist.
    func tokens(of sessionID: String, after: String?, limit: Int, now: Int) async throws -> [StoredToken]?
    /// Deletes a token. Returns whether the session had it.
    func deleteToken(_ id: String, of sessionID: String) async throws -> Bool

    // MARK: Sharing

    /// The functions that servers need to share this store. `nil` if this server uses the store alone.
    var sharing: (any StoreSharing)? { get }

    // MARK: Running

    /// The statistics of writes since the start.
    var statistics: StoreStatistics { get }
    /// Returns the size of the stored data.
    ///
    /// - Complexity: O(sessions), which reads one page for every few hundred sessions.
    func size() async throws -> StoreSize
    /// Checks that the store can be read and written. Throws the reason if the store cannot be read or written.
    func check() async throws
    /// Finishes the waiting writes and closes the store. Later calls of the store's methods throw `closed`.
    func close() async
}

extension SessionStore {
    public var sharing: (any StoreSharing)? { nil }
}

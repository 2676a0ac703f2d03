import BraidEngine

/// Where sessions and table descriptions are kept: the one seam between the server and what is on disk.
///
/// Each method is one transaction. A method that writes returns when what it wrote is on disk, and cancelling the
/// calling task neither stops nor loses the write. A read sees every write that has returned. Any store must pass
/// `SessionStoreTests`.
public protocol SessionStore: Sendable {
    // MARK: Table descriptions

    /// Registers a description, or replaces it by a new version: 1, 2, 3, …
    func putTable(_ name: String, description: JSONText, at: Int) async throws -> (version: Int, isNew: Bool)
    /// The latest version.
    func table(_ name: String) async throws -> StoredTable?
    /// The latest version of each, by name ascending.
    func tables() async throws -> [TableSummary]
    /// Removes every version, unless sessions of one of them exist.
    func deleteTable(_ name: String) async throws -> TableDeletion

    // MARK: Sessions

    /// Stores a new session at revision 0 and returns its number, which is never used again.
    /// Throws `sessionExists`, and `tableMissing` when the registered description was deleted meanwhile. A version that
    /// went because there is a newer one, and no session had it, comes back.
    func createSession(_ session: NewSession) async throws -> Int
    /// The whole session. O(rows · log rows).
    func session(_ id: String) async throws -> StoredSession?
    /// What the session was opened with.
    func opening(_ id: String) async throws -> StoredOpening?
    func sessionSummary(_ id: String) async throws -> SessionSummary?
    /// By id ascending, in the order of its UTF-8 bytes: `limit` sessions at most, all of them after `after`.
    func sessions(after: String?, limit: Int) async throws -> [SessionSummary]
    /// Removes a session and everything that belongs to it; gives its number. With `facts`: only the session of that
    /// number, while it is at that revision. Nil: there is none.
    func deleteSession(_ id: String, as facts: SessionSummary?) async throws -> Int?

    // MARK: Revisions

    /// Stores one revision. The commits that wait for the disk together share one transaction.
    /// Throws `revisionConflict`, `sessionMissing` or `answered` without touching the others, and whatever befell the
    /// disk.
    func commit(_ commit: SessionCommit) async throws
    /// Records after a revision, ascending: `limit` at most, and none behind the one with which their texts reach so
    /// many `bytes`.
    func journal(of sessionNumber: Int, after revision: Int, limit: Int, bytes: Int) async throws -> [JournalRecord]

    /// The session as it was where its journal begins: at the revision before the first record, or, if clients did not
    /// see then what was stored, at the first one from there on at which they did; at the present revision if there is
    /// none. Nil: the journal reaches back to the opening, or there is no such session. O(rows · log rows + journal).
    func journalStart(of id: String) async throws -> StoredSession?

    // MARK: Answers

    /// Keeps an answer to a request that stored nothing else. Throws `answered`.
    func keep(_ answer: KeptAnswer) async throws
    /// What was answered to the requester's key, if it was not too long before `now`.
    func answer(to key: String, by requester: String, of session: Int, now: Int) async throws -> KeptAnswer?

    // MARK: Tokens

    /// Stores a token for a session; tokens that have expired by its `created` may go. Throws `sessionMissing`.
    func createToken(_ token: NewToken, for sessionID: String) async throws
    /// The token of that id, expired or not, while its session exists.
    func token(_ id: String) async throws -> StoredToken?
    /// A session's tokens that have not expired, by id ascending: `limit` at most, all of them after `after`. Nil:
    /// there is no such session.
    func tokens(of sessionID: String, after: String?, limit: Int, now: Int) async throws -> [StoredToken]?
    /// Whether the session had such a token.
    func deleteToken(_ id: String, of sessionID: String) async throws -> Bool

    // MARK: Sharing

    /// Nil: this server has the store for itself.
    var sharing: (any StoreSharing)? { get }

    // MARK: Running

    /// What was written since the start.
    var statistics: StoreStatistics { get }
    /// How much is stored. O(sessions), within a page's worth of keys for each few hundred.
    func size() async throws -> StoreSize
    /// Returns if the store can be read and written; throws what stands against it.
    func check() async throws
    /// Finishes the writes that wait and closes. Everything that comes later throws `closed`.
    func close() async
}

extension SessionStore {
    public var sharing: (any StoreSharing)? { nil }
}

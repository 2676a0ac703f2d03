/// The additional functions of a store that several servers can use at once.
///
/// Each server caches sessions. A commit compares the revision that it follows, so a server with an outdated copy can
/// never write. A server must not answer from an outdated copy either. With `StoreSharing`, a server learns whether its
/// copy is outdated.
public protocol StoreSharing: Sendable {
    /// Returns the stored revision of a session with its time, or `nil` if the session has ended.
    ///
    /// The result includes every commit that was finished before the call. Calls that arrive while a database query is
    /// in progress share the next query.
    func revision(of session: Int) async throws -> StoredRevision?

    /// Starts to receive the notices of other servers, and calls `hear` with each notice. Call this method once in each
    /// server process.
    func listen(_ hear: @escaping @Sendable (StoreNotice) -> Void)

    /// Locks a session for this server, so that no other server may commit to the session. The lock lasts until
    /// `endTurn`, or until the connection to the store is lost.
    ///
    /// Commits do not need the lock of a session. The lock is for a session for which several servers commit at the
    /// same time. A server whose commit conflicted must read the new revisions first. Without the lock, this server
    /// would lose the next race as well.
    ///
    /// - Throws: ``StoreError`` with `busy` if another server holds the lock for too long.
    func takeTurn(of session: Int) async throws
    /// Unlocks a session.
    func endTurn(of session: Int) async
}

/// The number and the time of a session's revision. If two revisions have the same number and different times, the
/// database has lost one of them.
public struct StoredRevision: Sendable, Equatable {
    /// The revision's number.
    public var number: Int
    /// The time at which the revision was committed, in milliseconds since 1970.
    public var time: Int

    public init(number: Int, time: Int) {
        self.number = number
        self.time = time
    }
}

/// A notice about another server's action, or about the connection to other servers.
public enum StoreNotice: Sendable, Equatable {
    /// Another server has committed to the session, which is probably at this revision or a later one.
    case committed(session: Int, revision: Int)
    case ended(session: Int)
    case revoked(token: String)
    /// All sessions have new epochs, because the database may have lost commits. The notice arrives before the database
    /// is read or written again.
    case renewed
    /// This server's connection is ready: from this notice on, it receives the notices of other servers. Only the
    /// commit of a server that dies at the wrong moment can be missed.
    ///
    /// This notice arrives again after the connection was lost. All notices during the interruption are lost.
    case hearing
    /// A reminder every few seconds: the receiver should look in the store for changes whose notices it missed.
    case look
}

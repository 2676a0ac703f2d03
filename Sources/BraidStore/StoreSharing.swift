/// The additional functions of a store that several servers can use at the same time.
///
/// Each server caches sessions, so its copy of a session can be outdated. A server never overwrites newer data, because
/// each commit compares the revision that it follows with the stored revision. A server must not answer a request from
/// an outdated copy either. With `StoreSharing`, a server learns whether its copy is outdated.
public protocol StoreSharing: Sendable {
    /// Returns the stored revision of a session with its time, or `nil` if the session has ended.
    ///
    /// The result includes every commit that was finished before the call. Calls that arrive before the next database
    /// query begins share this query.
    func revision(of session: Int) async throws -> StoredRevision?

    /// Starts to receive the notices of other servers, and calls the closure `hear` with each notice. Call this method
    /// once in each server process.
    ///
    /// - Throws: ``StoreError`` with `io` if the system starts no thread for the notices.
    func listen(_ hear: @escaping @Sendable (StoreNotice) -> Void) throws

    /// Locks a session for this server, so that no other server can begin a commit to the session. The lock lasts until
    /// `endTurn`, or until the connection to the store is lost.
    ///
    /// Commits do not need the lock of a session. A server locks a session for which several servers commit at the same
    /// time. A server whose commit conflicted must first read the new revisions. Without the lock, another server could
    /// commit again during this read, so that the next commit would conflict as well.
    ///
    /// - Throws: ``StoreError`` with `busy` if another server holds the lock for too long.
    func takeTurn(of session: Int) async throws
    /// Unlocks a session that `takeTurn` has locked.
    func endTurn(of session: Int) async
}

/// The number and the time of one of a session's revisions. If two revisions have the same number and different times,
/// the database has lost one of them.
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
    /// Another server has committed to the session. The session is probably at the given revision or a later one.
    case committed(session: Int, revision: Int)
    case ended(session: Int)
    case revoked(token: String)
    /// All sessions have new epochs, because the database may have lost commits. The notice arrives before this server
    /// reads or writes the database again.
    case renewed
    /// This server's connection is ready: from this notice on, the server receives the notices of other servers. The
    /// server can only miss the notice of a commit whose sender failed before it sent the notice.
    ///
    /// This notice arrives again each time the connection is restored after it was lost. The server has missed all
    /// notices of the time without a connection.
    case hearing
    /// A reminder that arrives every few seconds. The server should look in the store for changes whose notices it has
    /// missed.
    case look
}

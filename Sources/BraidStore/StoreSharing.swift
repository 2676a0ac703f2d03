/// What a store offers to several servers that use it at the same time.
///
/// Each server's copy of a session can be outdated. A commit cannot overwrite newer data, because it compares the
/// revision that it follows with the stored one. This protocol lets a server also not answer from an outdated copy.
public protocol StoreSharing: Sendable {
    /// Returns a session's stored revision, with every commit that was finished before the call, or `nil` if the session
    /// has ended. Calls share a query.
    func revision(of session: Int) async throws -> StoredRevision?

    /// Calls `hear` with each notice from now on. Call it once in a process.
    ///
    /// - Throws: `io` if the system starts no thread.
    func listen(_ hear: @escaping @Sendable (StoreNotice) -> Void) throws

    /// Keeps other servers from committing to a session until `endTurn`, or until the connection is lost.
    ///
    /// A commit needs no lock. But a server whose commit conflicted must first read the new revisions, and another could
    /// commit again meanwhile, time after time.
    ///
    /// - Throws: `busy` if another server holds the lock for too long.
    func takeTurn(of session: Int) async throws
    func endTurn(of session: Int) async
}

/// A session's revision. Of two with the same number and different times, the database has lost one.
public struct StoredRevision: Sendable, Equatable {
    public var number: Int
    /// Milliseconds since 1970.
    public var time: Int

    public init(number: Int, time: Int) {
        self.number = number
        self.time = time
    }
}

/// News from the other servers of a shared store.
public enum StoreNotice: Sendable, Equatable {
    /// Another server has committed to the session, which is probably at this revision or a later one.
    case committed(session: Int, revision: Int)
    case ended(session: Int)
    case revoked(token: String)
    /// All sessions have new epochs. Arrives before this server uses the database again.
    case renewed
    /// From now on, notices arrive, except those whose sender failed before it sent them. Arrives again after each lost
    /// connection, during which all notices were missed.
    case hearing
    /// Every few seconds: look for changes whose notices were missed.
    case look
}

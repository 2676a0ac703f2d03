/// For several servers on one store. Their copies of a session can be outdated: a commit compares revisions, so it
/// overwrites nothing newer. This protocol also keeps a server from answering out of an outdated copy.
public protocol StoreSharing: Sendable {
    /// Includes every commit that finished before the call. `nil` if the session has ended. Calls share a query.
    func revision(of session: Int) async throws -> StoredRevision?

    /// Once in a process. Throws `io` if no thread starts.
    func listen(_ hear: @escaping @Sendable (StoreNotice) -> Void) throws

    /// Keeps other servers from committing to the session until `endTurn` or the loss of the connection. For a server
    /// whose commit conflicted: while it reads the new revisions, others could commit time after time.
    ///
    /// - Throws: `busy` if another server keeps its turn too long.
    func takeTurn(of session: Int) async throws
    func endTurn(of session: Int) async
}

/// With the same number and another time, the database has lost a revision.
public struct StoredRevision: Sendable, Equatable {
    public var number: Int
    /// Milliseconds since 1970.
    public var time: Int

    public init(number: Int, time: Int) {
        self.number = number
        self.time = time
    }
}

/// News from the other servers.
public enum StoreNotice: Sendable, Equatable {
    /// Probably this revision or a later one.
    case committed(session: Int, revision: Int)
    case ended(session: Int)
    case revoked(token: String)
    /// All sessions have new epochs. Arrives before this server uses the database again.
    case renewed
    /// Notices arrive from now on, unless their sender fails first. Comes again after each lost connection, during
    /// which all were missed.
    case hearing
    /// Every few seconds: look for changes whose notices were missed.
    case look
}

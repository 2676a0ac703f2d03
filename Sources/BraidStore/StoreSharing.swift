/// For several servers on one store, whose copies of a session can be outdated. A commit compares revisions, so it
/// overwrites nothing newer; with this, a server also answers out of no outdated copy.
public protocol StoreSharing: Sendable {
    /// With every commit that finished before the call. `nil` if the session has ended. Calls share a query.
    func revision(of session: Int) async throws -> StoredRevision?

    /// Once. Throws `io` if no thread starts.
    func listen(_ hear: @escaping @Sendable (StoreNotice) -> Void) throws

    /// Until `endTurn` or the loss of the connection, no other server commits. For a server whose commit conflicted:
    /// while it reads the new revisions, others could commit time after time. Throws `busy` if another keeps its turn
    /// too long.
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

/// From the other servers.
public enum StoreNotice: Sendable, Equatable {
    /// Probably this or a later one.
    case committed(session: Int, revision: Int)
    case ended(session: Int)
    case revoked(token: String)
    /// All sessions have new epochs. Arrives before this server uses the database again.
    case renewed
    /// From now on, unless the sender fails first. Comes again after each lost connection, during which notices were
    /// missed.
    case hearing
    /// Every few seconds: look for changes without a notice.
    case look
}

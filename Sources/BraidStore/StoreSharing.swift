/// For several servers on one store, whose copies of a session can be outdated. A commit compares revisions, so it
/// overwrites nothing newer. With this, they do not answer from outdated copies either.
package protocol StoreSharing: Sendable {
    /// Includes every commit that finished before the call. `nil` if the session has ended. Calls share a query.
    func revision(of session: Int) async throws -> StoredRevision?

    /// Call it once. Throws `io` if no thread starts.
    func listen(_ hear: @escaping @Sendable (StoreNotice) -> Void) throws

    /// No other server commits until `endTurn` or the loss of the connection. For a server whose commit conflicted:
    /// others could commit time after time while it reads the new revisions. Throws `busy` if another keeps its turn
    /// too long.
    func takeTurn(of session: Int) async throws
    func endTurn(of session: Int) async

    /// Brings texts of less than 7,900 bytes to the other servers. Not stored; may get lost. Throws if they did not
    /// leave.
    func tell(_ texts: [String]) async throws

    /// What signs tickets, on all servers; `new` if there is none yet.
    func ticketSecret(orNew new: String) async throws -> String
}

/// Of two with the same number and different times, the database has lost one.
package struct StoredRevision: Sendable, Equatable {
    package var number: Int
    /// Milliseconds since 1970.
    package var time: Int

    package init(number: Int, time: Int) {
        self.number = number
        self.time = time
    }
}

/// What a server hears from the others on the store.
package enum StoreNotice: Sendable, Equatable {
    /// The session is probably at this revision, or at a later one.
    case committed(session: Int, revision: Int)
    case ended(session: Int)
    case revoked(token: String)
    /// All sessions have new epochs. Arrives before this server uses the database again.
    case renewed
    /// Notices arrive from now on, unless their sender fails first. Comes again after each lost connection, during
    /// which notices were missed.
    case hearing
    /// Every few seconds: look for changes without a notice.
    case look
    /// By ``StoreSharing/tell(_:)``.
    case told(String)
}

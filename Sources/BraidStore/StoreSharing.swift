/// What servers that share a store need of it, beside the sessions.
///
/// Each of them keeps copies of sessions. A commit compares the revision that it starts from, so a copy that is behind
/// can never write; it must not answer either, and learns here whether it is behind.
public protocol StoreSharing: Sendable {
    /// The revision that a session is at, and when it came to it, as of some moment after the call; nil: it has ended.
    /// Calls that come while one is under way share the next.
    func revision(of session: Int) async throws -> StoredRevision?

    /// Tells what other servers do, from now on. One call for each server.
    func listen(_ hear: @escaping @Sendable (StoreNotice) -> Void)

    /// Waits until this server alone may commit to the session; throws `busy` when it has to wait for too long. Until
    /// `endTurn`, or until the store is lost.
    ///
    /// Commits need no turn. It is for a session that several servers command at once: who has lost a race must first
    /// read what it lost to, and would lose the next one, too.
    func takeTurn(of session: Int) async throws
    func endTurn(of session: Int) async
}

/// A revision of a session; of two with the same number and another time one is lost.
public struct StoredRevision: Sendable, Equatable {
    public var number: Int
    /// Milliseconds since 1970.
    public var time: Int

    public init(number: Int, time: Int) {
        self.number = number
        self.time = time
    }
}

/// What another server has done, or that it can be heard.
public enum StoreNotice: Sendable, Equatable {
    /// The session has come to the revision, most likely; or to a later one.
    case committed(session: Int, revision: Int)
    case ended(session: Int)
    case revoked(token: String)
    /// Every session has a new epoch: the database may have lost commits. Comes before anything is read from it or
    /// written to it again.
    case renewed
    /// From now on nothing is missed but, if a server has died at the wrong moment, a commit. Comes again when hearing
    /// was lost, and with it everything meanwhile.
    case hearing
    /// Comes every few seconds: time to look for what was missed.
    case look
}

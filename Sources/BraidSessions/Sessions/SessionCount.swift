import BraidStore
import Synchronization

/// The number of stored sessions, and the limit for this number. Sessions outside memory count as well.
final class SessionCount: Sendable {
    private let limit: Int
    private let store: any SessionStore
    /// The count of sessions and the time at which it was last read. `nil` before the first use, so that a server
    /// starts without reading sessions.
    private let known = Mutex<(count: Int, since: ContinuousClock.Instant)?>(nil)
    /// The time for which a count of sessions is valid if servers share the store. The count becomes outdated because
    /// this server does not notice the sessions that other servers open and end.
    private static let validity = Duration.seconds(60)

    init(limit: Int, store: any SessionStore) {
        self.limit = limit
        self.store = store
    }

    /// Reads the count of sessions from the store if the count is unknown or outdated. Callers await this method before
    /// they open or end a session, as a later reading might miss the change.
    ///
    /// - Complexity: O(sessions in the store) when the count is read.
    func prepare() async throws {
        let isKnown = known.withLock { known in
            known.map { store.sharing == nil || .now - $0.since < Self.validity } ?? false
        }
        if isKnown { return }
        let stored = try await store.size().sessions
        known.withLock { if $0 == nil || store.sharing != nil { $0 = (stored, .now) } }
    }

    /// Counts a session that is about to be opened. Throws `tooManySessions` if the server accepts no more.
    func addOne() async throws {
        try await prepare()
        let isFull = known.withLock { known in
            guard let count = known?.count, count < limit else { return true }
            known?.count = count + 1
            return false
        }
        if isFull {
            throw SessionError(
                .tooManySessions, "The server has \(limit) sessions, as many as it accepts. End a session first.",
                retryAfter: 60)
        }
    }

    /// Counts a session that was ended or could not be opened.
    func removeOne() { known.withLock { $0?.count -= 1 } }
}

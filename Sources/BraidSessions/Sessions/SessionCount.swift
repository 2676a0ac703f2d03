import BraidEngine
import BraidStore
import Synchronization

/// Counts the store's sessions, in memory or not.
final class SessionCount: Sendable {
    private let limit: Int
    private let store: any SessionStore
    /// `nil` until first needed: a server need not count at its start.
    private let known = Mutex<(count: Int, since: ContinuousClock.Instant)?>(nil)
    /// How long the number counts as known if servers share the store.
    private static let validity = Duration.seconds(60)

    init(limit: Int, store: any SessionStore) {
        self.limit = limit
        self.store = store
    }

    /// Await this before a session is opened or ended: a number read during the change may be off by one. O(sessions in
    /// the store) when it must be read.
    func prepare() async throws {
        let isKnown = known.withLock { known in
            known.map { store.sharing == nil || .now - $0.since < Self.validity } ?? false
        }
        if isKnown { return }
        let stored = try await store.size().sessions
        known.withLock { if $0 == nil || store.sharing != nil { $0 = (stored, .now) } }
    }

    func forget() { known.withLock { $0 = nil } }

    /// Before the session is stored. If that fails, `removeOne`.
    func addOne() async throws {
        try await prepare()
        let isFull = known.withLock { known in
            guard let count = known?.count, count < limit else { return true }
            known?.count = count + 1
            return false
        }
        if isFull {
            var error = SessionError(
                .tooManySessions,
                "The server has \(counted(limit, "session")), as many as it accepts. End a session first.",
                retryAfter: 60)
            error.limit = "max-sessions"
            throw error
        }
    }

    func removeOne() { known.withLock { $0?.count -= 1 } }
}

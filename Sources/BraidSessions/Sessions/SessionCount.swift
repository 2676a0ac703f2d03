import BraidEngine
import BraidStore
import Synchronization

/// The number of sessions in the store, in memory or not, and the limit of this number.
final class SessionCount: Sendable {
    private let limit: Int
    private let store: any SessionStore
    /// `nil` until the first use, so that a server need not count at its start.
    private let known = Mutex<(count: Int, since: ContinuousClock.Instant)?>(nil)
    /// The time after which the known number is outdated, if servers share the store.
    private static let validity = Duration.seconds(60)

    init(limit: Int, store: any SessionStore) {
        self.limit = limit
        self.store = store
    }

    /// Reads the number from the store if it is unknown or outdated. Callers await this before they open or end a
    /// session: a number that is read during the change may be wrong by one.
    ///
    /// - Complexity: O(sessions in the store) when it is read.
    func prepare() async throws {
        let isKnown = known.withLock { known in
            known.map { store.sharing == nil || .now - $0.since < Self.validity } ?? false
        }
        if isKnown { return }
        let stored = try await store.size().sessions
        known.withLock { if $0 == nil || store.sharing != nil { $0 = (stored, .now) } }
    }

    /// Called when the content of the store was replaced.
    func forget() { known.withLock { $0 = nil } }

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

import BraidStore
import Synchronization

/// How many sessions there are, in memory or not, and room for one more.
final class SessionCount: Sendable {
    private let limit: Int
    private let store: any SessionStore
    /// Nil until it is asked for: a start reads no sessions.
    private let known = Mutex<(count: Int, since: ContinuousClock.Instant)?>(nil)
    /// Where servers share the store they are counted again after so long: those of others come and go unseen.
    private static let validity = Duration.seconds(60)

    init(limit: Int, store: any SessionStore) {
        self.limit = limit
        self.store = store
    }

    /// To be awaited before one comes or goes, which counting them might miss. O(sessions) once.
    func prepare() async throws {
        let isKnown = known.withLock { known in
            known.map { store.sharing == nil || .now - $0.since < Self.validity } ?? false
        }
        if isKnown { return }
        let stored = try await store.size().sessions
        known.withLock { if $0 == nil || store.sharing != nil { $0 = (stored, .now) } }
    }

    /// Before one is opened. Throws `tooMany`.
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

    /// One that was ended, or could not be opened.
    func removeOne() { known.withLock { $0?.count -= 1 } }
}

import BraidStore
import Synchronization

/// How many sessions there are, in memory or not, and room for one more.
final class SessionCount: Sendable {
    private let limit: Int
    private let store: any SessionStore
    /// Nil until it is asked for: a start reads no sessions.
    private let count = Mutex<Int?>(nil)

    init(limit: Int, store: any SessionStore) {
        self.limit = limit
        self.store = store
    }

    /// To be awaited before one comes or goes, which counting them might miss. O(sessions) once.
    func prepare() async throws {
        guard count.withLock({ $0 }) == nil else { return }
        let stored = try await store.size().sessions
        count.withLock { $0 = $0 ?? stored }
    }

    /// Before one is opened. Throws `tooMany`.
    func addOne() async throws {
        try await prepare()
        let isFull = count.withLock { count in
            guard let known = count, known < limit else { return true }
            count = known + 1
            return false
        }
        if isFull { throw ProblemError(.tooMany, "There are \(limit) sessions, and no more are allowed here; end one first.", headers: [("Retry-After", "60")]) }
    }

    /// One that was ended, or could not be opened.
    func removeOne() { count.withLock { $0 = $0.map { $0 - 1 } } }
}

import BraidSessions
import BraidStore
import BraidTestMode

extension TestMode {
    /// For applications of which a test needs only the routes.
    static func forTests(of store: SQLiteStore) -> TestMode {
        TestMode(store: store, clock: Clock(), idleSessions: IdleSessions(time: .zero))
    }
}

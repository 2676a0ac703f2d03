import BraidSessions
import BraidStore
import BraidTestMode

extension TestMode {
    /// A test mode for an application of which a test only needs the list of routes.
    static func forTests(of store: SQLiteStore) -> TestMode {
        TestMode(store: store, clock: Clock(), idleSessions: IdleSessions(time: .zero))
    }
}

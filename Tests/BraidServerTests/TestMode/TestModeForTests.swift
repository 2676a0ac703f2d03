import BraidServer
import BraidSessions
import BraidStore

extension TestMode {
    /// The test mode of an application that only its routes are asked of.
    static func forTests(of store: SQLiteStore) -> TestMode {
        TestMode(store: store, clock: Clock(), idleSessions: IdleSessions(time: .zero))
    }
}

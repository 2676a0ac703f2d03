import TestSupport
import Foundation
import Testing

@testable import BraidStore

#if PostgreSQL
@testable import BraidPostgres
#endif

/// A store whose writer a test can keep busy, so that further writes have to wait.
protocol HoldableStore: SessionStore {
    /// The number of writes that wait for the store's next transaction.
    var queued: Int { get }
    /// Begins a transaction that does not end before the returned closure `release` is called. The returned task `end`
    /// finishes when the transaction has ended.
    func hold() async throws -> (release: @Sendable () -> Void, end: Task<Void, any Error>)
    func stopWriting()
}

extension HoldableStore {
    /// Waits until `count` writes wait for the next transaction.
    func hasQueued(_ count: Int) async -> Bool { await eventually { queued >= count } }
}

extension StoreKind {
    func openHoldable() throws -> any HoldableStore { try openHoldable(at: place()) }

    func openHoldable(at place: String) throws -> any HoldableStore {
        #if PostgreSQL
        if self == .postgres { return try PostgresStore(url: place, timeout: .patient) }
        #endif
        return try SQLiteStore(path: place)
    }
}

extension SQLiteStore: HoldableStore {
    var queued: Int { writer.queued }

    func stopWriting() { writer.stop() }

    func hold() async throws -> (release: @Sendable () -> Void, end: Task<Void, any Error>) {
        let gate = DispatchSemaphore(value: 0), isHeld = Flag()
        let end = Task {
            try await write { _ in
                isHeld.set()
                gate.wait()
            }
        }
        await isHeld.wait()
        return ({ gate.signal() }, end)
    }
}

#if PostgreSQL
extension Duration {
    /// A long timeout, so that a held transaction does not fail on a busy machine.
    static let patient = Duration.seconds(600)
}

extension PostgresStore: HoldableStore {
    var queued: Int { writer.queued }

    func stopWriting() { writer.stop() }

    /// Holds a PostgreSQL lock on another connection, so that the store's transaction waits for this lock.
    func hold() async throws -> (release: @Sendable () -> Void, end: Task<Void, any Error>) {
        let gate = DispatchSemaphore(value: 0), isHeld = Flag()
        let key = Int.random(in: 1...1 << 40)
        let other = Thread { [url] in
            do {
                let connection = try PostgresConnection(url: url, timeout: .seconds(30), settings: [])
                _ = try connection.query("SELECT pg_advisory_lock(\(key))")
                isHeld.set()
                gate.wait()
            } catch {
                isHeld.set()
            }
        }
        other.start()
        await isHeld.wait()
        let end = Task { try await write(["SELECT pg_advisory_xact_lock(\(key))"]) { _ in } }
        // The store's transaction has begun as soon as another connection sees it waiting for the lock.
        let watch = try PostgresConnection(url: url, timeout: .seconds(30), settings: [])
        #expect(
            try await eventually {
                try watch.query(
                    "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid::bigint = \(key & 0xFFFF_FFFF)"
                ).count > 0
            })
        return ({ gate.signal() }, end)
    }

    private var url: String { dialer.url }
}
#endif

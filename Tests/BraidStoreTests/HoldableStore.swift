import TestSupport
import Foundation
import Testing

@testable import BraidStore

#if PostgreSQL
@testable import BraidPostgres
#endif

/// Its writer can be kept busy, so that writes wait.
protocol HoldableStore: SessionStore {
    var queued: Int { get }
    /// The transaction lasts until `release`; `end` finishes with it.
    func hold() async throws -> (release: @Sendable () -> Void, end: Task<Void, any Error>)
    func stopWriting()
}

extension HoldableStore {
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
    /// For transactions that are held on a busy machine.
    static let patient = Duration.seconds(600)
}

extension PostgresStore: HoldableStore {
    var queued: Int { writer.queued }

    func stopWriting() { writer.stop() }

    /// On another connection, for whose lock the transaction waits.
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
        // Begun once another connection sees it wait.
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

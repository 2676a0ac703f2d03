import Foundation
import Testing

@testable import BraidStore

#if PostgreSQL
@testable import BraidPostgres
#endif

/// With databases of earlier releases, from Tests/Upgrades.
@Suite struct UpgradeTests {
    private static let kinds = StoreKind.forTests.filter { $0 != .memory }

    @Test(
        "A database whose upgrade was killed before any one of its steps has the old version, and can be upgraded",
        arguments: kinds)
    func killed(kind: StoreKind) async throws {
        for step in 0..<kind.upgradeStepCount {
            let place = try released(kind)
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [kind = kind.rawValue as String, place = place as String, step = step as Int] in
                _ = try StoreKind(rawValue: kind)?.open(at: place) { if $0 == step { kill(getpid(), SIGKILL) } }
            }
            #expect(try kind.schemaVersion(at: place) == 1, "step \(step)")
            try await expectUpgrade(of: place, kind: kind)
        }
    }

    @Test("If a step of an upgrade fails, the database keeps its old version", arguments: kinds)
    func failing(kind: StoreKind) async throws {
        let place = try released(kind)
        for step in 0..<kind.upgradeStepCount {
            #expect(throws: StoreError.full) {
                try kind.open(at: place) { if $0 == step { throw StoreError.full } }
            }
            #expect(try kind.schemaVersion(at: place) == 1, "step \(step)")
        }
        try await expectUpgrade(of: place, kind: kind)
    }

    #if PostgreSQL
    @Test(
        "An upgrade that has to wait for another program's lock is refused, and can be repeated",
        .enabled(if: PostgresCluster.isThere))
    func lockedOut() async throws {
        let place = try released(.postgres)
        let dump = try PostgresConnection(url: place, timeout: .seconds(30), settings: [])
        _ = try dump.all(["BEGIN", "LOCK TABLE braid_server IN ACCESS SHARE MODE"])
        #expect { try PostgresStore(url: place, timeout: .seconds(2)) } throws: {
            if case StoreError.busy = $0 { true } else { false }
        }
        #expect(try StoreKind.postgres.schemaVersion(at: place) == 1)
        try dump.endTransaction()
        try await expectUpgrade(of: place, kind: .postgres)
    }
    #endif

    /// As release 0.1.0 left it.
    private func released(_ kind: StoreKind) throws -> String {
        let place = try kind.place()
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let name = kind == .postgres ? "postgres" : "sqlite"
        let sql = try String(
            contentsOf: folder.appendingPathComponent("Upgrades/0.1.0/\(name).sql"), encoding: .utf8)
        if kind == .postgres {
            try PostgresCluster.run(sql, in: place)
        } else {
            try SQLiteConnection.run(sql, in: place)
        }
        return place
    }

    /// With all sessions of the old release.
    private func expectUpgrade(of place: String, kind: StoreKind) async throws {
        let store = try kind.open(at: place) { _ in }
        #expect(try await store.sessions(after: nil, limit: 10).map(\.id) == ["list", "old", "party", "plain"])
        #expect(try await store.sessions(after: nil, limit: 10).map(\.revision) == [2, 0, 5, 12])
        #expect(try await store.session("list")?.published != nil)
        let number = try #require(try await store.sessionSummary("plain")).number
        #expect(try await store.journal(of: number, after: 0, limit: 100).map(\.revision) == Array(5...12))
        // Still found: the clock goes on where the old release stopped.
        let party = try #require(try await store.sessionSummary("party")).number
        for key in ["key-0", "key-1"] {
            #expect(
                try await store.answer(
                    to: key,
                    by: store.tokens(of: "party", after: nil, limit: 9, now: 0)?.first {
                        $0.token.role == "participant"
                    }?.token.id ?? "", of: party, now: store.answerClock.now()) != nil)
        }
        await store.close()
        #expect(try kind.schemaVersion(at: place) == 2)
    }
}

extension StoreKind {
    /// Calls `upgrading` before each step.
    func open(at place: String, upgrading: @escaping @Sendable (Int) throws -> Void) throws -> any SessionStore {
        var options = StoreOptions()
        options.upgrading = upgrading
        #if PostgreSQL
        if self == .postgres { return try PostgresStore(url: place, options: options) }
        #endif
        return try SQLiteStore(path: place, options: options)
    }

    /// For each statement, the new version number, and COMMIT.
    var upgradeStepCount: Int {
        #if PostgreSQL
        if self == .postgres { return PostgresSchema.steps.joined().count + 2 }
        #endif
        return SQLiteSchema.steps.joined().count + 2
    }

    /// Negative without that version's tables and columns.
    func schemaVersion(at place: String) throws -> Int {
        #if PostgreSQL
        if self == .postgres {
            let db = try PostgresConnection(url: place, timeout: .seconds(30), settings: [])
            let version = try db.query("SELECT version FROM braid_server").first?.int(0) ?? 0
            let columns = try db.query(
                "SELECT count(*) FROM pg_attribute WHERE attrelid = 'braid_server'::regclass AND attnum > 0"
            ).first?.int(0)
            return columns == [1: 2, 2: 5][version] ? version : -version
        }
        #endif
        let db = try SQLiteConnection(path: place, mode: .readWrite)
        defer { db.close() }
        let version = try db.pragma("user_version")
        let isNew = try db.first("SELECT count(*) FROM sqlite_master WHERE name = 'compatibility'") { $0.int(0) } == 1
        return isNew == (version == 2) ? version : -version
    }
}

extension SQLiteConnection {
    static func run(_ sql: String, in path: String) throws {
        let db = try SQLiteConnection(path: path, mode: .readWrite)
        defer { db.close() }
        try db.execute(sql)
    }
}

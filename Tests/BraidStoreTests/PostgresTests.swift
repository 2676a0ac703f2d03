#if PostgreSQL
import BraidEngine
import BraidStore
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import BraidPostgres

/// Only the PostgreSQL store: a database on a server, several servers on one database.
@Suite(.enabled(if: PostgresCluster.isThere, "needs to be run by Scripts/with-postgres")) struct PostgresTests {
    private static let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()

    private func connect(_ url: String) throws -> PostgresConnection {
        try PostgresConnection(url: url, timeout: .seconds(30), settings: [])
    }

    // MARK: The schema

    /// Also the current one: a released schema changes only by a step.
    @Test(
        "A database of any released schema version is upgraded to the schema of a new database",
        arguments: 1...PostgresSchema.version)
    func upgrades(version: Int) async throws {
        let old = try PostgresCluster.newDatabase(), new = try PostgresCluster.newDatabase()
        try PostgresCluster.run(
            String(contentsOf: Self.tests.appendingPathComponent("Schemas/postgres-\(version).sql"), encoding: .utf8),
            in: old)
        for url in [old, new] { try await PostgresStore(url: url).close() }
        #expect(try shape(old) == shape(new))
        #expect(try shape(new).count > 60)
    }

    /// As sorted text: the order of creation does not matter.
    private func shape(_ url: String) throws -> [String] {
        let rows = try connect(url).query(
            """
            SELECT concat_ws(' ', table_name, column_name, data_type, is_nullable, column_default, is_identity) AS line
            FROM information_schema.columns WHERE table_schema = 'public'
            UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
            UNION ALL SELECT conrelid::regclass || ' ' || pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace
            UNION ALL SELECT relname || array_to_string(reloptions, ' ') FROM pg_class WHERE relnamespace = 'public'::regnamespace AND reloptions IS NOT NULL
            UNION ALL SELECT concat_ws(' ', application, version, minimum_version) FROM braid_server
            ORDER BY line
            """)
        return rows.map { $0.text(0) }
    }

    // MARK: Opening

    @Test("A store that cannot start a thread for its writes is not opened, so that no write waits for ever")
    func noThread() async {
        await #expect(processExitsWith: .exitCode(3)) {
            refuseThreads()
            do {
                _ = try PostgresStore(url: "postgres://localhost/none", connects: false)
            } catch StoreError.io {
                exit(3)
            }
        }
    }

    @Test(
        "A PostgreSQL database of another application is refused and not changed",
        arguments: [
            "CREATE TABLE customers (id int)", "CREATE TABLE braid_server (x int)",
            "CREATE TABLE braid_server (application text, version int)",
            "CREATE TABLE braid_server AS SELECT 'Braid Server' AS application, 1000000 AS version",
        ])
    func otherApplications(sql: String) throws {
        let url = try PostgresCluster.newDatabase()
        try PostgresCluster.run(sql, in: url)
        let before = try connect(url).query("SELECT relname::text FROM pg_class ORDER BY 1").map { $0.text(0) }
        #expect { try PostgresStore(url: url) } throws: {
            if case StoreError.wrongApplication = $0 { true } else { false }
        }
        #expect(try connect(url).query("SELECT relname::text FROM pg_class ORDER BY 1").map { $0.text(0) } == before)
    }

    @Test("The PostgreSQL schema that the server expects is the schema of a new database")
    func expectedShape() async throws {
        let url = try PostgresCluster.newDatabase()
        try await PostgresStore(url: url).close()
        let shape = try PostgresQueries(db: connect(url)).shape(of: "public")
        #expect(shape.tables == PostgresSchema.expected.tables)
        #expect(Set(shape.indexes.keys) == Set(PostgresSchema.expected.indexes.keys))
        #expect(shape.tables.count == 16 && shape.indexes.count > 15)
    }

    @Test(
        "A PostgreSQL database whose schema does not fit is refused, and the error names the difference",
        arguments: [
            ("DROP TABLE published_model", "the table published_model is missing"),
            ("ALTER TABLE model DROP COLUMN rank", "the column model.rank is missing"),
            (
                "ALTER TABLE model ALTER rank TYPE integer",
                "the column model.rank is INTEGER NOT NULL instead of BIGINT NOT NULL"
            ),
            (
                "ALTER TABLE opening ALTER body DROP NOT NULL",
                "the column opening.body is TEXT instead of TEXT NOT NULL"
            ),
            (
                "ALTER TABLE state ADD note TEXT NOT NULL",
                "the column state.note is unknown, NOT NULL and has no default"
            ),
            (
                "DROP INDEX answer_by_age",
                "the table answer has no index on (at) (CREATE INDEX answer_by_age ON answer (at))"
            ),
            (
                "ALTER TABLE journal DROP CONSTRAINT journal_pkey",
                "the table journal has no unique index on (session, revision)"
            ),
        ])
    func lackingDatabases(change: String, difference: String) async throws {
        let url = try PostgresCluster.newSchema()
        let store = try PostgresStore(url: url)
        await store.close()
        try PostgresCluster.run(change, in: url)
        #expect(
            throws: StoreError.differentSchema(
                path: store.name, version: PostgresSchema.version, differences: [difference])
        ) { try PostgresStore(url: url) }
    }

    @Test(
        "A PostgreSQL database of a newer version is refused only if its minimum version is also newer than the server"
    )
    func newerDatabases() async throws {
        let url = try PostgresCluster.newSchema(), known = PostgresSchema.version
        let running = try PostgresStore(url: url)
        try PostgresCluster.run(
            "UPDATE braid_server SET version = \(known + 1); ALTER TABLE session ADD note TEXT", in: url)
        let other = try PostgresStore(url: url)
        #expect(other.schemaNotice != nil && running.schemaNotice == nil)
        let number = try await other.createSession(.make())
        try await running.commit(.make(number, to: 1))
        await other.close()

        let refusal = StoreError.newerVersion(found: known + 1, known: known)
        try PostgresCluster.run("UPDATE braid_server SET minimum_version = \(known + 1)", in: url)
        #expect(throws: refusal) { try PostgresStore(url: url) }
        // When it next looks for changes.
        try running.listen { _ in }
        #expect(await eventually { running.dialer.retirement != nil })
        await #expect(throws: refusal) { try await running.commit(.make(number, to: 2)) }
        await #expect(throws: refusal) { try await running.session("s") }
        await #expect(throws: refusal) { try await running.check() }
        #expect(running.dialer.retirement == refusal)
        await running.close()
    }

    @Test("A database whose encoding cannot represent every text is refused, and the error names the encoding")
    func encoding() throws {
        let url = try PostgresCluster.newDatabase("ENCODING 'LATIN1' LOCALE 'C'")
        #expect { try PostgresStore(url: url) } throws: { "\($0)".contains("LATIN1") }
    }

    @Test("A read-only PostgreSQL database is refused") func readOnlyDatabase() throws {
        let url =
            try PostgresCluster.newDatabase() + "&options=-cdefault_transaction_read_only%3Don&target_session_attrs=any"
        #expect { try PostgresStore(url: url) } throws: { if case StoreError.readOnly = $0 { true } else { false } }
    }

    @Test("The store uses the schema that the search path in the address selects") func searchPath() async throws {
        let url = try PostgresCluster.newDatabase()
        try PostgresCluster.run("CREATE TABLE customers (id int); CREATE SCHEMA \"Tables\"", in: url)
        let store = try PostgresStore(url: url + "&options=-csearch_path%3D%22Tables%22")
        _ = try await store.createSession(.make())
        #expect(try await store.size().sessions == 1)
        await store.close()
    }

    @Test("Stores that open an empty database at the same time create the schema once")
    func concurrentCreation() async throws {
        let url = try PostgresCluster.newDatabase()
        let failures = Mutex<[String]>([])
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            do { _ = try PostgresStore(url: url) } catch { failures.withLock { $0.append("\(error)") } }
        }
        #expect(failures.withLock { $0 } == [])
        #expect(try connect(url).query("SELECT * FROM braid_server").count == 1)
    }

    @Test("The error for a server that is not reachable contains the server's address but not the password")
    func unreachableServer() {
        #expect { try PostgresStore(url: "postgres://me:secret@127.0.0.1:1/tables") } throws: {
            if case StoreError.unavailable = $0 {
                "\($0)".contains("127.0.0.1") && !"\($0)".contains("secret")
            } else {
                false
            }
        }
    }

    @Test("The error for a malformed address does not contain the password") func malformedAddress() {
        #expect { try PostgresStore(url: "postgres://me:sec@ret@x:y/tables?%zz") } throws: {
            !"\($0)".contains("ret@") && "\($0)".contains("address")
        }
    }

    @Test(
        "The option `synchronous` determines synchronous_commit on the connection for writes",
        arguments: [(StoreOptions.Synchronous.full, "on"), (.normal, "off")])
    func settings(synchronous: StoreOptions.Synchronous, value: String) async throws {
        let store = try PostgresStore(
            url: PostgresCluster.newDatabase(), options: StoreOptions(synchronous: synchronous))
        #expect(
            try await store.write(["SELECT current_setting('synchronous_commit')"]) { $0[0].first?.text(0) }
                == value)
        await store.close()
    }

    // MARK: Several at once

    /// As of two servers.
    @Test("If two stores commit the same revision at the same time, exactly one commit succeeds")
    func concurrentCommits() async throws {
        let url = try PostgresCluster.newDatabase()
        let stores = [try PostgresStore(url: url), try PostgresStore(url: url)]
        let number = try await stores[0].createSession(.make())
        for revision in 1...60 {
            let written = try await withThrowingTaskGroup(of: Int.self) { group in
                for (index, store) in stores.enumerated() {
                    group.addTask {
                        do {
                            try await store.commit(
                                .make(number, to: revision) { $0.writtenRows = [(1, .make(2 * revision + index))] })
                            return 1
                        } catch StoreError.revisionConflict {
                            return 0
                        }
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(written == 1)
        }
        let session = try #require(try await stores[1].session("s"))
        #expect(session.summary.revision == 60 && session.sections[0].rows.count == 60)
        #expect(try await stores[1].journal(of: number, after: 0, limit: 100).map(\.revision) == Array(1...60))
        for store in stores { await store.close() }
    }

    @Test("Each description that two stores register under one name at the same time gets its own version")
    func concurrentRegistrations() async throws {
        let url = try PostgresCluster.newDatabase()
        let stores = [try PostgresStore(url: url), try PostgresStore(url: url)]
        let versions = try await withThrowingTaskGroup(of: Int.self) { group in
            for round in 0..<20 {
                group.addTask { try await stores[round % 2].putTable("t", description: "1", at: round) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(versions.sorted() == Array(1...20))
        for store in stores { await store.close() }
    }

    @Test("If one store ends a session while another commits on it, nothing of the session remains in the database")
    func endedSession() async throws {
        let url = try PostgresCluster.newDatabase()
        let stores = [try PostgresStore(url: url), try PostgresStore(url: url)]
        for round in 1...30 {
            let number = try await stores[0].createSession(.make("s\(round)"))
            let hasCommitted = Flag()
            async let commits: Void = {
                for revision in 1...50 {
                    do {
                        try await stores[0].commit(
                            .make(number, to: revision) { $0.writtenRows = [(1, .make(revision))] })
                        hasCommitted.set()
                    } catch let error as StoreError where [.sessionMissing, .revisionConflict].contains(error) {
                        return
                    }
                }
            }()
            #expect(await hasCommitted.wait())
            #expect(try await stores[1].deleteSession("s\(round)") == number)
            try await commits
        }
        let connection = try connect(url)
        for table in ["session", "model", "section", "journal", "opening", "state"] {
            #expect(try connection.query("SELECT 1 FROM \(raw: table)").count == 0, "\(table)")
        }
        for store in stores { await store.close() }
    }
}
#endif

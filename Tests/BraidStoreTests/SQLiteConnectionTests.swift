import CSQLite
import Foundation
import Testing

@testable import BraidStore

@Suite("SQLite connections") struct SQLiteConnectionTests {
    private let path = TestDirectory.make() + "/file.sqlite"

    private func open(_ mode: SQLiteConnection.Mode = .readWrite) throws -> SQLiteConnection {
        try SQLiteConnection(path: path, mode: mode)
    }

    // MARK: Opening

    @Test("A connection that may only read does not create the file") func readOnly() throws {
        #expect { try open(.readOnly) } throws: { has($0, .cannotOpen) }
        #expect(access(path, F_OK) != 0)
        try open().execute("CREATE TABLE t (v)")
        let reader = try open(.readOnly)
        #expect(reader.isReadOnly)
        #expect { try reader.execute("INSERT INTO t VALUES (1)") } throws: { has($0, .readOnly) }
    }

    @Test("An error contains SQLite's extended result code and message") func errors() throws {
        let connection = try open()
        try connection.execute("CREATE TABLE t (v UNIQUE NOT NULL); INSERT INTO t VALUES (1)")
        #expect { try connection.run("INSERT INTO t VALUES (1)") } throws: {
            let error = $0 as? SQLiteError
            return error?.code.rawValue == 2067 && error?.message == "UNIQUE constraint failed: t.v"
        }
        #expect { try connection.run("INSERT INTO t VALUES (NULL)") } throws: {
            ($0 as? SQLiteError)?.code.rawValue == 1299
        }
        #expect { try connection.run("SELECT nowhere") } throws: { "\($0)" == "no such column: nowhere (SQLite 1)" }
    }

    @Test("An identifier in double quotes that does not exist is an error, and not a string")
    func doubleQuotes() throws {
        #expect { try open().run(#"SELECT "nothing""#) } throws: { has($0, .error) }
    }

    // MARK: Statements

    @Test("All statements of a script run, even with comments and empty statements between them")
    func scripts() throws {
        let connection = try open()
        try connection.execute(
            """
            -- a comment; with a semicolon
            CREATE TABLE t (v);;
            INSERT INTO t VALUES (1), (';'); /* another */
            SELECT * FROM t; INSERT INTO t VALUES (3)
            -- the end
            """)
        #expect(try connection.first("SELECT count(*) FROM t") { $0.int(0) } == 3)
        try connection.execute("")
        try connection.execute(" ; -- nothing")
    }

    @Test("A script stops at its first faulty statement") func faultyScripts() throws {
        let connection = try open()
        #expect { try connection.execute("CREATE TABLE a (v); nonsense; CREATE TABLE b (v)") } throws: {
            has($0, .error)
        }
        #expect(try connection.first("SELECT count(*) FROM sqlite_master") { $0.int(0) } == 1)
    }

    @Test(
        "Preparing a text with a NUL, or with another number of statements than one, is refused",
        arguments: ["", " ", "-- x", ";", "SELECT 1; SELECT 2", "SELECT 1\0", "\0"])
    func statementTexts(sql: String) throws {
        #expect { try open().prepare(sql) } throws: { has($0, .misuse) }
    }

    @Test("White space and comments after a statement do not count as a second statement")
    func trailingComments() throws {
        #expect(try open().first("SELECT 1; -- x\n /* y */ ") { $0.int(0) } == 1)
    }

    @Test("The connection's number of changed rows and last row id are those of the last statement")
    func changes() throws {
        let connection = try open()
        try connection.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v)")
        #expect(try connection.run("INSERT INTO t VALUES (?, 1), (?, 2)", Int.max - 1, 5) == 2)
        #expect(connection.lastInsertedRowID == 5)
        #expect(try connection.run("UPDATE t SET v = 3") == 2)
        #expect(try connection.run("DELETE FROM t WHERE k = 0") == 0)
    }

    // MARK: Transactions

    @Test("A transaction whose closure throws an error is rolled back") func rolledBack() throws {
        let connection = try open()
        try connection.execute("CREATE TABLE t (v)")
        #expect(throws: CancellationError.self) {
            try connection.inTransaction(.immediate) {
                try connection.run("INSERT INTO t VALUES (1)")
                throw CancellationError()
            }
        }
        #expect(!connection.isInTransaction)
        try connection.inTransaction(.immediate) { _ = try connection.run("INSERT INTO t VALUES (2)") }
        #expect(try connection.first("SELECT sum(v) FROM t") { $0.int(0) } == 2)
    }

    @Test("A transaction within a transaction is refused, and the outer one can continue")
    func nestedTransactions() throws {
        let connection = try open()
        try connection.begin(.deferred)
        #expect { try connection.begin(.immediate) } throws: { has($0, .error) }
        #expect(connection.isInTransaction)
        try connection.commit()
        #expect { try connection.commit() } throws: { has($0, .error) }
        try connection.rollback()
    }

    @Test("A commit that fails is rolled back") func failedCommits() throws {
        let connection = try open()
        try connection.execute(
            """
            PRAGMA foreign_keys = ON; CREATE TABLE parent (k PRIMARY KEY);
            CREATE TABLE child (k REFERENCES parent DEFERRABLE INITIALLY DEFERRED)
            """)
        #expect {
            try connection.inTransaction(.immediate) { _ = try connection.run("INSERT INTO child VALUES (1)") }
        } throws: {
            has($0, .constraint)
        }
        #expect(!connection.isInTransaction)
        #expect(try connection.first("SELECT count(*) FROM child") { $0.int(0) } == 0)
    }

    @Test("A statement waits for another connection's lock until the busy timeout ends") func busy() throws {
        let holder = try open(), waiter = try open()
        try holder.begin(.immediate)
        waiter.setBusyTimeout(50)
        let start = ContinuousClock.now
        #expect { try waiter.begin(.immediate) } throws: { has($0, .busy) }
        #expect(ContinuousClock.now - start >= .milliseconds(40))
        try holder.rollback()
        try waiter.begin(.immediate)
        #expect(waiter.isInTransaction)
    }

    // MARK: The log

    @Test("A checkpoint copies the log, and can truncate the log only if nobody reads from it")
    func checkpoints() throws {
        let connection = try open()
        #expect(try connection.checkpoint(.passive) == (-1, -1), "there is no log")
        try connection.execute("PRAGMA journal_mode = WAL")
        connection.countLogPages()
        try connection.execute("CREATE TABLE t (v)")
        let first = connection.logPages
        #expect(first > 0)
        try connection.run("INSERT INTO t VALUES (1)")
        #expect(connection.logPages > first)
        #expect(try connection.checkpoint(.passive) == (connection.logPages, connection.logPages))
        let reader = try open(.readOnly)
        let statement = try reader.prepare("SELECT v FROM t")
        #expect(try statement.step())
        try connection.run("INSERT INTO t VALUES (2)")
        #expect { try connection.checkpoint(.truncate) } throws: { has($0, .busy) }
        statement.reset()
        #expect(try connection.checkpoint(.truncate) == (0, 0))
        reader.close()
        connection.close()
        #expect(access(path + "-wal", F_OK) != 0, "the last connection removes it")
    }

    // MARK: Progress

    /// Would run for years.
    private static let endless = """
        WITH RECURSIVE n(v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM n) SELECT count(*) FROM n
        """

    @Test("A progress handler is called while a statement runs, and can interrupt the statement")
    func progress() throws {
        let connection = try open()
        var calls = 0
        #expect {
            try connection.withProgress(every: 100) {
                calls += 1
                return calls < 10
            } _: {
                try connection.run(Self.endless)
            }
        } throws: {
            has($0, .interrupted)
        }
        #expect(calls == 10)
        try connection.execute("CREATE TABLE t (v)")
        #expect(calls == 10, "it was taken away again")
    }

    // MARK: Closing

    @Test("A closed connection throws errors, and closing it again has no effect") func closed() throws {
        let connection = try open()
        try connection.execute("CREATE TABLE t (v)")
        try connection.begin(.immediate)
        try connection.run("INSERT INTO t VALUES (1)")
        connection.close()
        connection.close()
        #expect(throws: SQLiteError.closed) { try connection.run("SELECT 1") }
        #expect(throws: SQLiteError.closed) { try connection.execute("SELECT 1") }
        #expect(throws: SQLiteError.closed) { try connection.begin(.deferred) }
        #expect(throws: SQLiteError.closed) { try connection.checkpoint(.passive) }
        #expect(throws: SQLiteError.closed) { try connection.withProgress(every: 1, { true }, {}) }
        #expect(throws: Never.self) { try connection.rollback() }
        connection.setBusyTimeout(1)
        connection.setLengthLimit(100)
        connection.releaseMemory()
        connection.countLogPages()
        #expect(connection.changedRowCount == 0 && connection.lastInsertedRowID == 0 && !connection.isInTransaction)
        #expect(try open().first("SELECT count(*) FROM t") { $0.int(0) } == 0, "the transaction was rolled back")
    }

    @Test("Closing a connection in the middle of a query closes the file") func closedWhileReading() throws {
        let connection = try open()
        try connection.execute("CREATE TABLE t (v); INSERT INTO t VALUES (1), (2)")
        #expect(throws: SQLiteError.closed) { try connection.query("SELECT v FROM t") { _ in connection.close() } }
        let file = path
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").filter {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == file
        }
        #expect(open.isEmpty)
    }
}

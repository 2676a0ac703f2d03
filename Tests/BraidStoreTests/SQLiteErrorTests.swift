import CSQLite
import Foundation
import Testing

@testable import BraidStore

/// Each primary code of https://sqlite.org/rescode.html: a test produces it, or a text says why none does.
@Suite("SQLite's result codes") struct SQLiteErrorTests {
    private let path = TestDirectory.make() + "/file.sqlite"

    /// With the reasons.
    private static let unreachable: [CInt: String] = [
        SQLITE_OK: "success: no error is made of it",
        SQLITE_INTERNAL: "a fault in SQLite",
        SQLITE_PERM: "the operating system refuses a file lock with EPERM, which Linux does not",
        SQLITE_NOTFOUND: "only of sqlite3_file_control and of virtual tables, which the wrapper does not use",
        SQLITE_PROTOCOL: "five seconds of lost races for the log's locks",
        SQLITE_EMPTY: "not used by SQLite",
        SQLITE_SCHEMA: "sqlite3_prepare_v3 prepares again; 50 changes of the schema within one step end that",
        SQLITE_NOLFS: "the file system has no files of more than 2 GiB",
        SQLITE_AUTH: "only of an authorizer, which the wrapper does not set",
        SQLITE_FORMAT: "not used by SQLite",
        SQLITE_NOTICE: "only in SQLite's own log",
        SQLITE_WARNING: "only in SQLite's own log",
        SQLITE_ROW: "`step` returns it as true",
        SQLITE_DONE: "`step` returns it as false",
    ]

    /// With the extended code and the calls that produce it.
    private static let reached: [(code: CInt, extended: CInt, reach: @Sendable (SQLiteErrorTests) throws -> Void)] = [
        (SQLITE_ERROR, 1, { try $0.database().execute("nonsense") }),
        (SQLITE_ABORT, 516, { try $0.readBehindRollback() }),
        (SQLITE_BUSY, 5, { try $0.whileLocked() }),
        (SQLITE_LOCKED, 6, { try $0.dropWhileReading() }),
        (
            SQLITE_READONLY, 8,
            { test in
                try test.database().close()
                try SQLiteConnection(path: test.path, mode: .readOnly).execute("DELETE FROM t")
            }
        ),
        (
            SQLITE_INTERRUPT, 9,
            { test in
                let database = try test.database()
                try database.withProgress(every: 1, { false }) { try database.execute("SELECT v FROM t") }
            }
        ),
        (SQLITE_CORRUPT, 11, { try $0.damaged() }),
        (
            SQLITE_FULL, 13,
            { try $0.database().execute("PRAGMA max_page_count = 5; INSERT INTO t VALUES (zeroblob(100000))") }
        ),
        (SQLITE_CANTOPEN, 14, { _ = try SQLiteConnection(path: $0.path + "/no/file", mode: .readWrite) }),
        (
            SQLITE_TOOBIG, 18,
            { test in
                let database = try test.database()
                database.setLengthLimit(100)
                try database.execute("INSERT INTO t VALUES (zeroblob(200))")
            }
        ),
        (SQLITE_CONSTRAINT, 2067, { try $0.database().execute("INSERT INTO u VALUES (1, 1), (2, 1)") }),
        (SQLITE_MISMATCH, 20, { try $0.database().execute("INSERT INTO u VALUES ('x', 1)") }),
        (SQLITE_MISUSE, 21, { try $0.database().execute("SELECT 1\0") }),
        (SQLITE_RANGE, 25, { try $0.database().run("SELECT ?", 1, 2) }),
        (
            SQLITE_NOTADB, 26,
            { test in
                try Data(String(repeating: "no database\n", count: 1000).utf8).write(
                    to: URL(fileURLWithPath: test.path))
                try SQLiteConnection(path: test.path, mode: .readWrite).execute("SELECT * FROM sqlite_master")
            }
        ),
    ]

    /// In a process of their own, whose limits they change.
    private static let reachedElsewhere: Set<CInt> = [SQLITE_NOMEM, SQLITE_IOERR]

    private func database() throws -> SQLiteConnection {
        let connection = try SQLiteConnection(path: path, mode: .readWrite)
        try connection.execute(
            "CREATE TABLE t (v); CREATE TABLE u (k INTEGER PRIMARY KEY, v UNIQUE); INSERT INTO t VALUES (1), (2)")
        return connection
    }

    private func readBehindRollback() throws {
        let connection = try database()
        try connection.begin(.immediate)
        try connection.execute("CREATE TABLE another (v)")
        let statement = try connection.prepare("SELECT v FROM t")
        #expect(try statement.step())
        try connection.rollback()
        while try statement.step() {}
    }

    private func whileLocked() throws {
        let connection = try database()
        try connection.begin(.immediate)
        try SQLiteConnection(path: path, mode: .readWrite).begin(.immediate)
    }

    private func dropWhileReading() throws {
        let connection = try database()
        let statement = try connection.prepare("SELECT v FROM t")
        #expect(try statement.step())
        try connection.execute("DROP TABLE t")
    }

    private func damaged() throws {
        let connection = try database()
        try connection.execute("PRAGMA user_version = 5")
        connection.close()
        let file = try #require(FileHandle(forUpdatingAtPath: path))
        try file.seek(toOffset: 4096)
        try file.write(contentsOf: Data(repeating: 0xEE, count: 8192))
        try file.close()
        try SQLiteConnection(path: path, mode: .readWrite).execute("SELECT v FROM t")
    }

    @Test("Every primary result code of SQLite is produced by a test, or listed as unreachable") func completeness() {
        let reached = Set(Self.reached.map(\.code)).union(Self.reachedElsewhere)
        #expect(reached.union(Self.unreachable.keys) == Set(Array(0...28) + [100, 101]))
        #expect(reached.isDisjoint(with: Self.unreachable.keys))
    }

    @Test("An error contains SQLite's primary and extended result code", arguments: reached.indices)
    func codes(index: Int) throws {
        let (code, extended, reach) = Self.reached[index]
        #expect {
            try reach(self)
        } throws: { error in
            guard let error = error as? SQLiteError else { return false }
            #expect(error.code.rawValue == extended && error.code.primary.rawValue == code)
            #expect(!error.message.isEmpty)
            return true
        }
    }

    @Test("If memory runs out, the error is SQLITE_NOMEM, and the connection can still be used")
    func noMemory() async throws {
        await #expect(processExitsWith: .exitCode(7)) {
            let connection = try SQLiteConnection(path: "", mode: .inMemory)
            try connection.execute("CREATE TABLE t (v); INSERT INTO t VALUES (1)")
            sqlite3_hard_heap_limit64(sqlite3_memory_used() + 200_000)
            do {
                try connection.run("SELECT ?", [UInt8](repeating: 0, count: 1 << 20))
            } catch {
                guard has(error, .noMemory), try connection.first("SELECT v FROM t", value: { $0.int(0) }) == 1 else {
                    exit(1)
                }
                exit(7)
            }
        }
    }

    @Test("If the file reaches its largest size, the disk is full, and the statement changes nothing")
    func fileSize() async throws {
        await #expect(processExitsWith: .exitCode(13)) { [path = path as String] in
            let connection = try SQLiteConnection(path: path, mode: .readWrite)
            try connection.execute("CREATE TABLE t (v)")
            signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit(rlim_cur: 20_000, rlim_max: 20_000)
            setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
            do {
                try connection.execute("INSERT INTO t VALUES (zeroblob(100000))")
            } catch let error as SQLiteError {
                guard error.isOutOfRoom, error.code.rawValue == SQLITE_FULL else { exit(1) }
                exit(try connection.first("SELECT count(*) FROM t", value: { $0.int(0) }) == 0 ? 13 : 2)
            }
        }
    }

    @Test("Each SQLite result code becomes the store error with its meaning")
    func meanings() {
        func meaning(_ code: CInt) -> StoreError { StoreError(SQLiteError(code: .init(rawValue: code)), path: "p") }
        #expect(meaning(13) == .full)
        #expect(meaning(10 | 19 << 8) == .full, "SQLITE_IOERR_SHMSIZE")
        #expect(meaning(8 | 5 << 8) == .readOnly(path: "p"))
        #expect(meaning(5 | 2 << 8) == .busy(path: "p"))
        #expect(meaning(6) == .busy(path: "p"))
        #expect(meaning(18) == .tooLarge)
        #expect(meaning(26) == .notADatabase(path: "p"))
        #expect("\(meaning(11))".contains("database disk image is malformed (SQLite 11)"))
        #expect(meaning(10 | 4 << 8) == .io("disk I/O error (SQLite 1034)"))
        #expect(
            SQLiteError(code: .ioErrorFsync).isFailedFlush && SQLiteError(code: .ioErrorDirectoryFsync).isFailedFlush)
        #expect(!SQLiteError(code: .ioError).isFailedFlush)
        #expect("\(SQLiteResultCode(rawValue: 99))" == "unknown error")
    }

    @Test("Only an error that changes nothing counts as a full disk")
    func outOfRoom() {
        let full: [SQLiteResultCode] = [.full, .ioErrorSharedMemorySize],
            other: [SQLiteResultCode] = [.ioError, .ioErrorFsync]
        #expect(full.allSatisfy { SQLiteError(code: $0).isOutOfRoom })
        #expect(!other.contains { SQLiteError(code: $0).isOutOfRoom })
    }

    @Test("The error of a damaged schema does not quote what is stored there")
    func damagedSchema() throws {
        do {
            let connection = try SQLiteConnection(path: path, mode: .readWrite)
            try connection.execute("CREATE TABLE t (v); PRAGMA writable_schema = ON")
            try connection.execute("UPDATE sqlite_schema SET name = 'secret', sql = 'a secret'")
            connection.close()
        }
        let connection = try SQLiteConnection(path: path, mode: .readWrite)
        #expect {
            try connection.execute("SELECT 1 FROM t")
        } throws: {
            "\($0)" == "database disk image is malformed (SQLite 11)"
        }
    }

    @Test("Only result codes that are the fault of one request leave the other requests of its group alone")
    func faults() {
        let ofOne = (0...28).filter { SQLiteError(code: SQLiteResultCode(rawValue: $0)).isOfOneRequest }
        #expect(ofOne == [SQLITE_ERROR, SQLITE_TOOBIG, SQLITE_CONSTRAINT, SQLITE_MISMATCH, SQLITE_RANGE])
    }
}

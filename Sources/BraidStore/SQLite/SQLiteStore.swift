import BraidEngine
import BraidRuntime
import Glibc

/// A store in one SQLite file, or in memory.
///
/// Next to the database file PATH can be `PATH-wal` and `PATH-shm` (SQLite's files), `PATH-lock` (see `ProcessLock`)
/// and `PATH-reserve` (see `ReserveFile`). One thread performs all writes. Reads of a file have their own connections,
/// so a read neither waits for a write nor delays a write.
public final class SQLiteStore: SessionStore {
    let database: SQLiteDatabase
    let options: SQLiteStoreOptions
    let path: String
    private var isInMemory: Bool { path == ":memory:" }
    let writer: SQLiteWriter
    public let answerClock: AnswerClock
    /// A text for the log about the schema of the opened database, such as an upgrade. `nil` if the database was new,
    /// or had this server's schema version.
    public let schemaNotice: String?

    /// Opens or creates the database at `path`. The path `:memory:` means a database in memory, whose content is lost
    /// when the store is closed or released.
    ///
    /// Throws a `StoreError` that says why the database cannot be opened. If the file is not a database of Braid
    /// Server, it is not changed.
    public init(path: String, options: SQLiteStoreOptions = SQLiteStoreOptions()) throws {
        let opening = Opening(path: path, options: options)
        self.path = opening.path
        self.options = options
        do {
            let lock: ProcessLock?
            if path == ":memory:" {
                (database, lock) = (try Opening.inMemory(), nil)
            } else {
                (database, lock) = try opening.file()
            }
            answerClock = AnswerClock(from: try database.write { try $0.latestAnswer() })
            schemaNotice = SchemaShape.notice(found: database.schemaVersion, known: SQLiteSchema.version)
            writer = try SQLiteWriter(
                database: database, path: opening.path, lock: lock, reserve: lock == nil ? nil : opening.reserve,
                options: options)
        } catch {
            throw StoreError(error, path: opening.path)
        }
    }

    deinit { writer.stop() }

    /// The statistics of the store's writes since the store was opened.
    public var statistics: StoreStatistics { writer.counters.current }

    private func read<Value: Sendable>(_ body: @escaping @Sendable (SQLiteConnection) throws -> Value) async throws
        -> Value
    {
        guard writer.beginRead() else { throw StoreError.closed }
        defer { writer.endRead() }
        do {
            return try await database.readers.read(body)
        } catch {
            throw StoreError(error, path: path)
        }
    }
}

extension SQLiteStore {
    public func putTable(_ name: String, description: JSONText, after latest: Int?, at: Int) async throws -> Int {
        try await writer.write { try $0.putTable(name, description: description, after: latest, at: at) }
    }

    public func table(_ name: String, version: Int?) async throws -> StoredTable? {
        try await read { try $0.table(name, version: version) }
    }

    public func versions(ofTable name: String) async throws -> [TableSummary] {
        try await read { try $0.versions(ofTable: name) }
    }

    public func tables() async throws -> [TableSummary] { try await read { try $0.tables() } }

    public func deleteTable(_ name: String) async throws -> TableDeletion {
        try await writer.write(makesRoom: true) { try $0.deleteTable(name) }
    }
}

extension SQLiteStore {
    public func createSession(_ session: NewSession) async throws -> Int {
        let session = try isInMemory ? session : session.copied
        return try await writer.write(cost: session.rows.count) { try $0.create(session) }
    }

    public func session(_ id: String) async throws -> StoredSession? {
        try await read { db in
            let session = try db.session(id)
            // A large session fills much of the connection's page cache of 2 MiB, with pages that nobody reads soon.
            if session?.facts.totalRowCount ?? 0 > Workers.shortRows { db.releaseMemory() }
            return session
        }
    }

    public func session(_ id: String, at revision: Int) async throws -> StoredSession? {
        try await read { db in
            defer { db.releaseMemory() }
            return try db.session(id, at: revision)
        }
    }

    public func opening(_ id: String) async throws -> StoredOpening? { try await read { try $0.opening(id) } }

    public func sessionSummary(_ id: String) async throws -> SessionSummary? {
        try await read { try $0.sessionSummary(id) }
    }

    public func sessions(of table: String?, after: String?, limit: Int) async throws -> [SessionSummary] {
        try await read { try $0.sessions(of: table, after: after, limit: limit) }
    }

    public func deleteSession(_ id: String, as facts: SessionSummary?) async throws -> Int? {
        let number = try await writer.write(makesRoom: true) { try $0.deleteSession(id, as: facts) }
        if isInMemory, let number { database.write { $0.sharedTables?[number] = nil } }
        return number
    }

    public func unusedSessions() async throws -> [UnusedSession] { try await read { try $0.unusedSessions() } }

    public func renew(_ sessions: [Int], at: Int) async throws {
        try await writer.write { db in for session in sessions { try db.renew(session, at: at) } }
    }
}

extension SQLiteStore {
    public func commit(_ commit: SessionCommit) async throws {
        try await writer.write(cost: commit.cost) { [options] in
            try $0.apply(commit, journalLimit: options.journalLimit, journalBytes: options.journalBytes)
        }
    }

    public func journal(of sessionNumber: Int, after revision: Int, limit: Int, bytes: Int) async throws
        -> [JournalRecord]
    {
        try await read { try $0.journal(of: sessionNumber, after: revision, limit: limit, bytes: bytes) }
    }

    public func journalStart(of id: String) async throws -> StoredSession? {
        try await read { db in
            defer { db.releaseMemory() }
            return try db.journalStart(of: id)
        }
    }
}

extension SQLiteStore {
    public func keep(_ answer: KeptAnswer) async throws { try await writer.write(cost: 1) { try $0.keep(answer) } }

    public func answer(to key: String, by requester: String, of session: Int, now: Int) async throws -> KeptAnswer? {
        try await read { try $0.answer(to: key, by: requester, of: session, now: now) }
    }
}

extension SQLiteStore {
    public func createToken(_ token: NewToken, for sessionID: String) async throws {
        try await writer.write { try $0.create(token, for: sessionID) }
    }

    public func token(_ id: String) async throws -> StoredToken? { try await read { try $0.token(id) } }

    public func tokens(of sessionID: String, after: String?, limit: Int, now: Int) async throws -> [StoredToken]? {
        try await read { try $0.tokens(of: sessionID, after: after, limit: limit, now: now) }
    }

    public func deleteToken(_ id: String, of sessionID: String) async throws -> Bool {
        try await writer.write(makesRoom: true) { try $0.deleteToken(id, of: sessionID) }
    }
}

extension SQLiteStore {
    public func check() async throws -> StoreCondition {
        _ = try await sessions(after: nil, limit: 1)
        // If a transaction has begun not long ago and the transaction before it succeeded, the database accepts writes.
        // A test write would only have to wait for the open transaction.
        if writer.isBusyAndHealthy(within: .seconds(10)) { return .writable }
        // An empty transaction tests whether the store can be written: it takes the write lock and needs no disk flush.
        // While the disk is full, the writer refuses the transaction.
        do {
            try await writer.write(isTest: true) { _ in }
            return .writable
        } catch StoreError.full {
            return .full
        }
    }

    public func size() async throws -> StoreSize {
        let (sessions, bytes) = try await read { db in
            let sessions = try db.first("SELECT count(*) FROM session") { $0.int(0) } ?? 0
            return (sessions, try db.pragma("page_count") * db.pragma("page_size"))
        }
        var facts = stat()
        return StoreSize(
            sessions: sessions, bytes: bytes, logBytes: stat(path + "-wal", &facts) == 0 ? Int(facts.st_size) : 0,
            disk: DiskSpace(of: path))
    }

    public func close() async { await writer.stopped() }
}

import BraidEngine
import BraidRuntime

/// A store in one SQLite file, or in memory.
///
///     let store = try SQLiteStore(path: "data/braid.sqlite")
///
/// Next to PATH can be `PATH-wal` and `PATH-shm` (SQLite's), `PATH-lock` (`ProcessLock`) and `PATH-reserve`
/// (`ReserveFile`). Reads have their own connections: they neither wait for a write nor delay one.
package final class SQLiteStore: SessionStore {
    let database: SQLiteDatabase
    private let readers: ReaderPool<SQLiteQueries>
    let writer: StoreWriter<SQLiteCommitter>
    let options: StoreOptions
    let path: String
    private var isInMemory: Bool { path == ":memory:" }
    package let answerClock: AnswerClock
    package let schemaNotice: String?

    /// `:memory:` is lost when the store is closed or released. Does not change a file that is not Braid Server's.
    package init(
        path: String, options: StoreOptions = StoreOptions(), file: SQLiteFileOptions = SQLiteFileOptions()
    ) throws {
        let opening = SQLiteOpening(path: path, options: options, file: file)
        self.path = opening.path
        self.options = options
        do {
            let opened = try opening.opened()
            database = opened.database
            readers = opened.readers
            answerClock = AnswerClock(from: try database.use { try $0.latestAnswer() })
            schemaNotice = SchemaShape.notice(found: opened.schemaVersion, known: SQLiteSchema.version)
            writer = try StoreWriter(
                SQLiteCommitter(
                    opened, path: opening.path, losesCommits: options.synchronous == .normal, file: file),
                onChange: options.onChange)
        } catch {
            throw StoreError(error, path: opening.path)
        }
    }

    deinit { writer.stop() }

    package var statistics: StoreStatistics { writer.statistics }

    private func read<Value: Sendable>(_ body: @escaping @Sendable (SQLiteQueries) throws -> Value) async throws
        -> Value
    {
        do {
            return try await readers.read(body)
        } catch {
            throw StoreError(error, path: path)
        }
    }

    /// `makesRoom`: only deletes or replaces, so a full disk does not refuse it. `cost`: about how many rows it
    /// writes.
    func write<Value: Sendable>(
        makesRoom: Bool = false, isTest: Bool = false, cost: Int = 1,
        _ body: @escaping @Sendable (SQLiteQueries) throws -> Value
    ) async throws -> Value {
        try await completion { done in
            let work = SQLiteCommitter.Work(makesRoom: makesRoom) { queries in
                let value = try body(queries)
                return { done(.success(value)) }
            }
            writer.enqueue(work, isTest: isTest, cost: cost) { done(.failure($0)) }
        }
    }
}

extension SQLiteStore {
    package func putTable(_ name: String, description: JSONText, after latest: Int?, at: Int) async throws -> Int {
        try await write { try $0.putTable(name, description: description, after: latest, at: at) }
    }

    package func table(_ name: String, version: Int?) async throws -> StoredTable? {
        try await read { try $0.table(name, version: version) }
    }

    package func versions(ofTable name: String) async throws -> [TableSummary] {
        try await read { try $0.versions(ofTable: name) }
    }

    package func tables() async throws -> [TableSummary] { try await read { try $0.tables() } }

    package func deleteTable(_ name: String) async throws -> TableDeletion {
        try await write(makesRoom: true) { try $0.deleteTable(name) }
    }
}

extension SQLiteStore {
    package func createSession(_ session: NewSession) async throws -> Int {
        let session = try isInMemory ? session : session.copied
        return try await write(cost: session.rows.count) { try $0.create(session) }
    }

    package func session(_ id: String) async throws -> StoredSession? {
        try await read { queries in
            let session = try queries.session(id)
            // A large session fills the page cache of 2 MiB with pages that nobody reads soon.
            if session?.summary.totalRowCount ?? 0 > Workers.shortRows { queries.db.releaseMemory() }
            return session
        }
    }

    package func session(_ id: String, at revision: Int) async throws -> StoredSession? {
        try await read { queries in
            defer { queries.db.releaseMemory() }
            return try queries.session(id, at: revision)
        }
    }

    package func opening(_ id: String) async throws -> StoredOpening? { try await read { try $0.opening(id) } }

    package func sessionSummary(_ id: String) async throws -> SessionSummary? {
        try await read { try $0.sessionSummary(id) }
    }

    package func sessions(of table: String?, after: String?, limit: Int) async throws -> [SessionSummary] {
        try await read { try $0.sessions(of: table, after: after, limit: limit) }
    }

    package func deleteSession(_ id: String, as summary: SessionSummary?) async throws -> Int? {
        let number = try await write(makesRoom: true) { try $0.deleteSession(id, as: summary) }
        if isInMemory, let number { database.use { $0.sharedTables?[number] = nil } }
        return number
    }

    package func unusedSessions() async throws -> [UnusedSession] { try await read { try $0.unusedSessions() } }

    package func renew(_ sessions: [Int], at: Int) async throws {
        try await write { queries in for session in sessions { try queries.renew(session, at: at) } }
    }
}

extension SQLiteStore {
    package func commit(_ commit: SessionCommit, then done: @escaping @Sendable (Result<Void, any Error>) -> Void) {
        let work = SQLiteCommitter.Work(makesRoom: false) {
            [limit = options.journalLimit, bytes = options.journalBytes] queries in
            try queries.apply(commit, journalLimit: limit, journalBytes: bytes)
            return { done(.success(())) }
        }
        writer.enqueue(work, cost: commit.cost) { done(.failure($0)) }
    }

    package func journal(of sessionNumber: Int, after revision: Int, limit: Int, bytes: Int) async throws
        -> [JournalRecord]
    {
        try await read { try $0.journal(of: sessionNumber, after: revision, limit: limit, bytes: bytes) }
    }

    package func undos(of sessionNumber: Int, from revision: Int, limit: Int, bytes: Int) async throws
        -> [JournalUndo]
    {
        try await read { try $0.undos(of: sessionNumber, from: revision, limit: limit, bytes: bytes) }
    }

    package func journalStart(of id: String) async throws -> StoredSession? {
        try await read { queries in
            defer { queries.db.releaseMemory() }
            return try queries.journalStart(of: id)
        }
    }
}

extension SQLiteStore {
    package func keep(_ answer: KeptAnswer) async throws { try await write(cost: 1) { try $0.keep(answer) } }

    package func answer(to key: String, by requester: String, of session: Int, now: Int) async throws -> KeptAnswer? {
        try await read { try $0.answer(to: key, by: requester, of: session, now: now) }
    }
}

extension SQLiteStore {
    package func createToken(_ token: NewToken, for sessionID: String?) async throws {
        try await write { try $0.create(token, for: sessionID) }
    }

    package func token(_ id: String) async throws -> StoredToken? { try await read { try $0.token(id) } }

    package func tokens(of sessionID: String?, after: String?, limit: Int, now: Int) async throws -> [StoredToken]? {
        try await read { try $0.tokens(of: sessionID, after: after, limit: limit, now: now) }
    }

    package func deleteToken(_ id: String, of sessionID: String?) async throws -> Bool {
        try await write(makesRoom: true) { try $0.deleteToken(id, of: sessionID) }
    }
}

extension SQLiteStore {
    package func check() async throws -> StoreCondition {
        _ = try await sessions(after: nil, limit: 1)
        if writer.isBusyAndHealthy(within: .seconds(10)) { return .writable }
        // An empty transaction takes the write lock without a disk flush. The writer refuses it on a full disk.
        do {
            try await write(isTest: true) { _ in }
            return .writable
        } catch StoreError.full {
            return .full
        }
    }

    package func size() async throws -> StoreSize {
        let (sessions, bytes) = try await read { queries in
            let sessions = try queries.db.first("SELECT count(*) FROM session") { $0.int(0) } ?? 0
            return (sessions, try queries.db.pragma("page_count") * queries.db.pragma("page_size"))
        }
        return StoreSize(
            sessions: sessions, bytes: bytes, logBytes: fileSize(path + "-wal") ?? 0, disk: DiskSpace(of: path))
    }

    package func close() async { await writer.stopped() }
}

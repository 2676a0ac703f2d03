#if PostgreSQL
import BraidEngine
import BraidStore

/// A store in a PostgreSQL database that several servers can use at the same time.
///
/// One connection of the store performs all writes that callers request, in groups of requests. Reads use other
/// connections, so a read neither waits for a write nor delays a write. If a connection is lost, the store opens a new
/// connection when it next needs one.
public final class PostgresStore: SessionStore {
    /// The database's address for messages, which contains no password.
    public var name: String { dialer.name }

    let dialer: Dialer
    private let options: PostgresStoreOptions
    let writer: PostgresWriter
    private let readers: Readers
    private let revisions: Revisions
    let peers: ClusterCoordinator
    public var answerClock: AnswerClock { dialer.answerClock }
    /// A text for the log about the schema of the opened database, such as an upgrade. `nil` if the database was new or
    /// had this server's schema version, or if no connection has been opened yet.
    public var schemaNotice: String? { dialer.schemaNotice }

    /// Opens a database, and creates the store's tables if the first PostgreSQL schema of the search path contains no
    /// tables. If another application's tables are there, nothing is changed.
    ///
    /// - Parameters:
    ///   - url: the database's address in libpq's form, `postgres://user@host:port/database?…`.
    ///   - options: the store's options.
    ///   - connects: whether the initializer connects to the database. If not, the first operation connects, and throws
    ///     the reason if the database cannot be opened.
    /// - Throws: ``StoreError`` with the reason why the database cannot be opened.
    public init(
        url: String, options: PostgresStoreOptions = PostgresStoreOptions(), connects: Bool = true
    ) throws {
        let dialer = try Dialer(url: url, options: options)
        self.dialer = dialer
        self.options = options
        peers = try ClusterCoordinator(
            dialer: dialer, wait: options.timeout / 4, answerClock: dialer.answerClock)
        let connection = connects ? try dialer.connect() : nil
        writer = try PostgresWriter(
            dialer: dialer, connection: connection, sender: peers.sender, patience: options.timeout,
            onChange: options.onChange)
        readers = Readers(dialer: dialer, maximum: options.readers)
        revisions = Revisions(readers: readers)
    }

    deinit {
        writer.stop()
        readers.stop()
        peers.stop()
    }

    /// The statistics of this server's writes since the store was opened.
    public var statistics: StoreStatistics { writer.counters.current }
}

extension PostgresStore {
    public func putTable(_ name: String, description: JSONText, after latest: Int?, at: Int) async throws -> Int {
        try await waitingForLocks(Tables.put(name, description, after: latest, at: at)) {
            guard let row = $0.dropFirst().first?.first else { throw StoreError.tableChanged }
            return try row.number(0, .version, "version")
        }
    }

    public func table(_ name: String, version: Int?) async throws -> StoredTable? {
        try await readers.read { try $0.table(name, version: version) }
    }

    public func versions(ofTable name: String) async throws -> [TableSummary] {
        try await readers.read { try $0.versions(ofTable: name) }
    }

    public func tables() async throws -> [TableSummary] { try await readers.read { try $0.tables() } }

    public func deleteTable(_ name: String) async throws -> TableDeletion {
        try await waitingForLocks(Tables.delete(name), value: Tables.deletion)
    }

    /// Runs the statements of a write that may have to wait for a lock of another connection.
    ///
    /// Each attempt waits for the lock only briefly, because the other writes of its group and the later groups wait
    /// with it. The method repeats the attempt for at most a quarter of `options.timeout`.
    private func waitingForLocks<Value: Sendable>(
        _ statements: [PostgresStatement], value: @escaping @Sendable ([Rows]) throws -> Value
    ) async throws -> Value {
        let longest = options.timeout / 4, deadline = ContinuousClock.now + longest
        func timeout(_ time: Duration) -> PostgresStatement {
            "SELECT set_config('lock_timeout', \("\(time.milliseconds)"), true)"
        }
        while true {
            do {
                // The request's first statement sets a short lock timeout, which would last until the end of the
                // transaction. The request's last statement restores the normal timeout, for later requests of the same
                // transaction.
                return try await writer.write([timeout(.milliseconds(50))] + statements + [timeout(longest)]) {
                    try value(Array($0.dropFirst().dropLast()))
                }
            } catch StoreError.busy where .now < deadline {
                try? await Task.sleep(for: .milliseconds(Int.random(in: 100...400)))
            }
        }
    }
}

extension PostgresStore {
    public func createSession(_ session: NewSession) async throws -> Int {
        let session = try session.copied
        guard !session.isExhausted else { throw StoreError.exhausted }
        do {
            return try await writer.write([session.statement()], cost: session.rows.count, value: NewSession.outcome)
        } catch StoreError.tableMissing where session.description != nil {
            return try await writer.write(
                [session.statement(restoringVersion: true)], cost: session.rows.count, value: NewSession.outcome)
        }
    }

    public func session(_ id: String) async throws -> StoredSession? { try await readers.read { try $0.session(id) } }

    public func session(_ id: String, at revision: Int) async throws -> StoredSession? {
        try await readers.read { try $0.session(id, at: revision) }
    }

    public func opening(_ id: String) async throws -> StoredOpening? { try await readers.read { try $0.opening(id) } }

    public func sessionSummary(_ id: String) async throws -> SessionSummary? {
        try await readers.read { try $0.sessionSummary(id) }
    }

    public func sessions(of table: String?, after: String?, limit: Int) async throws -> [SessionSummary] {
        try await readers.read { try $0.sessions(of: table, after: after, limit: limit) }
    }

    public func deleteSession(_ id: String, as facts: SessionSummary?) async throws -> Int? {
        try await waitingForLocks(Ending.statements(of: id, as: facts, sender: peers.sender)) { $0.last?.first?.int(0) }
    }

    public func unusedSessions() async throws -> [UnusedSession] { try await readers.read { try $0.unusedSessions() } }

    public func renew(_ sessions: [Int], at: Int) async throws {
        let renewal: PostgresStatement =
            "UPDATE session SET used = \(at) WHERE number = ANY(\(sessions.map(Int?.some))) AND used IS NOT NULL"
        try await writer.write([renewal]) { _ in }
    }
}

extension PostgresStore {
    public func commit(_ commit: SessionCommit) async throws {
        guard !commit.isExhausted else { throw StoreError.exhausted }
        do {
            try await write(commit)
        } catch StoreError.tableMissing {
            try await write(commit, restoringVersion: true)
        }
    }

    private func write(_ commit: SessionCommit, restoringVersion: Bool = false) async throws {
        let statement = commit.statement(
            journalLimit: options.journalLimit, byteLimit: options.journalBytes,
            hasTurn: peers.hasTurn(of: commit.session), restoringVersion: restoringVersion)
        try await writer.write(
            [statement], cost: commit.cost, notice: StoreNotice.committed(commit.session, commit.to),
            value: SessionCommit.outcome)
    }

    public func journal(of sessionNumber: Int, after revision: Int, limit: Int, bytes: Int) async throws
        -> [JournalRecord]
    {
        try await readers.read { try $0.journal(of: sessionNumber, after: revision, limit: limit, bytes: bytes) }
    }

    public func journalStart(of id: String) async throws -> StoredSession? {
        try await readers.read { try $0.journalStart(of: id) }
    }
}

extension PostgresStore {
    public func keep(_ answer: KeptAnswer) async throws {
        try await writer.write([answer.statement], value: KeptAnswer.outcome)
    }

    public func answer(to key: String, by requester: String, of session: Int, now: Int) async throws -> KeptAnswer? {
        try await readers.read { try $0.answer(to: key, by: requester, of: session, now: now) }
    }
}

extension PostgresStore {
    public func createToken(_ token: NewToken, for sessionID: String) async throws {
        try await writer.write([token.statement(for: sessionID)]) {
            guard $0.first?.first?.bool(0) == true else { throw StoreError.sessionMissing }
        }
    }

    public func token(_ id: String) async throws -> StoredToken? { try await readers.read { try $0.token(id) } }

    public func tokens(of sessionID: String, after: String?, limit: Int, now: Int) async throws -> [StoredToken]? {
        try await readers.read { try $0.tokens(of: sessionID, after: after, limit: limit, now: now) }
    }

    public func deleteToken(_ id: String, of sessionID: String) async throws -> Bool {
        try await writer.write([NewToken.deletion(id, of: sessionID, sender: peers.sender)]) {
            ($0.first?.count ?? 0) > 0
        }
    }
}

extension PostgresStore: StoreSharing {
    public var sharing: (any StoreSharing)? { self }

    public func revision(of session: Int) async throws -> StoredRevision? { try await revisions.revision(of: session) }

    public func listen(_ hear: @escaping @Sendable (StoreNotice) -> Void) throws {
        dialer.onRenewal { hear(.renewed) }
        try peers.listen(hear)
    }

    public func takeTurn(of session: Int) async throws { try await peers.takeTurn(of: session) }

    public func endTurn(of session: Int) async { await peers.endTurn(of: session) }
}

extension PostgresStore {
    public func check() async throws -> StoreCondition {
        _ = try await sessions(after: nil, limit: 1)
        let test: PostgresStatement = "SELECT current_setting('transaction_read_only') = 'on'"
        try await writer.write([test], isTest: true) { [name] in
            if $0.first?.first?.bool(0) == true { throw StoreError.readOnly(path: name) }
        }
        return .writable
    }

    public func size() async throws -> StoreSize {
        let (sessions, bytes) = try await readers.read { try $0.size() }
        return StoreSize(sessions: sessions, bytes: bytes, logBytes: 0)
    }

    public func close() async {
        await writer.stopped()
        await readers.stopped()
        await peers.stopped()
    }
}
#endif

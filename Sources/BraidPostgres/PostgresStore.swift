#if PostgreSQL
import BraidEngine
import BraidRuntime
import BraidStore

/// A store in a PostgreSQL database, for several servers at once. Reads have their own connections: they neither wait
/// for a write nor delay one. A lost connection is replaced when it is next needed.
package final class PostgresStore: SessionStore {
    /// For messages, without a password.
    package var name: String { dialer.name }

    let dialer: Dialer
    private let options: StoreOptions
    private let timeout: Duration
    private let readers: ReaderPool<PostgresQueries>
    let writer: StoreWriter<PostgresCommitter>
    private let revisions: Revisions
    let peers: ClusterCoordinator
    package var answerClock: AnswerClock { dialer.answerClock }
    package var schemaNotice: String? { dialer.schemaNotice }

    /// Creates missing tables in the first schema of the search path. Does not change another application's.
    ///
    ///     let store = try PostgresStore(url: "postgres://braid@localhost/braid")
    ///
    /// - Parameters:
    ///   - url: in libpq's form.
    ///   - timeout: without data for this long, a connection is closed. A statement may take three quarters of it,
    ///     and wait for a lock for a quarter.
    ///   - connects: now, or with the first operation, which then throws why it cannot.
    package init(
        url: String, options: StoreOptions = StoreOptions(), timeout: Duration = .seconds(20), connects: Bool = true
    ) throws {
        let dialer = try Dialer(url: url, options: options, timeout: timeout)
        self.dialer = dialer
        self.options = options
        self.timeout = timeout
        peers = try ClusterCoordinator(dialer: dialer, wait: timeout / 4, answerClock: dialer.answerClock)
        let connection = connects ? try dialer.connect() : nil
        readers = ReaderPool { Self.serve($0, $1, dialer) }
        writer = try StoreWriter(
            PostgresCommitter(
                dialer: dialer, readers: readers, connection: connection, sender: peers.sender, patience: timeout),
            onChange: options.onChange)
        revisions = Revisions(readers: readers)
    }

    deinit {
        writer.stop()
        peers.stop()
    }

    package var statistics: StoreStatistics { writer.statistics }

    /// Returns the connection for the next read, `nil` if it is broken.
    private static func serve(
        _ read: ReaderPool<PostgresQueries>.Read, _ kept: PostgresQueries?, _ dialer: Dialer
    ) -> PostgresQueries? {
        func perform(_ queries: PostgresQueries) throws -> PostgresQueries? {
            do {
                try read.perform(queries)()
                return queries
            } catch let lost as LostConnection {
                throw lost
            } catch {
                read.fail(StoreError(error, of: dialer.name))
                return (try? queries.db.endTransaction()) == nil ? nil : queries
            }
        }
        do {
            if let kept, kept.db.isAlive, dialer.retirement == nil {
                do {
                    return try perform(kept)
                } catch is LostConnection {
                    // It most likely broke while idle. Repeating a read changes nothing.
                }
            }
            return try perform(PostgresQueries(db: dialer.connect()))
        } catch {
            read.fail(StoreError(error, of: dialer.name))
            return nil
        }
    }

    /// `value` runs after the commit, and throws a `StoreError` if the rows refused the write. `cost`: about how many
    /// rows are written.
    func write<Value: Sendable>(
        _ statements: [PostgresStatement], isTest: Bool = false, cost: Int = 1, notice: String? = nil,
        value: @escaping @Sendable ([PostgresRows]) throws -> Value
    ) async throws -> Value {
        try await completion {
            queue(statements, isTest: isTest, cost: cost, notice: notice, value: value, then: $0)
        }
    }

    private func queue<Value: Sendable>(
        _ statements: [PostgresStatement], isTest: Bool = false, cost: Int, notice: String?,
        value: @escaping @Sendable ([PostgresRows]) throws -> Value, then done: @escaping Completion<Value>
    ) {
        // It would end the connection, and fail the other requests of its group.
        guard !statements.contains(where: { $0.isTooLarge }) else { return done(.failure(StoreError.tooLarge)) }
        let work = PostgresCommitter.Work(statements: statements, notice: notice) { rows in
            done(Result { try value(rows) })
        }
        writer.enqueue(work, isTest: isTest, cost: cost) { done(.failure($0)) }
    }
}

extension PostgresStore {
    package func putTable(_ name: String, description: JSONText, after latest: Int?, at: Int) async throws -> Int {
        try await waitingForLocks(PostgresQueries.putTable(name, description, after: latest, at: at)) {
            guard let row = $0.dropFirst().first?.first else { throw StoreError.tableChanged }
            return try row.number(0, .version, "version")
        }
    }

    package func table(_ name: String, version: Int?) async throws -> StoredTable? {
        try await readers.read { try $0.table(name, version: version) }
    }

    package func versions(ofTable name: String) async throws -> [TableSummary] {
        try await readers.read { try $0.versions(ofTable: name) }
    }

    package func tables() async throws -> [TableSummary] { try await readers.read { try $0.tables() } }

    package func deleteTable(_ name: String) async throws -> TableDeletion {
        try await waitingForLocks(PostgresQueries.deleteTable(name), value: PostgresQueries.tableDeletion)
    }

    /// For writes that meet locks of other connections: waits each time briefly, because the other writes wait as well,
    /// but again and again for a quarter of `timeout`.
    private func waitingForLocks<Value: Sendable>(
        _ statements: [PostgresStatement], value: @escaping @Sendable ([PostgresRows]) throws -> Value
    ) async throws -> Value {
        let longest = self.timeout / 4, deadline = ContinuousClock.now + longest
        func timeout(_ time: Duration) -> PostgresStatement {
            "SELECT set_config('lock_timeout', \("\(time.milliseconds)"), true)"
        }
        while true {
            do {
                // The setting lasts until the end of the transaction, so restore it for the other requests.
                return try await write([timeout(.milliseconds(50))] + statements + [timeout(longest)]) {
                    try value(Array($0.dropFirst().dropLast()))
                }
            } catch StoreError.busy where .now < deadline {
                try? await Task.sleep(for: .milliseconds(Int.random(in: 100...400)))
            }
        }
    }
}

extension PostgresStore {
    package func createSession(_ session: NewSession) async throws -> Int {
        let session = try session.copied
        guard !session.isExhausted else { throw StoreError.exhausted }
        do {
            return try await write([session.statement()], cost: session.rows.count, value: NewSession.outcome)
        } catch StoreError.tableMissing where session.description != nil {
            return try await write(
                [session.statement(restoringVersion: true)], cost: session.rows.count, value: NewSession.outcome)
        }
    }

    package func session(_ id: String) async throws -> StoredSession? { try await readers.read { try $0.session(id) } }

    package func session(_ id: String, at revision: Int) async throws -> StoredSession? {
        try await readers.read { try $0.session(id, at: revision) }
    }

    package func opening(_ id: String) async throws -> StoredOpening? { try await readers.read { try $0.opening(id) } }

    package func sessionSummary(_ id: String) async throws -> SessionSummary? {
        try await readers.read { try $0.sessionSummary(id) }
    }

    package func sessions(of table: String?, after: String?, limit: Int) async throws -> [SessionSummary] {
        try await readers.read { try $0.sessions(of: table, after: after, limit: limit) }
    }

    package func deleteSession(_ id: String, as summary: SessionSummary?) async throws -> Int? {
        try await waitingForLocks(PostgresQueries.deleteSession(id, as: summary, sender: peers.sender)) {
            $0.last?.first?.int(0)
        }
    }

    package func unusedSessions() async throws -> [UnusedSession] { try await readers.read { try $0.unusedSessions() } }

    package func renew(_ sessions: [Int], at: Int) async throws {
        try await write([
            "UPDATE session SET used = \(at) WHERE number = ANY(\(sessions.map(Int?.some))) AND used IS NOT NULL"
        ]) { _ in }
    }
}

extension PostgresStore {
    package func commit(_ commit: SessionCommit, then done: @escaping @Sendable (Result<Void, any Error>) -> Void) {
        guard !commit.isExhausted else { return done(.failure(StoreError.exhausted)) }
        store(commit) { [weak self] result in
            if case .failure(StoreError.tableMissing) = result, let self {
                store(commit, restoringVersion: true, then: done)
            } else {
                done(result)
            }
        }
    }

    private func store(_ commit: SessionCommit, restoringVersion: Bool = false, then done: @escaping Completion<Void>) {
        let statement = commit.statement(
            journalLimit: options.journalLimit, byteLimit: options.journalBytes,
            hasTurn: peers.hasTurn(of: commit.session), restoringVersion: restoringVersion)
        queue(
            [statement], cost: commit.cost, notice: StoreNotice.committed(commit.session, commit.record.revision),
            value: SessionCommit.outcome, then: done)
    }

    package func journal(of sessionNumber: Int, after revision: Int, limit: Int, bytes: Int) async throws
        -> [JournalRecord]
    {
        try await readers.read { try $0.journal(of: sessionNumber, after: revision, limit: limit, bytes: bytes) }
    }

    package func undos(of sessionNumber: Int, from revision: Int, limit: Int, bytes: Int) async throws
        -> [JournalUndo]
    {
        try await readers.read { try $0.undos(of: sessionNumber, from: revision, limit: limit, bytes: bytes) }
    }

    package func journalStart(of id: String) async throws -> StoredSession? {
        try await readers.read { try $0.journalStart(of: id) }
    }
}

extension PostgresStore {
    package func keep(_ answer: KeptAnswer) async throws {
        try await write([answer.statement], value: KeptAnswer.outcome)
    }

    package func answer(to key: String, by requester: String, of session: Int, now: Int) async throws -> KeptAnswer? {
        try await readers.read { try $0.answer(to: key, by: requester, of: session, now: now) }
    }
}

extension PostgresStore {
    package func createToken(_ token: NewToken, for sessionID: String?) async throws {
        try await write([token.statement(for: sessionID)]) {
            guard $0.first?.first?.bool(0) == true else { throw StoreError.sessionMissing }
        }
    }

    package func token(_ id: String) async throws -> StoredToken? { try await readers.read { try $0.token(id) } }

    package func tokens(of sessionID: String?, after: String?, limit: Int, now: Int) async throws -> [StoredToken]? {
        try await readers.read { try $0.tokens(of: sessionID, after: after, limit: limit, now: now) }
    }

    package func deleteToken(_ id: String, of sessionID: String?) async throws -> Bool {
        try await write([NewToken.deletion(id, of: sessionID, sender: peers.sender)]) {
            ($0.first?.count ?? 0) > 0
        }
    }
}

extension PostgresStore: StoreSharing {
    package var sharing: (any StoreSharing)? { self }

    package func revision(of session: Int) async throws -> StoredRevision? { try await revisions.revision(of: session) }

    package func listen(_ hear: @escaping @Sendable (StoreNotice) -> Void) throws {
        dialer.onRenewal { hear(.renewed) }
        try peers.listen(hear)
    }

    package func takeTurn(of session: Int) async throws { try await peers.takeTurn(of: session) }

    package func endTurn(of session: Int) async { await peers.endTurn(of: session) }

    package func tell(_ texts: [String]) async throws { try await peers.tell(texts) }

    package func ticketSecret(orNew new: String) async throws -> String {
        if let secret = try await readers.read({ try $0.ticketSecret() }) { return secret }
        return try await write([
            "UPDATE braid_server SET ticket_secret = coalesce(ticket_secret, \(new)) RETURNING ticket_secret"
        ]) {
            guard let secret = $0.first?.first?.optionalText(0) else {
                throw StoreError.corrupt("it has no braid_server")
            }
            return secret
        }
    }
}

extension PostgresStore {
    package func check() async throws -> StoreCondition {
        _ = try await sessions(after: nil, limit: 1)
        let test: PostgresStatement = "SELECT current_setting('transaction_read_only') = 'on'"
        try await write([test], isTest: true) { [name] in
            if $0.first?.first?.bool(0) == true { throw StoreError.readOnly(path: name) }
        }
        return .writable
    }

    package func size() async throws -> StoreSize {
        let (sessions, bytes) = try await readers.read { try $0.size() }
        return StoreSize(sessions: sessions, bytes: bytes, logBytes: 0)
    }

    package func close() async {
        await writer.stopped()
        await peers.stopped()
    }
}
#endif

#if PostgreSQL
import BraidStore

/// Commits a group in two round trips: COMMIT follows the statements' results. A connection lost before it has stored
/// nothing. If lost during COMMIT, the group waits until a later connection can tell (`CommitMark`).
///
/// Unchecked: only the writer's thread uses the variables.
final class PostgresCommitter: GroupCommitter, @unchecked Sendable {
    struct Work: Sendable {
        /// They write everything or nothing, whatever the database contains, and return which.
        let statements: [PostgresStatement]
        /// For the other servers, after the commit. `nil` also if the statements send it.
        let notice: String?
        /// Called after the commit, with each statement's rows.
        let succeed: @Sendable ([PostgresRows]) -> Void
    }
    typealias Request = WriteRequest<Work>
    typealias Writer = StoreWriter<PostgresCommitter>

    /// COMMIT was sent, but not confirmed.
    private struct UnconfirmedGroup {
        let group: [Request]
        let rows: [[PostgresRows]]
        let mark: CommitMark
        let start: ContinuousClock.Instant
        let detail: String
    }

    private let dialer: Dialer
    private let readers: ReaderPool<PostgresQueries>
    /// Begins this server's notifications.
    private let sender: String
    /// Its `mark` goes with it: the mark's lock is the connection's.
    private var connection: PostgresConnection? {
        didSet { if connection !== oldValue { mark = nil } }
    }
    /// The mark of the connection's last transaction.
    private var mark: CommitMark?
    private var unconfirmed: [UnconfirmedGroup] = []
    /// How long after its start a write's outcome is sought, every `pause`.
    private let patience: Duration
    var pause: Duration? { unconfirmed.isEmpty ? nil : .milliseconds(50) }

    init(
        dialer: Dialer, readers: ReaderPool<PostgresQueries>, connection: sending PostgresConnection?, sender: String,
        patience: Duration
    ) {
        self.dialer = dialer
        self.readers = readers
        self.connection = connection
        self.sender = sender
        self.patience = patience
    }

    func prepare() {}

    func commitGroup(_ group: [Request], for writer: Writer) -> Bool {
        settle(for: writer)
        // `false` for an empty group, which comes only while groups are unconfirmed.
        return !group.isEmpty && transact(group, for: writer)
    }

    func close(for writer: Writer) {
        settle(isLast: true, for: writer)
        readers.close()
        connection = nil
    }

    /// Returns whether it committed.
    private func transact(_ group: [Request], attempt: Int = 1, for writer: Writer) -> Bool {
        let start = ContinuousClock.now
        do {
            guard let rows = try transaction(group, since: start) else { return false }
            succeed(group, rows, since: start, for: writer)
            return true
        } catch let error as PostgresError where error.isOfOneRequest && group.count > 1 {
            // The database rolls back the whole group, so each request gets its own transaction. `map` runs them all;
            // `contains { }` would stop at the first success.
            return group.map { transact([$0], for: writer) }.contains(true)
        } catch let error as PostgresError where error.isOfTheMoment && attempt < 5 {
            return transact(group, attempt: attempt + 1, for: writer)
        } catch let cause {
            let error = StoreError(cause, of: dialer.name)
            // The dialer reports when the database cannot be reached.
            let isTrouble =
                switch error {
                case .full, .readOnly, .corrupt, .io: (cause as? PostgresError)?.isOfOneRequest != true
                default: false
                }
            writer.fail(group, error, isTrouble: isTrouble)
            return false
        }
    }

    private func succeed(
        _ group: [Request], _ rows: [[PostgresRows]], since start: ContinuousClock.Instant, for writer: Writer
    ) {
        writer.committed(group, since: start)
        for (request, rows) in zip(group, rows) { request.work.succeed(rows) }
    }

    /// `nil` if the group is now in `unconfirmed`. If this throws, nothing was written.
    private func transaction(_ group: [Request], since start: ContinuousClock.Instant) throws -> [[PostgresRows]]? {
        let connection = try connected()
        let begun: [PostgresRows], mark: CommitMark?
        do {
            let isWriting: PostgresStatement = "SELECT txid_current_if_assigned() IS NOT NULL"
            begun = try connection.all(["BEGIN"] + group.flatMap(\.work.statements) + [isWriting])
            mark = begun.last?.first?.bool(0) == true ? try nextMark(on: connection) : nil
        } catch {
            rollBack(after: error)
            throw error
        }
        var rest = begun.dropFirst()
        let rows = group.map { request in
            defer { rest = rest.dropFirst(request.work.statements.count) }
            return Array(rest.prefix(request.work.statements.count))
        }
        guard let mark else {
            // Nothing is written, so the results hold even if the transaction's end fails.
            if (try? connection.all(["COMMIT"])) == nil { self.connection = nil }
            return rows
        }
        // Notices follow COMMIT, which would otherwise wait for other servers' transactions that send some. A lost
        // one does no harm: every server looks for changes every few seconds.
        let answers = connection.run([mark.statement, "COMMIT"] + notices(of: group))
        if answers.lost != nil { self.connection = nil }
        if answers.outcomes.count > 1, case .success(let end) = answers.outcomes[1] {
            // PostgreSQL ends a failed transaction at COMMIT with the command tag ROLLBACK (tcop/utility.c).
            guard end.command == "COMMIT" else { throw StoreError.io("\(dialer.name) rolled the change back") }
            return rows
        }
        if let lost = answers.lost {
            unconfirmed.append(
                UnconfirmedGroup(group: group, rows: rows, mark: mark, start: start, detail: lost.detail))
            return nil
        }
        for case .failure(let error) in answers.outcomes {
            rollBack(after: error)
            throw error
        }
        throw StoreError.io("\(dialer.name) did not commit the change")
    }

    private func rollBack(after error: any Error) {
        if let error = error as? PostgresError, !error.isFatal, (try? connection?.endTransaction()) != nil { return }
        connection = nil
    }

    /// Looks for the outcome of unconfirmed groups, until `patience` is over or this is the last attempt.
    private func settle(isLast: Bool = false, for writer: Writer) {
        unconfirmed = unconfirmed.filter { unconfirmed in
            switch isStored(unconfirmed.mark) {
            case true?: succeed(unconfirmed.group, unconfirmed.rows, since: unconfirmed.start, for: writer)
            case false?:
                writer.fail(
                    unconfirmed.group, .unavailable("the change was not stored: \(unconfirmed.detail)"),
                    isTrouble: false)
            case nil:
                guard isLast || .now > unconfirmed.start + patience else { return true }
                writer.fail(
                    unconfirmed.group,
                    .outcomeUnknown(
                        "\(dialer.name): the connection was lost before the change was confirmed: \(unconfirmed.detail)"
                    ), isTrouble: false)
            }
            return false
        }
    }

    /// A payload must have fewer than 8,000 bytes.
    private func notices(of group: [Request]) -> [PostgresStatement] {
        let words = group.compactMap(\.work.notice)
        return stride(from: 0, to: words.count, by: Self.noticesOfPayload).map { start in
            let payload = ([sender] + words[start..<min(start + Self.noticesOfPayload, words.count)]).joined(
                separator: " ")
            return "SELECT pg_notify(\(raw: StoreNotice.channel), \(payload))"
        }
    }

    private static let noticesOfPayload = 150  // of at most 44 bytes

    private func connected() throws -> PostgresConnection {
        if let retirement = dialer.retirement { throw retirement }
        if let connection, connection.isAlive { return connection }
        connection = nil
        let made = try dialer.connect()
        connection = made
        return made
    }
}

/// Names a transaction, which writes the mark to the table `last_commit`. After a connection is lost during COMMIT,
/// the mark is there exactly if the transaction is stored. The change itself would not tell, because another server
/// may have stored the same; nor would the transaction's ID, which PostgreSQL can use again after a crash.
private struct CommitMark {
    /// The key of the connection's row, and of an advisory lock: while it is held, the transaction may still be
    /// committed.
    let connection = Int.random(in: .min ... .max)
    var number = 0

    /// The transaction's last statement.
    var statement: PostgresStatement {
        """
        INSERT INTO last_commit (connection, number, at) VALUES (\(connection), \(number), \(raw: Self.now))
        ON CONFLICT (connection) DO UPDATE SET number = excluded.number, at = excluded.at
        """
    }

    /// SQL: milliseconds since 1970.
    static let now = "extract(epoch FROM clock_timestamp()) * 1000"
    /// Milliseconds until a row is deleted. A server looks only for some seconds.
    static let lifetime = 24 * 60 * 60 * 1000
}

extension PostgresCommitter {
    private func nextMark(on connection: PostgresConnection) throws -> CommitMark {
        var next = try mark ?? firstMark(on: connection)
        next.number += 1
        mark = next
        return next
    }

    /// Takes the lock, which lasts as long as the connection, and deletes old rows.
    private func firstMark(on connection: PostgresConnection) throws -> CommitMark {
        let mark = CommitMark()
        _ = try connection.all([
            "SELECT pg_advisory_lock(\(mark.connection))",
            """
            DELETE FROM last_commit c USING (
                SELECT connection FROM last_commit WHERE at < \(raw: CommitMark.now) - \(CommitMark.lifetime)
                FOR UPDATE SKIP LOCKED) old
            WHERE c.connection = old.connection
            """,
        ])
        return mark
    }

    /// Whether another connection's transaction is stored. `nil` if it may still be committed or the database cannot
    /// say.
    private func isStored(_ mark: CommitMark) -> Bool? {
        do {
            let connection = try connected()
            // Two queries: the second sees what was committed before the lock became free.
            let hasEnded = try connection.query("SELECT pg_try_advisory_xact_lock(\(mark.connection))").first?.bool(0)
            let last = try connection.query("SELECT number FROM last_commit WHERE connection = \(mark.connection)")
            return last.first?.int(0) == mark.number ? true : hasEnded == true ? false : nil
        } catch {
            connection = nil
            return nil
        }
    }
}
#endif

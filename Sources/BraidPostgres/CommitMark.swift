#if PostgreSQL
/// What identifies one transaction of one connection: the transaction writes the mark into the table `last_commit`.
///
/// If the connection is lost during COMMIT, the mark is in the database exactly if the transaction is stored. Another
/// server may have stored the same change, so the change itself does not tell. Neither does the transaction's ID,
/// because PostgreSQL can use it again after a crash.
struct CommitMark {
    /// A random number, which is the key of the connection's row, and of an advisory lock that the connection holds. As
    /// long as the lock is held, the transaction may still be committed.
    let connection = Int.random(in: .min ... .max)
    var number = 0

    /// The statement that writes the mark, as the transaction's last statement.
    var statement: PostgresStatement {
        """
        INSERT INTO last_commit (connection, number, at) VALUES (\(connection), \(number), \(raw: Self.now))
        ON CONFLICT (connection) DO UPDATE SET number = excluded.number, at = excluded.at
        """
    }

    fileprivate static let now = "extract(epoch FROM clock_timestamp()) * 1000"
    /// The age in milliseconds at which a row is deleted. A server asks for its mark only for some seconds.
    fileprivate static let lifetime = 24 * 60 * 60 * 1000
}

extension PostgresConnection {
    /// Returns the mark of this connection's open transaction.
    func nextMark() throws -> CommitMark {
        var next = try mark ?? firstMark()
        next.number += 1
        mark = next
        return next
    }

    /// Takes the lock of this connection's marks, and deletes the rows of old connections.
    private func firstMark() throws -> CommitMark {
        let mark = CommitMark()
        _ = try all([
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

    /// Returns whether the transaction of another connection is stored, or `nil` if it may still be committed.
    func isStored(_ mark: CommitMark) throws -> Bool? {
        // Two queries, so that the second one sees what was committed before the lock became free.
        let hasEnded = try query("SELECT pg_try_advisory_xact_lock(\(mark.connection))").first?.bool(0) == true
        let last = try query("SELECT number FROM last_commit WHERE connection = \(mark.connection)").first?.int(0)
        return last == mark.number ? true : hasEnded ? false : nil
    }
}
#endif

#if PostgreSQL
import BraidStore

// Begins new epochs for all sessions at once, by writing the one row of the table `epoch_suffix`.
//
// A server checks this row on every new connection, before it uses the connection. A crash of the database, or a
// standby's promotion, ends all connections, so no statement can run between a loss of commits and the check.

extension PostgresConnection {
    /// An SQL expression that identifies where the data is: the PostgreSQL cluster, its timeline, the database and the
    /// table. If the result differs from the stored place, the database may have lost commits.
    ///
    /// A restored dump has another table OID, and a copied database has another database OID. A promoted standby or a
    /// restored cluster backup has another timeline.
    private static let place = """
        concat_ws('.', (SELECT system_identifier FROM pg_control_system()), left(pg_walfile_name(pg_current_wal_lsn()), 8),
            (SELECT oid FROM pg_database WHERE datname = current_database()), 'epoch_suffix'::regclass::oid)
        """

    /// An SQL condition: the database cannot have lost a commit since the current epoch suffix was stored.
    private static let isWhole = "place = \(place) AND (NOT loses_commits OR EXISTS (SELECT FROM crash_detector))"

    /// Begins new epochs for all sessions if new epochs are due. Returns the epoch suffix that is valid afterwards.
    func beginEpochs(_ options: PostgresStoreOptions) throws -> String {
        let losesCommits = options.synchronous == .normal
        let found = try query("SELECT suffix, \(raw: Self.isWhole), loses_commits FROM epoch_suffix")
        guard let found = found.first else { throw StoreError.corrupt("it has no epoch_suffix") }
        if found.bool(1), found.bool(2) || !losesCommits { return found.text(0) }

        // The lock on the row of `epoch_suffix` lets only one server at a time begin epochs. With `synchronous_commit =
        // on`, the new suffix is on disk before any later commit, even if later commits do not wait for the disk
        // (`synchronous = normal`).
        let locked = try all([
            "BEGIN", "SELECT set_config('synchronous_commit', 'on', true)",
            "SELECT suffix, place <> '' AND NOT (\(raw: Self.isWhole)), loses_commits FROM epoch_suffix FOR UPDATE",
        ])
        guard let now = locked.last?.first else { throw StoreError.corrupt("it has no epoch_suffix") }
        let last = now.text(0), isDue = now.bool(1)
        let suffix = isDue ? options.newEpochSuffix(last) : last
        var statements: [PostgresStatement] = []
        if isDue {
            statements.append(
                "UPDATE epoch_suffix SET suffix = \(name: suffix), last_session = (SELECT coalesce(max(number), 0) FROM session), loses_commits = false"
            )
        }
        if losesCommits {
            statements.append("INSERT INTO crash_detector SELECT true WHERE NOT EXISTS (SELECT FROM crash_detector)")
            statements.append("UPDATE epoch_suffix SET loses_commits = true")
        }
        _ = try all(statements + ["UPDATE epoch_suffix SET place = \(raw: Self.place)", "COMMIT"])
        if isDue { options.onChange(.newEpochs) }
        return suffix
    }
}
#endif

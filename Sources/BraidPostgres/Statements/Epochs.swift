#if PostgreSQL
import BraidStore

extension PostgresQueries {
    /// Where the data is. Elsewhere, the database may have lost commits: a restored dump has another table OID, a
    /// copied database another database OID, a promoted standby or a restored cluster another timeline.
    private static let place = """
        concat_ws('.', (SELECT system_identifier FROM pg_control_system()), left(pg_walfile_name(pg_current_wal_lsn()), 8),
            (SELECT oid FROM pg_database WHERE datname = current_database()), 'epoch_suffix'::regclass::oid)
        """

    /// No commit was lost since the suffix was stored.
    private static let isWhole = "place = \(place) AND (NOT loses_commits OR EXISTS (SELECT FROM crash_detector))"

    /// Begins new epochs for all sessions by one write, if due, and returns the valid suffix. Call it on every new
    /// connection before its use: a crash or a standby's promotion ends all connections, so no statement runs between
    /// a loss of commits and this check.
    func beginEpochs(_ options: StoreOptions) throws -> String {
        let losesCommits = options.synchronous == .normal
        let found = try db.query("SELECT suffix, \(raw: Self.isWhole), loses_commits FROM epoch_suffix")
        guard let found = found.first else { throw StoreError.corrupt("it has no epoch_suffix") }
        if found.bool(1), found.bool(2) || !losesCommits { return found.text(0) }

        // The row's lock lets one server at a time begin epochs. `synchronous_commit = on` puts the suffix on disk
        // before any later commit, even with `synchronous = normal`.
        let locked = try db.all([
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
        _ = try db.all(statements + ["UPDATE epoch_suffix SET place = \(raw: Self.place)", "COMMIT"])
        if isDue { options.onChange(.newEpochs) }
        return suffix
    }
}
#endif

// Begins new epochs for all sessions of a database at once, by writing only the one row of the table `epoch_suffix`.

extension SQLiteConnection {
    /// Begins new epochs for all sessions if the database contains the mark that new epochs are due.
    ///
    /// With `synchronous = normal`, a power loss can lose commits. A server with this option therefore sets the mark
    /// when it opens the database, and removes the mark when it closes the database properly.
    func beginEpochs(_ options: SQLiteStoreOptions) throws {
        let losesCommits = options.synchronous == .normal
        let isRenewed = try inTransaction(.immediate) {
            guard let isDue = try first("SELECT is_due FROM epoch_suffix", value: { $0.int(0) != 0 }) else {
                throw StoreError.corrupt("it has no epoch_suffix")
            }
            if isDue { try replaceEpochs(options) }
            if isDue != losesCommits { try setNewEpochsDue(losesCommits) }
            return isDue
        }
        if isRenewed { options.onChange(.newEpochs) }
    }

    /// Gives new epochs to all sessions, by storing a new epoch suffix.
    func replaceEpochs(_ options: SQLiteStoreOptions) throws {
        let last = try first("SELECT suffix FROM epoch_suffix") { $0.text(0) } ?? ""
        try run(
            "UPDATE epoch_suffix SET suffix = ?, last_session = (SELECT coalesce(max(number), 0) FROM session)",
            options.newEpochSuffix(last))
    }

    /// Stores whether the next server that opens the database begins new epochs.
    func setNewEpochsDue(_ isDue: Bool) throws {
        try run("UPDATE epoch_suffix SET is_due = ?", isDue ? 1 : 0)
    }
}

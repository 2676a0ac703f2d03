extension SQLiteQueries {
    /// Begins new epochs for all sessions by one write, if due. With `synchronous = normal`, new epochs are due from
    /// the opening until a proper close, because a power loss can lose commits.
    func beginEpochs(_ options: StoreOptions) throws {
        let losesCommits = options.synchronous == .normal
        let isRenewed = try db.inTransaction(.immediate) {
            guard let isDue = try db.first("SELECT is_due FROM epoch_suffix", value: { $0.int(0) != 0 }) else {
                throw StoreError.corrupt("it has no epoch_suffix")
            }
            if isDue { try replaceEpochs(options) }
            if isDue != losesCommits { try setNewEpochsDue(losesCommits) }
            return isDue
        }
        if isRenewed { options.onChange(.newEpochs) }
    }

    func replaceEpochs(_ options: StoreOptions) throws {
        let last = try db.first("SELECT suffix FROM epoch_suffix") { $0.text(0) } ?? ""
        try db.run(
            "UPDATE epoch_suffix SET suffix = ?, last_session = (SELECT coalesce(max(number), 0) FROM session)",
            options.newEpochSuffix(last))
    }

    /// Whether the next opening begins new epochs.
    func setNewEpochsDue(_ isDue: Bool) throws {
        try db.run("UPDATE epoch_suffix SET is_due = ?", isDue ? 1 : 0)
    }
}

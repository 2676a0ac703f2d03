extension BatchUpdate {
    /// Computes the same update as ``init(from:to:)``. Notes of the rows that a command touched make the computation
    /// cheaper.
    ///
    /// Notes cannot make the update wrong. Parts that the snapshots do not share are compared, so a changed row without
    /// a note is found, too. If a section's ids do not fit the notes, the section is diffed in full. A missing note
    /// only costs time. Ids must be unique within their sections.
    ///
    /// - Complexity: O(sections), and O(k log k + k log rows) for k touched rows.
    public init(from old: Snapshot, to new: Snapshot, touched: TouchedRows) throws(Refusal) {
        try self.init(from: old, to: new, touched: touched, staying: { _ in nil })
    }

    /// Computes the update for callers that know which rows without ids are the same rows in both snapshots.
    ///
    /// - Parameter staying: returns the rows that stay in a section that is not diffable, as ascending stretches of
    ///   displayed rows. If `staying` returns `nil`, the section's rows are compared by their indexes.
    init(
        from old: Snapshot, to new: Snapshot, touched: TouchedRows, staying: (SectionID) -> [MatchedStretch]?
    ) throws(Refusal) {
        self.init(from: old, to: new, stages: try Self.stages(from: old, to: new, touched: touched, staying: staying))
    }
}

extension RowComparison {
    /// Matches those rows of a section that the command did not touch, side by side. Leaves the touched rows to
    /// `matching`, which matches them by id. If the notes name no single rows, or if the section's rows do not fit the
    /// notes, returns false and leaves `found` unchanged.
    func follow(
        _ touched: TouchedRows.Rows, _ section: SectionID, _ found: inout MatchedRows, _ matching: inout RowMatching
    ) throws(Refusal) -> Bool {
        guard case .edits(let edits) = touched else { return false }
        let runCount = found.runs.count, changeCount = found.changes.count
        guard old.count - edits.removed.count + edits.inserted.count == new.count else { return false }
        for run in edits.untouched {
            let count = min(run.count, old.count - run.old)
            guard count >= 0, run.new + count <= new.count,
                matchingPrefix(oldStart: run.old, newStart: run.new, limit: count, changes: &found.changes) == count
            else {
                found.runs.removeLast(found.runs.count - runCount)
                found.changes.removeLast(found.changes.count - changeCount)
                return false
            }
            guard count > 0 else { continue }
            found.runs.append(
                MatchedRun(
                    oldSection: oldSection, oldStart: run.old, newSection: newSection, newStart: run.new, count: count))
        }
        // All touched rows are matched by id. Even a row that was replaced at its place may be another row now.
        for change in edits.changes {
            try matching.addOld(change.old, of: old, in: newSection, section)
            try matching.addNew(change.new, of: new, in: newSection, section)
        }
        return true
    }
}

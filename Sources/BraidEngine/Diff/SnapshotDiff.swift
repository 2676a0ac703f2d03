extension BatchUpdate {
    /// The fewest row operations that the ids allow, in the fewest stages.
    ///
    /// Matches sections by id, then rows of diffable sections across all sections, and other rows by index. A row that
    /// changed its section is one move if its id is unique. Shared parts are read only to find repeated ids.
    ///
    /// - Throws: ``Refusal`` with `duplicateRowID`, or `badRequest` if two sections have one id or a compared row of a
    ///   diffable section has none.
    /// - Complexity: O(rows) expected, O(n log n) for n moved rows.
    public init(from old: Snapshot, to new: Snapshot) throws(Refusal) {
        try self.init(from: old, to: new, touched: nil)
    }

    /// The same update, cheaper by notes of what a command touched. They cannot make it wrong: what is not shared is
    /// compared anyway, and a section that does not fit its notes is diffed in full. Ids must be unique within their
    /// sections.
    ///
    /// `staying` gives, for a section that is not diffable, the rows that stay, ascending; `nil` compares by index.
    /// O(sections, and k log k + k log rows) for k touched rows.
    init(
        from old: Snapshot, to new: Snapshot, touched: TouchedRows?,
        staying: (SectionID) -> [MatchedStretch]? = { _ in nil }
    ) throws(Refusal) {
        self.init(
            from: old.revision, to: new.revision, stages: try Self.stages(from: old, to: new, touched, staying),
            totalRowCount: new.totalRowCount, state: old.state == new.state ? nil : new.state,
            empty: old.empty == new.empty ? nil : new.empty ?? .null)
    }

    private static func stages(
        from old: Snapshot, to new: Snapshot, _ touched: TouchedRows?, _ staying: (SectionID) -> [MatchedStretch]?
    ) throws(Refusal) -> [Stage] {
        var difference = try TableDifference.matchingSections(old, new, unique: touched != nil)
        difference.compareSections(old, new)
        var found = MatchedRows(oldSections: difference.oldPlaces)
        var matching = RowMatching()
        for position in difference.pairs.indices
        where difference.pairs[position].comparesRows && !difference.pairs[position].rowsAreShared {
            let pair = difference.pairs[position]
            let section = new.sections[pair.new]
            let known = section.isDiffable ? nil : staying(section.id)
            if !section.isDiffable, known == nil {
                difference.compareByPlace(position, old, new)
                continue
            }
            let comparison = RowComparison(
                oldSection: pair.old, old: old.sections[pair.old].rows, newSection: pair.new, new: section.rows,
                rule: known == nil ? .sameID : .known)
            difference.pairs[position].oldCount = comparison.old.count
            difference.pairs[position].newCount = comparison.new.count
            if let known {
                comparison.follow(known, &found)
                continue
            }
            let id = section.id
            if let touched, try comparison.follow(touched.rows(in: id), id, &found, &matching) { continue }
            try comparison.matchRows(id, &found, &matching)
        }
        try matching.match(in: new, &found)
        if touched == nil {
            for (_, section) in difference.insertedSections { try section.checkIDs() }
            try matching.checkIDs(against: found, old, new)
        }
        let sections = new.sections
        difference.compareRows(&found.runs, &found.changes) { rows, section, inserted in
            if rows.count > 8 { inserted.reserveCapacity(max(2 * inserted.count, inserted.count + rows.count)) }
            sections[section].rows.forEachBuffer(in: rows) { index, rows in
                for offset in rows.indices {
                    inserted.append(.init(at: RowPath(section: section, row: index + offset), row: rows[offset]))
                }
            }
        }
        difference.collectSectionUpdates(old, new)
        return difference.stages()
    }
}

extension RowComparison {
    func matchRows(_ section: SectionID, _ found: inout MatchedRows, _ matching: inout RowMatching) throws(Refusal) {
        let shorter = min(old.count, new.count)
        let prefix = matchingPrefix(limit: shorter, changes: &found.changes)
        if prefix > 0 { found.runs.append(run(old: 0, new: 0, count: prefix)) }
        guard prefix < old.count || prefix < new.count else { return }
        var changesAtEnd = ContiguousArray<ChangedRow>()
        let suffix = matchingSuffix(limit: shorter - prefix, changes: &changesAtEnd)
        try matchStretches(prefix..<old.count - suffix, prefix..<new.count - suffix, section, &found, &matching)
        if suffix > 0 { found.runs.append(run(old: old.count - suffix, new: new.count - suffix, count: suffix)) }
        found.changes += changesAtEnd.reversed()
    }

    /// Matches untouched rows side by side, and leaves the others to `matching`. False, without effect, if the notes
    /// name no single rows or do not fit.
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
            found.runs.append(self.run(old: run.old, new: run.new, count: count))
        }
        // By id: a row replaced in place may be another.
        for change in edits.changes {
            try old.appendEntries(of: change.old, in: newSection, section, to: &matching.old)
            try new.appendEntries(of: change.new, in: newSection, section, to: &matching.new)
        }
        return true
    }
}

extension TableDifference {
    consuming func stages() -> [BatchUpdate.Stage] {
        let sectionsStay =
            deletedSections.isEmpty && insertedSections.isEmpty
            && !pairs.indices.dropFirst().contains { pairs[$0].old < pairs[$0 - 1].old }
        return sectionsStay ? stagesInPlace() : Staging(self).stages()
    }

    /// Without inserts, deletes or moves of sections, as in most updates: one stage, or two if rows move and something
    /// reloads. Same result as `Staging`.
    private func stagesInPlace() -> [BatchUpdate.Stage] {
        let isOne = movedRows.isEmpty || reloadedRows.isEmpty && reloadedSections.isEmpty
        // In the list from the start: a copy would count the references of all operations' lists.
        var stages = [BatchUpdate.Stage()]
        if !isOne { stages.append(BatchUpdate.Stage()) }
        arrangeRows(&stages[0])
        arrangeContent(&stages[stages.count - 1]) { isOne ? $0.old : $0.new }
        for index in stages.indices { stages[index].sortLists() }
        return isOne && stages[0].isEmpty ? [] : stages
    }

    private func arrangeContent(_ stage: inout BatchUpdate.Stage, _ place: (ChangedRow) -> RowPath) {
        stage.reloadSections = reloadedSections.map { ($0.pair.new, $0.section) }
        stage.updateSections = updatedSections.map { update in
            var placed = update.content
            placed.at = update.pair.new
            return placed
        }
        stage.reloadRows = reloadedRows.map { .init(at: place($0), row: $0.row) }
        stage.updateRows = updatedRows.map { .init(at: place($0), row: $0.row) }
    }

    func arrangeRows(_ stage: inout BatchUpdate.Stage) {
        stage.deleteRows = deletedRows
        stage.insertRows = insertedRows
        stage.moveRows = movedRows
    }
}

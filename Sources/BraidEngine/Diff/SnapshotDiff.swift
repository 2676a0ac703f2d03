extension BatchUpdate {
    /// The update that leads from one snapshot to another: the fewest row operations, in the fewest stages.
    ///
    /// Sections are matched by id, then rows over all surviving sections in one pass: a row that changed section is one
    /// move. Rows of a section that went go with it, rows of a section that came come with it. Rows that stay side by
    /// side at a section's start and end are compared and never hashed; chunks that both snapshots share are not even
    /// looked at.
    ///
    /// Throws `duplicateRowID` when rows of one section have the same id (found among rows that are new or changed
    /// place, and against those), and `badRequest` when sections have. Expected O(rows), O(n log n) for n moved rows.
    public init(from old: Snapshot, to new: Snapshot) throws(Refusal) {
        try self.init(from: old, to: new, touched: nil)
    }

    /// `touched` nil: nothing is known about what changed.
    init(from old: Snapshot, to new: Snapshot, touched: TouchedRows?) throws(Refusal) {
        var difference = try TableDifference(old, new, unique: touched != nil)
        difference.compareFacts(old, new)
        var runs: ContiguousArray<MatchedRun> = [], changes: ContiguousArray<ChangedRow> = []
        var matching = RowMatching()
        for position in difference.pairs.indices where difference.pairs[position].comparesRows && !difference.pairs[position].rowsAreShared {
            let pair = difference.pairs[position]
            let after = new.sections[pair.new]
            if !after.isDiffable {
                difference.compareByPlace(position, old, new)
                continue
            }
            let comparison = RowComparison(
                oldSection: pair.old, old: old.sections[pair.old].rows, newSection: pair.new, new: after.rows)
            if let touched, try comparison.follow(touched.rows(in: after.id), after, &runs, &changes, &matching) { continue }
            try comparison.matchRows(after, &runs, &changes, &matching)
        }
        try matching.match(in: new)
        if touched == nil {
            for (_, section) in difference.insertedSections { try section.checkIDs() }
            try matching.checkIDs(against: runs, old, new)
        }
        matching.collect(oldSections: difference.oldPlaces, runs: &runs, changes: &changes)
        difference.compareRows(
            runs, changes, oldCount: { old.sections[$0].isDiffable ? old.sections[$0].rows.count : 0 },
            newCount: { new.sections[$0].isDiffable ? new.sections[$0].rows.count : 0 },
            insert: { rows, section, inserted in
                new.sections[section].rows.forEach(in: rows) { inserted.append((IndexPath(section: section, row: $0), $1)) }
            })
        difference.collectSectionUpdates(old, new)
        self.init(
            from: old.revision, to: new.revision, stages: difference.stages(),
            totalRowCount: new.totalRowCount, state: old.state == new.state ? nil : new.state,
            empty: old.empty == new.empty ? nil : new.empty ?? .null)
    }
}

extension RowComparison {
    /// Matches the rows that both lists start with and end with, then stretches between, and leaves the rest to `matching`.
    func matchRows(
        _ section: Section, _ runs: inout ContiguousArray<MatchedRun>, _ changes: inout ContiguousArray<ChangedRow>,
        _ matching: inout RowMatching
    ) throws(Refusal) {
        let shorter = min(old.count, new.count)
        let prefix = matchingPrefix(limit: shorter, changes: &changes)
        if prefix > 0 {
            runs.append(MatchedRun(oldSection: oldSection, oldStart: 0, newSection: newSection, newStart: 0, count: prefix))
        }
        guard prefix < old.count || prefix < new.count else { return }
        var changesAtEnd = ContiguousArray<ChangedRow>()
        let suffix = matchingSuffix(limit: shorter - prefix, changes: &changesAtEnd)
        try matchStretches(prefix..<old.count - suffix, prefix..<new.count - suffix, section, &runs, &changes, &matching)
        if suffix > 0 {
            runs.append(MatchedRun(
                oldSection: oldSection, oldStart: old.count - suffix, newSection: newSection, newStart: new.count - suffix, count: suffix))
        }
        changes += changesAtEnd.reversed()
    }
}

extension TableDifference {
    /// In as few stages as the rules allow, each list in order of its indexes.
    func stages() -> [BatchUpdate.Stage] {
        let sectionsStay = deletedSections.isEmpty && insertedSections.isEmpty && !pairs.indices.dropFirst().contains { pairs[$0].old < pairs[$0 - 1].old }
        return sectionsStay ? stagesInPlace() : Staging(self).stages()
    }

    /// What `Staging` comes to for most updates, those in which no section comes, goes or moves: one stage, or two where
    /// rows move and something is reloaded.
    private func stagesInPlace() -> [BatchUpdate.Stage] {
        let isOne = movedRows.isEmpty || reloadedRows.isEmpty && reloadedSections.isEmpty
        func place(_ change: ChangedRow) -> IndexPath { isOne ? change.old : change.new }
        var stages = Array(repeating: BatchUpdate.Stage(), count: isOne ? 1 : 2)
        stages[0].deleteRows = deletedRows
        stages[0].insertRows = insertedRows
        stages[0].moveRows = movedRows
        let content = stages.count - 1
        stages[content].reloadSections = reloadedSections.map { ($0.pair.new, $0.section) }
        stages[content].updateSections = updatedSections.map { update in
            var facts = update.facts
            facts.at = update.pair.new
            return facts
        }
        stages[content].reloadRows = reloadedRows.map { (place($0), $0.row) }
        stages[content].updateRows = updatedRows.map { (place($0), $0.row) }
        for index in stages.indices { stages[index].sortLists() }
        if stages[0].isEmpty { stages.removeFirst() }
        return stages
    }
}

/// Matches by id what comparing side by side left over, within sections; then, if one old and one new row with an id
/// remain, as one that changed its section. More would be ambiguous. Expected O(rows to match).
struct RowMatching {
    var old: ContiguousArray<RowEntry> = []
    var new: ContiguousArray<RowEntry> = []
    /// Empty for a few, which are searched one by one.
    private var oldTable = RowTable()
    /// New entries without a match in their section.
    private(set) var leftCount = 0

    private static var few: Int { 8 }

    /// Entries are in the order of their sections. Throws `duplicateRowID`.
    mutating func match(in snapshot: Snapshot, _ found: inout MatchedRows) throws(Refusal) {
        found.stayingCount = found.runs.count
        guard !new.isEmpty || !old.isEmpty else { return }
        try findTwins(snapshot)
        var expected = 0
        for position in new.indices {
            let entry = new[position]
            // Neighbours mostly stay neighbours.
            let source = expected < old.count && old[expected].isTwin(of: entry) ? expected : findOld(entry)
            guard let source else {
                leftCount += 1
                continue
            }
            if old[source].isMatched { throw .duplicateRow(entry.id, in: snapshot.sections[Int(entry.section)].id) }
            old[source].markMatched()
            new[position].markMatched()
            found.add(old[source], entry)
            expected = source + 1
        }
        if hasOneSection {
            try checkLeftIDs(snapshot)
        } else if leftCount > 1 || leftCount == 1 && new.count - leftCount < old.count {
            try matchAcrossSections(snapshot, &found)
        }
    }

    private mutating func findTwins(_ snapshot: Snapshot) throws(Refusal) {
        if old.count > Self.few { oldTable = RowTable(capacity: old.count) }
        for position in old.indices {
            let entry = old[position]
            let isTwin =
                old.count > Self.few
                ? oldTable.findOrInsert(position, entry.hashInSection, { old[$0].isTwin(of: entry) }) != nil
                : old[..<position].contains { $0.isTwin(of: entry) }
            if isTwin { throw .duplicateRow(entry.id, in: snapshot.sections[Int(entry.section)].id) }
        }
    }

    @inline(__always)
    func findOld(_ entry: RowEntry) -> Int? {
        if old.count <= Self.few { return old.firstIndex { $0.isTwin(of: entry) } }
        return oldTable.find(entry.hashInSection) { old[$0].isTwin(of: entry) }
    }

    /// No row can then come from another.
    private var hasOneSection: Bool {
        guard let section = (old.first ?? new.first)?.section else { return true }
        return old.last?.section ?? section == section && new.first?.section ?? section == section
            && new.last?.section ?? section == section
    }

    private func checkLeftIDs(_ snapshot: Snapshot) throws(Refusal) {
        guard leftCount > 1, !snapshot.sections[Int(new[0].section)].idsWereChecked else { return }
        var table = RowTable(capacity: leftCount)
        for (position, entry) in new.enumerated() where !entry.isMatched {
            if table.findOrInsert(position, entry.hash, { new[$0].hasSameID(as: entry) }) != nil {
                throw .duplicateRow(entry.id, in: snapshot.sections[Int(entry.section)].id)
            }
        }
    }

    private func matchAcrossSections(_ snapshot: Snapshot, _ found: inout MatchedRows) throws(Refusal) {
        /// Entries of one id without a match in their section: the last new one, the old one or -1.
        struct Group {
            var lastNew: Int32
            var source: Int32 = -1
            var isAmbiguous = false
        }
        var groups = ContiguousArray<Group>()
        groups.reserveCapacity(leftCount)
        var table = RowTable(capacity: leftCount)
        for (position, entry) in new.enumerated() where !entry.isMatched {
            if let group = table.findOrInsert(
                groups.count, entry.hash, { new[Int(groups[$0].lastNew)].hasSameID(as: entry) })
            {
                if new[Int(groups[group].lastNew)].section == entry.section {
                    throw .duplicateRow(entry.id, in: snapshot.sections[Int(entry.section)].id)
                }
                groups[group].lastNew = Int32(position)
                groups[group].isAmbiguous = true
            } else {
                groups.append(Group(lastNew: Int32(position)))
            }
        }
        for (position, entry) in old.enumerated() where !entry.isMatched {
            guard let group = table.find(entry.hash, { new[Int(groups[$0].lastNew)].hasSameID(as: entry) }) else {
                continue
            }
            if groups[group].source >= 0 { groups[group].isAmbiguous = true }
            groups[group].source = Int32(position)
        }
        for group in groups where !group.isAmbiguous && group.source >= 0 {
            found.add(old[Int(group.source)], new[Int(group.lastNew)])
        }
    }
}

extension RowMatching {
    /// Checks that no row to match has the id of one found side by side; `match`, which must run first, has compared
    /// the former with each other. Throws `duplicateRowID`. Expected O(rows of sections with entries).
    func checkIDs(against found: MatchedRows, _ old: Snapshot, _ new: Snapshot) throws(Refusal) {
        guard !self.old.isEmpty || !self.new.isEmpty else { return }
        var stayed: [MatchedRun] = [], last = (section: -1, isChecked: false)
        for run in found.staying {
            // Runs of one section follow each other.
            if run.newSection != last.section {
                last = (
                    run.newSection,
                    new.sections[run.newSection].idsWereChecked && old.sections[run.oldSection].idsWereChecked
                )
            }
            if !last.isChecked { stayed.append(run) }
        }
        guard !stayed.isEmpty else { return }
        var isLookedAt = Array(repeating: false, count: new.sections.count)
        for entry in self.old {
            isLookedAt[Int(entry.section)] = true
        }
        // Those without a match are enough: `findOld` finds the old one's id for the others.
        var left = RowTable(capacity: leftCount)
        for (position, entry) in self.new.enumerated() where !entry.isMatched {
            isLookedAt[Int(entry.section)] = true
            _ = left.findOrInsert(position, entry.hashInSection) { self.new[$0].isTwin(of: entry) }
        }
        for run in stayed where isLookedAt[run.newSection] {
            let section = new.sections[run.newSection]
            try section.rows.forEachBuffer(in: run.newStart..<run.newStart + run.count) {
                (index, rows) throws(Refusal) in
                let twin = rows.withReferences { rows in
                    rows.indices.first { offset in
                        let entry = RowEntry(rows[offset], section: run.newSection, index: index + offset)
                        return findOld(entry) != nil
                            || left.find(entry.hashInSection, { self.new[$0].isTwin(of: entry) }) != nil
                    }
                }
                if let twin, let id = rows[twin].id { throw .duplicateRow(id, in: section.id) }
            }
        }
    }
}

extension Refusal {
    static func rowWithoutID(at index: Int, in section: SectionID) -> Refusal {
        Refusal(
            .badRequest,
            "The row \(index) of the section \"\(section)\" has no id; a section whose rows have none must say `\"diffable\": false`."
        )
    }

    static func duplicateSection(_ id: SectionID) -> Refusal {
        Refusal(.badRequest, "Two sections have the id \"\(id)\"; section ids must be unique within a table.")
    }
}

extension Section {
    /// Throws `duplicateRowID`, or `badRequest` for a row without id. Expected O(rows).
    func checkIDs() throws(Refusal) {
        guard isDiffable, !rows.isEmpty, !idsWereChecked else { return }
        var matching = RowMatching()
        try rows.appendEntries(of: 0..<rows.count, in: 0, id, to: &matching.old)
        var found = MatchedRows(oldSections: [0])
        try matching.match(in: Snapshot(sections: [Section(id: id)]), &found)
    }
}

extension RowMatching {
    /// Checks that no row that had to be matched by id has the id of a row that the side-by-side comparison found in
    /// the same section. `match` has already compared the rows that had to be matched by id with each other. Throws
    /// `duplicateRowID`. Expected O(rows of the sections that have entries).
    func checkIDs(against found: MatchedRows, _ old: Snapshot, _ new: Snapshot) throws(Refusal) {
        let stayed = found.staying.filter {
            !new.sections[$0.newSection].idsWereChecked || !old.sections[$0.oldSection].idsWereChecked
        }
        guard !self.old.isEmpty || !self.new.isEmpty, !stayed.isEmpty else { return }
        var isLookedAt = Array(repeating: false, count: new.sections.count)
        for entry in self.old {
            isLookedAt[Int(entry.section)] = true
        }
        // A new entry with a match has the same id as an old entry, and `findOld` finds that old entry. The table
        // `left` therefore only needs the new entries without a match.
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

// Refusals because of missing or repeated ids in a snapshot.
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
    /// Throws `duplicateRowID` if two rows of a diffable section have the same id, and `badRequest` if a row of a
    /// diffable section has no id. Expected O(rows).
    func checkIDs() throws(Refusal) {
        guard isDiffable, !rows.isEmpty, !idsWereChecked else { return }
        var matching = RowMatching()
        try matching.addOld(0..<rows.count, of: rows, in: 0, id)
        var found = MatchedRows(oldSections: [0])
        try matching.match(in: Snapshot(sections: [Section(id: id)]), &found)
    }
}

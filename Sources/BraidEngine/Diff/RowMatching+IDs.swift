extension RowMatching {
    /// Looks for entries that have the id of a row of their section that stayed; among themselves entries were compared
    /// when they were matched. Throws `duplicateRowID`. Expected O(rows of the sections that have entries).
    func checkIDs(against found: MatchedRows, _ old: Snapshot, _ new: Snapshot) throws(Refusal) {
        let stayed = found.staying.filter {
            !new.sections[$0.newSection].idsWereChecked || !old.sections[$0.oldSection].idsWereChecked
        }
        guard !self.old.isEmpty || !self.new.isEmpty, !stayed.isEmpty else { return }
        var isLookedAt = Array(repeating: false, count: new.sections.count)
        var marks = IDMarks(capacity: self.old.count + leftCount)
        for entry in self.old {
            isLookedAt[Int(entry.section)] = true
            marks.insert(entry.hash)
        }
        // What is not among the old entries is here.
        var left = RowTable(capacity: leftCount)
        for (position, entry) in self.new.enumerated() where !entry.isMatched {
            isLookedAt[Int(entry.section)] = true
            marks.insert(entry.hash)
            _ = left.findOrInsert(position, entry.hashInSection) { self.new[$0].isTwin(of: entry) }
        }
        for run in stayed where isLookedAt[run.newSection] {
            let section = new.sections[run.newSection]
            try section.rows.forEachBuffer(in: run.newStart..<run.newStart + run.count) {
                (index, rows) throws(Refusal) in
                let twin = rows.withReferences { rows in
                    rows.indices.first { offset in
                        guard marks.mayHold(rows[offset].marks.idHash) else { return false }
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

/// A set of hashes that may hold more than was put in: one bit for each, of at least 16 a hash.
/// Source: Bloom, "Space/time trade-offs in hash coding with allowable errors", 1970, with one hash function.
private struct IDMarks {
    private var words: ContiguousArray<UInt64>
    private let shift: UInt64

    init(capacity: Int) {
        var bits: UInt64 = 9
        while 1 << bits < 16 * capacity { bits += 1 }
        words = ContiguousArray(repeating: 0, count: 1 << (bits - 6))
        shift = 64 - bits
    }

    mutating func insert(_ hash: UInt64) {
        let bit = Int(truncatingIfNeeded: hash >> shift)
        words[bit >> 6] |= 1 << UInt64(bit & 63)
    }

    @inline(__always)
    func mayHold(_ hash: UInt64) -> Bool {
        let bit = Int(truncatingIfNeeded: hash >> shift)
        return words[bit >> 6] & 1 << UInt64(bit & 63) != 0
    }
}

// Ids that a snapshot must not have.
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
    /// Throws `duplicateRowID` when two of the section's rows have the same id. Expected O(rows).
    func checkIDs() throws(Refusal) {
        guard isDiffable, !rows.isEmpty, !idsWereChecked else { return }
        var matching = RowMatching()
        try matching.addOld(0..<rows.count, of: rows, in: 0, id)
        var found = MatchedRows(oldSections: [0])
        try matching.match(in: Snapshot(sections: [Section(id: id)]), &found)
    }
}

/// Finds the same rows before and after, among those that were not seen to stay side by side.
///
/// A row is matched within its own section first. Of the rest, an id that is left over once before and once after is
/// the same row in another section; where several are left over none is, as it cannot be told which. Expected
/// O(rows looked at).
struct RowMatching {
    /// One row that is looked at: in which section, and where.
    struct Entry {
        let row: Row
        let id: RowID
        /// In the new snapshot, for old rows too: sections are matched before their rows.
        let section: Int
        let index: Int
    }

    private(set) var old: [Entry] = []
    private(set) var new: [Entry] = []
    /// For each new entry the old one, or -1.
    private(set) var sources: [Int] = []
    /// The old entries by section and id.
    private var oldTable = RowTable(capacity: 0)
    /// New entries that were not found in their own section.
    private var newLeft: [Int] = []

    /// A row with its id at hand.
    struct Identified {
        let row: Row
        let id: RowID
    }

    /// Rows that stand side by side, the first of them at `start`.
    mutating func addOld(_ rows: some Collection<Identified>, from start: Int, in section: Int) {
        for (offset, row) in rows.enumerated() { old.append(Entry(row: row.row, id: row.id, section: section, index: start + offset)) }
    }

    mutating func addNew(_ rows: some Collection<Identified>, from start: Int, in section: Int) {
        for (offset, row) in rows.enumerated() { new.append(Entry(row: row.row, id: row.id, section: section, index: start + offset)) }
    }

    /// Fills `sources`. Old entries stand in order of their section, and so do new ones. Throws `duplicateRowID`.
    mutating func match(in snapshot: Snapshot) throws(Refusal) {
        sources = Array(repeating: -1, count: new.count)
        guard !new.isEmpty || !old.isEmpty else { return }
        let oldHashes = old.map { RowHash.hash($0.id) }
        oldTable = RowTable(capacity: old.count)
        for (position, entry) in old.enumerated() {
            let same = oldTable.findOrInsert(position, RowHash.hash(oldHashes[position], in: entry.section)) { other in
                old[other].section == entry.section && old[other].id == entry.id
            }
            if same != nil { throw .duplicateRow(entry.id, in: snapshot.sections[entry.section].id) }
        }

        var isMatched = Array(repeating: false, count: old.count)
        var expected = 0
        for (position, entry) in new.enumerated() {
            // Rows that follow one another before mostly do so after.
            var source: Int?
            if expected < old.count, old[expected].section == entry.section, old[expected].id == entry.id {
                source = expected
            } else {
                source = findOld(entry.id, RowHash.hash(entry.id), in: entry.section)
            }
            guard let source else {
                newLeft.append(position)
                continue
            }
            if isMatched[source] { throw .duplicateRow(entry.id, in: snapshot.sections[entry.section].id) }
            isMatched[source] = true
            sources[position] = source
            expected = source + 1
        }
        guard !newLeft.isEmpty else { return }
        let oldLeft = old.indices.filter { !isMatched[$0] }
        try matchAcrossSections(oldLeft, oldHashes, snapshot)
    }

    @inline(__always)
    private func findOld(_ id: RowID, _ hash: UInt64, in section: Int) -> Int? {
        oldTable.find(RowHash.hash(hash, in: section)) { old[$0].section == section && old[$0].id == id }
    }

    private mutating func matchAcrossSections(
        _ oldLeft: [Int], _ oldHashes: [UInt64], _ snapshot: Snapshot
    ) throws(Refusal) {
        guard !oldLeft.isEmpty || newLeft.count > 1 else { return }
        /// What is known of one id: the first of the new entries that have it, and the others' traces.
        struct Group {
            var lastNew: Int
            var source = -1
            var isAmbiguous = false
        }
        var groups: [Group] = []
        groups.reserveCapacity(newLeft.count)
        var table = RowTable(capacity: newLeft.count)
        for position in newLeft {
            let entry = new[position]
            if let group = table.findOrInsert(groups.count, RowHash.hash(entry.id), { new[groups[$0].lastNew].id == entry.id }) {
                if new[groups[group].lastNew].section == entry.section {
                    throw .duplicateRow(entry.id, in: snapshot.sections[entry.section].id)
                }
                groups[group].lastNew = position
                groups[group].isAmbiguous = true
            } else {
                groups.append(Group(lastNew: position))
            }
        }
        for position in oldLeft {
            let entry = old[position]
            guard let group = table.find(oldHashes[position], { new[groups[$0].lastNew].id == entry.id }) else { continue }
            if groups[group].source >= 0 { groups[group].isAmbiguous = true }
            groups[group].source = position
        }
        for group in groups where !group.isAmbiguous && group.source >= 0 { sources[group.lastNew] = group.source }
    }

    /// The matched entries as runs, and the rows among them whose content changed. `oldSections` gives for each new
    /// section its place in the old snapshot.
    func collect(oldSections: [Int], runs: inout [MatchedRun], changes: inout [ChangedRow]) {
        for (position, source) in sources.enumerated() where source >= 0 {
            let from = old[source], to = new[position]
            let oldSection = oldSections[from.section]
            let change = ChangedRow(
                from.row, to.row, old: IndexPath(section: oldSection, row: from.index), new: IndexPath(section: to.section, row: to.index))
            if let change { changes.append(change) }
            if let last = runs.indices.last, runs[last].oldSection == oldSection, runs[last].oldEnd == from.index,
                runs[last].newSection == to.section, runs[last].newEnd == to.index {
                runs[last].count += 1
            } else {
                runs.append(MatchedRun(oldSection: oldSection, oldStart: from.index, newSection: to.section, newStart: to.index, count: 1))
            }
        }
    }
}

extension RowMatching {
    /// Looks for entries that have the id of a row of their section that stayed; among themselves entries were compared
    /// when they were matched. Throws `duplicateRowID`. Expected O(rows of the sections that have entries).
    func checkIDs(against stayed: [MatchedRun], _ new: Snapshot) throws(Refusal) {
        guard !old.isEmpty || !self.new.isEmpty else { return }
        var isLookedAt = Array(repeating: false, count: new.sections.count)
        for entry in old { isLookedAt[entry.section] = true }
        // What is not among the old entries is here.
        var left = RowTable(capacity: newLeft.count)
        for position in newLeft {
            let entry = self.new[position]
            isLookedAt[entry.section] = true
            _ = left.findOrInsert(position, RowHash.hash(RowHash.hash(entry.id), in: entry.section)) { other in
                self.new[other].section == entry.section && self.new[other].id == entry.id
            }
        }
        for run in stayed where isLookedAt[run.newSection] {
            let section = new.sections[run.newSection]
            try section.rows.forEach(in: run.newStart..<run.newEnd) { (_, row) throws(Refusal) in
                guard let id = row.id else { return }
                let hash = RowHash.hash(id)
                let isTaken = findOld(id, hash, in: run.newSection) != nil
                    || left.find(RowHash.hash(hash, in: run.newSection), { self.new[$0].section == run.newSection && self.new[$0].id == id }) != nil
                if isTaken { throw .duplicateRow(id, in: section.id) }
            }
        }
    }
}

// Ids that a snapshot must not have.
extension Refusal {
    static func rowWithoutID(at index: Int, in section: SectionID) -> Refusal {
        Refusal(.badRequest, "The row \(index) of the section \"\(section)\" has no id; a section whose rows have none must say `\"diffable\": false`.")
    }

    static func duplicateSection(_ id: SectionID) -> Refusal {
        Refusal(.badRequest, "Two sections have the id \"\(id)\"; section ids must be unique within a table.")
    }
}

extension Section {
    /// Throws `duplicateRowID` when two of the section's rows have the same id. Expected O(rows).
    func checkIDs() throws(Refusal) {
        guard isDiffable, !rows.isEmpty else { return }
        var matching = RowMatching()
        matching.addOld(try rows.identified(in: 0..<rows.count, of: self), from: 0, in: 0)
        try matching.match(in: Snapshot(sections: [Section(id: id)]))
    }
}

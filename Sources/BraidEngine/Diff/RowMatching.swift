/// Finds the same rows before and after, among those that were not seen to stay side by side.
///
/// A row is matched within its own section first. Of the rest, an id that is left over once before and once after is
/// the same row in another section; where several are left over none is, as it cannot be told which. Expected
/// O(rows looked at).
struct RowMatching {
    private(set) var old: ContiguousArray<RowEntry> = []
    private(set) var new: ContiguousArray<RowEntry> = []
    /// For each new entry the old one, or -1.
    private var sources: ContiguousArray<Int32> = []
    /// The old entries by section and id.
    private var oldTable = RowTable()
    /// New entries that were not found in their own section.
    private var newLeft: ContiguousArray<Int32> = []

    /// Rows that stand side by side. Throws when one has no id.
    mutating func addOld(_ range: Range<Int>, of rows: ChunkedList<Row>, in section: Int, _ id: SectionID) throws(Refusal) {
        try rows.appendEntries(of: range, in: section, id, to: &old)
    }

    mutating func addNew(_ range: Range<Int>, of rows: ChunkedList<Row>, in section: Int, _ id: SectionID) throws(Refusal) {
        try rows.appendEntries(of: range, in: section, id, to: &new)
    }

    /// Fills `sources`. Old entries stand in order of their section, and so do new ones. Throws `duplicateRowID`.
    mutating func match(in snapshot: Snapshot) throws(Refusal) {
        guard !new.isEmpty || !old.isEmpty else { return }
        oldTable = RowTable(capacity: old.count)
        for (position, entry) in old.enumerated() {
            if oldTable.findOrInsert(position, entry.hashInSection, { old[$0].isTwin(of: entry) }) != nil {
                throw .duplicateRow(entry.id, in: snapshot.sections[Int(entry.section)].id)
            }
        }
        var sources = ContiguousArray<Int32>()
        sources.reserveCapacity(new.count)
        var isMatched = ContiguousArray(repeating: false, count: old.count)
        var matched = 0, expected = 0
        for (position, entry) in new.enumerated() {
            // Rows that follow one another before mostly do so after.
            var source = expected
            if expected == old.count || !old[expected].isTwin(of: entry) { source = findOld(entry) ?? -1 }
            sources.append(Int32(source))
            guard source >= 0 else {
                newLeft.append(Int32(position))
                continue
            }
            if isMatched[source] { throw .duplicateRow(entry.id, in: snapshot.sections[Int(entry.section)].id) }
            isMatched[source] = true
            matched += 1
            expected = source + 1
        }
        self.sources = sources
        if hasOneSection {
            try checkLeftIDs(snapshot)
        } else if !newLeft.isEmpty, matched < old.count || newLeft.count > 1 {
            try matchAcrossSections(isMatched, snapshot)
        }
    }

    /// All entries are of one section: no row can have come from another.
    private var hasOneSection: Bool {
        guard let section = (old.first ?? new.first)?.section else { return true }
        return old.last?.section ?? section == section && new.first?.section ?? section == section && new.last?.section ?? section == section
    }

    private func checkLeftIDs(_ snapshot: Snapshot) throws(Refusal) {
        guard newLeft.count > 1, !snapshot.sections[Int(new[0].section)].idsWereChecked else { return }
        var table = RowTable(capacity: newLeft.count)
        for position in newLeft {
            let entry = new[Int(position)]
            if table.findOrInsert(Int(position), entry.hash, { new[$0].hasSameID(as: entry) }) != nil {
                throw .duplicateRow(entry.id, in: snapshot.sections[Int(entry.section)].id)
            }
        }
    }

    @inline(__always)
    private func findOld(_ entry: RowEntry) -> Int? { oldTable.find(entry.hashInSection) { old[$0].isTwin(of: entry) } }

    private mutating func matchAcrossSections(_ isMatched: ContiguousArray<Bool>, _ snapshot: Snapshot) throws(Refusal) {
        /// What is known of one id: the last of the new entries that have it, and the old one.
        struct Group {
            var lastNew: Int32
            var source: Int32 = -1
            var isAmbiguous = false
        }
        var groups = ContiguousArray<Group>()
        groups.reserveCapacity(newLeft.count)
        var table = RowTable(capacity: newLeft.count)
        for position in newLeft {
            let entry = new[Int(position)]
            if let group = table.findOrInsert(groups.count, entry.hash, { new[Int(groups[$0].lastNew)].hasSameID(as: entry) }) {
                if new[Int(groups[group].lastNew)].section == entry.section {
                    throw .duplicateRow(entry.id, in: snapshot.sections[Int(entry.section)].id)
                }
                groups[group].lastNew = position
                groups[group].isAmbiguous = true
            } else {
                groups.append(Group(lastNew: position))
            }
        }
        for (position, entry) in old.enumerated() where !isMatched[position] {
            guard let group = table.find(entry.hash, { new[Int(groups[$0].lastNew)].hasSameID(as: entry) }) else { continue }
            if groups[group].source >= 0 { groups[group].isAmbiguous = true }
            groups[group].source = Int32(position)
        }
        for group in groups where !group.isAmbiguous && group.source >= 0 { sources[Int(group.lastNew)] = group.source }
    }

    /// The matched entries as runs, and the rows among them whose content changed. `oldSections` gives for each new
    /// section its place in the old snapshot.
    func collect(oldSections: [Int], runs: inout ContiguousArray<MatchedRun>, changes: inout ContiguousArray<ChangedRow>) {
        var open: MatchedRun?
        for (position, source) in sources.enumerated() where source >= 0 {
            let from = old[Int(source)], to = new[position]
            let oldPath = IndexPath(section: oldSections[Int(from.section)], row: Int(from.index))
            let newPath = IndexPath(section: Int(to.section), row: Int(to.index))
            RowEntry.compare(from, to, oldPath, newPath, &changes)
            let run = MatchedRun(oldSection: oldPath.section, oldStart: oldPath.row, newSection: newPath.section, newStart: newPath.row, count: 1)
            if let last = open, last.isFollowed(by: run) {
                open?.count += 1
            } else {
                if let open { runs.append(open) }
                open = run
            }
        }
        if let open { runs.append(open) }
    }
}

extension RowMatching {
    /// Looks for entries that have the id of a row of their section that stayed; among themselves entries were compared
    /// when they were matched. Throws `duplicateRowID`. Expected O(rows of the sections that have entries).
    func checkIDs(against stayed: ContiguousArray<MatchedRun>, _ old: Snapshot, _ new: Snapshot) throws(Refusal) {
        let stayed = stayed.filter { !new.sections[$0.newSection].idsWereChecked || !old.sections[$0.oldSection].idsWereChecked }
        guard !self.old.isEmpty || !self.new.isEmpty, !stayed.isEmpty else { return }
        var isLookedAt = Array(repeating: false, count: new.sections.count)
        var marks = IDMarks(capacity: self.old.count + newLeft.count)
        for entry in self.old {
            isLookedAt[Int(entry.section)] = true
            marks.insert(entry.hash)
        }
        // What is not among the old entries is here.
        var left = RowTable(capacity: newLeft.count)
        for position in newLeft {
            let entry = self.new[Int(position)]
            isLookedAt[Int(entry.section)] = true
            marks.insert(entry.hash)
            _ = left.findOrInsert(Int(position), entry.hashInSection) { self.new[$0].isTwin(of: entry) }
        }
        for run in stayed where isLookedAt[run.newSection] {
            let section = new.sections[run.newSection]
            try section.rows.forEachBuffer(in: run.newStart..<run.newStart + run.count) { (index, rows) throws(Refusal) in
                let twin = rows.withReferences { rows in
                    rows.indices.first { offset in
                        guard marks.mayHold(rows[offset].idHash) else { return false }
                        let entry = RowEntry(rows[offset], section: run.newSection, index: index + offset)
                        return findOld(entry) != nil || left.find(entry.hashInSection, { self.new[$0].isTwin(of: entry) }) != nil
                    }
                }
                if let twin, let id = rows[twin].id { throw .duplicateRow(id, in: section.id) }
            }
        }
    }
}

extension RowMatching {
    /// Takes out long stretches that stand side by side before and after, of the entries from two places on, which are
    /// those of one section. Throws `duplicateRowID`.
    mutating func takeStretches(from start: (old: Int, new: Int), _ section: SectionID) throws(Refusal) -> ContiguousArray<MatchedStretch> {
        let stretches = try stretches(from: start, section)
        if !stretches.isEmpty {
            old = Self.removing(stretches.ascending { UInt64($0.old) }.lazy.map { $0.old..<$0.old + $0.count }, from: old)
            new = Self.removing(stretches.lazy.map { $0.new..<$0.new + $0.count }, from: new)
        }
        return stretches
    }

    /// Without the entries in these ranges, which ascend.
    private static func removing(_ ranges: some Sequence<Range<Int>>, from entries: ContiguousArray<RowEntry>) -> ContiguousArray<RowEntry> {
        var rest = ContiguousArray<RowEntry>(), start = 0
        rest.reserveCapacity(entries.count)
        for range in ranges {
            rest += entries[start..<range.lowerBound]
            start = range.upperBound
        }
        return rest + entries[start...]
    }
}

/// A row that is looked at, with what is asked of it most.
struct RowEntry {
    private let row: RowView
    /// Of the id.
    let hash: UInt64
    /// The row's, so that most comparisons need not go there.
    private let shownHash: RowHash.Pair
    /// In the new snapshot, for old rows too: sections are matched before their rows.
    let section: Int32
    let index: Int32

    @inline(__always)
    init(_ row: RowView, section: Int, index: Int) {
        self.row = row
        hash = row.idHash
        shownHash = row.shownHash
        self.section = Int32(truncatingIfNeeded: section)
        self.index = Int32(truncatingIfNeeded: index)
    }

    /// Entries are made of rows that have one.
    var id: RowID { row.row.id ?? RowID("") }

    @inline(__always)
    var hashInSection: UInt64 { RowHash.hash(hash, in: section) }

    @inline(__always)
    func hasSameID(as other: RowEntry) -> Bool {
        hash == other.hash && (shownHash == other.shownHash || row.hasSameID(as: other.row))
    }

    /// The same id in the same section.
    @inline(__always)
    func isTwin(of other: RowEntry) -> Bool { section == other.section && hasSameID(as: other) }

    /// Notes what changed of a row; `before` and `after` are the same row.
    @inline(__always)
    static func compare(
        _ before: RowEntry, _ after: RowEntry, _ old: IndexPath, _ new: IndexPath, _ changes: inout ContiguousArray<ChangedRow>
    ) {
        if before.shownHash == after.shownHash { return }
        if let change = ChangedRow(before.row, after.row, old: old, new: new) { changes.append(change) }
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
        Refusal(.badRequest, "The row \(index) of the section \"\(section)\" has no id; a section whose rows have none must say `\"diffable\": false`.")
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
        try matching.match(in: Snapshot(sections: [Section(id: id)]))
    }
}

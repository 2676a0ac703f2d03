/// Matches rows of two snapshots by id. A `RowMatching` contains only the rows that the side-by-side comparison left
/// over.
///
/// A row is matched within its own section first. If exactly one old row and one new row with an id then remain, they
/// are one row that changed its section. If more rows with the id remain, they are not matched, because the pairs would
/// be ambiguous.
///
/// - Complexity: expected O(rows to match).
struct RowMatching {
    var old: ContiguousArray<RowEntry> = []
    var new: ContiguousArray<RowEntry> = []
    /// A hash table of the positions in `old`, by section and id. Empty if there are few old entries, which are
    /// searched linearly.
    private var oldTable = RowTable()
    /// The number of new entries that have no match in their own section.
    private(set) var leftCount = 0

    /// The largest number of old entries that are searched linearly instead of with a hash table.
    private static var few: Int { 8 }

    /// Adds an entry for each row in a range of an old section. Throws if a row has no id.
    mutating func addOld(_ range: Range<Int>, of rows: PersistentList<Row>, in section: Int, _ id: SectionID)
        throws(Refusal)
    {
        try rows.appendEntries(of: range, in: section, id, to: &old)
    }

    mutating func addNew(_ range: Range<Int>, of rows: PersistentList<Row>, in section: Int, _ id: SectionID)
        throws(Refusal)
    {
        try rows.appendEntries(of: range, in: section, id, to: &new)
    }

    /// Matches old and new entries by id, and adds the pairs to `found`. The entries of each snapshot must be in the
    /// order of their sections. Throws `duplicateRowID`.
    mutating func match(in snapshot: Snapshot, _ found: inout MatchedRows) throws(Refusal) {
        found.stayingCount = found.runs.count
        guard !new.isEmpty || !old.isEmpty else { return }
        try findTwins(snapshot)
        var expected = 0
        for position in new.indices {
            let entry = new[position]
            // Try the old entry after the last match first. Rows that are consecutive in the old snapshot are mostly
            // consecutive in the new snapshot, too.
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

    /// Checks the ids of the old entries. Fills the hash table `oldTable` if there are many old entries. Throws if two
    /// old entries of a section have the same id.
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

    /// Whether all entries are of one section, so that no row can come from another section.
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
        /// The entries of one id that have no match in their own section. `lastNew` is the position of the last new
        /// entry, and `source` the position of the old entry, or -1.
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

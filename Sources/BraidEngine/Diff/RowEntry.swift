/// A row of one snapshot that has to be matched with a row of the other snapshot.
struct RowEntry {
    private let row: RowView
    /// The index of the row's section in the new snapshot, even if the row is from the old one: sections are matched
    /// before their rows.
    let section: Int32
    private var indexAndMark: UInt32

    @inline(__always)
    init(_ row: RowView, section: Int, index: Int) {
        self.row = row
        self.section = Int32(truncatingIfNeeded: section)
        indexAndMark = UInt32(truncatingIfNeeded: index) << 1
    }

    /// The hash of the row's id.
    @inline(__always) var hash: UInt64 { row.marks.idHash }

    @inline(__always) var index: Int { Int(indexAndMark >> 1) }

    /// Whether this row was already found in the other snapshot. A spare bit of the index stores the mark.
    @inline(__always) var isMatched: Bool { indexAndMark & 1 != 0 }

    @inline(__always)
    mutating func markMatched() { indexAndMark |= 1 }

    /// The row's id. Every row that has an entry has an id.
    var id: RowID { row.id ?? RowID("") }

    @inline(__always)
    var hashInSection: UInt64 { RowHash.hash(hash, in: section) }

    @inline(__always)
    func hasSameID(as other: RowEntry) -> Bool {
        row.hasSameID(as: other.row)
    }

    /// Returns whether both entries have the same id in the same section.
    @inline(__always)
    func isTwin(of other: RowEntry) -> Bool { section == other.section && hasSameID(as: other) }

    /// Compares two entries that are the same row in the old and in the new snapshot. If the row's content differs,
    /// appends the change to `changes`.
    @inline(__always)
    static func compare(
        _ before: RowEntry, _ after: RowEntry, _ old: RowPath, _ new: RowPath,
        _ changes: inout ContiguousArray<ChangedRow>
    ) {
        if let change = ChangedRow(before.row, after.row, old: old, new: new) { changes.append(change) }
    }
}

extension PersistentList<Row> {
    /// Appends an entry for each row in a range of the list. Throws if a row has no id.
    func appendEntries(
        of range: Range<Int>, in section: Int, _ id: SectionID, to entries: inout ContiguousArray<RowEntry>
    ) throws(Refusal) {
        if range.isEmpty { return }
        if entries.count + range.count > entries.capacity {
            entries.reserveCapacity(Swift.max(8, 2 * entries.count, entries.count + range.count))
        }
        try forEachBuffer(in: range) { (index, rows) throws(Refusal) in
            let nameless: Int? = rows.withReferences { rows in
                for offset in rows.indices {
                    if rows[offset].marks.idHash == 0 { return offset }
                    entries.append(RowEntry(rows[offset], section: section, index: index + offset))
                }
                return nil
            }
            if let nameless { throw .rowWithoutID(at: index + nameless, in: id) }
        }
    }
}

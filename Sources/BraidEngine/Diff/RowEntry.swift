/// A row to be matched by id.
struct RowEntry {
    private let row: RowView
    /// In the new snapshot even for an old row: sections are matched first.
    let section: Int32
    private var indexAndMark: UInt32

    @inline(__always)
    init(_ row: RowView, section: Int, index: Int) {
        self.row = row
        self.section = Int32(truncatingIfNeeded: section)
        indexAndMark = UInt32(truncatingIfNeeded: index) << 1
    }

    @inline(__always) var hash: UInt64 { row.marks.idHash }

    @inline(__always) var index: Int { Int(indexAndMark >> 1) }

    /// A spare bit of the index.
    @inline(__always) var isMatched: Bool { indexAndMark & 1 != 0 }

    @inline(__always)
    mutating func markMatched() { indexAndMark |= 1 }

    /// Rows without one get no entry.
    var id: RowID { row.id ?? RowID("") }

    @inline(__always)
    var hashInSection: UInt64 { RowHash.hash(hash, in: section) }

    @inline(__always)
    func hasSameID(as other: RowEntry) -> Bool {
        row.hasSameID(as: other.row)
    }

    /// Same id, same section.
    @inline(__always)
    func isTwin(of other: RowEntry) -> Bool { section == other.section && hasSameID(as: other) }

    @inline(__always)
    static func compare(
        _ before: RowEntry, _ after: RowEntry, _ old: RowPath, _ new: RowPath,
        _ changes: inout ContiguousArray<ChangedRow>
    ) {
        if let change = ChangedRow(before.row, after.row, old: old, new: new) { changes.append(change) }
    }
}

extension PersistentList<Row> {
    /// Throws `badRequest` if a row has no id.
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

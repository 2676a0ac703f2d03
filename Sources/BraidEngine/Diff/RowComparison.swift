/// Compares a section's old and new rows pair by pair, from the starts or from the ends of the lists. Tree nodes that
/// both lists share are skipped: after an edit of one row, comparing all rows costs O(log rows).
struct RowComparison {
    enum Rule {
        case sameID, samePlace
        /// The rule for a section in which not all rows have ids. The caller has paired the old and the new row of each
        /// stored row. A pair is the same row if both rows have the same id, or if both have none.
        case known
    }

    let oldSection: Int
    let old: PersistentList<Row>
    let newSection: Int
    let new: PersistentList<Row>
    var rule = Rule.sameID

    /// Returns how many rows, from `oldStart` and `newStart` on, are the same rows in both lists, at most `limit`.
    /// Appends those of them whose content changed to `changes`. With the rule `samePlace`, stops at the first row that
    /// needs a reload.
    func matchingPrefix(oldStart: Int = 0, newStart: Int = 0, limit: Int, changes: inout ContiguousArray<ChangedRow>)
        -> Int
    {
        PersistentList.walk(old, oldStart, new, newStart, limit: limit, .forward) { left, right, count, passed in
            withRows(left.chunk, right.chunk) { oldRows, newRows in
                for step in 0..<count {
                    guard
                        matches(
                            oldRows[left.offset + step], newRows[right.offset + step],
                            oldStart + passed + step, newStart + passed + step, &changes)
                    else { return step }
                }
                return count
            }
        }
    }

    /// Returns how many rows at the ends of the two lists are the same rows. Works like `matchingPrefix`, but compares
    /// the ends.
    func matchingSuffix(limit: Int, changes: inout ContiguousArray<ChangedRow>) -> Int {
        PersistentList.walk(old, old.count, new, new.count, limit: limit, .backward) { left, right, count, passed in
            withRows(left.chunk, right.chunk) { oldRows, newRows in
                for step in 1...count {
                    guard
                        matches(
                            oldRows[left.offset - step], newRows[right.offset - step],
                            old.count - passed - step, new.count - passed - step, &changes)
                    else { return step - 1 }
                }
                return count
            }
        }
    }

    @inline(__always)
    private func withRows(
        _ left: PersistentList<Row>.Chunk, _ right: PersistentList<Row>.Chunk,
        _ body: (UnsafeBufferPointer<RowView>, UnsafeBufferPointer<RowView>) -> Int
    ) -> Int {
        left.withUnsafeBufferPointer { oldRows in
            right.withUnsafeBufferPointer { newRows in
                oldRows.withReferences { oldRows in newRows.withReferences { body(oldRows, $0) } }
            }
        }
    }

    @inline(__always)
    private func matches(
        _ oldRow: RowView, _ newRow: RowView, _ oldIndex: Int, _ newIndex: Int,
        _ changes: inout ContiguousArray<ChangedRow>
    ) -> Bool {
        if oldRow.isSame(as: newRow) { return rule != .sameID || newRow.marks.idHash != 0 }
        return matchesChanged(oldRow, newRow, oldIndex, newIndex, &changes)
    }

    private func matchesChanged(
        _ oldRow: RowView, _ newRow: RowView, _ oldIndex: Int, _ newIndex: Int,
        _ changes: inout ContiguousArray<ChangedRow>
    ) -> Bool {
        // Rows whose ids have equal hashes count as the same row, so that the ids themselves are not read from memory.
        // If two different ids ever had the same hash, the update would change the old row to the whole new row.
        if rule != .samePlace, oldRow.marks.idHash != newRow.marks.idHash || rule == .sameID && newRow.marks.idHash == 0
        {
            return false
        }
        let change = ChangedRow(
            oldRow, newRow, old: RowPath(section: oldSection, row: oldIndex),
            new: RowPath(section: newSection, row: newIndex))
        if let change {
            // If many rows of a list changed, mostly all of them changed. Growing the list of changes fourfold copies
            // the changes fewer times.
            if changes.count == changes.capacity { changes.reserveCapacity(max(8, 4 * changes.count)) }
            changes.append(change)
            // A section compared by indexes is reloaded as a whole if one of its rows needs a reload, so the comparison
            // stops here. If an insert has shifted the rows, most further rows would differ.
            if rule == .samePlace, change.needsReload { return false }
        }
        return true
    }
}

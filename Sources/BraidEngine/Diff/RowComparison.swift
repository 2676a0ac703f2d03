/// Two lists of rows compared side by side, from their starts or from their ends. What both share by reference is
/// passed without a look at its rows: after an edit of one row, comparing all costs O(log rows).
struct RowComparison {
    enum Rule {
        case sameID, samePlace
        /// Rows that are compared are known to be the same, unless one has another id than the other.
        case known
    }

    let oldSection: Int
    let old: PersistentList<Row>
    let newSection: Int
    let new: PersistentList<Row>
    var rule = Rule.sameID

    /// How many rows from `oldStart` and `newStart` on are the same rows, at most `limit`; those whose content
    /// changed are added to `changes`. By place, it ends with the first one that needs a reload.
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

    /// As `matchingPrefix`, backward from the lists' ends.
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
        // Ids with one hash are taken for one, so that nothing is read but the lists: if they ever were not, the update
        // would bring the whole of the new row.
        if rule != .samePlace, oldRow.marks.idHash != newRow.marks.idHash || rule == .sameID && newRow.marks.idHash == 0
        {
            return false
        }
        let change = ChangedRow(
            oldRow, newRow, old: RowPath(section: oldSection, row: oldIndex),
            new: RowPath(section: newSection, row: newIndex))
        if let change {
            // Where many rows changed mostly all did: a list that doubles would copy each of them once more.
            if changes.count == changes.capacity { changes.reserveCapacity(max(8, 4 * changes.count)) }
            changes.append(change)
            // One is enough to reload the section, and a shift would make a change of every row behind it.
            if rule == .samePlace, change.needsReload { return false }
        }
        return true
    }
}

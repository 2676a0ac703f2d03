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

extension RowComparison {
    /// The maximum number of rows that `nearest` skips to find a matching row.
    private static var reach: Int { 8 }

    /// Matches rows that are neighbours in the old range and in the new range, with little hashing. Leaves all other
    /// rows to `matching`.
    ///
    /// The method first matches rows that are in the same order and close to each other. If few rows are close, as in a
    /// shuffled list, the method looks for long stretches that moved.
    ///
    /// Ids are unique in a section, so rows with the same id are the same row. The update therefore does not depend on
    /// which rows this method finds. O(rows).
    func matchStretches(
        _ oldRange: Range<Int>, _ newRange: Range<Int>, _ section: SectionID, _ found: inout MatchedRows,
        _ matching: inout RowMatching
    ) throws(Refusal) {
        if oldRange.isEmpty || newRange.isEmpty {
            try matching.addOld(oldRange, of: old, in: newSection, section)
            try matching.addNew(newRange, of: new, in: newSection, section)
            return
        }
        let rest = try matchNearby(oldRange, newRange, section, &found, &matching)
        let start = (old: matching.old.count, new: matching.new.count)
        try matching.addOld(rest.old..<oldRange.upperBound, of: old, in: newSection, section)
        try matching.addNew(rest.new..<newRange.upperBound, of: new, in: newSection, section)
        for stretch in try matching.takeStretches(from: start, section) {
            let run = MatchedRun(
                oldSection: oldSection, oldStart: rest.old + stretch.old - start.old,
                newSection: newSection, newStart: rest.new + stretch.new - start.new, count: stretch.count)
            _ = matchingPrefix(
                oldStart: run.oldStart, newStart: run.newStart, limit: run.count, changes: &found.changes)
            found.runs.append(run)
        }
    }

    /// Matches rows that are in the same order in both lists. Each search for the next matching row skips at most
    /// `reach` rows of one list. After a search without result, the method skips one row of each list. Returns the
    /// index, in each list, after the last matched row.
    private func matchNearby(
        _ oldRange: Range<Int>, _ newRange: Range<Int>, _ section: SectionID, _ found: inout MatchedRows,
        _ matching: inout RowMatching
    ) throws(Refusal) -> (old: Int, new: Int) {
        var at = (old: oldRange.lowerBound, new: newRange.lowerBound)
        // The indexes of the first rows that are neither in a run nor passed to `matching`.
        var open = at
        var misses = 0
        var oldAhead = PersistentList.Window(old), newAhead = PersistentList.Window(new)
        while at.old < oldRange.upperBound, at.new < newRange.upperBound, misses < 64 {
            guard
                let skipped = Self.nearest(
                    &oldAhead, at.old..<oldRange.upperBound, &newAhead, at.new..<newRange.upperBound)
            else {
                misses += 4
                at = (at.old + 1, at.new + 1)
                continue
            }
            misses += 1
            at = (at.old + skipped.old, at.new + skipped.new)
            try matching.addOld(open.old..<at.old, of: old, in: newSection, section)
            try matching.addNew(open.new..<at.new, of: new, in: newSection, section)
            let count = matchingPrefix(
                oldStart: at.old, newStart: at.new,
                limit: min(oldRange.upperBound - at.old, newRange.upperBound - at.new), changes: &found.changes)
            found.runs.append(
                MatchedRun(
                    oldSection: oldSection, oldStart: at.old, newSection: newSection, newStart: at.new, count: count))
            misses = max(0, misses - count)
            at = (at.old + count, at.new + count)
            open = at
        }
        return open
    }

    /// Returns the smallest number of rows to skip, in one of the two lists, so that both lists continue with the same
    /// row. `nil` if skipping up to `reach` rows does not help. The ranges must not be empty.
    private static func nearest(
        _ oldRows: inout PersistentList<Row>.Window, _ oldRange: Range<Int>,
        _ newRows: inout PersistentList<Row>.Window, _ newRange: Range<Int>
    ) -> (old: Int, new: Int)? {
        let old = RowView(oldRows[oldRange.lowerBound]), new = RowView(newRows[newRange.lowerBound])
        if old.hasSameID(as: new) { return (0, 0) }
        for distance in 1...reach {
            if distance < oldRange.count, RowView(oldRows[oldRange.lowerBound + distance]).hasSameID(as: new) {
                return (distance, 0)
            }
            if distance < newRange.count, old.hasSameID(as: RowView(newRows[newRange.lowerBound + distance])) {
                return (0, distance)
            }
        }
        return nil
    }
}

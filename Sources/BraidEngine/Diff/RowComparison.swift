/// Compares a section's rows pair by pair, from either end. Skips shared tree nodes: O(log rows) after one edit.
struct RowComparison {
    enum Rule {
        case sameID, samePlace
        /// Paired by the caller, as not all have ids. A pair is one row if both have the same id, or none.
        case known
    }

    let oldSection: Int
    let old: PersistentList<Row>
    let newSection: Int
    let new: PersistentList<Row>
    var rule = Rule.sameID

    @inline(__always)
    func run(old: Int, new: Int, count: Int) -> MatchedRun {
        MatchedRun(oldSection: oldSection, oldStart: old, newSection: newSection, newStart: new, count: count)
    }

    /// How many rows are the same, at most `limit`; those with other content go to `changes`. `samePlace` stops at the
    /// first that needs a reload.
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

    /// As the prefix, from the ends: `changes` descend.
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
        // By hash: reading ids is slow. Were two ever to collide, the update would change the old row to the whole new
        // one.
        if rule != .samePlace, oldRow.marks.idHash != newRow.marks.idHash || rule == .sameID && newRow.marks.idHash == 0
        {
            return false
        }
        let change = ChangedRow(
            oldRow, newRow, old: RowPath(section: oldSection, row: oldIndex),
            new: RowPath(section: newSection, row: newIndex))
        if let change {
            // Mostly all rows changed if many did, so grow fourfold.
            if changes.count == changes.capacity { changes.reserveCapacity(max(8, 4 * changes.count)) }
            changes.append(change)
            // The section is then reloaded as a whole: after an insert, most further rows would differ.
            if rule == .samePlace, change.needsReload { return false }
        }
        return true
    }
}

extension RowComparison {
    /// The most that `nearest` skips.
    private static var reach: Int { 8 }

    /// Matches neighbours with little hashing, and leaves the rest to `matching`: first those in the same order and
    /// near each other; if they are few, long stretches that moved. As ids are unique, the update does not depend on
    /// which are found here. O(rows).
    func matchStretches(
        _ oldRange: Range<Int>, _ newRange: Range<Int>, _ section: SectionID, _ found: inout MatchedRows,
        _ matching: inout RowMatching
    ) throws(Refusal) {
        if oldRange.isEmpty || newRange.isEmpty {
            try old.appendEntries(of: oldRange, in: newSection, section, to: &matching.old)
            try new.appendEntries(of: newRange, in: newSection, section, to: &matching.new)
            return
        }
        let rest = try matchNearby(oldRange, newRange, section, &found, &matching)
        let start = (old: matching.old.count, new: matching.new.count)
        try old.appendEntries(of: rest.old..<oldRange.upperBound, in: newSection, section, to: &matching.old)
        try new.appendEntries(of: rest.new..<newRange.upperBound, in: newSection, section, to: &matching.new)
        for stretch in try matching.takeStretches(from: start, section) {
            let run = run(
                old: rest.old + stretch.old - start.old, new: rest.new + stretch.new - start.new, count: stretch.count)
            _ = matchingPrefix(
                oldStart: run.oldStart, newStart: run.newStart, limit: run.count, changes: &found.changes)
            found.runs.append(run)
        }
    }

    /// Skips at most `reach` rows of one list, or one of each after a miss. Returns where the last match ends.
    private func matchNearby(
        _ oldRange: Range<Int>, _ newRange: Range<Int>, _ section: SectionID, _ found: inout MatchedRows,
        _ matching: inout RowMatching
    ) throws(Refusal) -> (old: Int, new: Int) {
        var at = (old: oldRange.lowerBound, new: newRange.lowerBound)
        // From here on, rows are neither in a run nor passed on.
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
            try old.appendEntries(of: open.old..<at.old, in: newSection, section, to: &matching.old)
            try new.appendEntries(of: open.new..<at.new, in: newSection, section, to: &matching.new)
            let count = matchingPrefix(
                oldStart: at.old, newStart: at.new,
                limit: min(oldRange.upperBound - at.old, newRange.upperBound - at.new), changes: &found.changes)
            found.runs.append(run(old: at.old, new: at.new, count: count))
            misses = max(0, misses - count)
            at = (at.old + count, at.new + count)
            open = at
        }
        return open
    }

    /// The fewest to skip, in one list, so that both continue with the same row. Neither range is empty.
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

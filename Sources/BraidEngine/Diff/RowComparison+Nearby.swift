extension RowComparison {
    /// How far ahead a row is looked for.
    private static var reach: Int { 8 }

    /// Matches rows of two ranges that stand side by side before and after, hashing few of them, and leaves the others to
    /// `matching`. Ids are unique in a section, so whatever has the same id is the same row: which rows are found here
    /// makes no difference to the update.
    ///
    /// First what stands in the same order not far from each other; where little of that is found, as in a shuffled
    /// list, long stretches that moved, if there are any. O(rows).
    func matchStretches(
        _ oldRange: Range<Int>, _ newRange: Range<Int>, _ section: Section, _ runs: inout ContiguousArray<MatchedRun>,
        _ changes: inout ContiguousArray<ChangedRow>, _ matching: inout RowMatching
    ) throws(Refusal) {
        if oldRange.isEmpty || newRange.isEmpty {
            try matching.addOld(oldRange, of: old, in: newSection, section.id)
            try matching.addNew(newRange, of: new, in: newSection, section.id)
            return
        }
        let rest = try matchNearby(oldRange, newRange, section, &runs, &changes, &matching)
        let start = (old: matching.old.count, new: matching.new.count)
        try matching.addOld(rest.old..<oldRange.upperBound, of: old, in: newSection, section.id)
        try matching.addNew(rest.new..<newRange.upperBound, of: new, in: newSection, section.id)
        for stretch in try matching.takeStretches(from: start, section.id) {
            let run = MatchedRun(
                oldSection: oldSection, oldStart: rest.old + stretch.old - start.old,
                newSection: newSection, newStart: rest.new + stretch.new - start.new, count: stretch.count)
            _ = matchingPrefix(oldStart: run.oldStart, newStart: run.newStart, limit: run.count, changes: &changes)
            runs.append(run)
        }
    }

    /// Matches what follows in the same order within reach. Returns from where on nothing was matched.
    private func matchNearby(
        _ oldRange: Range<Int>, _ newRange: Range<Int>, _ section: Section, _ runs: inout ContiguousArray<MatchedRun>,
        _ changes: inout ContiguousArray<ChangedRow>, _ matching: inout RowMatching
    ) throws(Refusal) -> (old: Int, new: Int) {
        var at = (old: oldRange.lowerBound, new: newRange.lowerBound)
        // Rows from here on are in no run and have not been left to `matching`.
        var open = at
        var misses = 0
        var oldAhead = ContiguousArray<RowEntry>(), newAhead = oldAhead
        while at.old < oldRange.upperBound, at.new < newRange.upperBound, misses < 64 {
            oldAhead.removeAll(keepingCapacity: true)
            newAhead.removeAll(keepingCapacity: true)
            try old.appendEntries(of: at.old..<min(at.old + Self.reach + 1, oldRange.upperBound), in: newSection, section.id, to: &oldAhead)
            try new.appendEntries(of: at.new..<min(at.new + Self.reach + 1, newRange.upperBound), in: newSection, section.id, to: &newAhead)
            guard let skipped = Self.nearest(oldAhead, newAhead) else {
                misses += 4
                at = (at.old + 1, at.new + 1)
                continue
            }
            misses += 1
            at = (at.old + skipped.old, at.new + skipped.new)
            try matching.addOld(open.old..<at.old, of: old, in: newSection, section.id)
            try matching.addNew(open.new..<at.new, of: new, in: newSection, section.id)
            let count = matchingPrefix(
                oldStart: at.old, newStart: at.new, limit: min(oldRange.upperBound - at.old, newRange.upperBound - at.new), changes: &changes)
            runs.append(MatchedRun(oldSection: oldSection, oldStart: at.old, newSection: newSection, newStart: at.new, count: count))
            misses = max(0, misses - count)
            at = (at.old + count, at.new + count)
            open = at
        }
        return open
    }

    /// Where the fewest rows have to be passed, of one list or of the other, for the next ones to be the same.
    private static func nearest(_ oldRows: ContiguousArray<RowEntry>, _ newRows: ContiguousArray<RowEntry>) -> (old: Int, new: Int)? {
        for distance in 0...reach {
            if distance < oldRows.count, oldRows[distance].hasSameID(as: newRows[0]) { return (distance, 0) }
            if distance < newRows.count, oldRows[0].hasSameID(as: newRows[distance]) { return (0, distance) }
        }
        return nil
    }
}

extension RowComparison {
    /// How far ahead a row is looked for.
    private static var reach: Int { 8 }
    /// Of so many old rows one is an anchor.
    private static var anchorDistance: Int { 16 }

    /// Matches rows of two ranges that stand side by side before and after, hashing few of them, and leaves the others to
    /// `matching`. Ids are unique in a section, so whatever has the same id is the same row: which rows are found here
    /// makes no difference to the update.
    ///
    /// First what stands in the same order not far from each other; where little of that is found, as in a shuffled
    /// list, long stretches that moved. O(rows).
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
        let oldRest = rest.old..<oldRange.upperBound, newRest = rest.new..<newRange.upperBound
        if min(oldRest.count, newRest.count) < 4 * Self.anchorDistance {
            try matching.addOld(oldRest, of: old, in: newSection, section.id)
            try matching.addNew(newRest, of: new, in: newSection, section.id)
        } else {
            try matchAnchored(oldRest, newRest, section, &runs, &changes, &matching)
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

    /// Looks every new row up among a few old ones, the anchors, and follows each match both ways.
    private func matchAnchored(
        _ oldRange: Range<Int>, _ newRange: Range<Int>, _ section: Section, _ runs: inout ContiguousArray<MatchedRun>,
        _ changes: inout ContiguousArray<ChangedRow>, _ matching: inout RowMatching
    ) throws(Refusal) {
        var oldRows = ContiguousArray<RowEntry>(), newRows = oldRows
        try old.appendEntries(of: oldRange, in: newSection, section.id, to: &oldRows)
        try new.appendEntries(of: newRange, in: newSection, section.id, to: &newRows)
        var anchors = RowTable(capacity: oldRows.count / Self.anchorDistance + 1)
        for position in stride(from: 0, to: oldRows.count, by: Self.anchorDistance) {
            _ = anchors.findOrInsert(position, oldRows[position].hash) { oldRows[$0].hasSameID(as: oldRows[position]) }
        }
        var isMatched = ContiguousArray(repeating: false, count: oldRows.count)
        var at = 0
        // New rows from here on are in no run and have not been left to `matching`.
        var open = at
        while at < newRows.count {
            guard let anchor = anchors.find(newRows[at].hash, { oldRows[$0].hasSameID(as: newRows[at]) }) else {
                at += 1
                continue
            }
            if isMatched[anchor] { throw .duplicateRow(newRows[at].id, in: section.id) }
            var start = (old: anchor, new: at)
            while start.old > 0, start.new > open, !isMatched[start.old - 1], oldRows[start.old - 1].hasSameID(as: newRows[start.new - 1]) {
                start = (start.old - 1, start.new - 1)
            }
            var end = start
            repeat {
                isMatched[end.old] = true
                compare(oldRows[end.old], newRows[end.new], &changes)
                end = (end.old + 1, end.new + 1)
            } while end.old < oldRows.count && end.new < newRows.count && !isMatched[end.old]
                && oldRows[end.old].hasSameID(as: newRows[end.new])
            runs.append(run(oldRows[start.old], newRows[start.new], count: end.old - start.old))
            matching.addNew(newRows[open..<start.new])
            (at, open) = (end.new, end.new)
        }
        matching.addNew(newRows[open...])
        var unmatched = 0
        for position in oldRows.indices where isMatched[position] {
            if unmatched < position { matching.addOld(oldRows[unmatched..<position]) }
            unmatched = position + 1
        }
        matching.addOld(oldRows[unmatched...])
    }

    private func run(_ old: RowEntry, _ new: RowEntry, count: Int) -> MatchedRun {
        MatchedRun(oldSection: oldSection, oldStart: Int(old.index), newSection: newSection, newStart: Int(new.index), count: count)
    }

    @inline(__always)
    private func compare(_ old: RowEntry, _ new: RowEntry, _ changes: inout ContiguousArray<ChangedRow>) {
        RowEntry.compare(
            old, new, IndexPath(section: oldSection, row: Int(old.index)), IndexPath(section: newSection, row: Int(new.index)), &changes)
    }
}

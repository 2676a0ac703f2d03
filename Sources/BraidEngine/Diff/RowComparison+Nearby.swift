extension RowComparison {
    /// How far ahead a row is looked for.
    private static var reach: Int { 8 }

    /// Matches rows of two ranges that stand in the same order not far from each other, without hashing any, and leaves
    /// the others to `matching`. Ids are unique in a section, so whatever has the same id is the same row: which rows
    /// are found here makes no difference to the update.
    ///
    /// O(rows); where little is found, as in a shuffled list, it gives up soon.
    func matchNearby(
        _ oldRange: Range<Int>, _ newRange: Range<Int>, _ section: Section, _ runs: inout [MatchedRun],
        _ changes: inout [ChangedRow], _ matching: inout RowMatching
    ) throws(Refusal) {
        let oldRows = try old.identified(in: oldRange, of: section), newRows = try new.identified(in: newRange, of: section)
        var at = (old: 0, new: 0)
        // Rows from here on are in no run and have not been left to `matching`.
        var open = at
        var misses = 0
        while at.old < oldRows.count, at.new < newRows.count, misses < 64 {
            if oldRows[at.old].id != newRows[at.new].id {
                let skipped = Self.nearest(oldRows, newRows, at)
                misses += skipped == nil ? 4 : 1
                at = skipped ?? (at.old + 1, at.new + 1)
                continue
            }
            matching.addOld(oldRows[open.old..<at.old], from: oldRange.lowerBound + open.old, in: newSection)
            matching.addNew(newRows[open.new..<at.new], from: newRange.lowerBound + open.new, in: newSection)
            let start = at
            while at.old < oldRows.count, at.new < newRows.count, oldRows[at.old].id == newRows[at.new].id {
                let change = ChangedRow(
                    oldRows[at.old].row, newRows[at.new].row,
                    old: IndexPath(section: oldSection, row: oldRange.lowerBound + at.old),
                    new: IndexPath(section: newSection, row: newRange.lowerBound + at.new))
                if let change { changes.append(change) }
                at = (at.old + 1, at.new + 1)
            }
            runs.append(MatchedRun(
                oldSection: oldSection, oldStart: oldRange.lowerBound + start.old, newSection: newSection,
                newStart: newRange.lowerBound + start.new, count: at.old - start.old))
            misses = max(0, misses - (at.old - start.old))
            open = at
        }
        matching.addOld(oldRows[open.old...], from: oldRange.lowerBound + open.old, in: newSection)
        matching.addNew(newRows[open.new...], from: newRange.lowerBound + open.new, in: newSection)
    }

    /// Where the fewest rows have to be passed, of one list or of the other, for the next ones to be the same.
    private static func nearest(
        _ oldRows: ContiguousArray<RowMatching.Identified>, _ newRows: ContiguousArray<RowMatching.Identified>, _ at: (old: Int, new: Int)
    ) -> (old: Int, new: Int)? {
        for distance in 1...reach {
            if at.old + distance < oldRows.count, oldRows[at.old + distance].id == newRows[at.new].id { return (at.old + distance, at.new) }
            if at.new + distance < newRows.count, oldRows[at.old].id == newRows[at.new + distance].id { return (at.old, at.new + distance) }
        }
        return nil
    }
}

extension ChunkedList<Row> {
    /// The rows of a range with their ids, each fetched once. Throws when one has none. O(log rows + range).
    func identified(in range: Range<Int>, of section: Section) throws(Refusal) -> ContiguousArray<RowMatching.Identified> {
        var result = ContiguousArray<RowMatching.Identified>()
        result.reserveCapacity(range.count)
        try forEach(in: range) { (index, row) throws(Refusal) in
            guard let id = row.id else { throw .rowWithoutID(at: index, in: section.id) }
            result.append(.init(row: row, id: id))
        }
        return result
    }
}

/// A stretch of rows that are neighbours, in the same order, in two lists. `old` and `new` are the indexes of the first
/// row.
struct MatchedStretch {
    var old: Int
    var new: Int
    var count: Int
}

extension RowMatching {
    /// The distance between two anchors. Anchors are the old entries among which new entries are looked up: every
    /// sixteenth old entry is an anchor.
    private static var anchorDistance: Int { 16 }

    /// Finds long stretches of entries that are neighbours, in the same order, in the old and in the new entries.
    ///
    /// The method looks up new entries among a few old entries, the anchors, and extends each match in both directions.
    /// The search stops early if it finds little, as in a shuffled list. The entries in no stretch are matched one by
    /// one later. Matching all entries one by one would give the same update.
    private func stretches(from start: (old: Int, new: Int), _ section: SectionID) throws(Refusal) -> ContiguousArray<
        MatchedStretch
    > {
        guard min(old.count - start.old, new.count - start.new) >= 4 * Self.anchorDistance else { return [] }
        var anchors = RowTable(capacity: (old.count - start.old) / Self.anchorDistance + 1)
        for place in stride(from: start.old, to: old.count, by: Self.anchorDistance) {
            _ = anchors.findOrInsert(place, old[place].hash) { old[$0].hasSameID(as: old[place]) }
        }
        var isMatched = ContiguousArray(repeating: false, count: old.count - start.old)
        var stretches = ContiguousArray<MatchedStretch>()
        // `open` is the position of the first new entry after the last stretch.
        var at = start.new, open = at
        var misses = 0
        let tolerance = max(64, (new.count - start.new) / 8)
        while at < new.count, misses < tolerance {
            guard let anchor = anchors.find(new[at].hash, { old[$0].hasSameID(as: new[at]) }) else {
                at += 1
                misses += 1
                continue
            }
            if isMatched[anchor - start.old] { throw .duplicateRow(new[at].id, in: section) }
            var first = (old: anchor, new: at)
            while first.old > start.old, first.new > open, !isMatched[first.old - 1 - start.old],
                old[first.old - 1].hasSameID(as: new[first.new - 1])
            {
                first = (first.old - 1, first.new - 1)
            }
            var end = first
            repeat {
                isMatched[end.old - start.old] = true
                end = (end.old + 1, end.new + 1)
            } while end.old < old.count && end.new < new.count && !isMatched[end.old - start.old]
                && old[end.old].hasSameID(as: new[end.new])
            let count = end.new - first.new
            stretches.append(MatchedStretch(old: first.old, new: first.new, count: count))
            misses = max(0, misses + 1 - count)
            (at, open) = (end.new, end.new)
        }
        return stretches
    }

    /// Removes long stretches of entries that are neighbours in the old and in the new entries, and returns the
    /// stretches. Only looks at the entries from the two start positions on, which must all belong to one section.
    /// Throws `duplicateRowID`.
    mutating func takeStretches(from start: (old: Int, new: Int), _ section: SectionID) throws(Refusal)
        -> ContiguousArray<MatchedStretch>
    {
        let stretches = try stretches(from: start, section)
        if !stretches.isEmpty {
            var byOld = stretches
            byOld.sortAscending { UInt64($0.old) }
            old = Self.removing(byOld.lazy.map { $0.old..<$0.old + $0.count }, from: old)
            new = Self.removing(stretches.lazy.map { $0.new..<$0.new + $0.count }, from: new)
        }
        return stretches
    }

    /// Returns a copy of the entries without the entries in the given ascending ranges.
    private static func removing(_ ranges: some Sequence<Range<Int>>, from entries: ContiguousArray<RowEntry>)
        -> ContiguousArray<RowEntry>
    {
        var rest = ContiguousArray<RowEntry>(), start = 0
        rest.reserveCapacity(entries.count)
        for range in ranges {
            rest += entries[start..<range.lowerBound]
            start = range.upperBound
        }
        rest += entries[start...]
        return rest
    }
}

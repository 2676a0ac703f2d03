/// Neighbours, in the same order, in two lists.
struct MatchedStretch {
    var old: Int
    var new: Int
    var count: Int
}

extension RowMatching {
    /// One old entry in so many is an anchor.
    private static var anchorDistance: Int { 16 }

    /// Looks up new entries among the anchors, and extends matches in both directions. Gives up if it finds little, as
    /// in a shuffled list. The rest is matched one by one: that alone would give the same update, more slowly.
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

    /// Takes the matched entries out of `old` and `new`. From the start positions on, all must be of one section.
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

// Rows without ids are known by their stored keys.
extension MatchedStretch {
    /// A longest sequence of stored rows in the same order in both. O(n log n) in the rows between the first and last
    /// difference, which take O(log rows) to find if all else is shared.
    static func matching(_ old: PersistentList<StoredRow>, _ new: PersistentList<StoredRow>) -> [MatchedStretch] {
        matching(old, new, key: (\.key, \.key))
    }

    /// Of displayed rows, by the stored rows that they stand for.
    static func matching(_ old: Section, of oldStored: StoredSection, _ new: Section, of newStored: StoredSection)
        -> [MatchedStretch]
    {
        func key(in stored: StoredSection) -> (Int) -> Int {
            { rank in
                let index = stored.index(ofRank: rank)
                return index < stored.rows.count ? stored.rows[index].key : -rank
            }
        }
        return matching(
            old.places?.ranks ?? [], new.places?.ranks ?? [], key: (key(in: oldStored), key(in: newStored)))
    }

    private static func matching<Element>(
        _ old: PersistentList<Element>, _ new: PersistentList<Element>,
        key: (old: (Element) -> Int, new: (Element) -> Int)
    ) -> [MatchedStretch] {
        let shorter = min(old.count, new.count)
        let prefix = PersistentList.walk(old, 0, new, 0, limit: shorter, .forward) { left, right, count, _ in
            (0..<count).first {
                key.old(left.chunk[left.offset + $0]) != key.new(right.chunk[right.offset + $0])
            } ?? count
        }
        let suffix = PersistentList.walk(old, old.count, new, new.count, limit: shorter - prefix, .backward) {
            left, right, count, _ in
            (1...count).first { key.old(left.chunk[left.offset - $0]) != key.new(right.chunk[right.offset - $0]) }
                .map { $0 - 1 } ?? count
        }
        func keys(_ rows: PersistentList<Element>, _ key: (Element) -> Int) -> [Int] {
            var keys: [Int] = []
            rows.forEach(in: prefix..<rows.count - suffix) { keys.append(key($1)) }
            return keys
        }
        var stretches = matching(keys(old, key.old), keys(new, key.new))
        for index in stretches.indices {
            stretches[index].old += prefix
            stretches[index].new += prefix
        }
        if prefix > 0 { stretches.insert(MatchedStretch(old: 0, new: 0, count: prefix), at: 0) }
        if suffix > 0 {
            stretches.append(MatchedStretch(old: old.count - suffix, new: new.count - suffix, count: suffix))
        }
        return stretches
    }

    private static func matching(_ old: [Int], _ new: [Int]) -> [MatchedStretch] {
        var oldPlaces: [Int: Int] = [:]
        for (place, key) in old.enumerated() { oldPlaces[key] = place }
        let common = new.indices.compactMap { place in oldPlaces[new[place]].map { (old: $0, new: place) } }
        var stretches: [MatchedStretch] = []
        for position in IncreasingSubsequence.longest(common.map(\.old)) {
            let (old, new) = common[position]
            if let last = stretches.last, last.old + last.count == old, last.new + last.count == new {
                stretches[stretches.count - 1].count += 1
            } else {
                stretches.append(MatchedStretch(old: old, new: new, count: 1))
            }
        }
        return stretches
    }
}

extension RowComparison {
    /// Matches the rows of ascending stretches, and finds those whose content changed.
    func follow(_ stretches: [MatchedStretch], _ found: inout MatchedRows) {
        for stretch in stretches {
            var passed = 0
            let count = min(stretch.count, old.count - stretch.old, new.count - stretch.new)
            while passed < count {
                let start = (old: stretch.old + passed, new: stretch.new + passed)
                let matched = matchingPrefix(
                    oldStart: start.old, newStart: start.new, limit: count - passed, changes: &found.changes)
                if matched > 0 { found.runs.append(run(old: start.old, new: start.new, count: matched)) }
                // Another id: delete and insert.
                passed += matched + 1
            }
        }
    }
}

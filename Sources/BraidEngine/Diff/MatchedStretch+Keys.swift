// Rows without ids are identified by their keys in the stored table.
extension MatchedStretch {
    /// Returns a longest sequence of stored rows that are in both lists in the same order, as stretches of neighbours.
    ///
    /// - Complexity: O(n log n) for the n rows between the first and the last difference, plus O(log rows) to find the
    ///   first and the last difference if the lists share all other chunks.
    static func matching(_ old: PersistentList<StoredRow>, _ new: PersistentList<StoredRow>) -> [MatchedStretch] {
        let shorter = min(old.count, new.count)
        let prefix = PersistentList.walk(old, 0, new, 0, limit: shorter, .forward) { left, right, count, _ in
            (0..<count).first { left.chunk[left.offset + $0].key != right.chunk[right.offset + $0].key } ?? count
        }
        let suffix = PersistentList.walk(old, old.count, new, new.count, limit: shorter - prefix, .backward) {
            left, right, count, _ in
            (1...count).first { left.chunk[left.offset - $0].key != right.chunk[right.offset - $0].key }.map { $0 - 1 }
                ?? count
        }
        func keys(_ rows: PersistentList<StoredRow>) -> [Int] {
            var keys: [Int] = []
            rows.forEach(in: prefix..<rows.count - suffix) { keys.append($1.key) }
            return keys
        }
        var stretches = matching(keys(old), keys(new))
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

    /// Returns a longest sequence of row keys that are in both lists in the same order, as stretches of neighbours. O(n
    /// log n).
    static func matching(_ old: [Int], _ new: [Int]) -> [MatchedStretch] {
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
    /// Matches the rows of the given stretches, which the caller knows to be in both snapshots, and finds the rows
    /// whose content changed. The stretches are ascending.
    func follow(_ stretches: [MatchedStretch], _ found: inout MatchedRows) {
        for stretch in stretches {
            var passed = 0
            let count = min(stretch.count, old.count - stretch.old, new.count - stretch.new)
            while passed < count {
                let start = (old: stretch.old + passed, new: stretch.new + passed)
                let matched = matchingPrefix(
                    oldStart: start.old, newStart: start.new, limit: count - passed, changes: &found.changes)
                if matched > 0 {
                    found.runs.append(
                        MatchedRun(
                            oldSection: oldSection, oldStart: start.old, newSection: newSection, newStart: start.new,
                            count: matched))
                }
                // `matchingPrefix` stopped at a row that has another id than before. The update deletes the old row and
                // inserts the new row, so neither is matched.
                passed += matched + 1
            }
        }
    }
}

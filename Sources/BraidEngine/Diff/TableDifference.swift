/// What differs between two tables, not yet in stages. "Old" and "new" in names say whose index it is.
///
/// Not copyable: an accidental copy would take noticeable time for small tables.
struct TableDifference: ~Copyable {
    struct Pair {
        var old: Int
        var new: Int
        /// False if it is reloaded with all rows.
        var comparesRows: Bool
        /// One storage: nothing to compare.
        var rowsAreShared = false
        /// Nothing at all changed.
        var isShared = false
        /// Set only if rows are matched in runs.
        var oldCount = 0
        var newCount = 0
        /// More than 1 if adjacent sections without changes count as one.
        var sectionCount = 1
    }

    /// In the new order.
    var pairs: [Pair] = []
    var deletedSections: [Int] = []
    var insertedSections: [(at: Int, section: Section)] = []
    /// With all their rows.
    var reloadedSections: [(pair: Pair, section: Section)] = []
    /// Header, footer or `movesTo`. The index is set with the stage.
    var updatedSections: [(pair: Pair, content: BatchUpdate.SectionUpdate)] = []

    var deletedRows: [RowPath] = []
    var insertedRows: [BatchUpdate.PlacedRow] = []
    var movedRows: [BatchUpdate.MovedRow] = []
    var reloadedRows: ContiguousArray<ChangedRow> = []
    var updatedRows: [ChangedRow] = []

    /// From new to old sections, and back; -1 for none.
    var oldPlaces: [Int] = []
    var newPlaces: [Int] = []
    /// Sections at the start that keep their indexes: how many, and which may have changed, ascending.
    private let differing: (places: [Int], end: Int)

    /// With sections matched, but no rows compared.
    init(oldPlaces: [Int], newPlaces: [Int], differing: (places: [Int], end: Int) = ([], 0)) {
        self.oldPlaces = oldPlaces
        self.newPlaces = newPlaces
        self.differing = differing
        deletedSections = newPlaces.indices.filter { newPlaces[$0] < 0 }
    }

    /// Throws if two sections have one id, unless `unique`. Expected O(sections), with little work for shared ones.
    static func matchingSections(_ old: Snapshot, _ new: Snapshot, unique: Bool) throws(Refusal) -> TableDifference {
        // Most updates do not change the list of sections.
        var differing: [Int] = []
        let rest = PersistentList.walk(
            old.sections, 0, new.sections, 0, limit: min(old.sections.count, new.sections.count), .forward
        ) { left, right, count, passed in
            for step in 0..<count {
                let before = left.offset + step, after = right.offset + step
                if left.chunk[before].id != right.chunk[after].id { return step }
                if !left.chunk[before].isShared(with: right.chunk[after]) { differing.append(passed + step) }
            }
            return count
        }
        let staying = Array(0..<rest)
        if rest == old.sections.count, rest == new.sections.count, rest < 2 || unique {
            return TableDifference(oldPlaces: staying, newPlaces: staying, differing: (differing, rest))
        }
        var oldPlaces = staying + repeatElement(-1, count: new.sections.count - rest)
        var newPlaces = staying + repeatElement(-1, count: old.sections.count - rest)
        var places: [SectionID: Int] = [:]
        for (place, section) in old.sections.enumerated() where places.updateValue(place, forKey: section.id) != nil {
            throw .duplicateSection(section.id)
        }
        for place in rest..<max(rest, new.sections.count) {
            guard let oldPlace = places[new.sections[place].id] else { continue }
            guard newPlaces[oldPlace] < 0 else { throw .duplicateSection(new.sections[place].id) }
            (oldPlaces[place], newPlaces[oldPlace]) = (oldPlace, place)
        }
        var difference = TableDifference(oldPlaces: oldPlaces, newPlaces: newPlaces, differing: (differing, rest))
        difference.insertedSections = oldPlaces.indices.filter { oldPlaces[$0] < 0 }.map { ($0, new.sections[$0]) }
        if difference.insertedSections.count > 1 {
            var seen: Set<SectionID> = []
            for (_, section) in difference.insertedSections where !seen.insert(section.id).inserted {
                throw .duplicateSection(section.id)
            }
        }
        return difference
    }

    /// Pairs up sections. `comparesRows` is final, except for those that are not diffable.
    mutating func compareSections(_ old: Snapshot, _ new: Snapshot) {
        pairs.reserveCapacity(oldPlaces.count)
        var next = 0
        for (newPlace, oldPlace) in oldPlaces.enumerated() where oldPlace >= 0 {
            if newPlace < differing.end {
                guard next < differing.places.count, differing.places[next] == newPlace else {
                    pairs.append(
                        Pair(old: oldPlace, new: newPlace, comparesRows: true, rowsAreShared: true, isShared: true))
                    continue
                }
                next += 1
            }
            // In the chunks: copying unchanged sections would be most of the work.
            let (before, oldOffset) = old.sections.chunk(at: oldPlace)
            let (after, newOffset) = new.sections.chunk(at: newPlace)
            let comparesRows = before[oldOffset].isDiffable == after[newOffset].isDiffable
            pairs.append(
                Pair(
                    old: oldPlace, new: newPlace, comparesRows: comparesRows,
                    rowsAreShared: comparesRows
                        && before[oldOffset].rows.isShared(with: after[newOffset].rows)))
            if !comparesRows { reloadedSections.append((pairs[pairs.count - 1], new.sections[newPlace])) }
        }
    }

    mutating func collectSectionUpdates(_ old: Snapshot, _ new: Snapshot) {
        for pair in pairs where pair.comparesRows && !pair.isShared {
            let before = old.sections[pair.old], after = new.sections[pair.new]
            if before.header == after.header, before.footer == after.footer, before.movesTo == after.movesTo {
                continue
            }
            updatedSections.append(
                (
                    pair,
                    BatchUpdate.SectionUpdate(
                        at: -1, header: before.header == after.header ? nil : after.header,
                        footer: before.footer == after.footer ? nil : after.footer,
                        movesTo: before.movesTo == after.movesTo ? nil : after.movesTo ?? .null)
                ))
        }
    }

    /// Compares rows by index: they come and go at the end, and one that needs a visual reload reloads the section.
    mutating func compareByPlace(_ position: Int, _ old: Snapshot, _ new: Snapshot) {
        let pair = pairs[position]
        let comparison = RowComparison(
            oldSection: pair.old, old: old.sections[pair.old].rows, newSection: pair.new,
            new: new.sections[pair.new].rows,
            rule: .samePlace)
        let oldCount = comparison.old.count, newCount = comparison.new.count
        var changes: ContiguousArray<ChangedRow> = []
        let common = comparison.matchingPrefix(limit: min(oldCount, newCount), changes: &changes)
        if changes.contains(where: \.needsReload) {
            pairs[position].comparesRows = false
            reloadedSections.append((pairs[position], new.sections[pair.new]))
            return
        }
        updatedRows += changes
        deletedRows += (common..<oldCount).map { RowPath(section: pair.old, row: $0) }
        insertedRows += (common..<newCount).map {
            .init(at: RowPath(section: pair.new, row: $0), row: comparison.new[$0])
        }
    }

    /// The fewest operations: a matched row moves if it changed its section or is not in its section's heaviest
    /// increasing subsequence. `runs` have each row at most once. `insert` appends rows of a section. O(runs log runs +
    /// operations).
    mutating func compareRows(
        _ runs: inout ContiguousArray<MatchedRun>, _ changes: inout ContiguousArray<ChangedRow>,
        insert: (_ rows: Range<Int>, _ section: Int, _ inserted: inout [BatchUpdate.PlacedRow]) -> Void
    ) {
        runs.sortAscending { $0.newPlace }
        MatchedRun.join(&runs)
        changes.sortAscending { $0.newPlace }
        // Changes without a reload: a moved row brings its new content along.
        let broughtRows = ContiguousArray(changes.lazy.filter { !$0.needsReload })
        reloadedRows = broughtRows.isEmpty ? changes : ContiguousArray(changes.lazy.filter(\.needsReload))
        var nextRun = 0, nextChange = 0
        for pair in pairs where pair.comparesRows && !pair.rowsAreShared {
            let first = nextRun
            while nextRun < runs.count, runs[nextRun].newSection == pair.new { nextRun += 1 }
            Self.findMoves(&runs, first..<nextRun, of: pair)
            var end = 0
            for run in runs[first..<nextRun] {
                if end < run.newStart { insert(end..<run.newStart, pair.new, &insertedRows) }
                end = run.newEnd
                while nextChange < broughtRows.count,
                    broughtRows[nextChange].newPlace < RowPath(section: pair.new, row: end).place
                {
                    if !run.isMoved { updatedRows.append(broughtRows[nextChange]) }
                    nextChange += 1
                }
            }
            if end < pair.newCount { insert(end..<pair.newCount, pair.new, &insertedRows) }
        }
        movedRows.reserveCapacity(movedRows.count + runs.reduce(0) { $0 + ($1.isMoved ? $1.count : 0) })
        runs.sortAscending { $0.oldPlace }
        var pairsByOld = pairs
        pairsByOld.sortAscending { UInt64($0.old) }
        nextRun = 0
        for pair in pairsByOld where pair.comparesRows && !pair.rowsAreShared {
            var end = 0
            while nextRun < runs.count, runs[nextRun].oldSection == pair.old {
                let run = runs[nextRun]
                delete(end..<run.oldStart, pair.old)
                if run.isMoved { move(run, broughtRows) }
                end = run.oldEnd
                nextRun += 1
            }
            delete(end..<max(end, pair.oldCount), pair.old)
        }
    }

    private mutating func move(_ run: MatchedRun, _ broughtRows: ContiguousArray<ChangedRow>) {
        for offset in 0..<run.count {
            let to = RowPath(section: run.newSection, row: run.newStart + offset)
            let position = broughtRows.firstPosition { $0.newPlace >= to.place }
            let isBrought = position < broughtRows.count && broughtRows[position].newPlace == to.place
            movedRows.append(
                .init(
                    from: RowPath(section: run.oldSection, row: run.oldStart + offset), to: to,
                    row: isBrought ? broughtRows[position].row : nil))
        }
    }

    private mutating func delete(_ rows: Range<Int>, _ section: Int) {
        for row in rows { deletedRows.append(RowPath(section: section, row: row)) }
    }

    private static func findMoves(_ runs: inout ContiguousArray<MatchedRun>, _ range: Range<Int>, of pair: Pair) {
        var last = -1, increases = true
        for run in runs[range] where increases {
            increases = run.oldSection == pair.old && run.oldStart > last
            last = run.oldStart
        }
        if increases { return }
        var own = 0, rowCount = 0
        for position in range {
            runs[position].isMoved = true
            guard runs[position].oldSection == pair.old else { continue }
            own += 1
            rowCount += runs[position].count
        }
        if rowCount > 2 * own {
            var candidates = ContiguousArray<IncreasingSubsequence.Candidate<Int>>()
            candidates.reserveCapacity(own)
            for run in runs[range] where run.oldSection == pair.old {
                candidates.append(.init(run.oldStart, weight: run.count))
            }
            IncreasingSubsequence.chooseHeaviest(&candidates)
            var next = 0
            for position in range where runs[position].oldSection == pair.old {
                runs[position].isMoved = !candidates[next].isChosen
                next += 1
            }
        } else {
            // Faster for short runs. A longest subsequence contains a run whole or not at all.
            var rows: [Int] = [], sources: [Int] = []
            rows.reserveCapacity(rowCount)
            sources.reserveCapacity(rowCount)
            for position in range where runs[position].oldSection == pair.old {
                for row in runs[position].oldStart..<runs[position].oldEnd {
                    rows.append(row)
                    sources.append(position)
                }
            }
            for row in IncreasingSubsequence.longest(rows) { runs[sources[row]].isMoved = false }
        }
    }
}

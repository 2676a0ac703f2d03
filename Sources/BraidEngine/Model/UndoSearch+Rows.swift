extension UndoSearch {
    /// A row that comes back or moves, to between rows that are there now.
    private struct Arrival {
        var row: Row
        /// Moved rows keep theirs.
        var hasContent: Bool
        /// Set for a row that stays in its place, with another id: how many rows are above.
        var gap: Int?
    }

    mutating func takeBackRows() {
        var leaving: Set<Int> = [], arriving: [Arrival] = []
        let moved = Set(own.movedRows)
        for key in own.keys.sorted() {
            let old = old.rows[key], then = then.rows[key], now = nowRows[key]
            let moves = old?.section != then?.section || moved.contains(key)
            let changes = !PastTable.hasSameContent(old, then)
            guard moves || changes else { continue }
            if let section = [old?.section, then?.section].compactMap(\.self).first(
                where: later.refilledSections.contains)
            {
                conflict(inSection: section)
            } else if changes && later.rows.contains(key) || moves && old != nil && later.movedRows.contains(key) {
                conflict(now ?? then ?? old)
            } else if let old {
                if !moves, let now, now.row.content.has(old.row.id) {
                    replace(now, by: old.row)
                    continue
                }
                if now != nil { leaving.insert(key) }
                var arrival = Arrival(row: old, hasContent: now == nil || changes)
                // Two rows can exchange their ids, so it goes and comes back.
                if !moves, let now, let section = section(numbered: now.section) {
                    arrival.row.section = now.section
                    arrival.gap = section.index(ofRank: now.row.rank) + 1
                }
                arriving.append(arrival)
            } else if now != nil {
                leaving.insert(key)
            }
        }
        let taken = takeRows(leaving)
        for (number, arriving) in Dictionary(grouping: arriving, by: \.row.section).sorted(by: { $0.key < $1.key }) {
            place(arriving, in: number, leaving, taken[number] ?? [])
        }
        for id in change.removedSections where now[id]?.rows.allSatisfy({ leaving.contains($0.key) }) == false {
            conflict(JSONPointer(tokens: ["sections", id.text]))
        }
    }

    private mutating func replace(_ now: Row, by old: StoredRow) {
        guard let section = section(numbered: now.section) else { return }
        change.replaced.append(((section.id, section.index(ofRank: now.row.rank)), old.id, old.model))
    }

    /// Returns their indexes by their section's number, ascending.
    private mutating func takeRows(_ leaving: Set<Int>) -> [Int: [Int]] {
        var taken: [Int: [Int]] = [:]
        for (section, row) in leaving.compactMap({ nowRows[$0] }) {
            guard let index = self.section(numbered: section)?.index(ofRank: row.rank) else { continue }
            taken[section, default: []].append(index)
        }
        for section in now.sections {
            let number = section.summary.number
            taken[number]?.sort()
            change.taken += (taken[number] ?? []).map { (section.id, $0) }
        }
        return taken
    }

    private mutating func place(_ arriving: [Arrival], in number: Int, _ leaving: Set<Int>, _ taken: [Int]) {
        let section = section(numbered: number)
        guard let id = section?.id ?? change.sections.first(where: { $0.number == number })?.id else {
            return conflict(inSection: number)
        }
        let indexes = indexes(below: arriving, in: section, number)
        var placed: [(gap: Int, order: Int, arrival: Arrival)] = []
        for arrival in arriving {
            let row = arrival.row.row
            if let id = row.id, arrival.hasContent, let twin = section?.index(of: id),
                let key = section?.rows[twin].key, key != row.key, !leaving.contains(key)
            {
                conflict(arrival.row)
            } else if let gap = arrival.gap {
                placed.append((gap, -1, arrival))
            } else if let (below, order, isUnclear) = rowPlaces[row.key], !isUnclear, let gap = indexes[below] {
                placed.append((gap, order, arrival))
            } else {
                conflict(arrival.row, "later revisions changed the rows around its place")
            }
        }
        placed.sort { ($0.gap, $0.order) < ($1.gap, $1.order) }
        var takenAbove = 0
        for (count, (gap, _, arrival)) in placed.enumerated() {
            let row = arrival.row.row
            while takenAbove < taken.count, taken[takenAbove] < gap { takenAbove += 1 }
            change.placed.append(
                (
                    (id, gap - takenAbove + count), row.key, row.rank, arrival.hasContent ? (row.id, row.model) : nil
                ))
        }
    }

    /// Of the rows above which they go, and of the section's end.
    private func indexes(below arriving: [Arrival], in section: StoredSection?, _ number: Int) -> [Tombstones<Int>
        .Place:
        Int]
    {
        guard let section else { return [.end(ofList: number): 0] }
        let wanted = Set(arriving.compactMap { rowPlaces[$0.row.row.key]?.below })
        var indexes: [Tombstones<Int>.Place: Int] = [.end(ofList: number): section.rows.count]
        section.rows.forEach(in: 0..<section.rows.count) { index, row in
            if wanted.contains(.above(row.key)) { indexes[.above(row.key)] = index }
        }
        return indexes
    }
}

/// A table as it was some revisions ago.
struct PastTable {
    typealias Row = (section: Int, row: StoredRow)

    /// By key. Only those that the revisions mention.
    private(set) var rows: [Int: Row] = [:]
    /// By number.
    private(set) var sections: [Int: StoredSectionSummary]
    private(set) var state: JSONText
    private(set) var cells: JSONText
    /// All rows, by their section's number.
    private var lists: [Int: PersistentList<StoredRow>] = [:]

    /// What a revision changed.
    struct Step {
        var rows = Tombstones<Int>.Step()
        /// Rows with another content, by key.
        var changedRows: Set<Int> = []
        var sections: [(number: Int, before: StoredSectionSummary?, after: StoredSectionSummary?)] = []
        var isReordered = false
        var state = Tombstones<UTF8Key>.Step()
        /// By name.
        var changedState: Set<UTF8Key> = []
        var changedCells: Set<UTF8Key> = []
    }

    /// - Complexity: O(rows).
    init(_ now: TableModel, mentionedIn records: [RevisionUndo]) {
        state = now.state
        cells = now.cells.json
        sections = Dictionary(uniqueKeysWithValues: now.sections.map { ($0.summary.number, $0.summary) })
        var mentioned: Set<Int> = []
        for record in records { mentioned.formUnion(record.change.keys) }
        for section in now.sections {
            let number = section.summary.number
            lists[number] = section.rows
            section.rows.forEach(in: 0..<section.rows.count) { _, row in
                if mentioned.contains(row.key) { rows[row.key] = (number, row) }
            }
        }
    }

    /// Back to before the record's revision.
    mutating func goBack(_ record: RevisionUndo) -> Step {
        var step = Step()
        goBackRows(record.change, &step)
        goBackSections(record.change, &step)
        if let before = record.change.state {
            let old = before.valuesByName, new = state.valuesByName
            step.changedState = old.differing(from: new)
            step.state.gone = before.passages { new[$0] == nil }
            step.state.come = state.passages { old[$0] == nil }.reversed()
            state = before
        }
        if let before = record.change.cells {
            step.changedCells = before.valuesByName.differing(from: cells.valuesByName)
            cells = before
        }
        return step
    }

    private mutating func goBackRows(_ change: TableChange, _ step: inout Step) {
        let keys = change.keys, moved = Set(change.movedRows)
        let after = keys.map { (row: rows[$0], below: below($0)) }
        for key in keys { if let row = rows[key] { remove(row) } }
        for key in change.removedRows { rows[key] = nil }
        for (section, row) in change.writtenRows { rows[row.key] = (section, row) }
        for (section, key, rank) in change.placedRows {
            rows[key]?.section = section
            rows[key]?.row.rank = rank
        }
        for key in keys { if let row = rows[key] { insert(row) } }
        var gone: [(rank: Int, passage: (key: Int, below: Tombstones<Int>.Place))] = [], come = gone
        for (key, after) in zip(keys, after) {
            let before = rows[key]
            if !Self.hasSameContent(before, after.row) { step.changedRows.insert(key) }
            if before?.section == after.row?.section, !moved.contains(key) { continue }
            if let before, let below = below(key) { gone.append((before.row.rank, (key, below))) }
            if let row = after.row, let below = after.below { come.append((row.row.rank, (key, below))) }
        }
        step.rows.gone = gone.sorted { $0.rank < $1.rank }.map(\.passage)
        step.rows.come = come.sorted { $0.rank > $1.rank }.map(\.passage)
    }

    private mutating func goBackSections(_ change: TableChange, _ step: inout Step) {
        for number in change.removedSections { step.sections.append((number, nil, sections[number])) }
        for summary in change.writtenSections {
            step.sections.append((summary.number, summary, sections[summary.number]))
        }
        let hasNewOrdinal = step.sections.contains { _, before, after in
            before != nil && after != nil && before?.ordinal != after?.ordinal
        }
        let after = hasNewOrdinal ? sections : nil
        for (number, before, _) in step.sections { sections[number] = before }
        step.isReordered = after.map { Self.isReordered(sections, $0) } ?? false
    }

    private mutating func remove(_ row: Row) {
        guard let list = lists[row.section] else { return }
        let index = list.firstPosition { $0.rank >= row.row.rank }
        if index < list.count, list[index].key == row.row.key { lists[row.section]?.remove(at: index) }
    }

    private mutating func insert(_ row: Row) {
        let list = lists[row.section] ?? []
        lists[row.section, default: []].insert(row.row, at: list.firstPosition { $0.rank >= row.row.rank })
    }

    private func below(_ key: Int) -> Tombstones<Int>.Place? {
        guard let (section, row) = rows[key], let list = lists[section] else { return nil }
        let index = list.firstPosition { $0.rank > row.rank }
        return index < list.count ? .above(list[index].key) : .end(ofList: section)
    }

    static func hasSameContent(_ one: Row?, _ other: Row?) -> Bool {
        switch (one, other) {
        case (nil, nil): true
        case (let one?, let other?): one.row.content.has(other.row.id) && one.row.model == other.row.model
        default: false
        }
    }

    /// Whether the sections of both are in another order.
    static func isReordered(_ one: [Int: StoredSectionSummary], _ other: [Int: StoredSectionSummary]) -> Bool {
        let both = one.keys.filter { other[$0] != nil }
        func order(_ sections: [Int: StoredSectionSummary]) -> [Int] {
            both.sorted { (sections[$0]?.ordinal ?? 0) < (sections[$1]?.ordinal ?? 0) }
        }
        return order(one) != order(other)
    }
}

extension TableChange {
    /// Of all rows in it.
    var keys: [Int] { removedRows + writtenRows.map(\.row.key) + placedRows.map(\.key) }
}

extension JSONText {
    /// Of an object's members.
    var valuesByName: [UTF8Key: JSONText] {
        Dictionary((members() ?? []).map { (UTF8Key($0.name), $0.value) }) { first, _ in first }
    }

    /// Of some of an object's members, each with the one after it.
    fileprivate func passages(of isOne: (UTF8Key) -> Bool) -> [(key: UTF8Key, below: Tombstones<UTF8Key>.Place)] {
        let names = (members() ?? []).map { UTF8Key($0.name) }
        return names.indices.filter { isOne(names[$0]) }.map { index in
            (names[index], index + 1 < names.count ? .above(names[index + 1]) : .end(ofList: 0))
        }
    }
}

extension [UTF8Key: JSONText] {
    /// The names that only one of them has, or with another value.
    func differing(from other: Self) -> Set<UTF8Key> {
        Set(other.filter { self[$0.key] != $0.value }.keys).union(keys.filter { other[$0] == nil })
    }
}

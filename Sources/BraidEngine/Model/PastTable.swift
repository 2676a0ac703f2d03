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

    /// What a revision did to the rows that it mentions.
    struct Step {
        let revision: Int
        let undoes: Int?
        /// Each with the row below it before the revision, from top to bottom in each section.
        var gone: [RowTombstones.Passage] = []
        /// Each with the row below it after the revision, from bottom to top in each section.
        var come: [RowTombstones.Passage] = []
        /// Of them, and of those that stayed.
        var changed: Set<Int> = []
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
        let keys = record.change.keys, moved = Set(record.change.movedRows)
        let after = keys.map { (row: rows[$0], below: below($0)) }
        apply(record.change)
        var step = Step(revision: record.revision, undoes: record.undoes)
        var gone: [(rank: Int, passage: RowTombstones.Passage)] = [], come = gone
        for (key, after) in zip(keys, after) {
            let before = rows[key]
            if !Self.hasSameContent(before, after.row) { step.changed.insert(key) }
            if before?.section == after.row?.section, !moved.contains(key) { continue }
            if let before, let below = below(key) {
                gone.append((before.row.rank, .init(key: key, section: before.section, below: below)))
            }
            if let row = after.row, let below = after.below {
                come.append((row.row.rank, .init(key: key, section: row.section, below: below)))
            }
        }
        step.gone = gone.sorted { $0.rank < $1.rank }.map(\.passage)
        step.come = come.sorted { $0.rank > $1.rank }.map(\.passage)
        return step
    }

    private mutating func apply(_ change: TableChange) {
        let keys = change.keys
        for key in keys { if let row = rows[key] { remove(row) } }
        for key in change.removedRows { rows[key] = nil }
        for (section, row) in change.writtenRows { rows[row.key] = (section, row) }
        for (section, key, rank) in change.placedRows {
            rows[key]?.section = section
            rows[key]?.row.rank = rank
        }
        for key in keys { if let row = rows[key] { insert(row) } }
        for number in change.removedSections { sections[number] = nil }
        for summary in change.writtenSections { sections[summary.number] = summary }
        if let old = change.state { state = old }
        if let old = change.cells { cells = old }
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

    private func below(_ key: Int) -> RowTombstones.Place? {
        guard let (section, row) = rows[key], let list = lists[section] else { return nil }
        let index = list.firstPosition { $0.rank > row.rank }
        return index < list.count ? .row(list[index].key) : .end(ofSection: section)
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

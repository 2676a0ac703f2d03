/// Finds what takes a command back, and what prevents it.
///
/// Goes back from the table through the later commands' undos to the table after the command, and through its own to
/// the one before. What the command changed gets its old value, unless a later command changed it, too. A row that
/// comes back goes after its nearest old neighbour above that has stayed; rows that came since follow it.
struct UndoSearch {
    typealias Row = (section: Int, row: StoredRow)
    typealias Lists = [Int: PersistentList<StoredRow>]

    /// A later command, as it changed the order of rows.
    struct Step {
        /// Of the rows' sections, before and after it.
        var before: Lists, after: Lists
        /// Rows that left their places, and that came to a place.
        var gone: Set<Int> = [], come: Set<Int> = []
        var revision: Int
        /// Of rows that came back to their old places.
        var oldRanks: [Int: Int]
        /// The later revision that takes it back.
        var undoneBy: Int?
    }

    let now: TableModel
    /// By number.
    let positions: [Int: Int]
    let own: TableChange
    var steps: [Step] = []
    // At the revision reached; by key and number.
    var rows: [Int: Row] = [:]
    var lists: Lists = [:]
    var sections: [Int: StoredSectionSummary]
    var state: JSONText
    var cells: JSONText
    // What later commands changed that are not taken back.
    var changedRows: Set<Int> = []
    var movedRows: Set<Int> = []
    var refilled: Set<Int> = []
    var changedTitles: Set<Title> = []
    var changedSections: Set<Int> = []
    var changedState: Set<UTF8Key> = []
    var changedCells: Set<UTF8Key> = []
    /// Came at the end of the state.
    var newMembers: Set<UTF8Key> = []
    var hasNewOrder = false
    var hasNewDisplay = false

    struct Title: Hashable {
        var section: Int
        var isHeader: Bool
    }

    /// The command's revision.
    let first: Int
    /// After the command, before the later ones.
    var rowsThen: [Int: Row] = [:]
    let ownKeys: Set<Int>
    var conflicts: [(pointer: JSONPointer, detail: String)] = []
    var change = UndoChange()

    init(_ now: TableModel, own: RevisionUndo) {
        self.now = now
        positions = Dictionary(uniqueKeysWithValues: now.sections.enumerated().map { ($1.summary.number, $0) })
        self.own = own.change
        first = own.revision
        ownKeys = Set(own.change.keys)
        state = now.state
        cells = now.cells.json
        sections = Dictionary(uniqueKeysWithValues: now.sections.map { ($0.summary.number, $0.summary) })
    }

    /// `later` descends.
    mutating func run(_ later: [RevisionUndo]) throws(Refusal) -> UndoChange {
        findRows(later)
        let undoneBy = RevisionUndo.undoneBy(later)
        for undo in later { goBack(undo, undoneBy) }
        rowsThen = rows
        let sectionsThen = sections, stateThen = state, cellsThen = cells
        goBack(own)
        steps.reverse()
        takeBackSections(sectionsThen)
        takeBackRows()
        takeBackRest(stateThen, cellsThen)
        guard conflicts.isEmpty else {
            throw Refusal(
                .undoConflict,
                "The command cannot be taken back: later revisions changed what it changed.",
                faults: conflicts.map { .init(pointer: $0.pointer, code: .conflict, detail: $0.detail) })
        }
        return change
    }

    /// Of all rows in the undos, where they are now; and the lists of sections into which rows may come back.
    mutating func findRows(_ later: [RevisionUndo]) {
        var mentioned = Set(own.keys)
        for undo in later { mentioned.formUnion(undo.change.keys) }
        for section in now.sections {
            let number = section.summary.number
            lists[number] = section.rows
            section.rows.forEach(in: 0..<section.rows.count) { _, row in
                if mentioned.contains(row.key) { rows[row.key] = (number, row) }
            }
        }
    }

    // MARK: Going back

    mutating func goBack(_ later: RevisionUndo, _ undoneBy: [Int: Int]) {
        let change = later.change, revision = later.revision
        // It and the one that took it back have changed nothing together.
        let isUndone = undoneBy[revision] != nil || later.undoes.map { undoneBy[$0] == revision && $0 > first } ?? false
        let rowsAfter = rows, listsAfter = lists, sectionsAfter = sections
        let stateAfter = state, cellsAfter = cells
        goBack(change)
        var step = Step(
            before: lists, after: listsAfter, revision: revision, oldRanks: later.oldRanks,
            undoneBy: undoneBy[revision])
        let moved = Set(change.movedRows)
        for key in change.keys {
            let before = rows[key], after = rowsAfter[key]
            let stays = before?.section == after?.section && !moved.contains(key)
            if before != nil, !stays { step.gone.insert(key) }
            if after != nil, !stays { step.come.insert(key) }
            guard !isUndone else { continue }
            if !stays { movedRows.insert(key) }
            if !Self.hasSameContent(before, after) { changedRows.insert(key) }
        }
        steps.append(step)
        guard !isUndone else { return }
        refilled.formUnion(change.refilledSections)
        hasNewDisplay = hasNewDisplay || change.displayedSections != nil
        for number in change.writtenSections.map(\.number) + change.removedSections {
            let before = sections[number], after = sectionsAfter[number]
            if (before == nil) != (after == nil) { changedSections.insert(number) }
            if before?.header != after?.header { changedTitles.insert(Title(section: number, isHeader: true)) }
            if before?.footer != after?.footer { changedTitles.insert(Title(section: number, isHeader: false)) }
        }
        if !change.writtenSections.isEmpty, Self.isReordered(sections, sectionsAfter) { hasNewOrder = true }
        if change.state != nil {
            newMembers.formUnion(Set(Self.values(stateAfter).keys).subtracting(Self.values(state).keys))
            changedState.formUnion(Self.differingMembers(state, stateAfter))
        }
        if change.cells != nil { changedCells.formUnion(Self.differingMembers(cells, cellsAfter)) }
    }

    mutating func goBack(_ change: TableChange) {
        let keys = change.keys
        for key in keys { if let row = rows[key] { remove(row) } }
        for key in change.removedRows { rows[key] = nil }
        for (section, row) in change.writtenRows { rows[row.key] = (section, row) }
        for (section, key, rank) in change.placedRows {
            guard var row = rows[key] else { continue }
            row.section = section
            row.row.rank = rank
            rows[key] = row
        }
        for key in keys { if let row = rows[key] { insert(row) } }
        for number in change.removedSections { sections[number] = nil }
        for summary in change.writtenSections { sections[summary.number] = summary }
        if let old = change.state { state = old }
        if let old = change.cells { cells = old }
    }

    mutating func remove(_ row: Row) {
        guard let list = lists[row.section] else { return }
        let index = list.firstPosition { $0.rank >= row.row.rank }
        if index < list.count, list[index].key == row.row.key { lists[row.section]?.remove(at: index) }
    }

    mutating func insert(_ row: Row) {
        let list = lists[row.section] ?? []
        lists[row.section, default: []].insert(row.row, at: list.firstPosition { $0.rank >= row.row.rank })
    }

    static func hasSameContent(_ one: Row?, _ other: Row?) -> Bool {
        switch (one, other) {
        case (nil, nil): true
        case (let one?, let other?): one.row.content.has(other.row.id) && one.row.model == other.row.model
        default: false
        }
    }

    static func isReordered(_ one: [Int: StoredSectionSummary], _ other: [Int: StoredSectionSummary]) -> Bool {
        let both = one.keys.filter { other[$0] != nil }
        func order(_ sections: [Int: StoredSectionSummary]) -> [Int] {
            both.sorted { (sections[$0]?.ordinal ?? 0) < (sections[$1]?.ordinal ?? 0) }
        }
        return order(one) != order(other)
    }

    static func differingMembers(_ one: JSONText, _ other: JSONText) -> Set<UTF8Key> {
        let one = values(one), other = values(other)
        return Set(other.filter { one[$0.key] != $0.value }.keys).union(one.keys.filter { other[$0] == nil })
    }

    static func values(_ object: JSONText) -> [UTF8Key: JSONText] {
        Dictionary((object.members() ?? []).map { (UTF8Key($0.name), $0.value) }) { first, _ in first }
    }
}

// MARK: Rows

extension UndoSearch {
    /// A row that comes back or moves: between rows that are there now, `gap` of which are above.
    struct Arrival {
        var row: Row
        /// Moved rows keep theirs.
        var hasContent: Bool
        /// Set for a row that stays in its place, with another id.
        var gap: Int?
    }

    mutating func takeBackRows() {
        var current: [Int: Row] = [:]
        let moved = Set(own.movedRows)
        for section in now.sections {
            section.rows.forEach(in: 0..<section.rows.count) { _, row in
                if ownKeys.contains(row.key) { current[row.key] = (section.summary.number, row) }
            }
        }
        var leaving: Set<Int> = [], arriving: [Arrival] = []
        for key in ownKeys.sorted() {
            let old = rows[key], then = rowsThen[key], now = current[key]
            let moves = old?.section != then?.section || moved.contains(key)
            let changes = !Self.hasSameContent(old, then)
            guard moves || changes else { continue }
            if let section = [old?.section, then?.section].compactMap({ $0 }).first(where: refilled.contains) {
                conflict(inSection: section)
            } else if changes && changedRows.contains(key) || moves && old != nil && movedRows.contains(key) {
                conflict(now ?? then ?? old)
            } else if let old {
                guard moves || now?.row.content.has(old.row.id) != true else {
                    if let now { replace(now, by: old.row) }
                    continue
                }
                if now != nil { leaving.insert(key) }
                arriving.append(Arrival(row: old, hasContent: now == nil || changes, gap: nil))
                // Two rows can exchange their ids, so it goes and comes back.
                if !moves, let now, let section = section(numbered: now.section) {
                    arriving[arriving.count - 1].row.section = now.section
                    arriving[arriving.count - 1].gap = section.index(ofRank: now.row.rank) + 1
                }
            } else if now != nil {
                leaving.insert(key)
            }
        }
        takeRows(leaving, current)
        for (number, arriving) in Dictionary(grouping: arriving, by: \.row.section).sorted(by: { $0.key < $1.key }) {
            place(arriving, in: number, leaving)
        }
        for id in change.removedSections {
            let isEmptied = now[id]?.rows.allSatisfy { leaving.contains($0.key) } ?? true
            if !isEmptied { conflict(JSONPointer(tokens: ["sections", id.text])) }
        }
    }

    private mutating func replace(_ now: Row, by old: StoredRow) {
        guard let section = section(numbered: now.section) else { return }
        change.replaced.append(((section.id, section.index(ofRank: now.row.rank)), old.id, old.model))
    }

    private mutating func takeRows(_ leaving: Set<Int>, _ current: [Int: Row]) {
        for section in now.sections {
            let number = section.summary.number
            change.taken += leaving.compactMap { current[$0] }.filter { $0.section == number }
                .map { section.index(ofRank: $0.row.rank) }.sorted().map { (section.id, $0) }
        }
    }

    private mutating func place(_ arriving: [Arrival], in number: Int, _ leaving: Set<Int>) {
        let section = section(numbered: number)
        guard let id = section?.id ?? change.sections.first(where: { $0.number == number })?.id else {
            return conflict(inSection: number)
        }
        let old = lists[number] ?? [], coming = Set(arriving.map(\.row.row.key))
        let indexes =
            section.map { section in
                Dictionary(uniqueKeysWithValues: section.rows.enumerated().map { ($1.key, $0) })
            } ?? [:]
        var gaps: [Int?: Int?] = [:]
        let comeBack = steps.contains { !$0.oldRanks.isEmpty }
        var placed: [(gap: Int, isOwn: Bool, arrival: Arrival)] = []
        var above: (index: Int, key: Int?) = (-1, nil)
        for arrival in arriving.sorted(by: { $0.row.row.rank < $1.row.row.rank }) {
            let row = arrival.row.row
            if let id = row.id, arrival.hasContent, let twin = section?.index(of: id),
                let key = section?.rows[twin].key, key != row.key, !leaving.contains(key)
            {
                conflict(arrival.row)
                continue
            }
            if let gap = arrival.gap {
                placed.append((gap, true, arrival))
                continue
            }
            let index = old.firstPosition { $0.rank >= row.rank }
            if above.index < 0 || index != above.index + 1 {
                above.key = old[..<index].last { !coming.contains($0.key) && stays($0.key, in: number) }?.key
            }
            above.index = index
            if gaps[above.key] == nil || comeBack {
                gaps[above.key] = .some(
                    follow(above.key, of: row, in: number).flatMap { key in
                        key.map { indexes[$0].map { $0 + 1 } } ?? 0
                    })
            }
            guard let gap = gaps[above.key] ?? nil else {
                conflict(arrival.row, "the rows around its place were replaced")
                continue
            }
            placed.append((gap, false, arrival))
        }
        let taken =
            section.map { section in
                leaving.compactMap { indexes[$0] }.sorted()
            } ?? []
        let isBefore = {
            (one: (gap: Int, isOwn: Bool, arrival: Arrival), other: (gap: Int, isOwn: Bool, arrival: Arrival)) in
            (one.gap, one.isOwn ? 0 : 1, one.arrival.row.row.rank)
                < (other.gap, other.isOwn ? 0 : 1, other.arrival.row.row.rank)
        }
        for (count, (gap, _, arrival)) in placed.sorted(by: isBefore).enumerated() {
            let row = arrival.row.row, above = gap - taken.prefix { $0 < gap }.count
            change.placed.append(
                ((id, above + count), row.key, row.rank, arrival.hasContent ? (row.id, row.model) : nil))
        }
    }

    /// Whether the command left it in its place.
    private func stays(_ key: Int, in section: Int) -> Bool {
        !ownKeys.contains(key) || rowsThen[key]?.section == section && !own.movedRows.contains(key)
    }

    /// The nearest row above that is still there, after the later commands; inner `nil`: none is above. Outer `nil`:
    /// unknown, because it left when others came.
    private func follow(_ above: Int?, of row: StoredRow, in section: Int) -> Int?? {
        var above = above
        // Until then, the row above is elsewhere.
        var back: Int?, since: Set<Int> = []
        for step in steps {
            if let revision = back {
                if step.revision == revision { back = nil }
                continue
            }
            if let key = above, step.gone.contains(key) {
                if let revision = step.undoneBy {
                    back = revision
                    continue
                }
                let before = step.before[section] ?? []
                let index = before.firstIndex { $0.key == key } ?? 0
                above = before[..<index].last { !step.gone.contains($0.key) }?.key
                if step.oldRanks.isEmpty, !step.arrivals(below: above, in: section).isEmpty { return nil }
            }
            if step.oldRanks.isEmpty {
                if step.undoneBy == nil { since.formUnion(step.come) }
                continue
            }
            // Those that came back are in their old order; others follow.
            let next = step.arrivals(below: above, in: section)
                .last { !since.contains($0.key) && step.oldRanks[$0.key].map { $0 <= row.rank } ?? false }
            if let next { above = next.key }
        }
        return above
    }
}

extension UndoSearch.Step {
    /// Rows that came to the place below a row that stayed, or to the section's beginning.
    fileprivate func arrivals(below row: Int?, in section: Int) -> [StoredRow] {
        guard !come.isEmpty, let rows = after[section] else { return [] }
        let start = row.flatMap { key in rows.firstIndex { $0.key == key }.map { $0 + 1 } } ?? 0
        return Array(rows[start...].prefix { come.contains($0.key) })
    }
}

// MARK: Sections, state, cells

extension UndoSearch {
    mutating func takeBackSections(_ then: [Int: StoredSectionSummary]) {
        for number in Set(own.writtenSections.map(\.number) + own.removedSections).sorted() {
            let old = sections[number], then = then[number], now = section(numbered: number)?.summary
            switch (old, then) {
            case (nil, let then?):
                let isChanged =
                    changedSections.contains(number)
                    || [true, false].contains { changedTitles.contains(Title(section: number, isHeader: $0)) }
                if isChanged {
                    conflict(JSONPointer(tokens: ["sections", then.id.text]))
                } else if now != nil {
                    change.removedSections.append(then.id)
                }
            case (let old?, nil):
                if changedSections.contains(number) || now != nil {
                    conflict(JSONPointer(tokens: ["sections", old.id.text]))
                } else {
                    change.sections.append(old)
                }
            case (let old?, let then?):
                if let now { takeBackTitles(old, then, now) } else { conflict(inSection: number) }
            case (nil, nil): break
            }
        }
        let removed = Set(change.removedSections)
        for section in change.sections where now.position(of: section.id) != nil && !removed.contains(section.id) {
            conflict(JSONPointer(tokens: ["sections", section.id.text]))
        }
        arrange(then)
    }

    private mutating func takeBackTitles(
        _ old: StoredSectionSummary, _ then: StoredSectionSummary, _ now: StoredSectionSummary
    ) {
        func takeBack(_ title: JSONText?, _ isHeader: Bool) -> Bool {
            guard !changedTitles.contains(Title(section: now.number, isHeader: isHeader)) else {
                conflict(JSONPointer(tokens: ["sections", now.id.text, isHeader ? "header" : "footer"]))
                return false
            }
            return true
        }
        if old.header != then.header, takeBack(old.header, true) { change.headers.append((now.id, old.header)) }
        if old.footer != then.footer, takeBack(old.footer, false) { change.footers.append((now.id, old.footer)) }
        // Not displayed, so nobody needs to know of a conflict.
        if old.prefetched != then.prefetched, now.prefetched == then.prefetched {
            change.prefetched.append((now.id, old.prefetched))
        }
    }

    /// Sections that come back go after the nearest old one above.
    private mutating func arrange(_ then: [Int: StoredSectionSummary]) {
        let isReordered = Self.isReordered(sections, then)
        if isReordered, hasNewOrder { return conflict(JSONPointer(tokens: ["sections"])) }
        guard isReordered || !change.sections.isEmpty else { return }
        let removed = Set(change.removedSections)
        let current = now.sections.map(\.summary.number)
        let old = sections.values.sorted { $0.ordinal < $1.ordinal }.map(\.number)
        var order = isReordered ? old.filter { positions[$0] != nil } : current
        func add(_ numbers: Set<Int>, as list: [Int]) {
            for (index, number) in list.enumerated() where numbers.contains(number) && !order.contains(number) {
                let above = list[..<index].last { order.contains($0) }
                order.insert(number, at: above.flatMap { order.firstIndex(of: $0) }.map { $0 + 1 } ?? 0)
            }
        }
        add(Set(current), as: current)
        add(Set(change.sections.map(\.number)), as: old)
        change.order = order.compactMap { sectionID($0) }.filter { !removed.contains($0) }
    }

    mutating func takeBackRest(_ stateThen: JSONText, _ cellsThen: JSONText) {
        if own.state != nil {
            change.state = takeBack(state, stateThen, now.state, changedState, "state")
        }
        if own.cells != nil {
            change.cells = takeBack(cells, cellsThen, now.cells.json, changedCells, "cells")
        }
        if let displayed = own.displayedSections {
            if hasNewDisplay {
                conflict(JSONPointer(tokens: ["displayedSections"]))
            } else {
                change.displayedSections = displayed
            }
        }
    }

    /// Member by member. One that comes back goes after its nearest old neighbour before it. `nil`: unchanged.
    private mutating func takeBack(
        _ old: JSONText, _ then: JSONText, _ now: JSONText, _ changed: Set<UTF8Key>, _ what: String
    ) -> JSONText? {
        let differing = Self.differingMembers(old, then), oldValues = Self.values(old), old = old.members() ?? []
        for name in differing.intersection(changed).map(\.string).sorted() {
            conflict(JSONPointer(tokens: [what, name]))
        }
        guard differing.isDisjoint(with: changed), !differing.isEmpty else { return nil }
        var members = now.members() ?? []
        func index(of name: String) -> Int? { members.firstIndex { UTF8Key($0.name) == UTF8Key(name) } }
        members.removeAll { differing.contains(UTF8Key($0.name)) && oldValues[UTF8Key($0.name)] == nil }
        for (place, member) in old.enumerated() where differing.contains(UTF8Key(member.name)) {
            if let index = index(of: member.name) {
                members[index].value = member.value
            } else {
                let above = old[..<place].last {
                    !newMembers.contains(UTF8Key($0.name)) && index(of: $0.name) != nil
                }.flatMap { index(of: $0.name) }
                members.insert(member, at: above.map { $0 + 1 } ?? 0)
            }
        }
        return JSONText(object: members).detached
    }
}

// MARK: Conflicts

extension UndoSearch {
    private func section(numbered number: Int) -> StoredSection? { positions[number].map { now.sections[$0] } }

    private func sectionID(_ number: Int) -> SectionID? {
        section(numbered: number)?.id ?? sections[number]?.id
    }

    private mutating func conflict(_ pointer: JSONPointer, _ detail: String = "a later revision changed it") {
        if !conflicts.contains(where: { $0.pointer == pointer }) { conflicts.append((pointer, detail)) }
    }

    private mutating func conflict(inSection number: Int) {
        conflict(JSONPointer(tokens: ["sections", sectionID(number)?.text ?? "\(number)"]))
    }

    /// By id, or by its index if it is still there.
    private mutating func conflict(_ row: Row?, _ detail: String = "a later revision changed it") {
        guard let row else { return }
        let section = JSONPointer(tokens: ["sections", sectionID(row.section)?.text ?? "\(row.section)", "rows"])
        if let id = row.row.id { return conflict(section.appending(id.text), detail) }
        let index = self.section(numbered: row.section).map { $0.index(ofRank: row.row.rank) } ?? 0
        conflict(section.appending(index), detail)
    }
}

/// What leads a table back by one revision.
package struct RevisionUndo: Sendable {
    package var revision: Int
    /// If it took another one back.
    package var undoes: Int?
    /// Then, those of the rows that came back, by key.
    var oldRanks: [Int: Int] = [:]
    package var change: TableChange

    package init(revision: Int, undoes: Int? = nil, by undo: UndoChange? = nil, change: TableChange) {
        self.revision = revision
        self.undoes = undoes
        self.change = change
        for row in undo?.placed ?? [] { oldRanks[row.key] = row.rank }
    }

    /// The revisions that are taken back, each with the one that did. `records` descend: an undo can be undone itself.
    package static func undoneBy(_ records: [(revision: Int, undoes: Int?)]) -> [Int: Int] {
        var undoneBy: [Int: Int] = [:]
        for (revision, undoes) in records where undoneBy[revision] == nil {
            if let undoes { undoneBy[undoes] = revision }
        }
        return undoneBy
    }

    static func undoneBy(_ undos: [RevisionUndo]) -> [Int: Int] { undoneBy(undos.map { ($0.revision, $0.undoes) }) }
}

extension TableModel {
    /// Takes one revision back. `later` are the undos of those since, the latest first. Throws `undoConflict`.
    ///
    /// - Complexity: O(rows + changes).
    package func undo(_ own: RevisionUndo, after later: [RevisionUndo]) throws(Refusal) -> UndoChange {
        var search = UndoSearch(self, own: own)
        return try search.run(later)
    }
}

extension TableChange {
    /// Of all rows in it.
    var keys: [Int] { removedRows + writtenRows.map(\.row.key) + placedRows.map(\.key) }
}

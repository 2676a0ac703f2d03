/// Edits a copy of a table for one command; discard it to discard the edits. Records what the store writes and the diff
/// looks at.
package struct TableEditor {
    var table: TableModel
    let before: TableModel
    /// By stored rows' indexes, which are those of displayed rows where all are displayed.
    private(set) var allTouched = TouchedRows()
    /// What changed since `takeStep()`, called for each snapshot.
    var step = Step()

    package struct Step: Sendable {
        var touched = TouchedRows()
        /// Those with other rows or titles, added, removed or reordered; hidden ones, too.
        var sections: Set<SectionID> = []
        var stateChanged = false
        /// Sections came, went or were reordered, or others were chosen to be displayed.
        var displayChanged = false
        var cellsChanged = false
        /// `onPrefetch` may run again; this is not displayed.
        var prefetchChanged = false

        package init() {}

        package mutating func append(_ later: Step) {
            touched.append(later.touched)
            sections.formUnion(later.sections)
            stateChanged = stateChanged || later.stateChanged
            displayChanged = displayChanged || later.displayChanged
            cellsChanged = cellsChanged || later.cellsChanged
        }

        var changedAnything: Bool { !sections.isEmpty || stateChanged || displayChanged || cellsChanged }
    }

    // By key; each row is in at most one of the three. `removed` has only rows of the store.
    var written: [Int: (section: Int, row: StoredRow)] = [:]
    var placed: [Int: (section: Int, rank: Int)] = [:]
    var removed: Set<Int> = []
    /// By key, rows as they were before the command changed, moved or removed them.
    private var originals: [Int: (section: Int, row: StoredRow)] = [:]
    var changedSummaries: Set<SectionID> = []
    var removedSectionIDs: Set<SectionID> = []
    var removedSections: [Int] = []
    /// Single rows were inserted, removed or changed.
    private(set) var editedSections: Set<SectionID> = []
    /// A whole list of models replaced rows.
    private(set) var refilledSections: Set<SectionID> = []
    /// Rows that come back with the keys they had. The store does not have them.
    var restored: Set<Int> = []
    /// To another place among the others, not only to another rank.
    var moved: Set<Int> = []
    /// Greater than all keys in the store.
    let firstNewKey: Int
    private let checksIDs: Bool

    init(_ table: TableModel, checksIDs: Bool = false) {
        self.table = table
        self.checksIDs = checksIDs
        before = table
        firstNewKey = table.nextKey
    }

    mutating func takeStep() -> Step {
        defer { step = Step() }
        return step
    }

    /// Any displayed row may look different, even without a noted edit.
    mutating func noteWhole(_ section: SectionID) { allTouched.wholeSection(section) }

    private mutating func noteRow(_ section: SectionID, _ edit: (inout TouchedRows) -> Void) {
        editedSections.insert(section)
        note(section, edit)
    }

    mutating func noteRows(_ section: SectionID, _ edits: TouchedRows.Edits, isRefill: Bool) {
        if isRefill { refilledSections.insert(section) } else { editedSections.insert(section) }
        note(section) { $0.edit(in: section, edits) }
    }

    private mutating func note(_ section: SectionID, _ edit: (inout TouchedRows) -> Void) {
        edit(&allTouched)
        edit(&step.touched)
        step.sections.insert(section)
    }

    private func isStored(_ key: Int) -> Bool { key < firstNewKey && !restored.contains(key) }

    /// For undo. Ignores rows that are new or kept already.
    mutating func keepOriginal(_ row: StoredRow, of section: Int) {
        if isStored(row.key), originals[row.key] == nil { originals[row.key] = (section, row) }
    }

    /// What a store writes to take the command back.
    var undo: TableChange {
        var undo = TableChange()
        for (key, original) in originals.sorted(by: { $0.key < $1.key }) {
            if written[key] != nil || removed.contains(key) {
                undo.writtenRows.append((original.section, original.row))
            } else if placed[key] != nil {
                undo.placedRows.append((original.section, key, original.row.rank))
            }
        }
        undo.removedRows = written.keys.filter { !isStored($0) }.sorted()
        undo.movedRows = moved.filter { originals[$0] != nil && !removed.contains($0) }.sorted()
        undo.refilledSections = refilledSections.compactMap { (table[$0] ?? before[$0])?.summary.number }.sorted()
        for id in changedSummaries.union(removedSectionIDs) {
            let old = before[id]?.summary, new = table[id]?.summary
            if let old, old != new { undo.writtenSections.append(old) }
            if let new, new.number != old?.number { undo.removedSections.append(new.number) }
        }
        undo.writtenSections.sort { $0.number < $1.number }
        undo.removedSections.sort()
        undo.setRest(from: table, to: before)
        return undo
    }

    /// Checks the id of a row that comes, or gets another id.
    func check(_ id: RowID?, in section: SectionID) throws(Refusal) {
        if checksIDs, let id, !IDRule.admits(id.text) { throw .idInvalid(id, in: section) }
    }

    func check(_ id: SectionID) throws(Refusal) { if checksIDs, !IDRule.admits(id.text) { throw .idInvalid(id) } }

    func position(of id: SectionID) throws(Refusal) -> Int {
        guard let position = table.position(of: id) else { throw .noSection(id, among: table.sections.lazy.map(\.id)) }
        return position
    }
}

// Indexes count stored rows at the time of the call.
extension TableEditor {
    /// At the end if `index` is `nil`.
    @discardableResult
    mutating func insert(_ model: JSONText, id: RowID?, in section: SectionID, at index: Int?) throws(Refusal) -> Int {
        try check(id, in: section)
        defer { table.nextKey += 1 }
        return try place(
            StoredRow(key: table.nextKey, rank: 0, id: id, model: model), in: section, at: index, isNew: true)
    }

    mutating func place(
        _ row: StoredRow, in section: SectionID, at index: Int?, isNew: Bool, preferring rank: Int? = nil
    ) throws(Refusal) -> Int {
        let position = try position(of: section)
        let index = index ?? table.sections[position].rows.count
        guard index >= 0, index <= table.sections[position].rows.count else {
            throw Refusal(
                .rowNotFound,
                "The section \"\(section)\" has \(counted(table.sections[position].rows.count, "row")): a row cannot be put at \(index)."
            )
        }
        if let id = row.id, table.sections[position].contains(id) { throw .duplicateRow(id, in: section) }
        let number = table.sections[position].summary.number
        var relabelledRows: [StoredRow] = []
        let relabelled = table.sections[position].insert(row, at: index, preferring: rank) { relabelledRows.append($0) }
        if row.content.hasID { table.noteArrivals(CollectionOfOne(row.content.idHash), in: section) }
        for row in relabelledRows { keepOriginal(row, of: number) }
        let placedRow = table.sections[position].rows[index]
        if isNew {
            written[row.key] = (number, placedRow)
        } else {
            placed[row.key] = (number, placedRow.rank)
        }
        removed.remove(row.key)
        noteRow(section) { $0.insert(in: section, at: index) }
        for neighbour in relabelled ?? 0..<0 where neighbour != index { noteRank(at: neighbour, in: position) }
        return index
    }

    mutating func noteRank(at index: Int, in position: Int) {
        let row = table.sections[position].rows[index]
        let number = table.sections[position].summary.number
        if written[row.key] != nil { written[row.key] = (number, row) } else { placed[row.key] = (number, row.rank) }
        // Sections that hide or sort rows know these by their ranks.
        let section = table.sections[position].id
        step.touched.replace(in: section, at: index)
        step.sections.insert(section)
    }

    @discardableResult
    mutating func remove(at index: Int, in section: SectionID) throws(Refusal) -> StoredRow {
        let position = try position(of: section)
        guard index >= 0, index < table.sections[position].rows.count else {
            throw .noRow(index, in: section, of: table.sections[position].rows.count)
        }
        let row = table.sections[position].remove(at: index)
        keepOriginal(row, of: table.sections[position].summary.number)
        noteRow(section) { $0.remove(in: section, at: index) }
        placed[row.key] = nil
        written[row.key] = nil
        if isStored(row.key) { removed.insert(row.key) }
        return row
    }

    /// Keeps the key. `target.row` is an index without the row.
    mutating func move(at index: Int, in section: SectionID, to target: (section: SectionID, row: Int?)) throws(Refusal)
        -> Int
    {
        if let rows = table[section]?.rows, rows.indices.contains(index) { moved.insert(rows[index].key) }
        let wasWritten =
            table[section].flatMap { index >= 0 && index < $0.rows.count ? written[$0.rows[index].key] : nil } != nil
        let row = try remove(at: index, in: section)
        return try place(row, in: target.section, at: target.row, isNew: wasWritten || row.key >= firstNewKey)
    }

    mutating func replace(at index: Int, in section: SectionID, id: RowID?, model: JSONText) throws(Refusal) {
        let position = try position(of: section)
        guard index >= 0, index < table.sections[position].rows.count else {
            throw .noRow(index, in: section, of: table.sections[position].rows.count)
        }
        let old = table.sections[position].rows[index]
        if old.content.has(id), old.model == model { return }
        if let id, !old.content.has(id) {
            try check(id, in: section)
            if table.sections[position].contains(id) { throw .duplicateRow(id, in: section) }
        }
        keepOriginal(old, of: table.sections[position].summary.number)
        table.sections[position].replace(at: index, id: id, model: model)
        let row = table.sections[position].rows[index]
        if !old.content.hasSameID(as: row.content), row.content.hasID {
            table.noteArrivals(CollectionOfOne(row.content.idHash), in: section)
        }
        written[row.key] = (table.sections[position].summary.number, row)
        placed[row.key] = nil
        noteRow(section) { $0.replace(in: section, at: index) }
    }
}

extension TableEditor {
    mutating func ensureSection(_ id: SectionID) throws(Refusal) {
        if table.position(of: id) == nil { try insertSection(id, before: nil) }
    }

    mutating func insertSection(_ id: SectionID, before next: SectionID?) throws(Refusal) {
        try check(id)
        let position = next.flatMap { table.position(of: $0) } ?? table.sections.count
        changedSummaries.formUnion(table.insertSection(id, at: position))
        step.sections.insert(id)
        step.displayChanged = true
    }

    /// `s1`, `s2`, … by number; skips ids that are taken.
    mutating func newSectionID(avoiding taken: Set<SectionID> = []) -> SectionID {
        while true {
            let id = SectionID("s\(table.nextSection)")
            if table.position(of: id) == nil, !taken.contains(id) { return id }
            table.nextSection += 1
        }
    }

    mutating func arrangeSections(_ order: [SectionID]) {
        guard table.sections.map(\.id) != order else { return }
        changedSummaries.formUnion(table.arrangeSections(order))
        step.sections.formUnion(order)
        step.displayChanged = true
    }

    mutating func removeSections(_ ids: Set<SectionID>) throws(Refusal) {
        for id in ids {
            try setModels([], in: id)
            // A new section's number, which the store does not know, is harmless.
            if let section = table[id] { removedSections.append(section.summary.number) }
            removedSectionIDs.insert(id)
            changedSummaries.remove(id)
            step.sections.insert(id)
        }
        table.removeSections(ids)
        if !ids.isEmpty { step.displayChanged = true }
    }

    mutating func setHeader(_ title: JSONText?, of id: SectionID) throws(Refusal) {
        try setTitle(\.header, title, of: id)
    }

    mutating func setFooter(_ title: JSONText?, of id: SectionID) throws(Refusal) {
        try setTitle(\.footer, title, of: id)
    }

    private mutating func setTitle(
        _ which: WritableKeyPath<StoredSectionSummary, JSONText?>, _ title: JSONText?, of id: SectionID
    ) throws(Refusal) {
        let position = try position(of: id)
        guard table.sections[position].summary[keyPath: which] != title else { return }
        // A slice would keep the request in memory.
        table.sections[position].summary[keyPath: which] = title?.detached
        changedSummaries.insert(id)
        step.sections.insert(id)
    }

    mutating func setPrefetched(_ count: Int?, of id: SectionID) throws(Refusal) {
        let position = try position(of: id)
        guard table.sections[position].summary.prefetched != count else { return }
        table.sections[position].summary.prefetched = count
        changedSummaries.insert(id)
        step.prefetchChanged = true
    }

    /// `onPrefetch` may run again if there are fewer rows than when it ran.
    mutating func noteFilled(_ id: SectionID, rows: Int) throws(Refusal) {
        if let prefetched = table[id]?.summary.prefetched, rows < prefetched { try setPrefetched(nil, of: id) }
    }

    mutating func setDisplayedSections(_ ids: [SectionID]?) {
        guard table.displayedSections != ids else { return }
        table.displayedSections = ids
        step.displayChanged = true
    }

    mutating func noteDisplay() { step.displayChanged = true }

    mutating func setState(_ state: JSONText) {
        guard table.state != state else { return }
        table.state = state
        step.stateChanged = true
    }

    mutating func registerCell(_ cell: String, for modelType: String) {
        guard table.cells[modelType] != cell else { return }
        table.cells[modelType] = cell
        step.cellsChanged = true
    }

    mutating func setCells(_ cells: RegisteredCells) {
        guard table.cells != cells else { return }
        table.cells = cells
        step.cellsChanged = true
    }

    var change: TableChange {
        var change = TableChange()
        change.writtenRows = written.values.sorted { $0.row.key < $1.row.key }.map { ($0.section, $0.row) }
        change.placedRows = placed.sorted { $0.key < $1.key }.map { ($0.value.section, $0.key, $0.value.rank) }
        change.removedRows = removed.sorted()
        change.writtenSections = changedSummaries.compactMap { table[$0]?.summary }
            .filter { before[$0.id]?.summary != $0 }.sorted { $0.number < $1.number }
        change.removedSections = removedSections.sorted()
        change.setRest(from: before, to: table)
        return change
    }
}

extension TableChange {
    mutating func setRest(from old: TableModel, to new: TableModel) {
        if new.cells != old.cells { cells = new.cells.json }
        if new.state != old.state { state = new.state }
        if new.displayedSections != old.displayedSections {
            displayedSections = new.displayedSections.map { JSONText(ids: $0) } ?? .null
        }
    }
}

extension JSONText {
    package init(ids: [SectionID]) { self.init(.array(ids.map { .string($0.text) })) }
}

/// A table under one command: makes its changes on a copy and keeps account of them, for the store (which rows to
/// write) and for the update (which rows to look at). To undo is to drop the editor.
///
/// Its members are for its own extensions, in the files `TableEditor+…`.
struct TableEditor {
    var table: TableModel
    /// The table before the command.
    let before: TableModel
    /// All edits, in stored index space by section; equal to displayed index space wherever a section is displayed.
    private(set) var allTouched = TouchedRows()
    /// What happened since the last `takeStep()`.
    var step = Step()

    /// Edits since the snapshot was last made.
    struct Step {
        var touched = TouchedRows()
        /// Sections whose rows or facts changed, hidden ones included.
        var sections: Set<SectionID> = []
        var stateChanged = false
        /// Sections came, went or changed places, or others are to be displayed.
        var displayChanged = false
        var cellsChanged = false

        var changedAnything: Bool { !sections.isEmpty || stateChanged || displayChanged || cellsChanged }
    }

    var written: [Int: (section: Int, row: StoredRow)] = [:]
    var placed: [Int: (section: Int, rank: Int)] = [:]
    var removed: Set<Int> = []
    var changedFacts: Set<SectionID> = []
    var removedSections: [Int] = []
    /// Why something that a handler did was ignored.
    var ignored: String?
    /// Keys from here on were given out by this command: the store has never seen them.
    private let firstNewKey: Int

    init(_ table: TableModel) {
        self.table = table
        before = table
        firstNewKey = table.nextKey
    }

    /// What happened since the last call.
    mutating func takeStep() -> Step {
        defer { step = Step() }
        return step
    }

    /// All rows of a displayed section may look different: edits alone do not tell what changed.
    mutating func noteWhole(_ section: SectionID) { allTouched.wholeSection(section) }

    private mutating func note(_ section: SectionID, _ edit: (inout TouchedRows) -> Void) {
        edit(&allTouched)
        edit(&step.touched)
        step.sections.insert(section)
    }

    func position(of id: SectionID) throws(Refusal) -> Int {
        guard let position = table.position(of: id) else { throw .noSection(id) }
        return position
    }
}

// Rows. Indices count in the section's stored rows, at the time of the call.
extension TableEditor {
    /// Inserts a new model; nil puts it at the end. Returns where it stands.
    @discardableResult
    mutating func insert(_ model: JSONText, id: RowID?, in section: SectionID, at index: Int?) throws(Refusal) -> Int {
        defer { table.nextKey += 1 }
        return try place(StoredRow(key: table.nextKey, rank: 0, id: id, model: model), in: section, at: index, isNew: true)
    }

    private mutating func place(_ row: StoredRow, in section: SectionID, at index: Int?, isNew: Bool) throws(Refusal) -> Int {
        let position = try position(of: section)
        let index = index ?? table.sections[position].rows.count
        guard index >= 0, index <= table.sections[position].rows.count else {
            throw Refusal(.rowNotFound, "The section \"\(section)\" has \(table.sections[position].rows.count) rows: a row cannot be put at \(index).")
        }
        if let id = row.id, table.sections[position].contains(id) { throw .duplicateRow(id, in: section) }
        let relabelled = table.sections[position].insert(row, at: index)
        let number = table.sections[position].facts.number
        let placedRow = table.sections[position].rows[index]
        if isNew || written[row.key] != nil {
            written[row.key] = (number, placedRow)
        } else {
            placed[row.key] = (number, placedRow.rank)
        }
        removed.remove(row.key)
        for neighbour in relabelled ?? 0..<0 where neighbour != index { noteRank(at: neighbour, in: position) }
        note(section) { $0.insert(in: section, at: index) }
        return index
    }

    private mutating func noteRank(at index: Int, in position: Int) {
        let row = table.sections[position].rows[index]
        let number = table.sections[position].facts.number
        if written[row.key] != nil { written[row.key] = (number, row) } else { placed[row.key] = (number, row.rank) }
    }

    @discardableResult
    mutating func remove(at index: Int, in section: SectionID) throws(Refusal) -> StoredRow {
        let position = try position(of: section)
        guard index >= 0, index < table.sections[position].rows.count else {
            throw .noRow(index, in: section, of: table.sections[position].rows.count)
        }
        let row = table.sections[position].remove(at: index)
        note(section) { $0.remove(in: section, at: index) }
        placed[row.key] = nil
        written[row.key] = nil
        if row.key < firstNewKey { removed.insert(row.key) }
        return row
    }

    /// Takes the row out and puts it in again, with its key; `target.row` counts after it has been taken out.
    mutating func move(at index: Int, in section: SectionID, to target: (section: SectionID, row: Int?)) throws(Refusal) -> Int {
        let wasWritten = table[section].flatMap { index >= 0 && index < $0.rows.count ? written[$0.rows[index].key] : nil } != nil
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
        if let id, !old.content.has(id), table.sections[position].contains(id) { throw .duplicateRow(id, in: section) }
        table.sections[position].replace(at: index, id: id, model: model)
        let row = table.sections[position].rows[index]
        written[row.key] = (table.sections[position].facts.number, row)
        placed[row.key] = nil
        note(section) { $0.replace(in: section, at: index) }
    }

    /// Puts these models in the place of all of the section's rows. A row whose id stays keeps its key; what is equal
    /// is not written again. O(old + new rows).
    mutating func setModels(_ models: [(id: RowID?, model: JSONText)], in section: SectionID) throws(Refusal) {
        let position = try position(of: section)
        let old = Array(table.sections[position].rows)
        func isSame(_ row: StoredRow, _ new: (id: RowID?, model: JSONText)) -> Bool { row.content.has(new.id) && row.model == new.model }

        var prefix = 0
        while prefix < old.count, prefix < models.count, isSame(old[prefix], models[prefix]) { prefix += 1 }
        if prefix == old.count, prefix == models.count { return }
        var suffix = 0
        while suffix < old.count - prefix, suffix < models.count - prefix,
            isSame(old[old.count - 1 - suffix], models[models.count - 1 - suffix]) { suffix += 1 }

        let number = table.sections[position].facts.number
        let oldMiddle = old[prefix..<old.count - suffix], newMiddle = models[prefix..<models.count - suffix]
        // Rows that keep their id keep their key; of these, those in rising order keep their rank as well.
        var sources = [Int?](repeating: nil, count: newMiddle.count)
        var places = RowTable(capacity: newMiddle.count)
        var remaining = oldMiddle.startIndex
        for (place, new) in newMiddle.enumerated() {
            if let id = new.id {
                if places.findOrInsert(place, RowHash.hash(id), { models[prefix + $0].id == id }) != nil { throw .duplicateRow(id, in: section) }
            } else {
                if remaining < oldMiddle.endIndex, !oldMiddle[remaining].content.hasID { sources[place] = remaining }
                remaining += 1
            }
        }
        var isKept = ContiguousArray(repeating: false, count: old.count)
        for (index, row) in zip(oldMiddle.indices, oldMiddle) {
            guard row.content.hasID, let place = places.find(row.content.idHash, { row.content.has(models[prefix + $0].id) }) else { continue }
            sources[place] = index
        }
        for case let source? in sources { isKept[source] = true }
        for (index, row) in zip(oldMiddle.indices, oldMiddle) where !isKept[index] {
            placed[row.key] = nil
            written[row.key] = nil
            if row.key < firstNewKey { removed.insert(row.key) }
        }
        let known = sources.indices.filter { sources[$0] != nil }
        let rising = IncreasingSubsequence.heaviest(known.map { sources[$0] ?? 0 }, weights: known.map { _ in 1 }).map { known[$0] }
        var ranks = Self.ranks(
            for: newMiddle.count, fixed: rising.map { ($0, old[sources[$0] ?? 0].rank) },
            between: prefix > 0 ? old[prefix - 1].rank : nil, and: suffix > 0 ? old[old.count - suffix].rank : nil)
        var result = ContiguousArray(old[..<prefix])
        result.reserveCapacity(models.count)
        var suffixRanks: [Int]?
        if ranks == nil {
            // No room between the neighbours: the rest of the section is given new ranks.
            let first = (prefix > 0 ? old[prefix - 1].rank : 0) + StoredSection.rankGap
            ranks = newMiddle.indices.map { first + ($0 - prefix) * StoredSection.rankGap }
            suffixRanks = (0..<suffix).map { first + (newMiddle.count + $0) * StoredSection.rankGap }
        }
        for ((new, source), rank) in zip(zip(newMiddle, sources), ranks ?? []) {
            if let source {
                var row = old[source]
                let isEqual = row.model == new.model
                let staysPut = row.rank == rank
                row.rank = rank
                if !isEqual {
                    row.content = RowContent(id: new.id, model: new.model)
                    written[row.key] = (number, row)
                    placed[row.key] = nil
                } else if written[row.key] != nil {
                    written[row.key] = (number, row)
                } else if !staysPut {
                    placed[row.key] = (number, rank)
                }
                result.append(row)
            } else {
                let row = StoredRow(key: table.nextKey, rank: rank, id: new.id, model: new.model)
                table.nextKey += 1
                written[row.key] = (number, row)
                result.append(row)
            }
        }
        for (count, row) in old[(old.count - suffix)...].enumerated() {
            var row = row
            if let suffixRanks {
                row.rank = suffixRanks[count]
                if written[row.key] != nil { written[row.key] = (number, row) } else { placed[row.key] = (number, row.rank) }
            }
            result.append(row)
        }
        // A section that is filled anew and has grown smaller can grow again.
        if let prefetched = table.sections[position].facts.prefetched, result.count < prefetched { try setPrefetched(nil, of: section) }
        table.sections[position] = try StoredSection(facts: table.sections[position].facts, rows: Array(result))
        note(section) { $0.wholeSection(section) }
    }

    /// Ascending ranks for `count` rows strictly between two neighbours, with some given; nil when a gap is too small.
    private static func ranks(for count: Int, fixed: [(position: Int, rank: Int)], between low: Int?, and high: Int?) -> [Int]? {
        var ranks: [Int] = []
        ranks.reserveCapacity(count)
        func fill(upTo end: Int, before limit: Int?) -> Bool {
            let missing = end - ranks.count
            guard missing > 0 else { return true }
            switch (ranks.last ?? low, limit) {
            case (let previous?, let limit?):
                let step = (limit - previous) / (missing + 1)
                guard step > 0 else { return false }
                for count in 1...missing { ranks.append(previous + count * step) }
            case (let previous?, nil): for count in 1...missing { ranks.append(previous + count * StoredSection.rankGap) }
            case (nil, let limit?): for count in 0..<missing { ranks.append(limit - (missing - count) * StoredSection.rankGap) }
            case (nil, nil): for count in 0..<missing { ranks.append(count * StoredSection.rankGap) }
            }
            return true
        }
        for (position, rank) in fixed {
            guard fill(upTo: position, before: rank) else { return nil }
            ranks.append(rank)
        }
        return fill(upTo: count, before: high) ? ranks : nil
    }
}

extension Refusal {
    static func noSection(_ id: SectionID) -> Refusal {
        Refusal(.sectionNotFound, "There is no section \"\(id)\" in this table.")
    }

    static func noRow(_ index: Int, in section: SectionID, of count: Int) -> Refusal {
        Refusal(.rowNotFound, "The section \"\(section)\" has \(count) rows, counted from 0: there is no row \(index).")
    }
}

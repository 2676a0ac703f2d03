extension BatchUpdate {
    /// Folds consecutive updates into one, with as few row operations and stages as can be known without the table.
    ///
    /// What is inserted and deleted again disappears. Several moves or changes of a row become one; ``state`` and
    /// ``empty`` are the last ones. If only one update has stages, they stay as they are, unchecked. The result can
    /// differ from the diff of the first and last snapshots:
    /// - A deleted row's id is known only if an earlier update changed the row. If it is, and it is inserted again, the
    ///   two are matched as in a diff; otherwise, and for sections, they stay a delete and an insert.
    /// - A row or title that was changed and changed back is still a change.
    /// - A row that only moved, so that its content is unknown, moves into an inserted section after the insert, and
    ///   out of a deleted one before the delete. A reloaded section that it enters or leaves is deleted and inserted
    ///   instead.
    ///
    /// - Throws: ``InvalidUpdate`` if there are none, or they are not consecutive or contradict each other whatever the
    ///   table.
    /// - Complexity: O(n log n) for n operations and rows of inserted and reloaded sections, however large the table.
    public static func composing(_ updates: [BatchUpdate]) throws(InvalidUpdate) -> BatchUpdate {
        guard let first = updates.first, let last = updates.last else {
            throw InvalidUpdate(detail: "there are no updates to compose")
        }
        var result = BatchUpdate(from: first.from, to: first.from, totalRowCount: last.totalRowCount)
        for update in updates {
            guard update.from == result.to else {
                throw InvalidUpdate(
                    detail: "no update to revision \(result.to) can be followed by one from \(update.from)")
            }
            result.to = update.to
            result.state = update.state ?? result.state
            result.empty = update.empty ?? result.empty
        }
        if updates.count == 1 { result.by = first.by }
        let changing = updates.filter { !$0.stages.isEmpty }
        if changing.count > 1 {
            var table = FoldedTable()
            for update in changing {
                for (number, stage) in update.stages.enumerated() {
                    do {
                        try table.apply(stage)
                    } catch {
                        throw InvalidUpdate(
                            stage: number, detail: "of the update from revision \(update.from): \(error.detail)")
                    }
                }
            }
            result.stages = FoldedDifference(table).stages()
        } else {
            result.stages = changing.first?.stages ?? []
        }
        return result
    }
}

/// What several updates changed, from them alone. Adjacent sections that none touched are one folded section, which
/// `stages` counts out.
struct FoldedDifference: ~Copyable {
    private let table: FoldedTable
    private let order: [FoldedTable.SectionPiece]
    /// How many sections each folded one was at first.
    private var counts: [Int] = []
    /// By the index in `FoldedTable.named`: the folded index at first, or -1 if inserted.
    private var oldPlaces: [Int]
    /// By the same index, after the last update.
    private var rows: [[FoldedTable.RowPiece]]
    /// By the same index: deleted and inserted, not reloaded, because a row with unknown content enters or leaves.
    private var isReplaced: [Bool]
    private var difference = TableDifference(oldPlaces: [], newPlaces: [])

    init(_ table: FoldedTable) {
        self.table = table
        order = table.order.inOrder()
        oldPlaces = Array(repeating: -1, count: table.named.count)
        rows = table.named.map { $0.isGone ? [] : $0.rows.inOrder() }
        isReplaced = Array(repeating: false, count: table.named.count)
        // In this order: each needs what the one before found.
        findReplacedSections()
        pairSections()
        compareSections()
    }

    consuming func stages() -> [BatchUpdate.Stage] {
        var counts = counts
        return difference.stages().map { $0.countingOut(&counts) }
    }

    /// Neither inserted, deleted nor reloaded.
    private func isCompared(_ section: Int) -> Bool {
        table.named[section].place != nil && !table.named[section].isGone && table.named[section].known == nil
    }

    private mutating func findReplacedSections() {
        for (index, section) in table.named.enumerated() {
            for case .before(let origin, _) in rows[index] where section.known != nil || !isCompared(origin.section) {
                isReplaced[index] = section.known != nil
                isReplaced[origin.section] = table.named[origin.section].known != nil
            }
        }
    }

    private mutating func pairSections() {
        var before: [(place: Int, count: Int, new: Int, named: Int)] = []
        for (new, piece) in order.enumerated() {
            switch piece {
            case .untouched(let place, let count): before.append((place, count, new, -1))
            case .named(let index):
                if let place = table.named[index].place {
                    before.append((place, 1, isReplaced[index] ? -1 : new, index))
                }
            }
        }
        for (index, section) in table.named.enumerated() where section.isGone {
            if let place = section.place { before.append((place, 1, -1, index)) }
        }
        before.sort { $0.place < $1.place }
        var places = Array(repeating: -1, count: order.count)
        for (old, section) in before.enumerated() {
            if section.new >= 0 { places[section.new] = old }
            if section.named >= 0 { oldPlaces[section.named] = old }
        }
        counts = before.map(\.count)
        difference = TableDifference(oldPlaces: places, newPlaces: before.map(\.new))
    }

    private mutating func compareSections() {
        let returned = returnedRows()
        var comparison = Comparison()
        for (new, piece) in order.enumerated() {
            let old = difference.oldPlaces[new]
            guard case .named(let index) = piece else {
                difference.pairs.append(.init(old: old, new: new, comparesRows: true, sectionCount: piece.count))
                continue
            }
            let section = table.named[index]
            if old >= 0 { difference.pairs.append(.init(old: old, new: new, comparesRows: section.known == nil)) }
            if let known = section.known {
                let whole = bring(known, rows[index], to: new, &comparison)
                if let pair = difference.pairs.last, pair.new == new {
                    difference.reloadedSections.append((pair, whole))
                } else {
                    difference.insertedSections.append((new, whole))
                }
            } else {
                if let pair = difference.pairs.last, !section.update.isEmpty {
                    difference.updatedSections.append((pair, section.update))
                }
                compareRows(rows[index], in: new, returned, &comparison)
            }
        }
        // `arrive` has already added what was inserted. Pairs need no counts: lists are endless, so all deletes are
        // before a run.
        difference.compareRows(&comparison.runs, &comparison.changes, insert: { _, _, _ in })
        if !comparison.leaving.isEmpty { difference.deletedRows.removeAll { comparison.leaving.contains($0) } }
    }

    /// The section with the rows whose content is known. The others become moves into it.
    private mutating func bring(
        _ section: Section, _ pieces: [FoldedTable.RowPiece], to new: Int, _ comparison: inout Comparison
    ) -> Section {
        if pieces.count == 1, case .brought(let rows, _, let count) = pieces[0], count == rows.count {
            return section.with(rows)
        }
        var rows: [Row] = [], index = 0
        for piece in pieces {
            switch piece {
            case .before(let origin, _):
                comparison.leaving.insert(place(origin))
                move(origin, to: RowPath(section: new, row: index))
            case .changed(_, let row, _), .came(let row): rows.append(row)
            case .brought(let list, let start, let count): list.forEach(in: start..<start + count) { rows.append($1) }
            }
            index += piece.count
        }
        return section.with(PersistentList(rows))
    }

    private mutating func compareRows(
        _ pieces: [FoldedTable.RowPiece], in new: Int, _ returned: ReturnedRows,
        _ comparison: inout Comparison
    ) {
        func arrive(_ row: Row, _ path: RowPath) {
            if let before = returned[path] {
                comparison.change(place(before.origin), path, to: row, before.needsReload)
            } else {
                difference.insertedRows.append(.init(at: path, row: row))
            }
        }
        var index = 0
        for piece in pieces {
            let path = RowPath(section: new, row: index)
            switch piece {
            case .before(let origin, let count) where isCompared(origin.section):
                comparison.match(place(origin), path, count: count)
            case .before(let origin, _): move(origin, to: path)
            case .changed(let origin, let row, let needsReload) where isCompared(origin.section):
                comparison.change(place(origin), path, to: row, needsReload)
            case .changed(_, let row, _), .came(let row): arrive(row, path)
            case .brought(let rows, let start, let count):
                for offset in 0..<count { arrive(rows[start + offset], RowPath(section: new, row: index + offset)) }
            }
            index += piece.count
        }
    }

    private mutating func move(_ origin: FoldedTable.Origin, to path: RowPath) {
        difference.movedRows.append(.init(from: place(origin), to: path))
    }

    private func place(_ origin: FoldedTable.Origin) -> RowPath {
        RowPath(section: oldPlaces[origin.section], row: origin.row)
    }
}

private struct Comparison {
    var runs: ContiguousArray<MatchedRun> = []
    var changes: ContiguousArray<ChangedRow> = []
    /// Old places of rows that move into inserted or reloaded sections, and must not be deleted, too.
    var leaving: Set<RowPath> = []

    mutating func match(_ old: RowPath, _ new: RowPath, count: Int) {
        runs.append(
            MatchedRun(
                oldSection: old.section, oldStart: old.row, newSection: new.section, newStart: new.row, count: count))
    }

    mutating func change(_ old: RowPath, _ new: RowPath, to row: Row, _ needsReload: Bool) {
        match(old, new, count: 1)
        changes.append(ChangedRow(row, needsReload: needsReload, old: old, new: new))
    }
}

/// By new path, rows that were deleted and inserted again.
private typealias ReturnedRows = [RowPath: (origin: FoldedTable.Origin, needsReload: Bool)]

extension FoldedDifference {
    /// Inserted rows with the id of a deleted one, in their own section if possible; across sections only if one of
    /// each remains, as in a diff.
    private func returnedRows() -> ReturnedRows {
        var deleted: [RowID: [(origin: FoldedTable.Origin, row: Row, needsReload: Bool)]] = [:]
        for gone in table.deleted where isCompared(gone.origin.section) {
            if let id = gone.row.id { deleted[id, default: []].append(gone) }
        }
        guard !deleted.isEmpty else { return [:] }
        var arrived: [RowID: [(path: RowPath, section: Int, row: Row)]] = [:]
        for (new, piece) in order.enumerated() {
            guard case .named(let section) = piece, isCompared(section) else { continue }
            var index = 0
            for piece in rows[section] {
                switch piece {
                case .came, .brought:
                    if let row = piece.content, let id = row.id, deleted[id] != nil {
                        arrived[id, default: []].append((RowPath(section: new, row: index), section, row))
                    }
                case .before, .changed: break
                }
                index += piece.count
            }
        }
        var returned: ReturnedRows = [:]
        for (id, var arrivals) in arrived {
            var departures = deleted[id] ?? []
            func match(_ departure: Int, _ arrival: Int) {
                let before = departures.remove(at: departure), after = arrivals.remove(at: arrival)
                returned[after.path] = (before.origin, before.needsReload || !before.row.looksSame(as: after.row))
            }
            for arrival in arrivals.indices.reversed() {
                let section = arrivals[arrival].section
                if let departure = departures.firstIndex(where: { $0.origin.section == section }) {
                    match(departure, arrival)
                }
            }
            if departures.count == 1, arrivals.count == 1 { match(0, 0) }
        }
        return returned
    }
}

extension Section {
    fileprivate func with(_ rows: PersistentList<Row>) -> Section {
        var section = self
        section.rows = rows
        return section
    }
}

// Adjacent sections without changes count as one while stages are computed.
extension BatchUpdate.Stage {
    /// `counts`: the sections in each folded one before the stage; on return, after it.
    func countingOut(_ counts: inout [Int]) -> BatchUpdate.Stage {
        let sizes = counts, before = Self.starts(counts)
        arrange(&counts)
        let after = Self.starts(counts)
        func counted(_ path: RowPath, _ starts: [Int]) -> RowPath {
            RowPath(section: starts[path.section], row: path.row)
        }

        var stage = self
        stage.deleteSections = deleteSections.map { before[$0] }
        stage.insertSections = insertSections.map { (after[$0.at], $0.section) }
        stage.moveSections = moveSections.flatMap { move in
            (0..<sizes[move.from]).map { (before[move.from] + $0, after[move.to] + $0) }
        }
        stage.reloadSections = reloadSections.map { (before[$0.at], $0.section) }
        for index in updateSections.indices { stage.updateSections[index].at = before[updateSections[index].at] }
        stage.deleteRows = deleteRows.map { counted($0, before) }
        stage.insertRows = insertRows.map { .init(at: counted($0.at, after), row: $0.row) }
        stage.moveRows = moveRows.map { .init(from: counted($0.from, before), to: counted($0.to, after), row: $0.row) }
        stage.reloadRows = reloadRows.map { .init(at: counted($0.at, before), row: $0.row) }
        stage.updateRows = updateRows.map { .init(at: counted($0.at, before), row: $0.row) }
        return stage
    }

    private func arrange(_ counts: inout [Int]) {
        guard !deleteSections.isEmpty || !insertSections.isEmpty || !moveSections.isEmpty else { return }
        let leaving = Set(deleteSections).union(moveSections.map(\.from))
        var arriving: [Int: Int] = [:]
        for (at, _) in insertSections { arriving[at] = 1 }
        for move in moveSections { arriving[move.to] = counts[move.from] }
        var staying = counts.indices.filter { !leaving.contains($0) }.map { counts[$0] }.makeIterator()
        counts = (0..<counts.count - leaving.count + arriving.count).compactMap { arriving[$0] ?? staying.next() }
    }

    private static func starts(_ counts: [Int]) -> [Int] {
        var end = 0
        return counts.map { count in
            defer { end += count }
            return end
        }
    }
}

/// Arranges a difference in the fewest stages that the contract ("Update") allows.
///
/// If no row moves into an inserted section or out of a deleted one, the first stage arranges the sections, and the
/// first fitting line applies. "Rows" are deletes, inserts and moves, "content" reloads and updates; semicolons
/// separate stages.
///
/// | inside moving sections | and the update contains | stages |
/// |---|---|---|
/// | neither rows nor content | not both reloads and moves | everything |
/// | no rows | | sections and rows; content |
/// | rows | no reload, or no row moves | sections; rows and content |
/// | rows, but no row moves | reloads, and rows move elsewhere | sections and other rows; these rows and content |
/// | row moves | reloads | sections; rows; content |
///
/// Otherwise there are at most three. If a row moves out of a deleted section: inserted sections and content; rows;
/// deleted and moved sections. If not: sections; rows; content.
///
/// As few sections as possible move; of equal choices, those stay whose moves would force another stage.
struct Staging: ~Copyable {
    private let difference: TableDifference
    private var sectionMoves: [Bool]
    private var plan = StagePlan()
    private var sectionList = StagedList.inOneStage(0)
    /// By `listKey`; empty if all rows are in one stage.
    private var rowLists: [Int: StagedList] = [:]

    init(_ whole: consuming TableDifference) {
        sectionMoves = Array(repeating: false, count: whole.oldPlaces.count)
        difference = whole

        var hasRowMoves = sectionMoves, hasRows = sectionMoves, hasContent = sectionMoves
        for move in difference.movedRows {
            let origin = difference.newPlaces[move.from.section]
            if origin >= 0 { hasRowMoves[origin] = true }
            hasRowMoves[move.to.section] = true
        }
        for row in difference.deletedRows { hasRows[difference.newPlaces[row.section]] = true }
        for insert in difference.insertedRows { hasRows[insert.at.section] = true }
        for change in difference.reloadedRows { hasContent[change.new.section] = true }
        for change in difference.updatedRows { hasContent[change.new.section] = true }
        for update in difference.updatedSections { hasContent[update.pair.new] = true }
        for (pair, _) in difference.reloadedSections { hasContent[pair.new] = true }
        let reloads = !difference.reloadedRows.isEmpty || !difference.reloadedSections.isEmpty

        let pairs = difference.pairs
        // What staying is worth, in this order: the number of sections, avoiding another stage, changes inside.
        let weights = pairs.map { pair in
            let isTouched = hasRowMoves[pair.new] || hasRows[pair.new] || hasContent[pair.new]
            let forcesStage = reloads ? hasRowMoves[pair.new] : isTouched
            return Int128(pair.sectionCount) << 64 + (forcesStage ? 1 << 32 : 0) + (isTouched ? 1 : 0)
        }
        for pair in pairs { sectionMoves[pair.new] = true }
        for position in IncreasingSubsequence.heaviest(pairs.map(\.old), weights: weights) {
            sectionMoves[pairs[position].new] = false
        }

        var tasks = StagePlan.Tasks()
        tasks.hasReloads = reloads
        for place in sectionMoves.indices where hasContent[place] && sectionMoves[place] {
            tasks.hasContentInMovedSections = true
        }
        tasks.sectionsMove = sectionMoves.contains(true)
        for row in difference.deletedRows { tasks.rows[task(row, nil).rawValue] = true }
        for insert in difference.insertedRows { tasks.rows[task(nil, insert.at).rawValue] = true }
        for move in difference.movedRows { tasks.rows[task(move.from, move.to).rawValue] = true }
        plan = StagePlan(for: tasks)
        findPlaces()
    }

    /// None is empty, each list is in order. O(n log n).
    func stages() -> [BatchUpdate.Stage] {
        var stages = Array(repeating: BatchUpdate.Stage(), count: plan.stageCount)
        arrangeSections(&stages)
        arrangeRows(&stages)
        changeContent(&stages[plan.content])
        for index in stages.indices { stages[index].sortLists() }
        return stages.filter { !$0.isEmpty }
    }

    private func arrangeSections(_ stages: inout [BatchUpdate.Stage]) {
        stages[plan.deletedSections].deleteSections = difference.deletedSections.map {
            place(ofOld: $0, before: plan.deletedSections)
        }
        stages[plan.insertedSections].insertSections = difference.insertedSections.map {
            (place(ofNew: $0.at, before: plan.insertedSections + 1), $0.section)
        }
        stages[plan.movedSections].moveSections = difference.pairs.filter { sectionMoves[$0.new] }.map {
            (place(ofOld: $0.old, before: plan.movedSections), place(ofNew: $0.new, before: plan.movedSections + 1))
        }
    }

    private func arrangeRows(_ stages: inout [BatchUpdate.Stage]) {
        if stages.count == 1 {
            // Mostly one stage: old indexes before it, new ones after.
            difference.arrangeRows(&stages[0])
            return
        }
        for path in difference.deletedRows {
            let stage = plan.stage(of: task(path, nil))
            stages[stage].deleteRows.append(place(ofOld: path, before: stage))
        }
        for insert in difference.insertedRows {
            let stage = plan.stage(of: task(nil, insert.at))
            stages[stage].insertRows.append(.init(at: place(ofNew: insert.at, before: stage + 1), row: insert.row))
        }
        for move in difference.movedRows {
            let stage = plan.stage(of: task(move.from, move.to))
            stages[stage].moveRows.append(
                .init(
                    from: place(ofOld: move.from, before: stage), to: place(ofNew: move.to, before: stage + 1),
                    row: move.row))
        }
    }

    private func changeContent(_ stage: inout BatchUpdate.Stage) {
        stage.reloadSections = difference.reloadedSections.map {
            (place(ofNew: $0.pair.new, before: plan.content), $0.section)
        }
        stage.updateSections = difference.updatedSections.map { update in
            var placed = update.content
            placed.at = place(ofNew: update.pair.new, before: plan.content)
            return placed
        }
        stage.reloadRows = difference.reloadedRows.map { .init(at: place(of: $0, before: plan.content), row: $0.row) }
        stage.updateRows = difference.updatedRows.map { .init(at: place(of: $0, before: plan.content), row: $0.row) }
    }
}

extension Staging {
    /// `old` or `new` is `nil` for a row in only one of the tables.
    private func task(_ old: RowPath?, _ new: RowPath?) -> StagePlan.RowTask {
        var task: StagePlan.RowTask = []
        if let old {
            let section = difference.newPlaces[old.section]
            if section < 0 {
                task.insert(.outOfDeletedSection)
            } else if sectionMoves[section] {
                task.insert(.inMovedSection)
            }
        }
        if let new {
            if difference.oldPlaces[new.section] < 0 { task.insert(.intoInsertedSection) }
            if sectionMoves[new.section] { task.insert(.inMovedSection) }
            if old != nil { task.insert(.isMove) }
        }
        return task
    }

    private mutating func findPlaces() {
        if plan.deletedSections != plan.insertedSections || plan.movedSections != plan.insertedSections {
            let moved = difference.pairs.filter { sectionMoves[$0.new] }
            sectionList = StagedList(
                leaving: difference.deletedSections.map { ($0, plan.deletedSections) }
                    + moved.map { ($0.old, plan.movedSections) },
                arriving: difference.insertedSections.map { ($0.at, plan.insertedSections) }
                    + moved.map { ($0.new, plan.movedSections) },
                stageCount: plan.stageCount)
        }
        guard plan.stageOfAllRows == nil else { return }
        var leaving: [Int: [(index: Int, stage: Int)]] = [:], arriving = leaving
        func leave(_ path: RowPath, _ stage: Int) {
            leaving[listKey(ofOld: path.section), default: []].append((path.row, stage))
        }
        func arrive(_ path: RowPath, _ stage: Int) { arriving[path.section, default: []].append((path.row, stage)) }
        for path in difference.deletedRows { leave(path, plan.stage(of: task(path, nil))) }
        for insert in difference.insertedRows { arrive(insert.at, plan.stage(of: task(nil, insert.at))) }
        for move in difference.movedRows {
            let stage = plan.stage(of: task(move.from, move.to))
            leave(move.from, stage)
            arrive(move.to, stage)
        }
        for key in Set(leaving.keys).union(arriving.keys) {
            let left = leaving[key] ?? [], arrived = arriving[key] ?? []
            let stage = left.first?.stage ?? arrived.first?.stage ?? 0
            let isOne = left.allSatisfy { $0.stage == stage } && arrived.allSatisfy { $0.stage == stage }
            rowLists[key] =
                isOne
                ? .inOneStage(stage)
                : StagedList(leaving: left, arriving: arrived, stageCount: plan.stageCount)
        }
    }

    /// The new index; negative for a deleted section.
    private func listKey(ofOld section: Int) -> Int {
        difference.newPlaces[section] >= 0 ? difference.newPlaces[section] : ~section
    }
}

// Indexes just before a stage.
extension Staging {
    private func place(ofOld section: Int, before stage: Int) -> Int {
        let new = difference.newPlaces[section]
        return sectionList.place(
            old: section, new: new, movingIn: new >= 0 && sectionMoves[new] ? plan.movedSections : nil, before: stage)
    }

    private func place(ofNew section: Int, before stage: Int) -> Int {
        sectionList.place(
            old: difference.oldPlaces[section], new: section,
            movingIn: sectionMoves[section] ? plan.movedSections : nil, before: stage)
    }

    /// Precondition: the row has not left yet.
    private func place(ofOld path: RowPath, before stage: Int) -> RowPath {
        let list = rowLists[listKey(ofOld: path.section)]
        return RowPath(
            section: place(ofOld: path.section, before: stage),
            row: list?.place(old: path.row, before: stage) ?? path.row)
    }

    /// Precondition: the row has arrived.
    private func place(ofNew path: RowPath, before stage: Int) -> RowPath {
        let list = rowLists[path.section]
        return RowPath(
            section: place(ofNew: path.section, before: stage),
            row: list?.place(new: path.row, before: stage) ?? path.row)
    }

    /// Precondition: if the row moves, it does so in another stage.
    private func place(of change: ChangedRow, before stage: Int) -> RowPath {
        let moves = plan.stage(of: task(change.old, change.new))
        guard difference.newPlaces[change.old.section] == change.new.section else {
            return stage <= moves ? place(ofOld: change.old, before: stage) : place(ofNew: change.new, before: stage)
        }
        let list = plan.stageOfAllRows.map { .inOneStage($0) } ?? rowLists[change.new.section] ?? .inOneStage(0)
        return RowPath(
            section: place(ofNew: change.new.section, before: stage),
            row: list.place(old: change.old.row, new: change.new.row, movingIn: moves, before: stage))
    }
}

extension BatchUpdate.Stage {
    mutating func sortLists() {
        deleteSections.sortAscending { UInt64(truncatingIfNeeded: $0) }
        insertSections.sortAscending { UInt64(truncatingIfNeeded: $0.at) }
        moveSections.sortAscending { UInt64(truncatingIfNeeded: $0.from) }
        reloadSections.sortAscending { UInt64(truncatingIfNeeded: $0.at) }
        updateSections.sortAscending { UInt64(truncatingIfNeeded: $0.at) }
        deleteRows.sortAscending { $0.place }
        insertRows.sortAscending { $0.at.place }
        moveRows.sortAscending { $0.from.place }
        reloadRows.sortAscending { $0.at.place }
        updateRows.sortAscending { $0.at.place }
    }
}

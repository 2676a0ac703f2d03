/// Lays a difference out in the fewest stages that the contract's rules allow.
///
/// Sections are always arranged in the first stage. What then forces a further stage:
/// - reloads never share a stage with moves;
/// - no operation may stand inside a section in the stage in which the section moves.
///
/// So, with "rows" for deletes, inserts and moves of rows, and "content" for reloads and updates:
///
/// | a moved section has | | stages |
/// |---|---|---|
/// | neither | no reload beside a move | all in one |
/// | no rows | | sections and rows, content |
/// | rows | no reload, or no row moves | sections, rows and content |
/// | rows, none of them moves | reloads, and rows move elsewhere | sections and the other sections' rows, the moved sections' rows and content |
/// | row moves | reloads | sections, rows, content |
///
/// Which sections move is chosen accordingly: as few as possible; of equal choices the one that leaves in place the
/// sections whose operations would force a stage. Source: the wire contract, "Update".
struct Staging {
    private let difference: TableDifference
    private let new: Snapshot
    /// By place in the new snapshot.
    private var sectionMoves: [Bool]
    private var rowsStageOfMoved = 0
    private var rowsStageOfOthers = 0
    private var contentStage = 0

    init(_ difference: TableDifference, to new: Snapshot) {
        self.difference = difference
        self.new = new
        sectionMoves = Array(repeating: false, count: new.sections.count)

        // What happens inside each section, by its place in the new snapshot.
        var hasRowMoves = sectionMoves, hasRows = sectionMoves, hasContent = sectionMoves
        for move in difference.movedRows {
            hasRowMoves[difference.newPlaces[move.old.section]] = true
            hasRowMoves[move.new.section] = true
        }
        for row in difference.deletedRows { hasRows[difference.newPlaces[row.section]] = true }
        for row in difference.insertedRows { hasRows[row.section] = true }
        for change in difference.reloadedRows { hasContent[change.new.section] = true }
        for change in difference.updatedRows { hasContent[change.new.section] = true }
        for update in difference.updatedSections { hasContent[update.pair.new] = true }
        for pair in difference.reloadedSections { hasContent[pair.new] = true }
        let reloads = !difference.reloadedRows.isEmpty || !difference.reloadedSections.isEmpty

        let pairs = difference.pairs
        // The number of sections that stay comes first, then how many of them would force a stage, then the others.
        let many = pairs.count + 1
        let weights = pairs.map { pair in
            let isTouched = hasRowMoves[pair.new] || hasRows[pair.new] || hasContent[pair.new]
            let forcesStage = reloads ? hasRowMoves[pair.new] : isTouched
            return many * many + (forcesStage ? many : 0) + (isTouched ? 1 : 0)
        }
        for pair in pairs { sectionMoves[pair.new] = true }
        for position in IncreasingSubsequence.heaviest(pairs.map(\.old), weights: weights) { sectionMoves[pairs[position].new] = false }

        let moved = sectionMoves.indices.filter { sectionMoves[$0] }
        let movedHaveRowMoves = moved.contains { hasRowMoves[$0] }
        let movedHaveRows = movedHaveRowMoves || moved.contains { hasRows[$0] }
        let movedHaveContent = moved.contains { hasContent[$0] }
        let rowsMove = !difference.movedRows.isEmpty
        if !movedHaveRows {
            let fitsInOne = !movedHaveContent && !(reloads && (rowsMove || !moved.isEmpty))
            contentStage = fitsInOne ? 0 : 1
        } else if !(reloads && rowsMove) {
            (rowsStageOfMoved, rowsStageOfOthers, contentStage) = (1, 1, 1)
        } else if !movedHaveRowMoves {
            (rowsStageOfMoved, rowsStageOfOthers, contentStage) = (1, 0, 1)
        } else {
            (rowsStageOfMoved, rowsStageOfOthers, contentStage) = (1, 1, 2)
        }
    }

    /// The stages, none of them empty, each list in order of its indexes. O(n log n) for n operations.
    func stages() -> [BatchUpdate.Stage] {
        var stages = Array(repeating: BatchUpdate.Stage(), count: 3)
        arrangeSections(&stages[0])
        arrangeRows(&stages)
        changeContent(&stages[contentStage])
        for index in stages.indices { stages[index].sortLists() }
        return stages.filter { !$0.isEmpty }
    }

    private func arrangeSections(_ stage: inout BatchUpdate.Stage) {
        stage.deleteSections = difference.deletedSections
        stage.insertSections = difference.insertedSections.map { ($0, new.sections[$0]) }
        stage.moveSections = difference.pairs.filter { sectionMoves[$0.new] }.map { ($0.old, $0.new) }
    }

    private func rowsStage(ofNew section: Int) -> Int { sectionMoves[section] ? rowsStageOfMoved : rowsStageOfOthers }

    /// Before the first stage sections stand in their old places, later in their new ones.
    private func place(_ oldSection: Int, before stage: Int) -> Int {
        stage == 0 ? oldSection : difference.newPlaces[oldSection]
    }

    private func arrangeRows(_ stages: inout [BatchUpdate.Stage]) {
        for row in difference.deletedRows {
            let stage = rowsStage(ofNew: difference.newPlaces[row.section])
            stages[stage].deleteRows.append(IndexPath(section: place(row.section, before: stage), row: row.row))
        }
        for path in difference.insertedRows {
            stages[rowsStage(ofNew: path.section)].insertRows.append((path, new.sections[path.section].rows[path.row]))
        }
        for move in difference.movedRows {
            let stage = rowsStage(ofNew: move.new.section)
            let from = IndexPath(section: place(move.old.section, before: stage), row: move.old.row)
            stages[stage].moveRows.append((from, move.new, move.row))
        }
    }

    private func changeContent(_ stage: inout BatchUpdate.Stage) {
        func before(_ pair: TableDifference.Pair) -> Int { place(pair.old, before: contentStage) }
        func before(_ change: ChangedRow) -> IndexPath {
            // A row that is changed in the stage in which its section's rows are arranged still has its old index.
            let isArranged = rowsStage(ofNew: change.new.section) < contentStage
            if isArranged { return change.new }
            return IndexPath(section: place(change.old.section, before: contentStage), row: change.old.row)
        }
        stage.reloadSections = difference.reloadedSections.map { (before($0), new.sections[$0.new]) }
        stage.updateSections = difference.updatedSections.map { update in
            var facts = update.facts
            facts.at = before(update.pair)
            return facts
        }
        stage.reloadRows = difference.reloadedRows.map { (before($0), $0.row) }
        stage.updateRows = difference.updatedRows.map { (before($0), $0.row) }
    }
}

extension BatchUpdate.Stage {
    mutating func sortLists() {
        deleteSections.sort()
        insertSections.sort { $0.at < $1.at }
        moveSections.sort { $0.from < $1.from }
        reloadSections.sort { $0.at < $1.at }
        updateSections.sort { $0.at < $1.at }
        deleteRows.sort()
        insertRows.sort { $0.at < $1.at }
        moveRows.sort { $0.from < $1.from }
        reloadRows.sort { $0.at < $1.at }
        updateRows.sort { $0.at < $1.at }
    }
}

/// Finds what takes a command back, and what prevents it.
///
/// What the command changed gets the value from before, unless a later command changed it, too. Those that were taken
/// back do not count. To find the values, the search goes back from the table by the later commands' undos
/// (`PastTable`, `LaterChanges`). Then it goes forward again with the places of the rows that left (`Tombstones`).
/// What it finds has indexes of the table (`UndoChange`), so that the journal's readers need no search.
struct UndoSearch {
    typealias Row = PastTable.Row

    let own: TableChange
    /// Before the command, after it, and now.
    let old: PastTable, then: PastTable
    let now: TableModel
    let nowRows: [Int: Row]
    /// By section number.
    let positions: [Int: Int]
    let later: LaterChanges
    /// Of the rows and members that the command took away.
    let rowPlaces: [Int: Tombstones<Int>.Position]
    let memberPlaces: [UTF8Key: Tombstones<UTF8Key>.Position]
    private static let conflictLimit = 100
    private var conflicts: [(pointer: JSONPointer, detail: String)] = []
    var change = UndoChange()

    /// `records` descend from the latest one.
    init(_ now: TableModel, revision: Int, _ records: [RevisionUndo]) {
        self.now = now
        positions = Dictionary(uniqueKeysWithValues: now.sections.enumerated().map { ($1.summary.number, $0) })
        own = records.first { $0.revision == revision }?.change ?? TableChange()
        var past = PastTable(now, mentionedIn: records), steps: [PastTable.Step] = []
        nowRows = past.rows
        var (old, then, later) = (past, past, LaterChanges())
        let revisions = records.map { ($0.revision, $0.undoes) }
        let undoneBy = RevisionUndo.undoneBy(revisions), redone = RevisionUndo.redone(revisions)
        for record in records {
            if record.revision == revision { then = past }
            let step = past.goBack(record)
            if record.revision == revision { old = past }
            steps.append(step)
            // A command and the undo that took it back have changed nothing together.
            let isUndone =
                undoneBy[record.revision] != nil
                || record.undoes.map { $0 > revision && undoneBy[$0] == record.revision } ?? false
            if record.revision > revision, !isUndone { later.add(step, record.change) }
        }
        (self.old, self.then, self.later) = (old, then, later)
        let comeBack = Set(records.compactMap(\.undoes) + [revision])
        var rows = Tombstones<Int>(), members = Tombstones<UTF8Key>()
        for (record, step) in zip(records, steps).reversed() {
            // What a redo takes away can come back like what the command took away.
            let first = redone[record.revision] ?? record.revision
            let undoes = record.undoes.map { redone[$0] ?? $0 }
            rows.apply(step.rows, at: first, undoing: undoes, canComeBack: comeBack.contains(first))
            members.apply(step.state, at: first, undoing: undoes, canComeBack: comeBack.contains(first))
        }
        let first = redone[revision] ?? revision, undone = Set(undoneBy.keys)
        rowPlaces = rows.places(leftAt: first, undone: undone)
        memberPlaces = members.places(leftAt: first, undone: undone)
    }

    mutating func run() throws(Refusal) -> UndoChange {
        takeBackSections()
        takeBackRows()
        takeBackRest()
        guard conflicts.isEmpty else {
            throw Refusal(
                .undoConflict,
                "The command cannot be taken back: later revisions changed what it changed.",
                faults: conflicts.map { .init(pointer: $0.pointer, code: .conflict, detail: $0.detail) })
        }
        return change
    }
}

extension UndoSearch {
    func section(numbered number: Int) -> StoredSection? { positions[number].map { now.sections[$0] } }

    func sectionID(_ number: Int) -> SectionID? {
        section(numbered: number)?.id ?? old.sections[number]?.id
    }

    mutating func conflict(_ pointer: JSONPointer, _ detail: String = "a later revision changed it") {
        guard conflicts.count < Self.conflictLimit else { return }
        if !conflicts.contains(where: { $0.pointer == pointer }) { conflicts.append((pointer, detail)) }
    }

    mutating func conflict(inSection number: Int) {
        conflict(JSONPointer(tokens: ["sections", sectionID(number)?.text ?? "\(number)"]))
    }

    /// By id, or by its index if it is still there.
    mutating func conflict(_ row: Row?, _ detail: String = "a later revision changed it") {
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
    package var change: TableChange

    package init(revision: Int, undoes: Int? = nil, change: TableChange) {
        self.revision = revision
        self.undoes = undoes
        self.change = change
    }

    /// The revisions that are taken back, each with the one that did. `records` descend: an undo can be undone itself.
    package static func undoneBy(_ records: [(revision: Int, undoes: Int?)]) -> [Int: Int] {
        var undoneBy: [Int: Int] = [:]
        for (revision, undoes) in records where undoneBy[revision] == nil {
            if let undoes { undoneBy[undoes] = revision }
        }
        return undoneBy
    }

    /// The redos, each with the command that it did again. `records` descend.
    static func redone(_ records: [(revision: Int, undoes: Int?)]) -> [Int: Int] {
        let undone = Dictionary(uniqueKeysWithValues: records.map { ($0.revision, $0.undoes) })
        var redone: [Int: Int] = [:]
        for (revision, undoes) in records.reversed() {
            guard let undoes, let command = undone[undoes] ?? nil else { continue }
            redone[revision] = redone[command] ?? command
        }
        return redone
    }

    /// From where on the records tell the places of all rows that come back. `records` descend from the latest one.
    package static func start(of revision: Int, in records: [(revision: Int, undoes: Int?)]) -> Int {
        var start = revision
        for (revision, undoes) in records {
            guard revision >= start else { break }
            if let undoes { start = min(start, undoes) }
        }
        return start
    }
}

extension TableModel {
    /// Takes one revision back. `records` descend from the latest one, beyond the revision to the
    /// ``RevisionUndo/start(of:in:)`` if they can. Throws `undoConflict`.
    ///
    /// - Complexity: O(rows + changes · log rows).
    package func undo(_ revision: Int, by records: [RevisionUndo]) throws(Refusal) -> UndoChange {
        var search = UndoSearch(self, revision: revision, records)
        return try search.run()
    }
}

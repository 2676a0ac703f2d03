import TestSupport
import Testing
@testable import BraidEngine

@Suite struct TouchedRowsTests {
    private func edits(_ note: (inout TouchedRows) -> Void) -> (removed: [Int], inserted: [Int], replaced: [Int])? {
        var touched = TouchedRows()
        note(&touched)
        guard case .edits(let edits) = touched.rows(in: "A") else { return nil }
        return (edits.removed, edits.inserted, edits.replaced)
    }

    @Test("The index of a recorded edit counts in the list at the moment of the edit")
    func indexes() {
        let found = edits {
            $0.insert(in: "A", at: 5)
            $0.remove(in: "A", at: 0)
            $0.insert(in: "A", at: 0)
            $0.replace(in: "A", at: 3)
            $0.remove(in: "A", at: 9)
            $0.replace(in: "A", at: 5)
        }
        #expect(found! == ([0, 8], [0, 5], [3]))
    }

    @Test("The record of edits forgets an inserted row that is removed again")
    func whatIsUndoneIsForgotten() {
        var touched = TouchedRows()
        touched.insert(in: "A", at: 4)
        touched.replace(in: "A", at: 4)
        touched.remove(in: "A", at: 4)
        guard case .untouched = touched.rows(in: "A") else { return #expect(Bool(false)) }
        guard case .untouched = touched.rows(in: "B") else { return #expect(Bool(false)) }
        touched.wholeSection("A")
        touched.insert(in: "A", at: 4)
        guard case .whole = touched.rows(in: "A") else { return #expect(Bool(false)) }
    }

    /// Against a list with the same edits.
    @Test("Any sequence of edits is recorded correctly")
    func anySequenceOfEdits() {
        var random = SeededGenerator(seed: 11)
        for _ in 0..<DiffRuns.count / 20 {
            let before = Array(0..<random.below(12))
            var rows: [Int?] = before, isReplaced: Set<Int> = [], touched = TouchedRows()
            for _ in 0..<random.below(20) {
                switch random.below(3) {
                case 0:
                    let index = random.below(rows.count + 1)
                    rows.insert(nil, at: index)
                    touched.insert(in: "A", at: index)
                case 1 where !rows.isEmpty:
                    let index = random.below(rows.count)
                    rows.remove(at: index)
                    touched.remove(in: "A", at: index)
                default:
                    guard !rows.isEmpty else { continue }
                    let index = random.below(rows.count)
                    if let row = rows[index] { isReplaced.insert(row) }
                    touched.replace(in: "A", at: index)
                }
            }
            let removed = before.filter { !rows.contains($0) }
            let inserted = rows.indices.filter { rows[$0] == nil }
            let replaced = rows.indices.filter { index in rows[index].map { isReplaced.contains($0) } ?? false }
            switch touched.rows(in: "A") {
            case .edits(let edits):
                #expect(edits.removed == removed && edits.inserted == inserted && edits.replaced == replaced)
            case .untouched: #expect(removed.isEmpty && inserted.isEmpty && replaced.isEmpty)
            case .whole: Issue.record("whole")
            }
        }
    }

    /// Wrong notes may only make the diff slower.
    @Test("An update is correct even if the recorded edits are wrong")
    func notesAreNotTrusted() throws {
        let old = Snapshot.make("A: a b c", "B: d e"), new = Snapshot.make("A: c a1 b x", "B: e d1")
        for note in 0..<4 {
            var touched = TouchedRows()
            if note & 1 != 0 { touched.insert(in: "A", at: 3) }
            if note & 2 != 0 { touched.replace(in: "B", at: 1) }
            let update = try BatchUpdate(from: old, to: new, touched: touched)
            try check(update, old, new)
            #expect(update.rowOperationCount == 3)
        }
    }

    @Test("Recording a hundred thousand edits is fast")
    func aHundredThousandEdits() {
        var touched = TouchedRows()
        for index in 0..<100_000 { touched.insert(in: "A", at: (index * 7_919) % (index + 1)) }
        guard case .edits(let edits) = touched.rows(in: "A") else { return #expect(Bool(false)) }
        #expect(edits.inserted.count == 100_000)
    }

    /// Recording so many costs more than it saves.
    @Test("Very many edits are recorded as a change of the whole section")
    func manyEdits() {
        var replaced = TouchedRows()
        replaced.edit(
            in: "s",
            TouchedRows.Edits([.init(start: nil, count: 50_000), .init(start: 50_000, count: RowPieces.endless)]))
        var touched = replaced
        touched.append(replaced)
        guard case .edits(let edits) = touched.rows(in: "s") else { return #expect(Bool(false)) }
        #expect(edits.removed == Array(0..<50_000) && edits.inserted == edits.removed && edits.replaced == [])
        for _ in 0..<2 { touched.append(touched) }
        guard case .whole = touched.rows(in: "s") else { return #expect(Bool(false)) }
    }
}

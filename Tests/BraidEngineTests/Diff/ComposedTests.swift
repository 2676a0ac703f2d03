import TestSupport
import Testing
@testable import BraidEngine

@Suite struct ComposedTests {
    @Test("Updates between any tables can be composed", arguments: 0..<4)
    func updatesBetweenAnyTables(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(200 + seed) << 32)
        for _ in 0..<DiffRuns.count / 32 {
            try checkComposing((0..<2 + random.below(4)).map { random.snapshot().at($0) })
        }
    }

    @Test("The updates of random edits can be composed", arguments: 0..<4)
    func updatesOfEdits(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(300 + seed) << 32)
        var asDirect = 0
        for _ in 0..<DiffRuns.count / 32 {
            var table = EditedTable(&random)
            if random.below(2) == 0 { table.displayed = [0, 1, 2] }
            var tables = [table.snapshot]
            for revision in 1...2 + random.below(8) {
                for _ in 0..<random.below(3) { table.edit(&random) }
                tables.append(table.snapshot.at(revision))
            }
            let (updates, composed) = try checkComposing(tables)
            // Nothing is lost if all sections are diffable and always displayed: then it is as small as the direct
            // update.
            let allIsKnown =
                updates.allSatisfy(\.keepsSections) && tables[0].sections.count { $0.isDiffable } == 3
                && tables[0].sections.count == 3
            guard allIsKnown else { continue }
            asDirect += 1
            let direct = try BatchUpdate(from: tables[0], to: tables[tables.count - 1])
            #expect(
                composed.rowOperationCount == direct.rowOperationCount,
                "\(updates.map(\.json))\n\(composed.json)\n\(direct.json)")
        }
        #expect(asDirect > DiffRuns.count / 400)
    }

    @Test("The updates of random commands can be composed", arguments: 0..<4)
    func updatesOfCommands(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(400 + seed) << 32)
        for _ in 0..<TestEffort.cases(20) {
            let description = try TableDescription(RandomTable.description(&random))
            var table = try description.openingTable()
            var tables = [try description.binder.snapshot(of: table, revision: 0, now: RandomCommandTests.now)]
            var updates: [BatchUpdate] = [], unpublished: Unpublished?
            for _ in 0..<30 {
                let shown = tables[tables.count - 1],
                    command = RandomTable.command(for: shown, binder: description.binder, &random)
                guard
                    let outcome = try? description.binder.applying(
                        command, to: table, shown: shown, unpublished: unpublished, now: RandomCommandTests.now),
                    outcome.snapshot.revision > shown.revision
                else { continue }
                (table, unpublished) = (outcome.table, outcome.unpublished)
                tables.append(outcome.snapshot)
                updates.append(outcome.update)
                let first = updates.count - min(updates.count, 1 + random.below(12))
                try checkComposing(Array(tables[first...]), Array(updates[first...]))
            }
        }
    }

    @Test("A change that a later update undoes is not in the composed update")
    func whatIsUndoneVanishes() throws {
        func composed(_ tables: String...) throws -> String {
            let tables = tables.enumerated().map { Snapshot.make($1, revision: $0) }
            let updates = try zip(tables, tables.dropFirst()).map { try BatchUpdate(from: $0, to: $1) }
            let stages = try BatchUpdate.composing(updates).json["stages"]
            return stages?.text ?? ""
        }
        #expect(try composed("A: a b c", "A: a x b c", "A: a b c") == "[]")
        #expect(try composed("A: a b c", "A: b c a", "A: a b c") == "[]")
        #expect(try composed("A: a b c", "A: b a c", "A: b c a") == #"[{"moveRows":[{"from":[0,0],"to":[0,2]}]}]"#)
        #expect(
            try composed("A: a b", "A: a1 b", "A: a2 b")
                == #"[{"reloadRows":[{"at":[0,0],"row":{"id":"a","cell":"Cell","model":2}}]}]"#)
        #expect(
            try composed("A: a b", "A: a1! b", "A: a2! b")
                == #"[{"updateRows":[{"at":[0,0],"row":{"id":"a","cell":"Cell","model":2}}]}]"#)
        #expect(
            try composed("A: a b", "A: a1 b", "A: a2! b")
                == #"[{"reloadRows":[{"at":[0,0],"row":{"id":"a","cell":"Cell","model":2}}]}]"#)
        // The first update shows `a`'s id, so the row is recognized when it is inserted again.
        #expect(
            try composed("A: a b c", "A: a1 b c", "A: b c", "A: b c a1")
                == #"[{"moveRows":[{"from":[0,0],"to":[0,2]}]},{"reloadRows":[{"at":[0,2],"row":{"id":"a","cell":"Cell","model":1}}]}]"#
        )
        #expect(
            try composed("A: a b", "A: b", "A: a b")
                == #"[{"deleteRows":[[0,0]],"insertRows":[{"at":[0,0],"row":{"id":"a","cell":"Cell"}}]}]"#)
    }

    /// Only moved, so its content is unknown: it must leave one section before the delete, and enter another after the
    /// insert.
    @Test("A composed update can move a row out of a deleted section and into an inserted one")
    func movesBetweenChangedSections() throws {
        let tables = [
            Snapshot.make("A: a b", "B: c"), Snapshot.make("A: a", "B: c b", revision: 1),
            Snapshot.make("B: c b", "C: x", revision: 2),
            Snapshot.make("B: c", "C: b x", revision: 3),
        ]
        let (_, composed) = try checkComposing(tables)
        #expect(composed.stages.count == 3)
        #expect(composed.rowOperationCount == 1)
    }

    @Test("A composed update contains the newest state and the newest member `empty`")
    func stateAndEmpty() throws {
        let updates = [
            BatchUpdate(from: 3, to: 4, totalRowCount: 0, state: .emptyObject, empty: .string("none")),
            BatchUpdate(from: 4, to: 5, totalRowCount: 0, empty: .null), BatchUpdate(from: 5, to: 7, totalRowCount: 0),
        ]
        #expect(
            try BatchUpdate.composing(updates).json.text
                == #"{"from":3,"to":7,"stages":[],"totalRowCount":0,"state":{},"empty":null}"#)
    }

    @Test("Composing refuses an update that cannot follow the preceding one")
    func wrongOrder() throws {
        func fault(_ updates: BatchUpdate...) -> String? {
            do {
                _ = try BatchUpdate.composing(updates)
                return nil
            } catch {
                return error.description
            }
        }
        func update(_ from: Int, _ fill: (inout BatchUpdate.Stage) -> Void) -> BatchUpdate {
            var stage = BatchUpdate.Stage()
            fill(&stage)
            return BatchUpdate(from: from, to: from + 1, stages: [stage], totalRowCount: 0)
        }
        let empty = BatchUpdate(from: 1, to: 2, totalRowCount: 0)
        let one = update(0) { $0.reloadSections = [(0, .make("A: a b"))] }
        #expect(fault() == "there are no updates to compose")
        #expect(fault(one, one) == "no update to revision 1 can be followed by one from 0")
        #expect(fault(one, empty) == nil)
        #expect(
            fault(one, update(1) { $0.deleteRows = [.init(section: 0, row: 2)] })
                == "stage 0: of the update from revision 1: there is no row [0,2]")
        #expect(
            fault(one, update(1) { $0.insertRows = [.init(at: .init(section: 0, row: 3), row: .make("c"))] }) != nil)
        #expect(
            fault(one, update(1) { $0.reloadRows = [.init(at: .init(section: 0, row: 0), row: .make("b"))] }) != nil)
        #expect(fault(one, update(1) { $0.reloadSections = [(0, .make("B: a"))] }) != nil)
        #expect(fault(one, update(1) { $0.deleteSections = [4, 4] }) != nil)
        #expect(fault(one, update(1) { $0.deleteSections = [-1] }) != nil)
        #expect(fault(one, update(1) { $0.moveSections = [(3, .max)] }) != nil)
    }

    /// They need not fit any table.
    @Test("Composing updates with impossible indexes does not crash")
    func anyIndexesAreTaken() throws {
        var random = SeededGenerator(seed: 17 << 32)
        var composed = 0
        for _ in 0..<DiffRuns.count / 4 {
            let updates = (0..<2 + random.below(2)).map { revision in
                BatchUpdate(
                    from: revision, to: revision + 1, stages: (0...random.below(2)).map { _ in random.stage() },
                    totalRowCount: 0)
            }
            guard let result = try? BatchUpdate.composing(updates) else { continue }
            composed += 1
            #expect(result.stages.count <= 3)
            _ = result.sequentialJSON
            // A section may contain an id twice, so not all can be decoded.
            if let decoded = try? BatchUpdate(json: result.json) { #expect(decoded.json == result.json) }
        }
        #expect(composed > DiffRuns.count / 400)
    }

    /// The cost depends on operations, not on the table's size or the rows' places.
    @Test("Many edits of a large table are composed quickly")
    func manyEdits() throws {
        var random = SeededGenerator(seed: 19 << 32)
        var rows = (0..<100_000).map { Row.make("r\($0)") }
        rows = rows.enumerated().map { Row(parts: RowParts(id: RowID("r\($0)"), cell: "Cell", model: $1.model)) }
        var table = Snapshot(sections: [Section(id: "A", rows: PersistentList(rows))])
        let first = table
        var updates: [BatchUpdate] = []
        for revision in 1...1_000 {
            var next = table.at(revision)
            let index = random.below(next.sections[0].rows.count)
            var stage = BatchUpdate.Stage()
            let path = RowPath(section: 0, row: index)
            switch random.below(4) {
            case 0:
                stage.deleteRows = [path]
                next.sections[0].rows.remove(at: index)
            case 1:
                let row = Row(parts: RowParts(id: RowID("n\(revision)"), cell: "Cell"))
                stage.insertRows = [.init(at: path, row: row)]
                next.sections[0].rows.insert(row, at: index)
            case 2:
                let target = random.below(next.sections[0].rows.count)
                stage.moveRows = [.init(from: path, to: RowPath(section: 0, row: target))]
                next.sections[0].rows.insert(next.sections[0].rows.remove(at: index), at: target)
            default:
                let row = Row(
                    parts: RowParts(id: next.sections[0].rows[index].id, cell: "Cell", model: .number(revision)))
                stage.reloadRows = [.init(at: path, row: row)]
                next.sections[0].rows[index] = row
            }
            next.totalRowCount = next.sections[0].rows.count
            updates.append(
                BatchUpdate(from: revision - 1, to: revision, stages: [stage], totalRowCount: next.totalRowCount))
            table = next
        }
        let composed = try BatchUpdate.composing(updates)
        #expect(try composed.applied(to: first).json == table.json)
        #expect(composed.stages.count == 2)
        #expect(try composed.rowOperationCount == BatchUpdate(from: first, to: table).rowOperationCount)
    }
}

/// Leads from the first table to the last, keeps every rule for stages, and has no more row operations than its parts.
/// So do two halves, and updates that were encoded and decoded.
@discardableResult
private func checkComposing(_ tables: [Snapshot], _ given: [BatchUpdate]? = nil) throws -> (
    updates: [BatchUpdate], composed: BatchUpdate
) {
    let updates = try given ?? zip(tables, tables.dropFirst()).map { try BatchUpdate(from: $0, to: $1) }
    let first = tables[0], last = tables[tables.count - 1]
    guard !updates.isEmpty else {
        return ([], BatchUpdate(from: first.revision, to: first.revision, totalRowCount: first.totalRowCount))
    }
    let composed = try BatchUpdate.composing(updates)
    try check(composed, first, last)
    func about() -> Comment { "\(tables.map(\.json))\n\(updates.map(\.json))\n\(composed.json)" }
    func sum(_ count: (BatchUpdate) -> Int) -> Int { updates.reduce(0) { $0 + count($1) } }
    #expect(composed.stages.count <= 3, about())
    #expect(composed.rowOperationCount <= sum(\.rowOperationCount), about())
    // Of two rows that change places, the update may move either. Moving the one without new content needs one more
    // operation.
    let plainMoves = composed.stages.reduce(0) { $0 + $1.moveRows.count { $0.row == nil } }
    #expect(composed.operationCount <= sum(\.operationCount) + plainMoves, about())
    if updates.count == 1 { #expect(composed.json == updates[0].json) }

    let cut = updates.count / 2
    if cut > 0 {
        try check(.composing([.composing(Array(updates[..<cut])), .composing(Array(updates[cut...]))]), first, last)
    }
    // Some titles cannot be decoded from JSON.
    guard let decodedFirst = try? Snapshot(json: first.json),
        let decoded = try? updates.map({ try BatchUpdate(json: $0.json) })
    else {
        return (updates, composed)
    }
    #expect(decoded.map(\.json) == updates.map(\.json))
    #expect(try BatchUpdate.composing(decoded).json == composed.json, about())
    #expect(try BatchUpdate(json: composed.json).applied(to: decodedFirst).json == last.json)
    return (updates, composed)
}

extension BatchUpdate {
    /// Of every kind.
    fileprivate var operationCount: Int {
        rowOperationCount + sectionOperationCount
            + stages.reduce(0) {
                $0 + $1.reloadSections.count + $1.updateSections.count + $1.reloadRows.count + $1.updateRows.count
            }
    }

    fileprivate var keepsSections: Bool {
        stages.allSatisfy { $0.insertSections.isEmpty && $0.deleteSections.isEmpty && $0.reloadSections.isEmpty }
    }
}

extension SeededGenerator {
    /// They need not fit together or any table.
    fileprivate mutating func stage() -> BatchUpdate.Stage {
        var random = self
        defer { self = random }
        func index() -> Int {
            random.below(20) == 0
                ? [-1, .min, .max, .max / 4, .max / 4 - 1, .max / 8][random.below(6)] : random.below(4)
        }
        func path() -> RowPath { RowPath(section: index(), row: index()) }
        func row() -> Row { .make("abcd".map(String.init)[random.below(4)]) }
        func list<Element>(_ make: () -> Element) -> [Element] {
            random.below(3) == 0 ? (0...random.below(2)).map { _ in make() } : []
        }
        var stage = BatchUpdate.Stage()
        stage.deleteSections = list(index)
        stage.insertSections = list { (index(), .make(["A: a b", "B:", "C: d"][random.below(3)])) }
        stage.moveSections = list { (index(), index()) }
        stage.reloadSections = list { (index(), .make(["A: a b", "B:", "C: d"][random.below(3)])) }
        stage.updateSections = list { .init(at: index(), header: .null) }
        stage.deleteRows = list(path)
        stage.insertRows = list { .init(at: path(), row: row()) }
        stage.moveRows = list { .init(from: path(), to: path(), row: random.below(3) == 0 ? row() : nil) }
        stage.reloadRows = list { .init(at: path(), row: row()) }
        stage.updateRows = list { .init(at: path(), row: row()) }
        return stage
    }
}

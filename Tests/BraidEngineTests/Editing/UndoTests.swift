import TestSupport
import Testing

@testable import BraidEngine

/// Three users send random commands; then one of them is taken back.
@Suite struct UndoTests {
    @Test(
        "Taking a command back leads to the table without it, with the same ids, or reports what prevents it",
        arguments: 0..<8)
    func tableWithoutIt(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        var taken = 0, refused = 0
        for _ in 0..<TestEffort.cases(250) {
            var history = try History(RandomUndo.description(&random))
            while history.steps.count < 8 { history.perform(RandomUndo.step(in: history, &random)) }
            let chosen = Int.random(in: 0..<history.steps.count, using: &random)
            // What is undone already, and undos of it, have no table without them.
            guard !history.steps.contains(where: { $0.step == .undo(of: chosen) }) else { continue }
            // A row put above one that the command moved would be elsewhere without it.
            guard history.moved(by: chosen).isDisjoint(with: history.anchors(after: chosen)) else { continue }
            guard let expected = try history.without(chosen) else { continue }
            // Also from a journal that does not reach further back than the command.
            if let undo = try? history.undo(chosen, readingAll: false) {
                var played = history.played
                let outcome = try played.perform(.undo(undo))
                #expect(rows(outcome.table) == rows(expected.table), "\(history.described(chosen))")
            }
            do {
                let before = history.played.table
                let outcome = try history.takeBack(chosen)
                taken += 1
                let described = history.described(chosen)
                #expect(content(outcome.table) == content(expected.table), "\(described)")
                // A redo restores even what the store keeps of each row, but its rank.
                try history.check(outcome)
                let back = try history.takeBack(history.steps.count - 1)
                try history.check(back)
                #expect(keys(back.table) == keys(before), "\(described)")
                let again = try history.takeBack(chosen)
                try history.check(again)
                #expect(content(again.table) == content(expected.table), "\(described)")
            } catch let refusal as Refusal {
                #expect(refusal.code == .undoConflict, "\(refusal)")
                #expect(!refusal.faults.isEmpty)
                refused += 1
            }
        }
        #expect(taken > TestEffort.cases(100), "\(taken) taken back, \(refused) refused")
        #expect(refused > TestEffort.cases(10))
    }

    @Test("All commands can be taken back one by one, the last first, and done again")
    func allTheWay() throws {
        var random = SeededGenerator(seed: 99)
        for _ in 0..<TestEffort.cases(60) {
            var history = try History(RandomUndo.description(&random))
            var tables = [keys(history.played.table)]
            while history.steps.count < 6 {
                history.perform(RandomUndo.step(in: history, undos: false, &random))
                if tables.count == history.steps.count { tables.append(keys(history.played.table)) }
            }
            let count = history.steps.count
            for step in (0..<count).reversed() {
                let outcome = try history.takeBack(step)
                try history.check(outcome)
                #expect(keys(history.played.table) == tables[step])
            }
            for step in 0..<count {
                let outcome = try history.takeBack(2 * count - 1 - step)
                try history.check(outcome)
                #expect(keys(history.played.table) == tables[step + 1])
            }
        }
    }

    private func undone(_ first: RandomUndo.Step, _ others: RandomUndo.Step..., in text: String = RandomUndo.plain)
        throws -> [String]
    {
        var history = try History(JSONText(parsing: text))
        for step in [first] + others { history.perform(step) }
        try #require(history.steps.count == others.count + 1)
        do {
            _ = try history.takeBack(0)
            return []
        } catch let refusal as Refusal {
            return refusal.faults.map(\.pointer.description)
        }
    }

    @Test("A conflict names the row, the title, the member of the state, or the section")
    func pointers() throws {
        let edit = RandomUndo.Step.tap("a1")
        #expect(try undone(edit, .tap("a1")) == ["/sections/a/rows/a1", "/state/t_a1"])
        #expect(try undone(edit, .delete("a1")).contains("/sections/a/rows/a1"))
        #expect(try undone(edit, .models("a", ["a2": 9])) == ["/sections/a"])
        #expect(try undone(.header("a", "1"), .header("a", "2")) == ["/sections/a/header"])
        #expect(try undone(.state(["k1": "1"]), .state(["k1": "2"])) == ["/state/k1"])
    }

    @Test("Moves of the row and around it, and other titles and members, are no conflict")
    func noConflicts() throws {
        #expect(try undone(.patch("a1", 7), .moveEnd("a1", "b")) == [])
        #expect(try undone(.delete("a1"), .moveEnd("a0", "b"), .moveBefore("a2", "b1")) == [])
        #expect(try undone(.move("a1", before: "a0"), .patch("a1", 7)) == [])
        #expect(try undone(.header("a", "1"), .header("b", "2")) == [])
        #expect(try undone(.state(["k1": "1"]), .state(["k2": "2"])) == [])
    }

    @Test("A redo can be taken back, and done again, too")
    func redos() throws {
        var history = try History(JSONText(parsing: RandomUndo.plain))
        history.perform(.both(.delete("a1"), .moveBefore("b0", "a0")))
        history.perform(.delete("a0"))
        let done = keys(history.played.table)
        for round in 0..<3 {
            _ = try history.takeBack(round == 0 ? 0 : history.steps.count - 1)
            let undone = content(history.played.table)
            #expect(history.played.table["a"]?.rows.map { $0.id?.text } == ["a1", "a2"])
            _ = try history.takeBack(history.steps.count - 1)
            #expect(keys(history.played.table) == done)
            _ = try history.takeBack(history.steps.count - 1)
            #expect(content(history.played.table) == undone)
            _ = try history.takeBack(history.steps.count - 1)
            #expect(keys(history.played.table) == done)
        }
    }

    @Test("A row is not brought back to where it cannot be told from others that came and left")
    func unclearPlaces() throws {
        // Between the two, `b1` came above or below the place of `a1`.
        #expect(
            try undone(.delete("a1"), .both(.moveBefore("b1", "a0"), .moveBefore("a0", "b1"))) == [
                "/sections/a/rows/a1"
            ])
        #expect(try undone(.delete("a1"), .moveBefore("b1", "a0"), .moveBefore("a0", "b1")) == [])
    }

    @Test("A row that comes back goes after its nearest old neighbour above, before rows that came since")
    func places() throws {
        var history = try History(JSONText(parsing: RandomUndo.plain))
        for step: RandomUndo.Step in [
            .delete("a1"), .delete("a0"), .insertBefore("a2", "n", 1), .insertEnd("a", "z", 1),
        ] {
            history.perform(step)
        }
        _ = try history.takeBack(0)
        #expect(history.played.table["a"]?.rows.map { $0.id?.text } == ["a1", "n", "a2", "z"])
        _ = try history.takeBack(1)
        #expect(history.played.table["a"]?.rows.map { $0.id?.text } == ["a0", "a1", "n", "a2", "z"])
    }
}

/// Without keys and ranks, which nobody sees.
private func rows(_ table: TableModel) -> String {
    let sections = table.sections.map { section in
        "\(section.id) \(section.summary.header?.text ?? "-") \(section.summary.footer?.text ?? "-"): "
            + section.rows.map { "\($0.id?.text ?? "-")=\($0.model.text)" }.joined(separator: " ")
    }
    return sections.joined(separator: "\n")
}

private func content(_ table: TableModel) -> String {
    rows(table) + "\n\(table.state.text) \(table.displayedSections?.description ?? "-") \(table.cells.json.text)"
}

private func keys(_ table: TableModel) -> String {
    content(table)
        + table.sections.map { "\n\($0.summary.number) " + $0.rows.map { "\($0.key)" }.joined(separator: " ") }.joined()
}

/// A table with what led to it.
private struct History {
    struct Done {
        var step: RandomUndo.Step
        var kind: Outcome.Kind
        var undo: RevisionUndo
    }

    let text: JSONText
    let binder: Binder
    var played: Played
    var steps: [Done] = []
    private let start: TableModel

    init(_ text: JSONText) throws {
        self.text = text
        let description = try TableDescription(text)
        binder = description.binder
        start = try description.openingTable()
        played = try Played(binder: binder, table: start)
    }

    /// Refused and ignored ones are left out.
    mutating func perform(_ step: RandomUndo.Step) {
        let before = played
        guard let (outcome, undo) = try? perform(step), outcome.kind == .applied else { return played = before }
        note(step, outcome, undo)
    }

    private mutating func note(_ step: RandomUndo.Step, _ outcome: Outcome, _ undo: Undo?) {
        var undoes: Int?
        if case .revision(let revision)? = undo?.target { undoes = revision }
        steps.append(
            Done(
                step: step, kind: outcome.kind,
                undo: RevisionUndo(
                    revision: steps.count + 1, undoes: undoes, change: outcome.undo)))
    }

    private mutating func perform(_ step: RandomUndo.Step) throws -> (Outcome, Undo?) {
        if case .undo(let index) = step {
            guard steps.indices.contains(index) else { throw Refusal(.badRequest, "none") }
            let undo = try undo(index)
            return (try played.perform(.undo(undo)), undo)
        }
        if case .both(let one, let other) = step {
            // What changes nothing is not in the journal, but might change something without another command.
            var parts = played
            for part in [one, other] {
                guard try parts.perform(part.command(in: played.table)).kind == .applied else {
                    throw Refusal(.badRequest, "nothing to do")
                }
            }
        }
        return (try played.perform(step.command(in: played.table)), nil)
    }

    func undo(_ index: Int, readingAll: Bool = true) throws -> Undo {
        var undo = Undo(.revision(index + 1))
        let records = steps.reversed().map(\.undo)
        let start =
            readingAll ? RevisionUndo.start(of: index + 1, in: records.map { ($0.revision, $0.undoes) }) : index + 1
        undo.change = try played.table.undo(index + 1, by: Array(records.prefix { $0.revision >= start }))
        // As the journal has it.
        let text = undo.json
        let read = try Undo(json: text)
        #expect(read.json == text)
        return read
    }

    private var last: Snapshot?, lastTable = TableModel()

    mutating func takeBack(_ index: Int) throws -> Outcome {
        (last, lastTable) = (played.snapshot, played.table)
        let undo = try undo(index), outcome = try played.perform(.undo(undo))
        note(.undo(of: index), outcome, undo)
        return outcome
    }

    /// A strict table view accepts the update, and the store writes what leads there.
    func check(_ outcome: Outcome) throws {
        let before = try #require(last)
        guard outcome.kind == .applied else { return }
        try RandomCommandTests.check(outcome, after: lastTable)
        #expect(try outcome.update.applied(to: before).text == outcome.snapshot.text)
        #expect(RandomCommandTests.replaying(outcome.update, on: before) == outcome.snapshot.text)
        let anew = try binder.snapshot(
            of: outcome.table, revision: outcome.snapshot.revision, now: RandomCommandTests.now)
        #expect(outcome.snapshot.text == anew.text)
    }

    /// `nil` if one of the others is possible only with it, or does something else without it.
    func without(_ index: Int) throws -> Played? {
        var other = try History(text)
        for (number, done) in steps.enumerated() {
            if number == index {
                // Keeps the numbers of the steps.
                other.steps.append(
                    Done(
                        step: done.step, kind: .unchanged,
                        undo: RevisionUndo(revision: number + 1, undoes: nil, change: TableChange())))
                continue
            }
            guard let (outcome, undo) = try? other.perform(done.step), outcome.kind == done.kind else { return nil }
            other.note(done.step, outcome, undo)
        }
        return other.played
    }

    func moved(by index: Int) -> Set<String> {
        func moved(_ step: RandomUndo.Step) -> Set<String> {
            switch step {
            case .moveBefore(let id, _), .moveEnd(let id, _): [id]
            case .models(_, let models): Set(models.keys)
            case .both(let one, let other): moved(one).union(moved(other))
            case .undo(let index): moved(steps[index].step)
            default: []
            }
        }
        return moved(steps[index].step)
    }

    func anchors(after index: Int) -> Set<String> {
        func anchors(_ step: RandomUndo.Step) -> Set<String> {
            switch step {
            case .moveBefore(_, let id), .insertBefore(let id, _, _): [id]
            case .both(let one, let other): anchors(one).union(anchors(other))
            default: []
            }
        }
        return steps[(index + 1)...].reduce(into: []) { $0.formUnion(anchors($1.step)) }
    }

    func described(_ index: Int) -> String {
        "take back \(index) of \(steps.map(\.step)) in \(content(start))"
    }
}

private enum RandomUndo {
    /// Rows are named by id, and each value is written once, so that the others mean the same without a command.
    indirect enum Step: Equatable {
        case delete(String)
        case insertBefore(String, String, Int)
        case insertEnd(String, String, Int)
        case moveBefore(String, String)
        case moveEnd(String, String)
        case patch(String, Int)
        case tap(String)
        case header(String, String)
        case state([String: String])
        case models(String, [String: Int])
        case both(Step, Step)
        case undo(of: Int)

        static func move(_ id: String, before: String) -> Step { .moveBefore(id, before) }

        func command(in table: TableModel) throws -> Command {
            func section(of id: String) throws -> SectionID {
                guard let section = table.sections.first(where: { $0.index(of: RowID(id)) != nil }) else {
                    throw Refusal(.rowNotFound, "none")
                }
                return section.id
            }
            func row(_ id: String) -> RowReference { .id(RowID(id), in: nil) }
            func model(_ id: String, _ value: Int) throws -> JSONText {
                try JSONText(parsing: #"{"id":"\#(id)","v":\#(value),"taps":0}"#)
            }
            switch self {
            case .delete(let id): return .delete(row(id))
            case .insertBefore(let next, let id, let value):
                return .dataSource(
                    .insertRow(try model(id, value), at: .before(RowID(next)), in: .id(try section(of: next))),
                    notify: true)
            case .insertEnd(let section, let id, let value):
                return .dataSource(
                    .insertRow(try model(id, value), at: .end, in: .id(SectionID(section))), notify: true)
            case .moveBefore(let id, let next): return .move(row(id), to: row(next))
            case .moveEnd(let id, let section):
                let isOwn = table[SectionID(section)]?.index(of: RowID(id)) != nil
                let count = (table[SectionID(section)]?.rows.count ?? 0) - (isOwn ? 1 : 0)
                return .move(row(id), to: .at(.id(SectionID(section)), row: count))
            case .patch(let id, let value):
                return .dataSource(
                    .patchRow(try JSONText(parsing: #"{"v":\#(value)}"#), id: RowID(id), in: .id(try section(of: id))),
                    notify: true)
            case .tap(let id): return .tap(row(id))
            case .header(let section, let title):
                return .setHeaders([(SectionID(section), .string(title))], merging: true)
            case .state(let members):
                let members = members.sorted { $0.key < $1.key }.map {
                    ($0.key, $0.value == "" ? JSONText.null : .string($0.value))
                }
                return .setState(JSONText(object: members.map { (name: $0.0, value: $0.1) }), merging: true)
            case .models(let section, let models):
                return .setModels(
                    [(SectionID(section), try models.sorted { $0.key < $1.key }.map { try model($0.key, $0.value) })],
                    merging: true)
            case .both(let one, let other):
                return .transaction([try one.command(in: table), try other.command(in: table)])
            case .undo: throw Refusal(.badRequest, "not resolved")
            }
        }
    }

    static let plain = """
        {"table":"t","sections":["a","b"],"cells":{"C":{}},"state":{"k0":"0","k1":"0","k2":"0"},
         "bindings":[{"on":{"sections":["a","b"]},"cell":"C","editing":"delete","moving":{"to":"anySection"},
            "onTap":[{"update":{"merge":{"taps":{"$eval":"model.taps + 1"}}}},{"setState":{"t_${model.id}":{"$eval":"model.taps"}}}],
            "models":{"a":[{"id":"a0","v":0,"taps":0},{"id":"a1","v":0,"taps":0},{"id":"a2","v":0,"taps":0}],
                      "b":[{"id":"b0","v":0,"taps":0},{"id":"b1","v":0,"taps":0}]}}]}
        """

    static func description(_ random: inout SeededGenerator) throws -> JSONText {
        var text = plain
        if Bool.random(using: &random) {
            text.replace(
                #""onTap""#,
                with:
                    #""onDelete":[{"if":"section == 'a' && reason == 'editing'","do":[{"insert":{"section":"b","model":{"id":"x${model.id}","v":0,"taps":0}}}]}],"onTap""#
            )
        }
        if Bool.random(using: &random) {
            text.replace(
                #""sections":["a","b"],"cells""#,
                with: #""sections":["a","b"],"sectionDisplay":{"behavior":"hidesSectionsWithNoCellData"},"cells""#)
        }
        if Bool.random(using: &random) {
            text.replace(
                #""cell":"C","editing""#,
                with: #""cell":"C","viewModel":{"n":{"$eval":"row"},"of":{"$eval":"count"}},"editing""#)
        }
        return try JSONText(parsing: text)
    }

    static func step(in history: History, undos: Bool = true, _ random: inout SeededGenerator) -> Step {
        let table = history.played.table
        let ids = table.sections.flatMap { $0.rows.compactMap { $0.id?.text } }
        let value = Int.random(in: 1..<1_000_000_000, using: &random)
        let id = ids.randomElement(using: &random) ?? "a0", other = ids.randomElement(using: &random) ?? "a1"
        let section = Bool.random(using: &random) ? "a" : "b"
        switch Int.random(in: 0..<(undos ? 20 : 18), using: &random) {
        case 0...2: return .delete(id)
        case 3...4: return .insertBefore(id, "n\(value)", value)
        case 5: return .insertEnd(section, "n\(value)", value)
        case 6...8: return .moveBefore(id, other)
        case 9: return .moveEnd(id, section)
        case 10...11: return .patch(id, value)
        case 12: return .tap(id)
        case 13: return .header(section, "\(value)")
        case 14...15:
            let name = "k\(Int.random(in: 0..<5, using: &random))"
            return .state([name: Int.random(in: 0..<4, using: &random) == 0 ? "" : "\(value)"])
        case 16:
            let kept = ids.filter { id in
                table[SectionID(section)]?.index(of: RowID(id)) != nil && Bool.random(using: &random)
            }
            return .models(section, Dictionary((kept + ["n\(value)"]).map { ($0, value) }) { first, _ in first })
        case 17:
            let steps = [step(in: history, undos: false, &random), step(in: history, undos: false, &random)]
            // At an index, which the other one could make another place.
            if case .moveEnd(let id, _) = steps[1] { return .both(steps[0], .delete(id)) }
            return .both(steps[0], steps[1])
        default: return .undo(of: Int.random(in: 0..<max(1, history.steps.count), using: &random))
        }
    }
}

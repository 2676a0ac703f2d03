import TestSupport
import Testing

@testable import BraidEngine

/// Updates of calls that name rows must contain exactly the expected inserts, deletes and reloads.
@Suite struct ExactUpdateTests {
    struct Kind: CustomTestStringConvertible, Sendable {
        var hasIDs: Bool
        /// The description's expression, which hides some rows; `nil` shows all.
        var shown: String?
        /// `nil` for a session without a description.
        var behavior: String?
        /// Each model decides if its row has an id. An empty section is then diffable; the first row without an id
        /// makes it not diffable, so it is reloaded.
        var isMixed = false

        var testDescription: String { "\(behavior ?? "no table"), ids: \(hasIDs), shown: \(shown ?? "all")" }

        static let all = [true, false].flatMap { hasIDs in
            [Kind(hasIDs: hasIDs, isMixed: !hasIDs)]
                + ["manuallyManaged", "hidesSectionsWithNoCellData", "hidesSectionsWithNoData"].flatMap { behavior in
                    [nil, "model.v != 2"].map { Kind(hasIDs: hasIDs, shown: $0, behavior: behavior) }
                }
        }

        func open(_ rows: [[Shadow.Row]]) throws -> Played {
            let models = rows.map { $0.map { model($0) } }
            guard let behavior else { return try Played(sections: models.map { SectionContent(rows: $0) }) }
            let shown = shown.map { #""shown":"\#($0)","# } ?? ""
            let lists = zip(["a", "b", "c"], models).map { #""\#($0)":[\#($1.map(\.text).joined(separator: ","))]"# }
            return try Played(
                """
                {"table":"t","sections":["a","b","c"],"sectionDisplay":{"behavior":"\(behavior)"},"cells":{"C":{}},
                 "modelTypes":{"M":{"id":\(hasIDs ? "\"/id\"" : "null")}},
                 "bindings":[{"on":"allOtherSections","cell":"C","modelType":"M",\(shown)"models":{\(lists.joined(separator: ","))}}]}
                """)
        }

        /// Without an id, the number is in `n`: sessions without a description would take a member `id` as the row's
        /// id.
        func model(_ row: Shadow.Row) -> JSONText {
            JSONText(
                .object(
                    JSONObject([
                        (hasIDs ? "id" : "n", .number(JSONNumber(row.number))), ("v", .number(JSONNumber(row.value))),
                    ])))
        }
    }

    @Test(
        "The update of a call contains exactly the inserts, deletes and reloads since the last published table",
        arguments: Kind.all)
    func exactUpdates(kind: Kind) throws {
        for seed in 0..<TestEffort.cases(30) {
            var random = SeededGenerator(seed: UInt64(seed)), numbers = 0
            func row(_ random: inout SeededGenerator) -> Shadow.Row {
                numbers += 1
                return Shadow.Row(number: numbers, value: random.below(4))
            }
            let rows = (0..<3).map { _ in (0..<random.below(6)).map { _ in row(&random) } }
            var session = try kind.open(rows), restarted = session, history: [BatchUpdate] = []
            let first = session.snapshot
            var shadow = Shadow(
                kind: kind,
                sections: zip(session.table.sections.map(\.id), rows).map { Shadow.Section(id: $0, rows: $1) })
            var published = shadow.displayed
            for step in 0..<40 {
                let command = shadow.call(&random, row), notify = random.below(3) > 0
                let before = session.snapshot
                let outcome = try session.perform(.dataSource(command, notify: notify))
                shadow.name(session.table.sections.map(\.id))
                func about() -> Comment { "seed \(seed), step \(step): \(command), \(outcome.update.json.text)" }
                #expect(
                    session.stored.sections.map { $0.rows.map { $0.model ?? .null } }
                        == shadow.displayed.map { $0.rows.map { kind.model($0) } }, about())

                // As after a restart or on another server: from the stored data alone.
                let again = try restarted.perform(.dataSource(command, notify: notify))
                #expect(again.update.json == outcome.update.json, about())
                try restarted.restart()

                history.append(outcome.update)
                #expect(try outcome.update.applied(to: before).text == session.snapshot.text, about())
                #expect(RandomCommandTests.replaying(outcome.update, on: before) == session.snapshot.text, about())
                guard outcome.unpublished == nil, outcome.kind == .applied else {
                    #expect(outcome.update.stages.isEmpty, about())
                    continue
                }
                #expect(
                    Shadow.Operations(outcome.update) == Shadow.Operations(from: published, to: shadow.displayed, kind),
                    about())
                published = shadow.displayed
            }
            let changes = history.filter { $0.from < $0.to }
            if !changes.isEmpty {
                #expect(try BatchUpdate.composing(changes).applied(to: first).text == session.snapshot.text)
            }
        }
    }

    @Test("`lastUpdate` of `DataSourceController` contains exactly the changes since the last published table")
    func lastUpdate() {
        for seed in 0..<TestEffort.cases(60) {
            var random = SeededGenerator(seed: UInt64(seed)), numbers = 0
            func row(_: inout SeededGenerator) -> Shadow.Row {
                numbers += 1
                return Shadow.Row(number: numbers, value: numbers)
            }
            let rows = (0..<3).map { _ in (0..<random.below(6)).map { _ in row(&random) } }
            let source = DataSourceController(sections: rows.map { .init(rows: $0) })
            var shadow = Shadow(
                kind: .init(hasIDs: false),
                sections: zip(source.snapshot.sections.map(\.id), rows).map { Shadow.Section(id: $0, rows: $1) })
            var published = shadow.displayed
            for step in 0..<40 {
                let before = source.snapshot, notify = random.below(3) > 0
                switch shadow.call(&random, row) {
                case .addRow(let model, let row): source.add(row: model, at: row.path, notify: notify)
                case .updateRow(let model, let row): source.update(row: model, at: row.path, notify: notify)
                case .updateRows(let rows):
                    source.update(
                        rows: Dictionary(uniqueKeysWithValues: rows.map { ($0.at.path, $0.model) }), notify: notify)
                case .removeRow(let row): source.remove(rowAt: row.path, notify: notify)
                default: break
                }
                #expect(
                    (0..<source.sectionCount).map { source.rowCount(for: $0) } == shadow.displayed.map(\.rows.count))
                guard source.snapshot.revision > before.revision,
                    source.snapshot.text != before.at(source.snapshot.revision).text, let update = source.lastUpdate
                else { continue }
                shadow.name(source.snapshot.sections.map(\.id))
                #expect((try? update.applied(to: before).text) == source.snapshot.text)
                #expect(
                    Shadow.Operations(update) == Shadow.Operations(from: published, to: shadow.displayed, shadow.kind),
                    "seed \(seed), step \(step): \(update.json.text)")
                published = shadow.displayed
            }
        }
    }

    @Test("The update for one of 10,000 rows without ids is smaller than 200 bytes")
    func size() throws {
        var session = try Played(sections: [SectionContent(rows: (0..<10_000).map { .string("row \($0)") })])
        for call in [
            .updateRow("\"x\"", at: .init(section: 0, row: 3)), .removeRow(at: .init(section: 0, row: 9)),
            .addRow("\"y\"", at: .init(section: 0, row: 0)),
        ] as [DataSourceCommand] {
            #expect(try session.perform(.dataSource(call, notify: true)).update.json.count < 200)
        }
    }

    @Test("The update for a row without an id contains a delete, an insert, both, or a reload")
    func edits() throws {
        func operations(_ command: Command) throws -> Shadow.Operations {
            var session = try Played(
                #"{"table":"t","sections":["a"],"cells":{"C":{}},"modelTypes":{"N":{"id":null}},"bindings":[{"on":"allOtherSections","cell":"C","modelType":"N","models":{"a":[{},{},{},{"v":2}]},"editing":{"$if":"'v' in model","then":"insert","else":"delete"},"moving":{"to":"anySection"},"onTap":[{"update":{"merge":{"v":5}}}]}]}"#
            )
            return Shadow.Operations(try session.perform(command).update)
        }
        func at(_ row: Int) -> RowReference { .at(.id("a"), row: row) }
        #expect(try operations(.delete(at(1))) == .init(deleteRows: [path(0, 1)]))
        #expect(try operations(.insert(at(3), model: "{}")) == .init(insertRows: [path(0, 3)]))
        #expect(
            try operations(.move(at(3), to: .at(.id("a"), row: 0)))
                == .init(deleteRows: [path(0, 3)], insertRows: [path(0, 0)]))
        #expect(try operations(.tap(at(2))) == .init(reloadRows: [path(0, 2)]))
    }

    @Test("Replacing the models of rows without ids reloads their section")
    func refills() throws {
        var session = try Played(sections: [SectionContent(rows: ["1", "2", "3"])])
        let update = try session.perform(
            .dataSource(.updateRowsOfSection(["1", "3", "3"], at: .displayed(0)), notify: true)
        ).update
        #expect(update.stages.map(\.reloadSections.count) == [1])
    }
}

/// The stored rows as a caller would record them: plain lists, edited by index.
struct Shadow {
    struct Row: Equatable {
        /// Rows with the same number are the same.
        var number: Int
        var value: Int
    }

    struct Section {
        var id: SectionID
        var rows: [Row]
    }

    var kind: ExactUpdateTests.Kind
    var sections: [Section]

    private var isDynamic: Bool { kind.behavior == nil }

    private func isShown(_ row: Row) -> Bool { kind.shown == nil || row.value != 2 }

    var displayed: [Section] {
        let hides = kind.behavior?.hasPrefix("hides") ?? false
        return sections.map { Section(id: $0.id, rows: $0.rows.filter(isShown)) }.filter { !hides || !$0.rows.isEmpty }
    }

    /// Records ids that the engine made.
    mutating func name(_ ids: [SectionID]) {
        for (index, id) in ids.enumerated() where index < sections.count && ids.count == sections.count {
            sections[index].id = id
        }
    }

    /// A random call, which also changes the shadow.
    mutating func call(_ random: inout SeededGenerator, _ new: (inout SeededGenerator) -> Row) -> DataSourceCommand {
        let shown = displayed
        let section = random.below(max(1, shown.count) + (isDynamic ? 1 : 0)), row = random.below(7)
        let path = RowPath(section: section, row: row)
        switch random.below(shown.isEmpty && !isDynamic ? 1 : 6) {
        case 0, 1:
            // Declared sections allow no new ones.
            guard isDynamic || section < shown.count else { return .updateRows([]) }
            let added = new(&random)
            guard section < shown.count, let place = sections.firstIndex(where: { $0.id == shown[section].id }) else {
                sections.append(Section(id: "new", rows: [added]))
                return .addRow(kind.model(added), at: RowReference(path))
            }
            sections[place].rows.insert(added, at: stored(path)?.row ?? sections[place].rows.count)
            return .addRow(kind.model(added), at: RowReference(path))
        case 2, 3: return .updateRow(kind.model(update(path, &random, new)), at: RowReference(path))
        case 4:
            var rows: [(at: RowReference, model: JSONText)] = []
            let places = (0..<3).map { _ in RowPath(section: random.below(max(1, shown.count)), row: random.below(7)) }
            // The engine, too, locates all rows before it changes the first.
            let stored = places.map { self.stored($0) }
            for (index, place) in places.enumerated() where !places[..<index].contains(place) {
                let row = update(stored[index], &random, new)
                rows.append((RowReference(place), kind.model(row)))
            }
            return .updateRows(rows)
        default:
            guard let place = stored(path) else { return .removeRow(at: RowReference(path)) }
            sections[place.section].rows.remove(at: place.row)
            if isDynamic, sections[place.section].rows.isEmpty { sections.remove(at: place.section) }
            return .removeRow(at: RowReference(path))
        }
    }

    /// Among stored rows, some of them hidden.
    private func stored(_ path: RowPath) -> RowPath? {
        let shown = displayed
        guard path.section < shown.count, path.row < shown[path.section].rows.count,
            let section = sections.firstIndex(where: { $0.id == shown[path.section].id }),
            let row = sections[section].rows.firstIndex(where: {
                $0.number == shown[path.section].rows[path.row].number
            })
        else { return nil }
        return RowPath(section: section, row: row)
    }

    private mutating func update(
        _ path: RowPath, _ random: inout SeededGenerator, _ new: (inout SeededGenerator) -> Row
    ) -> Row {
        update(stored(path), &random, new)
    }

    /// A row without an id keeps its number; one with an id sometimes becomes another row.
    private mutating func update(
        _ place: RowPath?, _ random: inout SeededGenerator, _ new: (inout SeededGenerator) -> Row
    ) -> Row {
        var row = new(&random)
        guard let place else { return row }
        let old = sections[place.section].rows[place.row]
        if !kind.hasIDs || random.below(3) > 0 { row.number = old.number }
        sections[place.section].rows[place.row] = row
        return row
    }
}

extension Shadow {
    /// An exact update has at most one stage, and no moves.
    struct Operations: Equatable {
        var deleteSections: [Int] = [], insertSections: [Int] = [], reloadSections: [Int] = []
        var deleteRows: [RowPath] = [], insertRows: [RowPath] = [], reloadRows: [RowPath] = []
        /// Further stages, moves, `update…` operations: none in an exact update.
        var others = 0
    }
}

extension Shadow.Operations {
    init(_ update: BatchUpdate) {
        others = max(0, update.stages.count - 1)
        for stage in update.stages {
            deleteSections += stage.deleteSections
            insertSections += stage.insertSections.map(\.at)
            reloadSections += stage.reloadSections.map(\.at)
            deleteRows += stage.deleteRows
            insertRows += stage.insertRows.map(\.at)
            reloadRows += stage.reloadRows.map(\.at)
            others +=
                stage.moveSections.count + stage.updateSections.count + stage.moveRows.count + stage.updateRows.count
        }
    }

    init(from old: [Shadow.Section], to new: [Shadow.Section], _ kind: ExactUpdateTests.Kind) {
        deleteSections = old.indices.filter { index in !new.contains { $0.id == old[index].id } }
        insertSections = new.indices.filter { index in !old.contains { $0.id == new[index].id } }
        for (oldPlace, before) in old.enumerated() {
            guard let newPlace = new.firstIndex(where: { $0.id == before.id }) else { continue }
            let after = new[newPlace]
            if kind.isMixed, before.rows.isEmpty != after.rows.isEmpty {
                reloadSections.append(oldPlace)
                continue
            }
            for (index, row) in before.rows.enumerated() {
                guard let same = after.rows.first(where: { $0.number == row.number }) else {
                    deleteRows.append(path(oldPlace, index))
                    continue
                }
                if same != row { reloadRows.append(path(oldPlace, index)) }
            }
            for (index, row) in after.rows.enumerated() where !before.rows.contains(where: { $0.number == row.number })
            { insertRows.append(path(newPlace, index)) }
        }
    }
}

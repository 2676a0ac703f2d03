import TestSupport
import Testing

@testable import BraidEngine

/// Every update is valid and leads to the next snapshot, which equals one rendered from the stored table alone.
@Suite struct RandomCommandTests {
    @Test("Every update of a random command leads to the next snapshot", arguments: 0..<8)
    func updates(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        var applied = 0
        for _ in 0..<TestEffort.cases(60) {
            var (binder, table) = try RandomTable.make(&random)
            var snapshot = try binder.snapshot(of: table, revision: 0, now: Self.now)
            var unpublished: Unpublished?
            let opening = table
            for _ in 0..<40 {
                let isReset = Int.random(in: 0..<25, using: &random) == 0
                let command =
                    isReset ? .reset(to: opening) : RandomTable.command(for: snapshot, binder: binder, &random)
                let outcome: Outcome
                do {
                    outcome = try binder.applying(
                        command, to: table, shown: snapshot, unpublished: unpublished, now: Self.now)
                } catch is Refusal {
                    continue
                }
                let seen = outcome.unpublished?.published ?? outcome.table
                let expected = try binder.snapshot(of: seen, revision: outcome.snapshot.revision, now: Self.now)
                #expect(outcome.snapshot.text == expected.text, "the snapshot that was kept up is the one made anew")
                if isReset {
                    let first = try binder.snapshot(of: opening, revision: outcome.snapshot.revision, now: Self.now)
                    #expect(outcome.snapshot.text == first.text, "a reset shows what was shown at first")
                }
                try Self.checkUnpublished(outcome, before: snapshot, binder)
                let replayed = try outcome.update.applied(to: snapshot)
                #expect(replayed.text == outcome.snapshot.text, "\(outcome.update.json.text)")
                #expect(
                    Self.replaying(outcome.update, on: snapshot) == outcome.snapshot.text,
                    "one after the other: \(outcome.update.sequentialJSON.text)")
                let decoded = try Snapshot(
                    json: JSONText(parsing: outcome.snapshot.encoded(session: "s", table: "t", epoch: "e")))
                #expect(decoded.text == outcome.snapshot.text)
                let full = try BatchUpdate(from: snapshot, to: outcome.snapshot)
                // Without ids, the engine knows from the command which rows changed, which a diff of snapshots cannot.
                if outcome.snapshot.sections.allSatisfy(\.isDiffable) {
                    #expect(
                        outcome.update.rowOperationCount == full.rowOperationCount,
                        "as few row operations as the full diff: \(outcome.update.json.text) \(full.json.text)")
                    #expect(outcome.update.stages.count == full.stages.count)
                }
                var restarted = try Played(binder: binder, table: table)
                (restarted.snapshot, restarted.unpublished) = (snapshot, unpublished)
                try restarted.restart()
                #expect(
                    try restarted.perform(command).update.json == outcome.update.json, "the same update after a restart"
                )
                try Self.check(outcome, after: table)
                if outcome.kind == .applied { applied += 1 }
                table = outcome.table
                snapshot = outcome.snapshot
                unpublished = outcome.unpublished
                // After a restart, nobody knows which rows the unpublished commands have touched.
                if let kept = unpublished, Int.random(in: 0..<4, using: &random) == 0 {
                    unpublished = try Unpublished(
                        published: kept.published, stored: table, binder: binder, revision: snapshot.revision,
                        now: Self.now)
                }
            }
        }
        #expect(applied > TestEffort.cases(500))
    }

    @Test("Tables are the same to clients, however their rows are kept", arguments: 0..<4)
    func rowsOnDemand(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        var onDemand = 0
        for _ in 0..<TestEffort.cases(20) {
            var (binder, table) = try RandomTable.make(&random)
            while binder.binding(of: "a")?.rendersAlone != true { (binder, table) = try RandomTable.make(&random) }
            let opening = table
            var snapshot = try binder.snapshot(of: table, revision: 0, now: Self.now)
            // Loaded, or after commands that wrote many rows. Sections grow above the limit and shrink below it.
            var kept = (table: table, snapshot: snapshot)
            for _ in 0..<20 {
                binder.limits.renderedRows = [0, 3, .max].randomElement(using: &random) ?? 0
                switch Int.random(in: 0..<6, using: &random) {
                case 0:
                    kept.table = table
                    kept.snapshot = try binder.snapshot(
                        of: table, revision: snapshot.revision, now: Self.now, wasRendered: true)
                case 1, 2: kept.table = kept.table.sharingModels(with: &kept.snapshot, by: binder)
                default: break
                }
                onDemand += kept.snapshot.sections.reduce(0) { $0 + $1.rows.count(where: \.isOnDemand) }
                #expect(kept.snapshot.text == snapshot.text)
                #expect(kept.snapshot.encodedSize == snapshot.encodedSize)
                #expect(try BatchUpdate(from: snapshot, to: kept.snapshot).isEmpty, "all rows are the same")
                let isReset = Int.random(in: 0..<25, using: &random) == 0
                let command =
                    isReset ? .reset(to: opening) : RandomTable.command(for: snapshot, binder: binder, &random)
                guard
                    let outcome = try? binder.applying(
                        command, to: table, shown: snapshot, unpublished: nil, now: Self.now),
                    outcome.unpublished == nil
                else { continue }
                let other = try binder.applying(
                    command, to: kept.table, shown: kept.snapshot, unpublished: nil, now: Self.now)
                #expect(other.update.json == outcome.update.json)
                #expect(other.estimatedSize(after: kept.snapshot) == outcome.estimatedSize(after: snapshot))
                #expect(other.update.hidden(in: kept.snapshot) == outcome.update.hidden(in: snapshot))
                #expect(try other.update.applied(to: kept.snapshot).text == outcome.snapshot.text)
                let diff = try BatchUpdate(from: snapshot, to: outcome.snapshot).json
                #expect(try BatchUpdate(from: kept.snapshot, to: other.snapshot).json == diff)
                #expect(try BatchUpdate(from: snapshot, to: other.snapshot).json == diff)
                (table, snapshot, kept) = (outcome.table, outcome.snapshot, (other.table, other.snapshot))
            }
        }
        #expect(onDemand > TestEffort.cases(100))
    }

    /// Clients do not see them, and the snapshot with them equals one rendered from the stored table.
    private static func checkUnpublished(_ outcome: Outcome, before: Snapshot, _ binder: Binder) throws {
        guard let unpublished = outcome.unpublished else { return }
        let stored = try binder.snapshot(of: outcome.table, revision: outcome.snapshot.revision, now: now)
        #expect(unpublished.snapshot.text == stored.text)
        #expect(outcome.update.isEmpty)
        #expect(outcome.notification == nil || outcome.kind == .unchanged)
        var same = outcome.snapshot
        same.revision = before.revision
        #expect(same.text == before.text)
    }

    /// One by one, as a client without batch updates.
    static func replaying(_ update: BatchUpdate, on snapshot: Snapshot) -> String {
        var result = snapshot
        for operation in update.sequential() {
            switch operation {
            case .deleteSection(let at): result.sections.remove(at: at)
            case .insertSection(let at, let section): result.sections.insert(section, at: at)
            case .moveSection(let from, let to): result.sections.insert(result.sections.remove(at: from), at: to)
            case .reloadSection(let at, let section): result.sections[at] = section
            case .updateSection(let update):
                if let header = update.header { result.sections[update.at].header = header }
                if let footer = update.footer { result.sections[update.at].footer = footer }
                if let movesTo = update.movesTo { result.sections[update.at].movesTo = movesTo.isNull ? nil : movesTo }
            case .deleteRow(let path): result.sections[path.section].rows.remove(at: path.row)
            case .insertRow(let at, let row): result.sections[at.section].rows.insert(row, at: at.row)
            case .moveRow(let from, let to, let row):
                let moved = result.sections[from.section].rows.remove(at: from.row)
                result.sections[to.section].rows.insert(row ?? moved, at: to.row)
            case .reloadRow(let at, let row), .updateRow(let at, let row):
                result.sections[at.section].rows[at.row] = row
            }
        }
        result.revision = update.to
        result.totalRowCount = update.totalRowCount
        if let state = update.state { result.state = state }
        if let empty = update.empty { result.empty = empty.isNull ? nil : empty }
        return result.text
    }

    static let now = "2000-01-01T00:00:00.000Z"

    /// It leads from the old stored table to the new one.
    static func check(_ outcome: Outcome, after table: TableModel) throws {
        var rows: [Int: (section: Int, rank: Int, model: JSONText)] = [:]
        for section in table.sections {
            for row in section.rows { rows[row.key] = (section.summary.number, row.rank, row.model) }
        }
        for key in outcome.change.removedRows {
            #expect(rows.removeValue(forKey: key) != nil, "a row is removed that was there")
        }
        for (section, row) in outcome.change.writtenRows { rows[row.key] = (section, row.rank, row.model) }
        for (section, key, rank) in outcome.change.placedRows {
            #expect(rows[key] != nil)
            rows[key].map { rows[key] = (section, rank, $0.model) }
        }
        var expected = 0
        for section in outcome.table.sections {
            var last = Int.min
            for row in section.rows {
                expected += 1
                #expect(row.rank > last, "ranks ascend")
                last = row.rank
                let stored = try #require(rows[row.key])
                #expect(
                    stored.section == section.summary.number && stored.rank == row.rank && stored.model == row.model)
                if let id = row.id { #expect(section.index(of: id) != nil) }
            }
        }
        #expect(rows.count == expected)
        var facts = Dictionary(uniqueKeysWithValues: table.sections.map { ($0.summary.number, $0.summary) })
        for number in outcome.change.removedSections { facts[number] = nil }
        for section in outcome.change.writtenSections { facts[section.number] = section }
        #expect(
            facts.values.sorted { $0.ordinal < $1.ordinal } == outcome.table.sections.map(\.summary),
            "sections in order, ordinals ascending")
        #expect(outcome.change.cells ?? table.cells.json == outcome.table.cells.json)
        #expect(outcome.change.state ?? table.state == outcome.table.state)
    }
}

/// Small, so that sections are often emptied, filled, hidden and shown again.
enum RandomTable {
    static let sections = ["a", "b", "c"]

    /// `forViewers`: much depends on who looks.
    static func description(_ random: inout SeededGenerator, forViewers: Bool = false) throws -> JSONText {
        func choose(_ usual: [String], _ own: [String]) -> String {
            (forViewers ? usual + own + own : usual).randomElement(using: &random) ?? ""
        }

        let behavior =
            ["manuallyManaged", "hidesSectionsWithNoCellData", "hidesSectionsWithNoData"].randomElement(using: &random)
            ?? ""
        let sectionOrder =
            behavior == "manuallyManaged"
            ? ""
            : [#","order":"ascending""#, #","order":{"by":"displayedCount"}"#, ""].randomElement(using: &random) ?? ""
        let isDynamic = Int.random(in: 0..<4, using: &random) == 0
        let viewModel = choose(
            [
                "", #""viewModel":{"title":"${model.v}"},"#, #""viewModel":{"title":"no. ${model.v}"},"#,
                #""viewModel":{"place":{"$eval":"row"},"of":{"$eval":"count"}},"#,
                #""viewModel":{"mood":{"$eval":"state.mood"}},"#,
            ],
            [
                #""viewModel":{"own":{"$eval":"model.v == user.claims.no"}},"#,
                #""viewModel":{"all":{"$eval":"len(models.a)"},"me":"${user.id}"},"#,
            ])
        let handler =
            [
                "",
                #""onDelete":[{"if":"reason == 'editing'","do":[{"insert":{"section":"c","row":0,"model":{"$eval":"model"}}}]}],"#,
                #""onInsert":[{"update":{"merge":{"v":9}}}],"#,
                #""onDelete":[{"setState":{"mood":"sad"}}],"onInsert":[{"setHeaders":{"a":"A ${count}"}}],"#,
                #""onDelete":[{"if":"count == 0","do":[{"reject":"the last one stays"}]}],"#,
            ].randomElement(using: &random) ?? ""
        let moving =
            [#""anySection""#, #"["a","b"]"#, #"{"passing":"displayedCount < 3"}"#].randomElement(using: &random)
            ?? ""
        let editing = choose(
            [#""delete""#, #""insert""#, #"{"$if":"model.v < 5","then":"delete","else":"insert"}"#],
            [#"{"$if":"model.v < user.claims.no","then":"delete","else":"insert"}"#])
        let updates = ["byReloading", "manually"].randomElement(using: &random) ?? ""
        let shown = choose(
            ["", "", #""shown":"model.v != 2","#, #""shown":"state.mood != '1' || row != 0","#],
            [#""shown":"!(view.hideOdd) || model.v > 3","#, #""shown":"row < view.max","#])
        let filter = choose(
            ["", "", #""where":"model.v != 7","#, #""where":"state.mood != '2' || model.v > 4","#],
            [
                #""where":"model.v <= view.max","#,
                #""where":"user.role == 'controller' || model.v != user.claims.no","#,
                #""where":"len(models.b) > 1 || model.v < view.max","#,
            ])
        let order = choose(
            [
                "", "", "", #""sortedBy":"-v","#, #""sortedBy":["v","-id"],"#,
                #""sortedBy":{"$if":"state.mood == '1'","then":"v"},"#,
            ],
            [#""sortedBy":{"$eval":"view.sort"},"#])
        let merge = choose(
            ["", #","merge":{"v":{"$if":"above","then":{"$eval":"above.v"},"else":0}}"#], [])
        let derived =
            isDynamic
            ? ""
            : [
                "",
                #",{"on":{"section":"d"},"cell":"C","modelsFrom":{"$map":{"$eval":"models.a"},"each(m)":{"id":"d${m.id}","v":{"$eval":"m.v"}}}}"#,
                #",{"on":{"section":"d"},"cell":"C","numberOfCells":"len(models.b)"}"#,
                forViewers
                    ? #",{"on":{"section":"d"},"cell":"C","header":"${view.max}","modelsFrom":[{"id":"me","v":{"$eval":"user.claims.no"}}]}"#
                    : "",
            ].randomElement(using: &random) ?? ""
        let scope = isDynamic ? #""allOtherSections""# : #"{"sections":["a","b","c"]}"#
        let header =
            isDynamic ? #""header":"${section}","# : #""headers":{"a":"A","b":{"$if":"count > 1","then":"many"}},"#
        var models: [String] = []
        for section in sections {
            let ids = (0..<6).shuffled(using: &random).prefix(Int.random(in: 0..<5, using: &random))
            models.append(
                "\"\(section)\":[\(ids.map { #"{"id":"\#(section)\#($0)","v":\#(Int.random(in: 0..<10, using: &random))}"# }.joined(separator: ","))]"
            )
        }
        // In about every fourth table without ids.
        let types = Int.random(in: 0..<4, using: &random) == 0 ? #""modelTypes":{"M":{"id":null}},"# : ""
        let type = types.isEmpty ? "" : #""modelType":"M","#
        let text = """
            {"table":"t","sections":\(isDynamic ? "\"dynamic\"" : derived.isEmpty ? #"["a","b","c"]"# : #"["a","d","b","c"]"#),"cells":{"C":{}},"state":{"mood":"glad"},\(forViewers ? #""view":{"hideOdd":false,"max":9,"sort":null},"# : "")"empty":"nothing",\(types)
             "sectionDisplay":{"behavior":"\(behavior)"\(sectionOrder)},
             "bindings":[{"on":\(scope),"cell":"C",\(type)\(viewModel)\(filter)\(order)\(shown)\(header)\(handler)
                "models":{\(models.joined(separator: ","))},"dimensions":{"cellHeight":44},"editing":\(editing),"updates":"\(updates)",
                "insert":{"template":{"v":1}},"moving":{"to":\(moving),"movable":"model.v != 3"\(merge)}}\(derived)]}
            """
        return try JSONText(parsing: Array(text.utf8))
    }

    static func command(for snapshot: Snapshot, binder: Binder, _ random: inout SeededGenerator) -> Command {
        if Int.random(in: 0..<8, using: &random) == 0 {
            return .transaction((0..<Int.random(in: 1..<5, using: &random)).map { _ in single(for: snapshot, &random) })
        }
        return single(for: snapshot, &random)
    }

    private static func single(for snapshot: Snapshot, _ random: inout SeededGenerator) -> Command {
        if Int.random(in: 0..<5, using: &random) < 2 { return RandomDataSource.command(&random) }
        func row() -> RowReference {
            let section = Int.random(in: 0..<max(1, snapshot.sections.count), using: &random)
            let count = section < snapshot.sections.count ? snapshot.sections[section].rows.count : 0
            let row = Int.random(in: 0..<max(1, count), using: &random)
            if Bool.random(using: &random), row < count, let id = snapshot.sections[section].rows[row].id {
                return .id(id, in: nil)
            }
            return .at(.displayed(section), row: RandomDataSource.index(64, &random) < 64 ? row : .max)
        }
        func model() -> JSONText {
            let text =
                #"{"id":"\#(sections.randomElement(using: &random) ?? "")\#(Int.random(in: 0..<8, using: &random))","v":\#(Int.random(in: 0..<10, using: &random))}"#
            return (try? JSONText(parsing: Array(text.utf8))) ?? .null
        }
        func models() -> [JSONText] { (0..<Int.random(in: 0..<5, using: &random)).map { _ in model() } }
        let section = SectionID(sections.randomElement(using: &random) ?? "a")
        switch Int.random(in: 0..<14, using: &random) {
        case 0...3: return .delete(row())
        case 4...5: return .insert(row(), model: model())
        case 6...9: return .move(row(), to: .at(.id(section), row: RandomDataSource.index(4, &random)))
        case 10: return .setModels([(section, models())], merging: Bool.random(using: &random))
        case 11:
            let reversed = snapshot.sections.first.map { Array($0.rows.reversed()).compactMap(\.model) } ?? []
            return .setModels([(snapshot.sections.first?.id ?? section, reversed)], merging: true)
        case 12:
            return Bool.random(using: &random)
                ? .setHeaders([(section, [.null, .string("X")].randomElement(using: &random) ?? .null)], merging: true)
                : .setFooters([(section, .string("F"))], merging: true)
        default:
            if Bool.random(using: &random) {
                let ids = sections.shuffled(using: &random).prefix(Int.random(in: 0..<4, using: &random))
                return .setDisplayedSections(ids.map { SectionID($0) })
            }
            return .setState(
                (try? JSONText(parsing: Array(#"{"mood":"\#(Int.random(in: 0..<3, using: &random))"}"#.utf8)))
                    ?? .emptyObject, merging: true)
        }
    }
}

extension Snapshot {
    var text: String { String(decoding: encoded(session: nil, table: nil, epoch: nil), as: UTF8.self) }
}

extension BatchUpdate {
    var rowOperationCount: Int {
        stages.reduce(0) { $0 + $1.deleteRows.count + $1.insertRows.count + $1.moveRows.count }
    }
}

import TestSupport
import Testing

@testable import BraidEngine

/// So many sections that rows named by id alone are found through an index.
@Suite struct RowLocatorTests {
    @Test(
        "Finding an id through the index has the same result or refusal as a search of all sections",
        arguments: 0..<8)
    func sameAsSearch(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        var named = 0, applied = 0, transactions = 0
        for _ in 0..<4 {
            var session = try Self.session(&random), earlier: [Played] = []
            let opening = session.table
            for _ in 0..<40 {
                earlier.append(session)
                let command = Self.command(for: session, opening, &random)
                do {
                    if try session.perform(command).kind == .applied { applied += 1 }
                } catch is Refusal {}
                if case .transaction(let commands) = command, session.unpublished == nil, let before = earlier.last,
                    before.unpublished == nil
                {
                    transactions += 1
                    try Self.checkSteps(commands, before, session)
                }
                // Tables share an index, and any of them may be the one that builds it.
                if Int.random(in: 0..<4, using: &random) == 0, let any = earlier.randomElement(using: &random) {
                    named += try Self.checkIDs(of: any, &random)
                }
                if Int.random(in: 0..<3, using: &random) == 0 { named += try Self.checkIDs(of: session, &random) }
                if Int.random(in: 0..<20, using: &random) == 0 { try session.restart() }
            }
            for session in earlier.shuffled(using: &random).prefix(5) {
                named += try Self.checkIDs(of: session, &random)
            }
        }
        #expect(applied > 20 && named > 100 && transactions > 10, "\(applied), \(named), \(transactions)")
    }

    @Test("The index finds a section once, even if two ids of the section share half of their hash")
    func equalHalves() throws {
        var halves: [UInt64: RowID] = [:], pair: [RowID] = []
        while pair.isEmpty {
            let id = RowID("r\(halves.count)")
            if let other = halves.updateValue(id, forKey: RowHash.hash(id) >> 32) { pair = [other, id] }
        }
        let others = (0..<90).map { #""s\#($0)":[{"id":"o\#($0)"}]"# }.joined(separator: ",")
        let session = try Played(
            #"{"table":"t","sections":"dynamic","cells":{"C":{}},"bindings":[{"on":"allOtherSections","cell":"C","models":{"a":[{"id":"\#(pair[0])"},{"id":"\#(pair[1])"}],\#(others)}}]}"#
        )
        let table = session.table
        for id in pair {
            #expect(table.positions(ofSectionsWith: id).map { table.sections[$0].id } == [SectionID("a")])
        }
    }

    /// Against a search of all sections. Returns how many ids are rows.
    private static func checkIDs(of session: Played, _ random: inout SeededGenerator) throws -> Int {
        var found = 0
        let table = session.table, few = ids.shuffled(using: &random).prefix(8)
        var storing: [RowID: [Int]] = [:], showing: [RowID: [Int]] = [:]
        for (position, section) in table.sections.enumerated() {
            for id in section.rows.compactMap(\.id) { storing[id, default: []].append(position) }
        }
        let work = CommandInProgress(
            binder: session.binder, table: table, shown: session.snapshot, unpublished: session.unpublished,
            now: RandomCommandTests.now)
        for (place, section) in work.shown.sections.enumerated() {
            for id in section.rows.compactMap(\.id) { showing[id, default: []].append(place) }
        }
        for id in few {
            #expect(table.positions(ofSectionsWith: id) == storing[id] ?? [], "\(id)")
            let published = session.unpublished?.published ?? table
            #expect(
                WindowSource(session.snapshot, of: published, by: session.binder).sections(with: id)
                    == WindowSource(session.snapshot).sections(with: id))
            let expected = try (showing[id] ?? []).map { work.shown.sections[$0] }.filter {
                try work.isKnown(id, in: $0)
            }
            do {
                let place = try work.resolve(.id(id, in: nil))
                found += 1
                #expect(expected.map(\.id) == [place.section.id], "\(id)")
                #expect(place.row == place.section.rows.firstIndex { $0.id == id })
            } catch {
                let words =
                    expected.isEmpty
                    ? "No displayed row has the id \"\(id)\". Get the snapshot."
                    : "The sections \"\(expected[0].id)\" and \"\(expected[min(1, expected.count - 1)].id)\" both have a row with the id \"\(id)\": name the section as well."
                #expect(error.detail == words)
                #expect(expected.count != 1)
            }
        }
        return found
    }

    /// They find the same rows one by one.
    private static func checkSteps(_ commands: [Command], _ before: Played, _ after: Played) throws {
        var alone = before
        do {
            for command in commands { try alone.perform(command) }
            #expect(alone.snapshot.withRevision(0).text == after.snapshot.withRevision(0).text)
        } catch is Refusal {
            #expect(after.snapshot.revision == before.snapshot.revision, "the transaction was refused, too")
        }
    }

    /// So few that many are in several sections.
    private static let ids = (0..<120).map { RowID("r\($0)") }
    private static let sections = (0..<90).map { "s\($0)" }

    private static func session(_ random: inout SeededGenerator) throws -> Played {
        func pick(_ choices: String...) -> String { choices.randomElement(using: &random) ?? "" }
        let isDynamic = Bool.random(using: &random)
        let behavior = pick("manuallyManaged", "hidesSectionsWithNoCellData", "hidesSectionsWithNoData")
        let order = behavior == "manuallyManaged" ? "" : pick("", #","order":"ascending""#)
        let shown = pick("", "", #","shown":"model.v != state.hidden""#)
        let derived = pick(
            "",
            #",{"on":{"sections":["s3","s80"]},"cell":"C","modelsFrom":{"$if":"state.hidden > 4","then":[{"id":"r1"},{"id":"r2"}],"else":[{"id":"r5"}]}}"#
        )
        let all = derived.isEmpty ? sections : sections.filter { $0 != "s3" && $0 != "s80" }
        let scope =
            isDynamic ? #""allOtherSections""# : #"{"sections":[\#(all.map { "\"\($0)\"" }.joined(separator: ","))]}"#
        let models = all.shuffled(using: &random).prefix(80).map { section in
            #""\#(section)":[\#(ids.shuffled(using: &random).prefix(Int.random(in: 0..<4, using: &random)).map { model($0, &random) }.joined(separator: ","))]"#
        }
        // By ids alone, even a row that it has just inserted.
        let handler =
            #""onTap":[{"insert":{"section":"s4","model":{"id":"r119","v":1}}},{"move":{"id":"r119","to":{"section":"s5"}}},{"remove":{"id":"r118"}}]"#
        return try Played(
            """
            {"table":"t","sections":\(isDynamic ? #""dynamic""# : "[\(sections.map { "\"\($0)\"" }.joined(separator: ","))]"),"cells":{"C":{}},"state":{"hidden":2},
             "sectionDisplay":{"behavior":"\(behavior)"\(order)},
             "bindings":[{"on":\(scope),"cell":"C"\(shown),"models":{\(models.joined(separator: ","))},"editing":"delete","moving":{"to":"anySection"},\(handler)}
                \(derived)]}
            """)
    }

    private static func model(_ id: RowID, _ random: inout SeededGenerator) -> String {
        #"{"id":"\#(id)","v":\#(Int.random(in: 0..<6, using: &random))}"#
    }

    private static func command(for session: Played, _ opening: TableModel, _ random: inout SeededGenerator) -> Command
    {
        switch Int.random(in: 0..<12, using: &random) {
        case 0: .reset(to: opening)
        case 1...3: .transaction((0..<Int.random(in: 1..<8, using: &random)).map { _ in single(&random) })
        case 4: .dataSource(dataSource(&random), notify: Int.random(in: 0..<3, using: &random) > 0)
        default: single(&random)
        }
    }

    private static func single(_ random: inout SeededGenerator) -> Command {
        func section() -> SectionID { SectionID(sections.randomElement(using: &random) ?? "") }
        func row() -> RowReference { .id(ids.randomElement(using: &random) ?? RowID(""), in: nil) }
        switch Int.random(in: 0..<12, using: &random) {
        case 0...2: return .delete(row())
        case 3...5: return .move(row(), to: .at(.id(section()), row: 0))
        case 6...7: return .setModels((0..<3).map { _ in (section(), models(&random)) }, merging: true)
        case 8: return .setDisplayedSections((sections.shuffled(using: &random).prefix(80)).map { SectionID($0) })
        case 9:
            return .setState(
                (try? JSONText(parsing: #"{"hidden":\#(Int.random(in: 0..<7, using: &random))}"#)) ?? .null,
                merging: true)
        case 10: return .tap(row())
        default: return .displayedRows([row()])
        }
    }

    private static func models(_ random: inout SeededGenerator) -> [JSONText] {
        ids.shuffled(using: &random).prefix(Int.random(in: 0..<4, using: &random)).compactMap {
            try? JSONText(parsing: model($0, &random))
        }
    }

    private static func dataSource(_ random: inout SeededGenerator) -> DataSourceCommand {
        let section = Int.random(in: 0..<90, using: &random), model = models(&random).first ?? .null
        switch Int.random(in: 0..<7, using: &random) {
        case 0: return .addRow(model, at: RowReference(section: section, row: 0))
        case 1: return .updateRow(model, at: RowReference(section: section, row: 0))
        case 2:
            return .updateRows(
                (0..<4).map { (RowReference(section: (section + $0) % 80, row: 0), models(&random).first ?? model) })
        case 3: return .removeRow(at: RowReference(section: section, row: 0))
        case 4:
            return .addSection(
                SectionContent(
                    id: SectionID("s\(Int.random(in: 0..<95, using: &random))"), header: nil, footer: nil,
                    rows: models(&random)), at: section)
        case 5: return .removeSection(at: .displayed(section))
        default: return .updateRowsOfSection(models(&random), at: .displayed(section))
        }
    }

    @Test("The index of a table where rows are often inserted and deleted does not grow with each row")
    func droppedEntries() throws {
        var table = TableModel()
        for section in 0..<100 { _ = table.insertSection(SectionID("s\(section)"), at: section) }
        #expect(table.positions(ofSectionsWith: RowID("none")).isEmpty)
        for round in 0..<5_000 {
            var editor = TableEditor(table)
            let id = RowID("r\(round)"), section = SectionID("s\(round % 100)")
            try editor.insert(.emptyObject, id: id, in: section, at: nil)
            #expect(editor.table.positions(ofSectionsWith: id) == [round % 100])
            try editor.remove(at: 0, in: section)
            table = editor.table
            #expect(table.positions(ofSectionsWith: id).isEmpty)
            #expect(table.locator.entryCount ?? 0 <= 1_100)
        }
    }

    @Test("A command reuses the index that an earlier, refused command has built")
    func refusedCommand() throws {
        var session = try Played(
            sections: (0..<100).map {
                try SectionContent(
                    id: SectionID("s\($0)"), header: nil, footer: nil, rows: [JSONText(parsing: #"{"id":"r\#($0)"}"#)])
            })
        #expect(session.table.locator.entryCount == nil)
        #expect(throws: Refusal.self) { try session.perform(.tap(.id(RowID("none"), in: nil))) }
        #expect(session.table.locator.entryCount == 100)
        #expect(throws: Refusal.self) {
            try session.perform(
                .transaction([.setState(.emptyObject, merging: true), .tap(.id(RowID("none"), in: nil))]))
        }
        #expect(session.table.locator.entryCount == 100)
    }
}

extension RowLocator {
    /// `nil` until built.
    fileprivate var entryCount: Int? { index.entries.withLock { $0?.list.count } }
}

extension Snapshot {
    fileprivate func withRevision(_ revision: Int) -> Snapshot {
        var snapshot = self
        snapshot.revision = revision
        return snapshot
    }
}

import TestSupport
import Testing
@testable import BraidEngine

/// One table twice, from a description and from a program's chains: after the same random commands, snapshots and
/// updates are the same.
@Suite struct BothWaysTests {
    struct Variant {
        var behavior: SectionDisplay.Behavior
        var ascending: Bool
        var policy: Int
    }

    static func variant(_ seed: Int) -> Variant {
        Variant(
            behavior: SectionDisplay.Behavior.allCases[seed % 3], ascending: seed / 3 % 2 == 1, policy: seed / 6 % 3)
    }

    static func description(_ variant: Variant) throws -> TableDescription {
        let order = variant.ascending && variant.behavior != .manuallyManaged ? #","order":"ascending""# : ""
        let moving = ["\"anySection\"", #"["invited","bin"]"#, #"{"passing":"section != 'bin'"}"#][variant.policy]
        return try TableDescription(
            JSONText(
                parsing: """
                    {"table":"party","sections":["attending","invited","bin"],
                     "sectionDisplay":{"behavior":"\(variant.behavior.rawValue)"\(order)},
                     "cells":{"PersonCell":{"events":{"rsvp":{"properties":{"going":{"type":"boolean"}}}}}},
                     "bindings":[
                       {"on":{"sections":["attending","invited"]},"cell":"PersonCell","models":{},"viewModel":{"title":{"$eval":"model.name"}},
                        "headers":{"attending":"ATTENDING"},"footer":"end of ${section}",
                        "editing":{"$if":"row == 0","then":"insert","else":"delete"},
                        "moving":{"to":\(moving),"movable":"model.going"},
                        "dimensions":{"cellHeight":{"$eval":"model.taps + 40"},"headerHeight":20},
                        "onDelete":[{"if":"reason == 'editing'","do":[{"insert":{"section":"bin","row":0,"model":{"$eval":"model"}}}]}],
                        "onTap":[{"update":{"merge":{"taps":{"$eval":"model.taps + 1"}}}}],
                        "onEvent":{"PersonCell":{"rsvp":[{"update":{"merge":{"going":{"$eval":"event.going"}}}}]}}},
                       {"on":"allOtherSections","cell":"PersonCell","models":{},"viewModel":{"title":{"$eval":"model.name"}},
                        "editing":"delete","moving":{"to":"anySection"},"prefetch":{"cellsFromEnd":1},
                        "onPrefetch":[{"insert":{"section":"bin","model":{"id":{"$eval":"'p' + str(count)"},"name":"P","going":false,"taps":0}}}]},
                       {"on":"anySection","dimensions":{"cellHeight":30,"estimatedCellHeight":"automatic"},
                        "onTap":[{"if":"section == 'bin'","do":[{"update":{"merge":{"going":true}}}]}]}
                     ]}
                    """))
    }

    final class Program<Place: PartySection> {
        var data: [Place: [Person]] = [:]
        var next: Person?
        let binder: SectionedTableBinder<Place>

        init(_ variant: Variant, _ binder: SectionedTableBinder<Place>) throws {
            self.binder = binder
            let policies: [MovementPolicy<Place>] = [
                .toAnySection, .toSectionsIn([.invited, .bin]), .toSectionsPassing { $0 != .bin },
            ]
            let ascending: ([Place]) -> [Place] = { $0.sorted { $0.sectionID < $1.sectionID } }
            switch (variant.behavior, variant.ascending) {
            case (.manuallyManaged, _): binder.sectionDisplayBehavior = .manuallyManaged
            case (.hidesSectionsWithNoCellData, false): binder.sectionDisplayBehavior = .hidesSectionsWithNoCellData
            case (.hidesSectionsWithNoCellData, true):
                binder.sectionDisplayBehavior = .hidesSectionsWithNoCellData(orderedWith: ascending)
            case (.hidesSectionsWithNoData, false): binder.sectionDisplayBehavior = .hidesSectionsWithNoData
            case (.hidesSectionsWithNoData, true):
                binder.sectionDisplayBehavior = .hidesSectionsWithNoData(orderedWith: ascending)
            }
            binder.onSections(.attending, .invited)
                .bind(
                    cellType: PersonCell.self, models: { [unowned self] in data.filter { $0.key != .bin } },
                    mapToViewModels: { PersonCell.ViewModel(title: $0.name) }
                )
                .bind(headerTitles: [.attending: "ATTENDING"])
                .bind(footerTitle: { "end of \($0)" })
                .allowEditing(styleForRow: { _, row in row == 0 ? .insert : .delete })
                .allowMoving(
                    policies[variant.policy],
                    rowIsMovable: { [unowned self] section, row in data[section]?[row].going == true }
                )
                .cellHeight { _, _, person in .points(Double(person.taps + 40)) }
                .headerHeight { _ in 20 }
                .onDelete { [unowned self] section, row, reason, person in
                    data[section]?.remove(at: row)
                    if case .editing = reason { data[.bin, default: []].insert(person, at: 0) }
                }
                .onInsert { [unowned self] section, row, _, person in try insert(person, section, row) }
                .onTapped { [unowned self] section, row in data[section]?[row].taps += 1 }
                .onEvent(from: PersonCell.self) { [unowned self] section, row, event in
                    if case .rsvp(let going) = event { data[section]?[row].going = going }
                }
            binder.onAllOtherSections()
                .bind(
                    cellType: PersonCell.self, models: { [unowned self] in [.bin: data[.bin] ?? []] },
                    mapToViewModels: { PersonCell.ViewModel(title: $0.name) }
                )
                .allowEditing()
                .allowMoving(.toAnySection)
                .onDelete { [unowned self] section, row, _, _ in data[section]?.remove(at: row) }
                .onInsert { [unowned self] section, row, _, person in try insert(person, section, row) }
                .prefetch(cellsFromEnd: 1) { [unowned self] section, _ in
                    let count = data[section]?.count ?? 0
                    data[section]?.append(Person(id: "p\(count)", name: "P"))
                }
            binder.onAnySection()
                .cellHeight { _, _ in 30 }
                .estimatedCellHeight { _, _ in .automatic }
                .onTapped { [unowned self] section, row in if section == .bin { data[section]?[row].going = true } }
            try binder.finish()
        }

        func insert(_ person: Person?, _ section: Place, _ row: Int) throws {
            guard let person = person ?? next else { return }
            data[section, default: []].insert(person, at: row)
        }

        /// As in the description's table: with the model in place of its number, and the cell's view model.
        func row(_ row: Row) throws -> String {
            let model: Person = try binder.bindings.values.model(row.model ?? .null)
            var members = try #require(row.json.members())
            let place = try #require(members.firstIndex { $0.name == "model" })
            members[place].value = model.json
            members.insert(
                ("viewModel", JSONText(.object(JSONObject([("title", .string(model.name))])))), at: place + 1)
            return members.map { "\($0.name):\($0.value.text)" }.joined(separator: ",")
        }

        func shown() throws -> [String] {
            try BothWaysTests.shown(binder.snapshot) { try row($0) }
        }
    }

    static func row(_ row: Row) throws -> String {
        try #require(row.json.members()).map { "\($0.name):\($0.value.text)" }.joined(separator: ",")
    }

    static func shown(_ snapshot: Snapshot, row: (Row) throws -> String) throws -> [String] {
        try snapshot.sections.flatMap { section in
            try ["\(section.id) \(section.header.text) \(section.footer.text) \(section.movesTo?.text ?? "-")"]
                + section.rows.map(row)
        }
    }

    static func operations(_ update: BatchUpdate, row: (Row) throws -> String) throws -> [String] {
        func section(_ section: Section) throws -> String {
            "\(section.id)\(section.header.text)\(section.footer.text)\(section.movesTo?.text ?? "-")\(try section.rows.map(row))"
        }
        var operations: [String] = []
        for stage in update.stages {
            operations.append("stage: delete \(stage.deleteSections) \(stage.deleteRows) move \(stage.moveSections)")
            for change in stage.insertSections {
                operations.append("insertSection \(change.at) \(try section(change.section))")
            }
            for change in stage.reloadSections {
                operations.append("reloadSection \(change.at) \(try section(change.section))")
            }
            for change in stage.updateSections { operations.append("updateSection \(change)") }
            for change in stage.insertRows { operations.append("insertRow \(change.at) \(try row(change.row))") }
            for change in stage.moveRows {
                operations.append("moveRow \(change.from) \(change.to) \(try change.row.map(row) ?? "-")")
            }
            for change in stage.reloadRows { operations.append("reloadRow \(change.at) \(try row(change.row))") }
            for change in stage.updateRows { operations.append("updateRow \(change.at) \(try row(change.row))") }
        }
        return operations
    }

    @Test(
        "A program with declared sections has the same snapshots and updates as its table description",
        arguments: 0..<36)
    func declaredSections(seed: Int) throws { try compare(seed, SectionedTableBinder(sectionedBy: Place.self)) }

    @Test(
        "A program with dynamic sections has the same snapshots and updates as its table description",
        arguments: 0..<36)
    func openSections(seed: Int) throws { try compare(seed, SectionedTableBinder(sectionedBy: OpenPlace.self)) }

    private func compare<Place: PartySection>(_ seed: Int, _ binder: SectionedTableBinder<Place>) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let variant = Self.variant(seed), description = try Self.description(variant),
            program = try Program(variant, binder)
        let places: [Place] = [.attending, .invited, .bin]
        var table = try description.openingTable()
        var shown = try description.binder.snapshot(of: table, revision: 0, now: "2026-01-01T00:00:00Z")
        var applied = 0
        for step in 0..<60 {
            func about() -> Comment { "seed \(seed), step \(step)" }
            // For the description's table, and for the program's.
            let command: Command, asked: (SectionedTableBinder<Place>) throws -> BatchUpdate
            let section = Int.random(in: 0...max(0, shown.sections.count - 1), using: &random)
            let count = section < shown.sections.count ? shown.sections[section].rows.count : 0
            let at = path(section, Int.random(in: 0...max(0, count), using: &random))
            let person = Person(
                id: "\(Int.random(in: 0..<40, using: &random))", name: "N\(step)", going: Bool.random(using: &random))
            var restored: [Place: [Person]]? = program.data
            switch Int.random(in: 0..<9, using: &random) {
            case 0: (command, asked) = (.delete(RowReference(at)), { try $0.commit(.delete, at: at) })
            case 1:
                program.next = person
                (command, asked) = (.insert(RowReference(at), model: person.json), { try $0.commit(.insert, at: at) })
            case 2, 3:
                let to = path(
                    Int.random(in: 0...max(0, shown.sections.count - 1), using: &random),
                    Int.random(in: 0..<4, using: &random))
                (command, asked) = (
                    .move(RowReference(at), to: .at(.displayed(to.section), row: to.row)),
                    { try $0.move(from: at, to: to) }
                )
            case 4: (command, asked) = (.tap(RowReference(at)), { try $0.tap(at: at) })
            case 5:
                let going = Bool.random(using: &random)
                let parameters = JSONText(.object(JSONObject([("going", .bool(going))])))
                (command, asked) = (
                    .event(RowReference(at), name: "rsvp", parameters: parameters),
                    { try $0.emit(PersonCell.ViewEvent.rsvp(going: going), at: at) }
                )
            case 6: (command, asked) = (.displayedRows([RowReference(at)]), { try $0.willDisplay([at]) })
            case 7:
                let displayed = places.shuffled(using: &random).prefix(Int.random(in: 0...3, using: &random))
                (command, asked) = (
                    .setDisplayedSections(displayed.map(\.sectionID)),
                    { binder in
                        binder.displayedSections = Array(displayed)
                        return try binder.refresh()
                    }
                )
            default:
                let place = places.randomElement(using: &random) ?? .bin
                var models = (program.data[place] ?? []).shuffled(using: &random).filter { _ in
                    Int.random(in: 0..<4, using: &random) > 0
                }
                if !models.contains(where: { $0.id == person.id }) { models.append(person) }
                restored = nil
                program.data[place] = models
                (command, asked) = (
                    .setModels([(place.sectionID, models.map(\.json))], merging: true), { try $0.refresh() }
                )
            }
            let before = program.binder.snapshot
            var outcome: Outcome?, refusal: Refusal?
            do {
                outcome = try description.binder.applying(
                    command, to: table, shown: shown, unpublished: nil, now: "2026-01-01T00:00:00Z")
            } catch { refusal = error as? Refusal }
            do {
                let update = try asked(program.binder)
                let outcome = try #require(outcome, about())
                try #expect(
                    Self.operations(update, row: program.row) == Self.operations(outcome.update, row: Self.row), about()
                )
                if before.revision != program.binder.snapshot.revision {
                    #expect(try update.applied(to: before).json == program.binder.snapshot.json, about())
                    applied += 1
                }
                table = outcome.table
                shown = outcome.snapshot
            } catch let error as Refusal {
                #expect(refusal?.code == error.code, "\(about()) \(error.detail) / \(refusal?.detail ?? "-")")
                // The program must undo its own change.
                if let restored { program.data = restored }
            }
            #expect(try program.shown() == Self.shown(shown, row: Self.row), about())
        }
        #expect(applied > 8)
    }
}

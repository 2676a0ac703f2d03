import Testing
@testable import BraidEngine

/// A program's handlers change its data, and the binder checks the change.
@Suite struct CommittingTests {
    final class Party {
        var attending = people("a", "b", "c"), invited = people("d")
        var log: [String] = []
        let binder = SectionedTableBinder(sectionedBy: Place.self)

        init(policy: MovementPolicy<Place> = .toAnySection, movable: @escaping (Place, Int) -> Bool = { _, _ in true })
            throws
        {
            binder.onSections(.attending, .invited)
                .bind(
                    cellType: PlainCell.self, models: { [unowned self] in [.attending: attending, .invited: invited] }
                )
                .allowEditing(styleForRow: { section, row in
                    section == .invited ? .insert : row == 0 ? .none : .delete
                })
                .allowMoving(policy, rowIsMovable: movable)
                .onDelete { [unowned self] section, row, reason, person in
                    log.append("delete \(section) \(row) \(reason) \(person.id)")
                    if section == .attending { attending.remove(at: row) } else { invited.remove(at: row) }
                }
                .onInsert { [unowned self] section, row, reason, person in
                    log.append("insert \(section) \(row) \(reason) \(person?.id ?? "-")")
                    let person = person ?? Person(id: "new", name: "New")
                    if section == .attending {
                        attending.insert(person, at: row)
                    } else {
                        invited.insert(person, at: row)
                    }
                }
            binder.onSection(.bin).bind(cellType: PlainCell.self, models: { [String]() })
            try binder.finish()
        }
    }

    @Test("A delete runs `onDelete` and removes one row")
    func delete() throws {
        let party = try Party()
        let update = try party.binder.commit(.delete, at: path(0, 1))
        #expect(update.stages.flatMap(\.deleteRows) == [path(0, 1)])
        #expect(party.binder.snapshot.ids == [["a", "c"], ["d"], []])
        #expect(party.log == ["delete attending 1 editing b"])
        let refusal = try #require(throws: Refusal.self) { try party.binder.commit(.delete, at: path(0, 0)) }
        #expect(refusal.code == .editingNotAllowed)
        #expect(throws: Refusal.self) { try party.binder.commit(.delete, at: path(0, 2)) }
        #expect(throws: Refusal.self) { try party.binder.commit(.none, at: path(0, 1)) }
    }

    @Test("When a person inserts a row, `onInsert` receives no model, and the program creates one")
    func insertByEditing() throws {
        let party = try Party()
        let update = try party.binder.commit(.insert, at: path(1, 0))
        #expect(update.stages.flatMap(\.insertRows).map(\.at) == [path(1, 0)])
        #expect(party.binder.snapshot.ids == [["a", "b", "c"], ["new", "d"], []])
        #expect(party.log == ["insert invited 0 editing -"])
    }

    @Test("Moving a row to another section is a single move in the update")
    func moveBetweenSections() throws {
        let party = try Party()
        let update = try party.binder.move(from: path(0, 1), to: path(1, 1))
        #expect(update.stages.count == 1)
        #expect(update.stages[0].moveRows.map { [$0.from, $0.to] } == [[path(0, 1), path(1, 1)]])
        // With content: the other section allows another kind of editing.
        let row = try #require(update.stages[0].moveRows[0].row)
        #expect(
            row.json["editing"]?.stringValue == "insert" && row.model == party.binder.snapshot.sections[1].rows[1].model
        )
        #expect(
            party.log.count == 2 && party.log[0].hasPrefix("delete attending 1 moved")
                && party.log[1].hasPrefix("insert invited 1 moved"))
        #expect(party.binder.snapshot.ids == [["a", "c"], ["d", "b"], []])
        try party.binder.move(from: path(1, 1), to: path(1, 0))
        #expect(party.binder.snapshot.ids == [["a", "c"], ["b", "d"], []])
    }

    @Test("The policy of `allowMoving` decides where rows may move")
    func policiesDecideWhereRowsGo() throws {
        let named = try Party(policy: .toSectionsIn([.invited]))
        #expect(named.binder.snapshot.sections[0].movesTo?.text == #"["invited"]"#)
        #expect(throws: Refusal.self) { try named.binder.move(from: path(0, 0), to: path(0, 1)) }
        try named.binder.move(from: path(0, 0), to: path(1, 0))

        let passing = try Party(policy: .toSectionsPassing { $0 == .attending }, movable: { _, row in row != 2 })
        #expect(throws: Refusal.self) { try passing.binder.move(from: path(0, 0), to: path(1, 0)) }
        #expect(throws: Refusal.self) { try passing.binder.move(from: path(0, 2), to: path(0, 0)) }
        try passing.binder.move(from: path(0, 0), to: path(0, 1))
        #expect(passing.binder.snapshot.ids[0] == ["b", "a", "c"])

        // Models of another type.
        let refusal = try #require(throws: Refusal.self) { try Party().binder.move(from: path(0, 0), to: path(2, 0)) }
        #expect(refusal.code == .moveNotAllowed || refusal.code == .modelTypeMismatch)
    }

    @Test("An edit is refused if its handler has not changed the models accordingly")
    func unchangedModels() throws {
        let binder = TableBinder()
        var models = people("a", "b"), deletes = 0
        binder.onTable().bind(cellType: PlainCell.self, models: { models }).allowEditing()
            .onDelete { _, _, _, _ in
                deletes += 1
                if deletes > 1 { models = [] }
            }
        try binder.finish()
        for _ in 0..<2 {
            let refusal = try #require(throws: Refusal.self) { try binder.commit(.delete, at: 0) }
            #expect(refusal.code == .handlerContract)
            #expect(binder.snapshot.ids == [["a", "b"]] && binder.snapshot.revision == 0)
        }
        // The next refresh displays what the handler did.
        try binder.refresh()
        #expect(binder.snapshot.ids == [[]])
        let without = TableBinder()
        without.onTable().bind(cellType: PlainCell.self, models: { people("a") }).allowEditing()
        try without.finish()
        #expect(throws: Refusal.self) { try without.commit(.delete, at: 0) }
    }

    @Test("If a handler throws an error, the command is refused")
    func throwingHandler() throws {
        struct No: Error {}
        let binder = TableBinder()
        var models = people("a", "b")
        binder.onTable().bind(cellType: PlainCell.self, models: { models }).allowEditing()
            .onDelete { _, row, _, _ in
                models.remove(at: row)
                throw No()
            }
        try binder.finish()
        #expect(throws: No.self) { try binder.commit(.delete, at: 0) }
        #expect(binder.snapshot.ids == [["a", "b"]])
        try binder.refresh()
        #expect(binder.snapshot.ids == [["b"]])
    }

    /// It restores its models, and reads the one to delete.
    @Test("A model that a failed command was to remove can still be read")
    func modelAfterFailure() throws {
        struct No: Error {}
        let binder = TableBinder()
        var models = people("a", "b"), fails = false
        binder.onTable().bind(cellType: PlainCell.self, models: { models })
            .cellHeight { _, _ in
                if fails { throw No() }
                return 44
            }
        try binder.finish()
        (models, fails) = (people("b"), true)
        #expect(throws: No.self) { try binder.refresh() }
        (models, fails) = (people("a", "b"), false)
        try binder.refresh()
        #expect(try binder.model(at: 0, as: Person.self).id == "a")
    }

    @Test("A handler may call `refresh`, but no other command")
    func refreshInHandler() throws {
        let binder = TableBinder()
        var models = people("a", "b")
        binder.onTable().bind(cellType: PlainCell.self, models: { models })
            .onTapped { _, row in
                models.remove(at: row)
                let update = try binder.refresh()
                #expect(update.isEmpty)
                #expect(throws: Refusal.self) { try binder.tap(at: 0) }
            }
        try binder.finish()
        #expect(try binder.tap(at: 0).stages.flatMap(\.deleteRows) == [path(0, 0)])
    }

    /// It must not commit half of the running command.
    @Test("A cell event that is sent during a command is refused, and does not change the displayed table")
    func eventDuringCommand() throws {
        struct No: Error {}
        let binder = TableBinder()
        var name = "A", fails = false
        binder.onTable()
            .bind(cellType: TextCell.self, models: { [Person(id: "a", name: name)] })
            .onDequeue { _, _, cell, person in cell.text = person.name }
            .cellHeight { _, _ in
                if !fails { return 44 }
                #expect(throws: Refusal.self) { try binder.emit(TextCell.ViewEvent.textEntered("x"), at: 0) }
                throw No()
            }
        try binder.finish()
        (name, fails) = ("B", true)
        #expect(throws: No.self) { try binder.refresh() }
        #expect(try (binder.cell(at: 0) as? TextCell)?.text == "A")
    }

    /// `allowMoving` sets targets and movable rows together.
    @Test("A later `allowMoving` also replaces the rule for which rows are movable")
    func laterAllowMoving() throws {
        let binder = SectionedTableBinder(sectionedBy: Place.self)
        binder.onAllSections().bind(
            cellType: PlainCell.self, models: { [.attending: people("a", "b"), .invited: people("c")] }
        )
        .allowMoving(.toSectionsIn([.bin]), rowIsMovable: { _, _ in false })
        binder.onSection(.attending).allowMoving(.toAnySection)
        try binder.finish()
        #expect(
            binder.snapshot.sections.map { $0.rows.map { $0.json["movable"]?.boolValue ?? false } } == [
                [true, true], [false], [],
            ])
    }

    @Test("A refresh with a duplicate row id is refused, and the message names the id")
    func duplicateIdsAreNamed() throws {
        let binder = TableBinder()
        var models = people("a", "b")
        binder.onTable().bind(cellType: PlainCell.self, models: { models })
        try binder.finish()
        models.append(models[0])
        let refusal = try #require(throws: Refusal.self) { try binder.refresh() }
        #expect(refusal.code == .duplicateRowID && refusal.detail.contains("\"a\""))
        models.removeLast()
        #expect(try binder.refresh().isEmpty)
    }

    @Test("Before `finish()` every command is refused, and a second `finish()` is refused, too")
    func beforeFinish() throws {
        let binder = TableBinder()
        binder.onTable().bind(cellType: PlainCell.self, models: { people("a") })
        #expect(throws: Refusal.self) { try binder.refresh() }
        #expect(throws: Refusal.self) { try binder.tap(at: 0) }
        try binder.finish()
        #expect(throws: Refusal.self) { try binder.finish() }
    }
}

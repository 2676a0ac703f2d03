// Formatted by hand, because pages show its snippets.
// swift-format-ignore-file
import BraidEngine
import Testing

@Suite struct EditingAndMovingTests {
    struct Person: Equatable, CollectionIdentifiable {
        var name: String
        var collectionId: String { name }
    }
    struct PersonCell: ReuseIdentifiable { var title = "" }

    // snippet: party
    final class Party {
        enum Section: String, TableSection, CaseIterable { case attending, invited }

        var people: [Section: [Person]] = [
            .attending: [Person(name: "Jonathan"), Person(name: "Omar"), Person(name: "Sara")],
            .invited: [Person(name: "Yvonne")],
        ]
        let binder = SectionedTableBinder(sectionedBy: Section.self)

        init() throws {
            binder.onAllSections()
                .bind(cellType: PersonCell.self, models: { [unowned self] in people })
                .onDequeue { _, _, cell, person in cell.title = person.name }
                .allowEditing(styleForRow: { section, row in section == .attending ? .delete : .insert })
                .allowMoving(.toAnySection)
                .onDelete { [unowned self] section, row, reason, person in
                    people[section]?.remove(at: row)
                }
                .onInsert { [unowned self] section, row, reason, person in
                    people[section]?.insert(person ?? Person(name: "New guest"), at: row)
                }
            try binder.finish()
        }
    }
    // end

    @Test("A person can delete, insert and move rows")
    func edits() throws {
        // snippet: commands
        let party = try Party()
        try party.binder.commit(.delete, at: RowPath(section: 0, row: 1))         // deletes the row of Omar
        try party.binder.commit(.insert, at: RowPath(section: 1, row: 0))         // inserts a guest before Yvonne
        let update = try party.binder.move(
            from: RowPath(section: 1, row: 1), to: RowPath(section: 0, row: 0)) // moves Yvonne to `attending`
        let moved = update.stages[0].moveRows                                       // one row moves: [1,1] to [0,0]
        // end
        #expect(party.people[.attending]?.map(\.name) == ["Yvonne", "Jonathan", "Sara"])
        #expect(party.people[.invited]?.map(\.name) == ["New guest"])
        #expect(update.stages.count == 1 && moved.map { [$0.from, $0.to] } == [[RowPath(section: 1, row: 1), RowPath(section: 0, row: 0)]])
    }

    @Test("With the constant editing style `insert`, an insert at the index after the last row appends a row")
    func appendedRow() throws {
        var people = [Person(name: "Jonathan")]
        let binder = TableBinder()
        binder.onTable()
            .bind(cellType: PersonCell.self, models: { people })
            .allowEditing(style: .insert)
            .onInsert { _, row, _, _ in people.insert(Person(name: "New guest"), at: row) }
        try binder.finish()
        try binder.commit(.insert, at: 1)
        #expect(people.map(\.name) == ["Jonathan", "New guest"])
        let party = try Party()
        #expect(throws: Refusal.self) { try party.binder.commit(.insert, at: RowPath(section: 1, row: 1)) }
    }

    @Test("An edit that is not allowed is refused")
    func refusedEdits() throws {
        let party = try Party()
        // snippet: refused
        var code: Refusal.Code?
        do {
            try party.binder.commit(.delete, at: RowPath(section: 1, row: 0))
        } catch let refusal as Refusal {
            code = refusal.code         // `editingNotAllowed`: Yvonne's row only allows `insert`
        }
        // end
        #expect(code == .editingNotAllowed)
    }

    @Test("The parameter `reason` of `onDelete` distinguishes an edit from a move")
    func reason() throws {
        enum Section: String, TableSection, CaseIterable { case attending, invited }
        var attending = [Person(name: "Jonathan"), Person(name: "Omar")], invited: [Person] = []
        let binder = SectionedTableBinder(sectionedBy: Section.self)
        binder.onSection(.invited).bind(cellType: PersonCell.self, models: { invited })
            .onInsert { _, row, _, person in invited.insert(try #require(person), at: row) }
        // snippet: reason
        binder.onSection(.attending)
            .bind(cellType: PersonCell.self, models: { attending })
            .allowEditing()
            .allowMoving(.toSectionsIn([.invited]), rowIsMovable: { section, row in row > 0 })
            .onDelete { _, row, reason, person in
                attending.remove(at: row)
                // A deleted person is invited again. A moved person is inserted by `onInsert` of the target section.
                if case .editing = reason { invited.append(person) }
            }
        // end
        try binder.finish()
        #expect(throws: Refusal.self) { try binder.move(from: RowPath(section: 0, row: 0), to: RowPath(section: 1, row: 0)) }
        #expect(throws: Refusal.self) { try binder.move(from: RowPath(section: 0, row: 1), to: RowPath(section: 0, row: 0)) }
        try binder.move(from: RowPath(section: 0, row: 1), to: RowPath(section: 1, row: 0))
        let update = try binder.commit(.delete, at: RowPath(section: 0, row: 0))
        #expect(update.stages.count == 1 && update.stages[0].moveRows.count == 1)
        #expect(attending.isEmpty && invited.map(\.name) == ["Omar", "Jonathan"])
    }

    @Test("If `onDelete` throws an error, the edit is refused")
    func aHandlerThatThrowsRefuses() throws {
        var people = [Person(name: "Jonathan"), Person(name: "Omar")], isLocked = true
        // snippet: refusing
        struct Locked: Error {}

        let binder = TableBinder()
        binder.onTable()
            .bind(cellType: PersonCell.self, models: { people })
            .allowEditing()
            .onDelete { _, row, _, person in
                if isLocked { throw Locked() }
                people.remove(at: row)
            }
        // end
        try binder.finish()
        #expect(throws: Locked.self) { try binder.commit(.delete, at: 0) }
        #expect(binder.snapshot.totalRowCount == 2)
        isLocked = false
        try binder.commit(.delete, at: 0)
        #expect(binder.snapshot.totalRowCount == 1)
    }

    @Test("A prefetch handler can add models")
    func prefetchingAddsModels() throws {
        // snippet: prefetch
        var pages = [["a", "b", "c"], ["d", "e", "f"]], shown: [String] = []
        shown += pages.removeFirst()

        let binder = TableBinder()
        binder.onTable()
            .bind(cellType: PersonCell.self, models: { shown })
            .prefetch(cellsFromEnd: 1) { section, row in
                if !pages.isEmpty { shown += pages.removeFirst() }
            }
        try binder.finish()

        let nothing = try binder.willDisplay([0])       // adds nothing: row 0 is two rows away from the last row
        let update = try binder.willDisplay([0, 1])     // row 1 is next to the last row: adds three rows
        // end
        #expect(nothing.isEmpty && update.stages[0].insertRows.count == 3)
    }
}

// Formatted by hand, because pages show its snippets.
// swift-format-ignore-file
import BraidEngine
import Testing

@Suite struct CustomCellEventsTests {
    // snippet: cells
    struct TextCell: ViewEventEmitting {
        enum ViewEvent { case textEntered(String) }
        var text = ""
    }

    struct ToggleCell: ViewEventEmitting {
        enum ViewEvent { case toggled(Bool) }
        var isOn = false
    }
    // end

    // snippet: form
    final class Form {
        enum Item: String, CollectionIdentifiable { case title, location, allDay }

        var title = "", location = "", isAllDay = true
        let binder = TableBinder()

        init() throws {
            binder.onTable()
                .bind(
                    cellProvider: { [unowned self] _, _, item -> any ReuseIdentifiable in
                        switch item {
                        case .title: TextCell(text: title)
                        case .location: TextCell(text: location)
                        case .allDay: ToggleCell(isOn: isAllDay)
                        }
                    },
                    models: { [unowned self] in isAllDay ? [Item.title, .allDay] : [.title, .location, .allDay] })
                .onEvent(from: TextCell.self) { [unowned self] _, _, event, item in
                    switch (event, item) {
                    case (.textEntered(let text), .title): title = text
                    case (.textEntered(let text), _): location = text
                    }
                }
                .onEvent(from: ToggleCell.self) { [unowned self] _, _, event in
                    if case .toggled(let isOn) = event { isAllDay = isOn }
                }
            try binder.finish()
        }
    }
    // end

    @Test("Events of several cell types reach their handlers")
    func severalCells() throws {
        // snippet: emitting
        let form = try Form()
        try form.binder.emit(TextCell.ViewEvent.textEntered("Lunch"), at: 0)
        let update = try form.binder.emit(ToggleCell.ViewEvent.toggled(false), at: 1)
        let inserted = update.stages[0].insertRows      // the update inserts the row of the location, at [0,1]
        // end
        #expect(form.title == "Lunch" && !form.isAllDay)
        #expect(inserted.map(\.at) == [RowPath(section: 0, row: 1)])
        #expect(try (form.binder.cell(at: 0) as? TextCell)?.text == "Lunch")
        // The text event created revision 1, although no row was inserted, deleted or changed. The toggle event created
        // revision 2.
        #expect(update.from == 1 && update.to == 2)
        try form.binder.emit(TextCell.ViewEvent.textEntered("Berlin"), at: 1)
        #expect(form.location == "Berlin")
    }

    // snippet: typing
    struct LabelCell: ReuseIdentifiable { var text = "" }

    final class Greeting {
        enum Part: Int, TableSection { case name, greeting }
        struct Line: Equatable, CollectionIdentifiable {
            var collectionId: String
            var text: String
        }

        var name = ""
        let binder = SectionedTableBinder(sectionedBy: Part.self)

        init() throws {
            binder.displayedSections = [.name, .greeting]
            binder.onSection(.name)
                .bind(cellType: TextCell.self, models: { [unowned self] in [Line(collectionId: "name", text: name)] })
                .updates(manually: true)
                .onEvent(from: TextCell.self) { [unowned self] _, _, event in
                    if case .textEntered(let text) = event { name = text }
                }
            binder.onSection(.greeting)
                .bind(cellType: LabelCell.self, models: { [unowned self] in [Line(collectionId: "greeting", text: "Hello, \(name)!")] })
            try binder.finish()
        }
    }
    // end

    @Test("With `updates(manually: true)`, an event does not reload its own row, but rows that depend on it")
    func typing() throws {
        // snippet: typed
        let greeting = try Greeting()
        for text in ["A", "Ad", "Ada"] {
            let update = try greeting.binder.emit(TextCell.ViewEvent.textEntered(text), at: RowPath(section: 0, row: 0))
            print(update.stages[0].updateRows.map(\.at))      // prints [[0,0]]: the row of the text field
            print(update.stages[0].reloadRows.map(\.at))      // prints [[1,0]]: the row of the greeting
        }
        // end
        for text in ["Ad", "A", ""] {
            let stages = try greeting.binder.emit(TextCell.ViewEvent.textEntered(text), at: RowPath(section: 0, row: 0)).stages
            #expect(stages.map { $0.updateRows.map(\.at) } == [[RowPath(section: 0, row: 0)]])
            #expect(stages.map { $0.reloadRows.map(\.at) } == [[RowPath(section: 1, row: 0)]])
        }
    }

    @Test("An event is refused if the row shows a cell of another type")
    func wrongCell() throws {
        let form = try Form()
        let refusal = try #require(throws: Refusal.self) { try form.binder.emit(ToggleCell.ViewEvent.toggled(true), at: 0) }
        #expect(refusal.code == .eventUndeclared)
    }
}

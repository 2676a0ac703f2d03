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

    @Test func eventsOfSeveralCellsReachTheirHandlers() throws {
        // snippet: emitting
        let form = try Form()
        try form.binder.emit(TextCell.ViewEvent.textEntered("Lunch"), at: 0)
        let update = try form.binder.emit(ToggleCell.ViewEvent.toggled(false), at: 1)
        let inserted = update.stages[0].insertRows      // the location, at [0,1]
        // end
        #expect(form.title == "Lunch" && !form.isAllDay)
        #expect(inserted.map(\.at) == [RowPath(section: 0, row: 1)])
        #expect(try (form.binder.cell(at: 0) as? TextCell)?.text == "Lunch")
        // Revision 1 was the text, though no row came, went or changed.
        #expect(update.from == 1 && update.to == 2)
        try form.binder.emit(TextCell.ViewEvent.textEntered("Berlin"), at: 1)
        #expect(form.location == "Berlin")
    }

    @Test func theEventOfAnotherCellIsRefused() throws {
        let form = try Form()
        let refusal = try #require(throws: Refusal.self) { try form.binder.emit(ToggleCell.ViewEvent.toggled(true), at: 0) }
        #expect(refusal.code == .eventUndeclared)
    }
}

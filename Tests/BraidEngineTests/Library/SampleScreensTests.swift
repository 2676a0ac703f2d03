import Testing
@testable import BraidEngine

/// The screens of Braid's sample app, and their events.
@Suite struct SampleScreensTests {
    struct TitleDetailCell: ViewModelBindable {
        struct ViewModel: Equatable, CollectionIdentifiable {
            var collectionId: String
            var title = "", detail: String?
        }
        var viewModel: ViewModel?
    }

    // MARK: Accounts

    struct Account: Equatable, CollectionIdentifiable {
        var number: String, balance: Int
        var collectionId: String { number }
    }

    @Test("The table shows a banner first, and accounts when they arrive from a server")
    func accounts() throws {
        enum Section: Int, TableSection, Comparable, CaseIterable { case message, checking, savings, other }
        let binder = SectionedTableBinder(sectionedBy: Section.self)
        binder.sectionDisplayBehavior = .hidesSectionsWithNoCellData
        var accounts: [Section: [Account]] = [:], opened: [String] = []
        binder.onSection(.message).bind(
            cellType: Banner.self, viewModels: { [.init(text: "3.10% for the first three months!")] })
        binder.onSections(.checking, .savings, .other)
            .bind(
                cellType: TitleDetailCell.self, models: { accounts },
                mapToViewModels: { .init(collectionId: $0.number, title: $0.number, detail: "$\($0.balance)") }
            )
            .onTapped { _, _, account in opened.append(account.number) }
        binder.onSections(.checking, .savings, .other)
            .bind(headerTitles: [.checking: "CHECKING", .savings: "SAVINGS", .other: "OTHER"]).bind(footerTitles: [
                .other: "Credit cards too"
            ])
        try binder.finish()
        #expect(binder.displayedSections == [.message])

        accounts = [
            .other: [.init(number: "3", balance: 1)],
            .checking: [.init(number: "1", balance: 10), .init(number: "2", balance: 20)],
        ]
        #expect(try binder.refresh().stages.map { $0.insertSections.map(\.at) } == [[1, 2]])
        #expect(binder.snapshot.sections.map { $0.header["title"]?.stringValue } == [nil, "CHECKING", "OTHER"])
        #expect(binder.snapshot.sections[2].footer["title"]?.stringValue == "Credit cards too")
        #expect(try (binder.cell(at: path(1, 1)) as? TitleDetailCell)?.viewModel?.detail == "$20")
        try binder.tap(at: path(2, 0))
        #expect(opened == ["3"])

        accounts[.checking]?[1].balance = 25
        #expect(try binder.refresh().stages.map { $0.reloadRows.map(\.at) } == [[path(1, 1)]])
        accounts = [.savings: [.init(number: "1", balance: 10)]]
        let before = binder.snapshot, update = try binder.refresh()
        #expect(try update.applied(to: before).json == binder.snapshot.json)
        #expect(binder.displayedSections == [.message, .savings])
    }

    // MARK: Artists

    @Test("Artists are grouped under letters, and only letters with artists are displayed")
    func artists() throws {
        struct Letter: TableSection, Comparable {
            var title: String
            static func < (left: Letter, right: Letter) -> Bool { left.title < right.title }
        }
        let binder = SectionedTableBinder(sectionedBy: Letter.self)
        binder.sectionDisplayBehavior = .hidesSectionsWithNoCellData
        var artists: [Letter: [Person]] = [:]
        binder.onAllSections()
            .bind(
                cellType: TitleDetailCell.self, models: { artists },
                mapToViewModels: { .init(collectionId: $0.id, title: $0.name) }
            )
            .bind(headerTitle: { $0.title })
        try binder.finish()
        #expect(binder.snapshot.sections.isEmpty)
        artists = [
            Letter(title: "M"): people("m"), Letter(title: "B"): people("b1", "b2"), Letter(title: "A"): people("a"),
        ]
        try binder.refresh()
        #expect(
            binder.displayedSections.map(\.title) == ["A", "B", "M"]
                && binder.snapshot.ids == [["a"], ["b1", "b2"], ["m"]])
        #expect(binder.snapshot.sections.map { $0.header["title"]?.stringValue } == ["A", "B", "M"])
        artists[Letter(title: "B")] = nil
        artists[Letter(title: "C")] = people("c")
        try binder.refresh()
        #expect(binder.displayedSections.map(\.title) == ["A", "C", "M"])
    }

    // MARK: Form

    final class Form {
        enum Section: Int, TableSection, Comparable, CaseIterable { case title, time, notes }
        enum Item: Equatable, CollectionIdentifiable {
            case name(String), allDay(Bool), date(String), start(String), picker(of: String), notes
            var collectionId: String {
                switch self {
                case .name: "name"
                case .allDay: "allDay"
                case .date: "date"
                case .start: "start"
                case .picker(let item): "picker \(item)"
                case .notes: "notes"
                }
            }
        }
        struct Toggle: ViewEventEmitting {
            enum ViewEvent { case toggled(Bool) }
        }
        struct Picker: ViewEventEmitting {
            enum ViewEvent { case picked(String) }
        }

        var name = "", isAllDay = true, date = "today", start = "noon", active: Item?
        let binder = SectionedTableBinder(sectionedBy: Section.self)

        var items: [Section: [Item]] {
            var time: [Item] = [.allDay(isAllDay), .date(date)]
            if !isAllDay { time.append(.start(start)) }
            if let active, let index = time.firstIndex(where: { $0.collectionId == active.collectionId }) {
                time.insert(.picker(of: active.collectionId), at: index + 1)
            }
            return [.title: [.name(name)], .time: time, .notes: [.notes]]
        }

        init() throws {
            binder.sectionDisplayBehavior = .hidesSectionsWithNoData
            binder.onAllSections().bind(
                cellProvider: { _, _, item -> any ReuseIdentifiable in
                    switch item {
                    case .name(let text): TextCell(text: text)
                    case .allDay: Toggle()
                    case .picker: Picker()
                    case .date, .start, .notes: PlainCell(title: item.collectionId)
                    }
                },
                models: { [unowned self] in items })
            binder.onSections(.title).assuming(modelType: Item.self)
                .updates(manually: true)
                .onEvent(from: TextCell.self) { [unowned self] _, _, event, item in
                    if case (.textEntered(let text), .name) = (event, item) { name = text }
                }
            binder.onSection(.time).assuming(modelType: Item.self)
                .onEvent(from: Toggle.self) { [unowned self] _, _, event in
                    if case .toggled(let isOn) = event { (isAllDay, active) = (isOn, nil) }
                    try binder.refresh()
                }
                .onTapped { [unowned self] _, _, item in active = active == item ? nil : item }
                .onEvent(from: Picker.self) { [unowned self] _, _, event, item in
                    if case (.picked(let date), .picker("date")) = (event, item) { self.date = date }
                }
            try binder.finish()
        }
    }

    @Test("A form shows a picker when a person taps a field, and keeps the values of its fields")
    func form() throws {
        let form = try Form()
        #expect(form.binder.snapshot.ids == [["name"], ["allDay", "date"], ["notes"]])
        #expect(
            try form.binder.emit(TextCell.ViewEvent.textEntered("Lunch"), at: path(0, 0)).stages.map {
                [$0.updateRows.map(\.at), $0.reloadRows.map(\.at)]
            } == [[[path(0, 0)], []]])
        #expect(try form.binder.tap(at: path(1, 1)).stages.map { $0.insertRows.map(\.at) } == [[path(1, 2)]])
        #expect(
            try form.binder.emit(Form.Picker.ViewEvent.picked("tomorrow"), at: path(1, 2)).stages.map {
                $0.reloadRows.map(\.at)
            } == [[path(1, 1)]])
        let toggled = try form.binder.emit(Form.Toggle.ViewEvent.toggled(false), at: path(1, 0))
        #expect(form.binder.snapshot.ids == [["name"], ["allDay", "date", "start"], ["notes"]])
        #expect(
            toggled.stages.flatMap(\.deleteRows) == [path(1, 2)]
                && toggled.stages.flatMap(\.insertRows).map(\.at) == [path(1, 2)])
        #expect((form.name, form.date) == ("Lunch", "tomorrow"))
        // No tap handler.
        #expect(try form.binder.tap(at: path(2, 0)).stages.isEmpty)
    }

    // MARK: News

    @Test("A feed grows when its last row is displayed")
    func feed() throws {
        let binder = TableBinder()
        var items: [String] = [], asked: [Int] = []
        binder.onTable()
            .bind(cellType: PlainCell.self, models: { items })
            .prefetch(cellsFromEnd: 0) { _, row in
                asked.append(row)
                items += (0..<8).map { "item \(items.count + $0)" }
            }
        try binder.finish()
        items = (0..<8).map { "item \($0)" }
        try binder.refresh()
        try binder.willDisplay(Array(0..<7))
        #expect(asked == [])
        try binder.willDisplay([7])
        try binder.willDisplay([7])
        try binder.willDisplay([15])
        #expect(asked == [7, 15] && binder.snapshot.totalRowCount == 24)
    }

    // MARK: Home page

    @Test("The sections and items of a home page can come from a server")
    func homePage() throws {
        struct Part: TableSection, CollectionIdentifiable {
            var collectionId: String
            var title: String?
            var footer: String?
            static let banner = Part(collectionId: "banner")
        }
        enum Item: Equatable, CollectionIdentifiable {
            case store(String), product(String, price: Int)
            var collectionId: String {
                switch self {
                case .store(let name), .product(let name, _): name
                }
            }
        }
        let binder = SectionedTableBinder(sectionedBy: Part.self)
        var parts: [Part: [Item]] = [:]
        binder.displayedSections = [.banner]
        binder.onSection(.banner).bind(cellType: Banner.self, viewModels: { [.init(text: "Shopping made easy.")] })
        binder.onAllOtherSections()
            .bind(
                cellProvider: { _, _, item -> any ReuseIdentifiable in
                    switch item {
                    case .store(let name): PlainCell(title: name)
                    case .product(let name, let price):
                        TitleDetailCell(viewModel: .init(collectionId: name, title: name, detail: "$\(price)"))
                    }
                },
                models: { parts }
            )
            .bind(headerTitle: { $0.title })
            .bind(footerType: Banner.self, viewModel: { part in part.footer.map { .init(text: $0) } })
        try binder.finish()
        #expect(binder.snapshot.sectionIDs == ["banner"])

        let stores = Part(collectionId: "stores", title: "STORES NEAR YOU", footer: nil),
            sale = Part(collectionId: "sale", title: "ON SALE", footer: "Until Sunday")
        parts = [stores: [.store("Kitchener")], sale: [.product("Hat", price: 20), .product("Coat", price: 80)]]
        binder.displayedSections = [.banner, sale, stores]
        try binder.refresh()
        #expect(
            binder.snapshot.sectionIDs == ["banner", "sale", "stores"]
                && binder.snapshot.ids == [["-"], ["Hat", "Coat"], ["Kitchener"]])
        #expect(try (binder.footerView(ofSection: 1) as? Banner)?.viewModel?.text == "Until Sunday")
        #expect(try binder.footerView(ofSection: 2) == nil)
        #expect(try binder.cell(at: path(1, 1)) is TitleDetailCell && binder.cell(at: path(2, 0)) is PlainCell)

        binder.displayedSections = [.banner, stores, sale]
        #expect(try binder.refresh().stages.map(\.moveSections.count) == [1])
    }

    // MARK: Attendees

    @Test("A deleted attendee returns to the section of invited people")
    func attendees() throws {
        enum Section: Int, TableSection, Comparable, CaseIterable { case description, attending, invited }
        let binder = SectionedTableBinder(sectionedBy: Section.self)
        var guests: [Section: [Person]] = [
            .attending: people("jonathan", "omar", "sara"), .invited: people("yvonne", "kalinda"),
        ]
        binder.sectionDisplayBehavior = .hidesSectionsWithNoData
        binder.onSection(.description).bind(
            cellType: TitleDetailCell.self, viewModels: { [.init(collectionId: "1", title: "Christa's Party")] })
        binder.onSection(.attending).allowEditing(style: .delete)
        binder.onSections(.attending, .invited)
            .bind(
                cellType: TitleDetailCell.self, models: { guests },
                mapToViewModels: { .init(collectionId: $0.id, title: $0.name) }
            )
            .bind(headerTitles: [.attending: "ATTENDING", .invited: "INVITED"])
            .allowMoving(.toSectionsIn([.attending, .invited]))
            .onInsert { section, row, _, person in guests[section]?.insert(try #require(person), at: row) }
            .onDelete { section, row, reason, person in
                if section == .attending, case .editing = reason { guests[.invited]?.insert(person, at: 0) }
                guests[section]?.remove(at: row)
            }
        try binder.finish()
        let deleted = try binder.commit(.delete, at: path(1, 1))
        #expect(deleted.stages.map { $0.moveRows.map { [$0.from, $0.to] } } == [[[path(1, 1), path(2, 0)]]])
        #expect(throws: Refusal.self) { try binder.commit(.delete, at: path(2, 0)) }
        #expect(throws: Refusal.self) { try binder.move(from: path(0, 0), to: path(1, 0)) }
        for _ in 0..<3 { try binder.move(from: path(2, 0), to: path(1, 0)) }
        #expect(binder.snapshot.ids == [["1"], ["kalinda", "yvonne", "omar", "jonathan", "sara"], []])
        #expect(
            binder.displayedSections == [.description, .attending, .invited], "a section with a title is displayed")
    }

    // MARK: View models that cells observe

    @Test("Cells that observe their own view models are updated, but not reloaded")
    func observingCells() throws {
        let binder = TableBinder()
        var rows: [TitleDetailCell.ViewModel] = [.init(collectionId: "1", title: "1 something")]
        binder.onTable().bind(cellType: TitleDetailCell.self, viewModels: { rows }).updates(manually: true)
            .onTapped { _, row in rows[row].title += " else" }
        try binder.finish()
        let tapped = try binder.tap(at: 0)
        #expect(tapped.stages.map { [$0.reloadRows.count, $0.updateRows.count] } == [[0, 1]])
        rows.insert(.init(collectionId: "2", title: "2 something"), at: 0)
        #expect(
            try binder.refresh().stages.map { [$0.insertRows.count, $0.reloadRows.count + $0.updateRows.count] } == [
                [1, 0]
            ])
    }
}

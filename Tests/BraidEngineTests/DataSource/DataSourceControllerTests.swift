import Testing

@testable import BraidEngine

/// `DataSourceCase` with the class `DataSourceController`, and its other methods.
@Suite struct DataSourceControllerTests {
    @Test(
        "A call of `DataSourceController` has the expected rows and notification as its result",
        arguments: DataSourceCase.all)
    func aCallLeadsTo(_ call: DataSourceCase) throws {
        let teller = Teller()
        let source = DataSourceController(sections: try Self.sections(), delegate: teller)
        try source.call(call.command())
        #expect(source.brief == call.after ?? DataSourceCase.start)
        #expect(teller.told == [call.notification].compactMap { $0 })
        #expect(
            source.snapshot.sections.map(\.rows.count) == (0..<source.sectionCount).map { source.rowCount(for: $0) })
    }

    @Test(
        "With `notify: false`, `DataSourceController` stores a change and does not notify its delegate",
        arguments: DataSourceCase.all)
    func withoutNotify(_ call: DataSourceCase) throws {
        let teller = Teller()
        let source = DataSourceController(sections: try Self.sections(), delegate: teller)
        try source.call(call.command(notify: false))
        #expect(source.brief == call.after ?? DataSourceCase.start)
        #expect(teller.told == [])
        #expect(source.snapshot.sections.map(\.rows.count) == [3, 1, 0])
        #expect(source.lastUpdate == nil)
    }

    @Test("`lastUpdate` leads from the table of the preceding notification to the current table")
    func lastUpdate() {
        final class View: DataSourceControllerDelegate {
            var shown: Snapshot?
            func dataSourceWasMutated(_ source: DataSourceController) { follow(source) }
            func dataSourceWasMutated(_ source: DataSourceController, section: Int) { follow(source) }
            func dataSourceWasMutated(_ source: DataSourceController, rows: [RowPath]) { follow(source) }
            private func follow(_ source: DataSourceController) {
                guard let update = source.lastUpdate, var before = shown else { return }
                before.revision = update.from
                shown = try? update.applied(to: before)
                #expect(shown?.text == source.snapshot.text)
            }
        }
        let view = View()
        let source = DataSourceController(rows: [1, 2, 3], delegate: view)
        view.shown = source.snapshot
        for row in 0..<40 {
            source.add(row: "x\(row)", at: RowPath(section: row % 3, row: row % 5), notify: row % 4 == 0)
            if row % 4 == 1 { source.remove(rowAt: RowPath(section: 0, row: 1)) }
            if row % 7 == 6 {
                source.update(rows: [RowPath(section: 0, row: 0): row, RowPath(section: 1, row: 9): "skipped"])
            }
            #expect(source.totalRowCount == (0..<source.sectionCount).reduce(0) { $0 + source.rowCount(for: $1) })
        }
    }

    /// A view applies `lastUpdate` at each notification, so it must not be an older one.
    @Test("A notification about a call that changes nothing displayed comes with an empty update")
    func emptyUpdate() {
        final class View: DataSourceControllerDelegate {
            var updates: [BatchUpdate?] = []
            func dataSourceWasMutated(_ source: DataSourceController) { updates.append(source.lastUpdate) }
            func dataSourceWasMutated(_ source: DataSourceController, section: Int) {
                updates.append(source.lastUpdate)
            }
        }
        let view = View()
        let source = DataSourceController(rows: [1], delegate: view)
        source.add(row: 2, at: RowPath(section: 0, row: 1))
        source.update(sectionData: SectionDataModel(), at: 0)
        source.removeAllSections()
        source.removeAllSections()
        #expect(view.updates.map { $0?.stages.count } == [1, 0, 1, 0])
        #expect(view.updates[1].map { [$0.from, $0.to] } == [1, 1])
    }

    @Test(
        "An update of several rows skips rows out of bounds, but is ignored if a section index is too high",
        arguments: [
            ([], "{\"rows\":[]}"), ([path(0, 1)], "{\"rows\":[]}"), ([path(-1, 0)], "{\"rows\":[]}"),
            ([path(0, -1), path(0, 0)], "{\"rows\":[[0,0]]}"),
            ([path(-1, 0), path(0, 0)], "{\"rows\":[[0,0]]}"), ([path(0, 0), path(1, 0)], nil),
        ] as [([RowPath], String?)])
    func severalRows(paths: [RowPath], told: String?) {
        let teller = Teller()
        let source = DataSourceController(rows: ["a"], delegate: teller)
        source.update(rows: Dictionary(uniqueKeysWithValues: paths.map { ($0, "x") }))
        #expect(teller.told == [told].compactMap { $0 })
        #expect(source.brief == (told?.contains("0,0") == true ? "-[x]" : "-[a]"))
    }

    @Test("The models of a `DataSourceController` can have any type")
    func modelsAreOfAnyType() throws {
        final class Model {}
        let model = Model()
        let source = DataSourceController(row: model)
        #expect(source.modelObject(at: RowPath(section: 0, row: 0)) as? Model === model)
        source.add(row: (1, "two"), at: RowPath(section: 0, row: 0))
        #expect((source.modelObject(at: RowPath(section: 0, row: 0)) as? (Int, String))?.1 == "two")
        #expect(source.modelObject(at: RowPath(section: 0, row: 2)) == nil)
        #expect(source.modelObject(at: RowPath(section: -1, row: 0)) == nil)
        #expect(source.modelObject(at: RowPath(section: 0, row: -1)) == nil)
        #expect(source.rowCount(for: -1) == 0 && source.rowCount(for: 1) == 0)
        // Negative indexes are out of bounds like any other: only `add(row:)` has an effect, an appended row.
        source.update(row: 1, at: RowPath(section: 0, row: -1))
        source.add(row: 1, at: RowPath(section: 0, row: -1))
        source.remove(sectionAt: -1)
        #expect(source.rowCount(for: 0) == 3)
    }

    @Test("`data(for:)` returns the section data that was set")
    func sectionData() {
        struct Data: SectionDataModelType {
            var header: String? = "H"
            var footer: String?
            var icon = 7
        }
        final class Reader: DataSourceControllerDelegate {
            var icons: [Int?] = []
            func dataSourceWasMutated(_ source: DataSourceController) {
                icons.append((source.data(for: 0) as? Data)?.icon)
            }
            func dataSourceWasMutated(_ source: DataSourceController, section: Int) {
                icons.append((source.data(for: 0) as? Data)?.icon)
            }
        }
        let reader = Reader()
        let source = DataSourceController(section: .init(sectionData: Data(), rows: [1]), delegate: reader)
        #expect((source.data(for: 0) as? Data)?.icon == 7)
        #expect(source.data(for: 1) == nil && source.data(for: -1) == nil)
        source.add(section: .init(sectionData: Data(icon: 8), rows: []), at: 0)
        source.update(sectionData: Data(icon: 9), at: 0)
        source.update(sectionData: Data(icon: 10), at: 5)
        source.update(section: .init(rows: [2]), at: 0)
        source.remove(sectionAt: 0)
        #expect(
            reader.icons == [8, 9, nil, 7],
            "the data is there when the delegate is told, and changed even if its titles are not")
    }

    @Test("A model gets the data controller that is registered for its type")
    func dataControllers() {
        struct First: CellDataController {
            var reuseIdentifier = "first"
            static func populate(with model: Any) -> any CellDataController { First() }
        }
        struct Second: CellDataController {
            var reuseIdentifier = ""
            static func populate(with model: Any) -> any CellDataController {
                Second(reuseIdentifier: "second \(model)")
            }
        }
        let source = DataSourceController()
        #expect(source.dataController(for: 1) == nil)
        source.register(dataController: First.self, for: Int.self)
        #expect(source.dataController(for: 1)?.reuseIdentifier == "first")
        source.register(dataController: Second.self, for: Int.self)
        #expect(source.dataController(for: 1)?.reuseIdentifier == "second 1")
        #expect(source.dataController(for: "1") == nil)
        #expect(source.dataController(for: First(reuseIdentifier: "itself"))?.reuseIdentifier == "itself")
    }

    /// DataSourceController uses these for the headers of collection views.
    @Test("Section data has the data controller that is registered for its type")
    func sectionDataController() {
        struct Data: SectionDataModelType {
            var header: String?
            var footer: String?
        }
        struct Title: CellDataController {
            var reuseIdentifier = "title"
            static func populate(with model: Any) -> any CellDataController {
                Title(reuseIdentifier: (model as? any SectionDataModelType)?.header ?? "none")
            }
        }
        let source = DataSourceController(sections: [
            .init(sectionData: Data(header: "H"), rows: [1]),
            .init(sectionData: SectionDataModel(header: "other"), rows: []),
        ])
        source.register(dataController: Title.self, for: Data.self)
        source.register(dataController: Title.self, for: Int.self)
        #expect(
            (0..<2).map { source.data(for: $0).flatMap { source.dataController(for: $0) }?.reuseIdentifier } == [
                "H", nil,
            ])
        #expect(
            source.dataController(for: 1)?.reuseIdentifier == "none", "one controller stands for any number of types")
    }

    @Test("A `DataSourceController` that is created with an empty list of rows has one section")
    func noRows() {
        let source = DataSourceController(rows: [])
        #expect(source.sectionCount == 1 && source.totalRowCount == 0 && source.snapshot.sections.count == 1)
    }

    @Test("Changing a section value after passing it to a `DataSourceController` does not change the controller")
    func valueSemantics() {
        var section = DataSourceController.Section(rows: ["a"])
        let source = DataSourceController(section: section)
        section.rows.append("b")
        #expect(source.totalRowCount == 1)
        source.update(section: section, at: 0)
        #expect(source.totalRowCount == 2)
    }

    /// The screens of DataSourceController's example app: the same products in different cells.
    @Test("The registered cells show a list of products")
    func products() {
        struct Product { var name: String, price: Int }
        struct Basic: CellDataController {
            var reuseIdentifier = "basicCell", title = "Incorrect data type"
            static func populate(with model: Any) -> any CellDataController {
                Basic(title: (model as? Product)?.name ?? "Incorrect data type")
            }
        }
        struct Detail: CellDataController {
            var reuseIdentifier = "detailCell", text = ""
            static func populate(with model: Any) -> any CellDataController {
                Detail(text: (model as? Product).map { "\($0.price)" } ?? "")
            }
        }
        let source = DataSourceController(sections: [
            .init(
                sectionData: SectionDataModel(header: "iPhones"),
                rows: [Product(name: "XS", price: 1_000), Product(name: "XR", price: 800)]),
            .init(
                sectionData: SectionDataModel(header: "Watches"), rows: [Product(name: "Series 4", price: 400), "soon"]),
        ])
        func shown(_ row: RowPath) -> (any CellDataController)? {
            source.modelObject(at: row).flatMap { source.dataController(for: $0) }
        }
        #expect(shown(path(0, 0)) == nil)
        source.register(dataController: Basic.self, for: Product.self)
        #expect((shown(path(1, 0)) as? Basic)?.title == "Series 4")
        source.register(dataController: Basic.self, for: String.self)
        #expect((shown(path(1, 1)) as? Basic)?.title == "Incorrect data type")
        source.register(dataController: Detail.self, for: Product.self)
        #expect((shown(path(0, 1)) as? Detail)?.text == "800" && shown(path(1, 1)) is Basic)
        #expect(source.snapshot.sections.map { $0.header["title"]?.stringValue } == ["iPhones", "Watches"])
        source.remove(rowAt: path(1, 0))
        source.remove(rowAt: path(1, 0))
        #expect(source.sectionCount == 1 && source.data(for: 0)?.header == "iPhones")
    }

    @Test("`emptyState` is set only while the `DataSourceController` has no rows")
    func emptyState() {
        final class Empty: DataSourceControllerDelegate {
            func emptyState(for dataSource: DataSourceController) -> Any? { "nothing" }
        }
        let empty = Empty()
        let source = DataSourceController(delegate: empty)
        #expect(source.emptyState as? String == "nothing")
        source.add(row: 1, at: RowPath(section: 0, row: 0))
        #expect(source.emptyState == nil)
    }

    @Test("A delegate may call the `DataSourceController` during a notification")
    func aDelegateMayCallAgain() {
        final class Caller: DataSourceControllerDelegate {
            func dataSourceWasMutated(_ source: DataSourceController, rows: [RowPath]) {
                source.add(row: "in front", at: RowPath(section: 0, row: 0), notify: false)
            }
        }
        let caller = Caller()
        let source = DataSourceController(rows: ["a", "b"], delegate: caller)
        source.update(rows: [RowPath(section: 0, row: 1): "B", RowPath(section: 0, row: 7): "skipped"])
        #expect(source.brief == "-[in front a B]")
    }

    private static func sections() throws -> [DataSourceController.Section] {
        try DataSourceCase.sections().map { DataSourceController.Section($0) }
    }
}

/// Records notifications as JSON.
private final class Teller: DataSourceControllerDelegate {
    var told: [String] = []
    func dataSourceWasMutated(_ dataSource: DataSourceController) {
        told.append(DataSourceNotification.dataSource.json.text)
    }
    func dataSourceWasMutated(_ dataSource: DataSourceController, section: Int) {
        told.append(DataSourceNotification.section(section).json.text)
    }
    func dataSourceWasMutated(_ dataSource: DataSourceController, rows: [RowPath]) {
        told.append(DataSourceNotification.rows(rows).json.text)
    }
}

extension DataSourceController.Section {
    fileprivate init(_ content: SectionContent) {
        let hasData = content.header != nil || content.footer != nil
        self.init(
            sectionData: hasData
                ? SectionDataModel(header: content.header?.stringValue, footer: content.footer?.stringValue) : nil,
            rows: content.rows.map { $0.stringValue ?? "" })
    }
}

extension DataSourceController {
    /// As `Snapshot.brief`, such as `A[a b c] -/F[]`.
    fileprivate var brief: String {
        (0..<sectionCount).map { section in
            let data = data(for: section)
            let rows = (0..<rowCount(for: section)).map {
                "\(modelObject(at: RowPath(section: section, row: $0)) ?? "?")"
            }
            return "\(data?.header ?? "-")\(data?.footer.map { "/" + $0 } ?? "")[\(rows.joined(separator: " "))]"
        }.joined(separator: " ")
    }

    /// The method that corresponds to the command.
    fileprivate func call(_ command: Command) throws {
        guard case .dataSource(let call, let notify) = command else { return }
        func text(_ json: JSONText) -> String { json.stringValue ?? "" }
        switch call {
        case .addRow(let model, let row): add(row: text(model), at: row.path, notify: notify)
        case .updateRow(let model, let row): update(row: text(model), at: row.path, notify: notify)
        case .updateRowsOfSection(let models, .displayed(let section)):
            update(rows: models.map(text), atSection: section, notify: notify)
        case .updateRows(let rows):
            update(rows: Dictionary(uniqueKeysWithValues: rows.map { ($0.at.path, text($0.model)) }), notify: notify)
        case .removeRow(let row): remove(rowAt: row.path, notify: notify)
        case .addSection(let section, let index): add(section: Section(section), at: index, notify: notify)
        case .updateSectionData(let header, let footer, .displayed(let index)):
            update(
                sectionData: SectionDataModel(header: header?.stringValue, footer: footer?.stringValue), at: index,
                notify: notify)
        case .updateSection(let section, .displayed(let index)):
            update(section: Section(section), at: index, notify: notify)
        case .updateAllSections(let sections): update(allSections: sections.map { Section($0) }, notify: notify)
        case .removeSection(.displayed(let index)): remove(sectionAt: index, notify: notify)
        case .removeAllSections: removeAllSections(notify: notify)
        // There are no such methods.
        case .insertRow, .insertRows, .putRow, .putRows, .patchRow, .deleteRow, .registerCell, .updateRowsOfSection,
            .updateSectionData, .updateSection, .removeSection:
            break
        }
    }
}

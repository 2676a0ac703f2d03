/// A data source: sections of rows of any Swift type, which a program changes by index path. The class provides the API
/// of the library DataSourceController on the server's engine.
///
/// ```swift
/// let source = DataSourceController(rows: ["tea", "coffee"], delegate: self)
/// source.register(dataController: DrinkCellController.self, for: String.self)
/// source.add(row: "water", at: RowPath(section: 0, row: 1))    // delegate: section 0 was mutated
/// source.remove(rowAt: RowPath(section: 0, row: 0), notify: false)
/// source.dataController(for: source.modelObject(at: RowPath(section: 0, row: 0)) ?? "")
/// ```
/// The row and section counts, ``modelObject(at:)`` and ``data(for:)`` read the stored rows, even if no call has
/// notified the delegate of them yet. ``snapshot`` and ``lastUpdate`` show only what calls with `notify` true have
/// published. `DataSourceController` is not `Sendable`: use a controller on the actor or in the task that created it.
///
/// Every change is carried out as a ``DataSourceCommand``, so bounds, notifications and updates follow the same rules
/// as in the server's HTTP API.
public final class DataSourceController {
    /// A section of a data source. It consists of rows and of the section's data, that is, its header and footer.
    public struct Section {
        /// The section's header and footer. `nil` if the section has neither.
        public var sectionData: (any SectionDataModelType)?
        /// The models of the section's rows, in order.
        public var rows: [Any]

        /// Creates a section from its data (header and footer) and from the models of its rows.
        public init(sectionData: (any SectionDataModelType)? = nil, rows: [Any]) {
            self.sectionData = sectionData
            self.rows = rows
        }
    }

    /// The object that this `DataSourceController` notifies of changes. The reference to the delegate is weak.
    public weak var delegate: (any DataSourceControllerDelegate)?
    /// The table after the last notifying call, that is, a call with `notify` true that was not ignored. Before the
    /// first notifying call, the table as it was created.
    public private(set) var snapshot: Snapshot
    /// The update of the last call with `notify` true that was not ignored, from the snapshot just before it. A view
    /// applies it as batch updates.
    public private(set) var lastUpdate: BatchUpdate?

    private let binder = Binder.values
    private let values = Values()
    private var table = TableModel()
    private var unpublished: Unpublished?
    private var sectionData: [SectionID: any SectionDataModelType] = [:]
    private var dataControllers: [ObjectIdentifier: any CellDataController.Type] = [:]

    /// Creates a `DataSourceController` with the given sections. The delegate is not notified of the creation.
    public init(sections: [Section] = [], delegate: (any DataSourceControllerDelegate)? = nil) {
        snapshot = Snapshot()
        update(allSections: sections)
        (snapshot.revision, lastUpdate) = (0, nil)
        self.delegate = delegate
    }

    /// Creates a `DataSourceController` with one section. The delegate is not notified of the creation.
    public convenience init(section: Section, delegate: (any DataSourceControllerDelegate)? = nil) {
        self.init(sections: [section], delegate: delegate)
    }

    /// Creates a `DataSourceController` with one section, given by its rows. The delegate is not notified of the
    /// creation.
    public convenience init(rows: [Any], delegate: (any DataSourceControllerDelegate)? = nil) {
        self.init(sections: [Section(rows: rows)], delegate: delegate)
    }

    /// Creates a `DataSourceController` with one section that contains one row. The delegate is not notified of the
    /// creation.
    public convenience init(row: Any, delegate: (any DataSourceControllerDelegate)? = nil) {
        self.init(rows: [row], delegate: delegate)
    }
}

// Access to the stored rows.
extension DataSourceController {
    private var stored: Snapshot { unpublished?.snapshot ?? snapshot }

    /// The number of stored rows in all sections.
    public var totalRowCount: Int { stored.totalRowCount }
    /// The number of stored sections.
    public var sectionCount: Int { stored.sections.count }

    /// Returns the number of stored rows in a section. 0 if the section does not exist.
    public func rowCount(for section: Int) -> Int {
        stored.sections.indices.contains(section) ? stored.sections[section].rows.count : 0
    }

    /// Returns the model of the stored row at an index path. `nil` if the row does not exist.
    public func modelObject(at indexPath: RowPath) -> Any? { number(at: indexPath).flatMap { values[$0] } }

    /// Returns the data of a stored section: its header and footer. `nil` if the section does not exist or has no data.
    public func data(for section: Int) -> (any SectionDataModelType)? {
        stored.sections.indices.contains(section) ? sectionData[stored.sections[section].id] : nil
    }

    /// What the delegate's `emptyState(for:)` returns, while no rows are stored. `nil` while rows are stored.
    public var emptyState: Any? { totalRowCount == 0 ? delegate?.emptyState(for: self) : nil }

    /// The number that represents the row's model.
    func number(at path: RowPath) -> JSONText? { try? stored.modelObject(at: path) }

    func numbers(at paths: [RowPath]) -> [JSONText] { paths.compactMap { number(at: $0) } }

    func numbers(in sections: some Sequence<Int>) -> [JSONText] {
        sections.filter { stored.sections.indices.contains($0) }.flatMap {
            stored.sections[$0].rows.compactMap(\.model)
        }
    }
}

// Cells.
extension DataSourceController {
    /// Registers which type of data controller prepares models of a Swift type. A later registration for the type
    /// replaces an earlier one.
    public func register(dataController: any CellDataController.Type, for modelType: Any.Type) {
        dataControllers[ObjectIdentifier(modelType)] = dataController
    }

    /// The data controller for a model: the model itself if it is one, otherwise one of the type that is registered for
    /// its type, populated with it.
    public func dataController(for model: Any) -> (any CellDataController)? {
        if let controller = model as? any CellDataController { return controller }
        return dataControllers[ObjectIdentifier(type(of: model))]?.populate(with: model)
    }
}

// Changes.
extension DataSourceController {
    func number(for row: Any) -> JSONText { values.add(row) }

    func forget(_ numbers: [JSONText]) {
        for number in numbers { values.retire(number) }
        values.commit()
    }

    /// Carries out a call of the program.
    ///
    /// - Parameters:
    ///   - old: the numbers that the call removes, which are forgotten if it is applied.
    ///   - new: the numbers that it adds, which are forgotten if it is not.
    ///   - data: new headers and footers, by the sections' indexes after the call.
    func perform(
        _ call: DataSourceCommand, notify: Bool, replacing old: [JSONText] = [], with new: [JSONText] = [],
        data: [Int: (any SectionDataModelType)?] = [:]
    ) {
        let outcome: Outcome
        do {
            outcome = try binder.applying(
                .dataSource(call, notify: notify), to: table, shown: snapshot, unpublished: unpublished, now: "")
        } catch {
            // Numbers have neither ids nor schemas, so no call is refused.
            return assertionFailure("The data source refused a call: \(error)")
        }
        let isApplied = outcome.kind == .applied
        (table, snapshot, unpublished) = (outcome.table, outcome.snapshot, outcome.unpublished)
        // Even if the update is empty.
        if isApplied || outcome.notification != nil, unpublished == nil { lastUpdate = outcome.update }
        forget(isApplied ? old : new)
        keep(data, isIgnored: outcome.isIgnored)
        notifyDelegate(outcome.notification)
    }

    private func keep(_ data: [Int: (any SectionDataModelType)?], isIgnored: Bool) {
        if !isIgnored {
            for (index, data) in data where stored.sections.indices.contains(index) {
                sectionData[stored.sections[index].id] = data
            }
        }
        if sectionData.count > table.sections.count {
            sectionData = sectionData.filter { table.position(of: $0.key) != nil }
        }
    }

    private func notifyDelegate(_ notification: DataSourceNotification?) {
        switch notification {
        case nil: break
        case .dataSource?: delegate?.dataSourceWasMutated(self)
        case .section(let section)?: delegate?.dataSourceWasMutated(self, section: section)
        case .rows(let rows)?: delegate?.dataSourceWasMutated(self, rows: rows)
        }
    }
}

extension DataSourceController: RowManager {
    /// Inserts a row; see ``RowManager/add(row:at:notify:)``.
    public func add(row: Any, at indexPath: RowPath, notify: Bool) {
        let new = number(for: row)
        perform(.addRow(new, at: RowReference(indexPath)), notify: notify, with: [new])
    }

    /// Replaces a row; see ``RowManager/update(row:at:notify:)``.
    public func update(row: Any, at indexPath: RowPath, notify: Bool) {
        let new = number(for: row)
        perform(
            .updateRow(new, at: RowReference(indexPath)), notify: notify, replacing: numbers(at: [indexPath]),
            with: [new])
    }

    /// Replaces all rows of a section; see ``RowManager/update(rows:atSection:notify:)``.
    public func update(rows: [Any], atSection section: Int, notify: Bool) {
        let new = rows.map { number(for: $0) }
        perform(
            .updateRowsOfSection(new, at: .displayed(section)), notify: notify, replacing: numbers(in: [section]),
            with: new)
    }

    /// Replaces the rows at several index paths; see ``RowManager/update(rows:notify:)``.
    public func update(rows: [RowPath: Any], notify: Bool) {
        let ascending = rows.sorted { $0.key < $1.key }
        let paths = ascending.map(\.key), new = ascending.map { number(for: $0.value) }
        let skipped = zip(paths, new).filter { number(at: $0.0) == nil }.map(\.1)
        perform(
            .updateRows(Array(zip(paths.map { RowReference($0) }, new))), notify: notify, replacing: numbers(at: paths),
            with: new)
        forget(skipped)
    }

    /// Removes a row; see ``RowManager/remove(rowAt:notify:)``.
    public func remove(rowAt indexPath: RowPath, notify: Bool) {
        perform(.removeRow(at: RowReference(indexPath)), notify: notify, replacing: numbers(at: [indexPath]))
    }
}

extension DataSourceController: SectionManager {
    /// Inserts a section; see ``SectionManager/add(section:at:notify:)``.
    public func add(section: Section, at index: Int?, notify: Bool) {
        let content = content(of: section)
        let place = index.flatMap { (0..<sectionCount).contains($0) ? $0 : nil } ?? sectionCount
        perform(.addSection(content, at: index), notify: notify, with: content.rows, data: [place: section.sectionData])
    }

    /// Replaces a section's header and footer; see ``SectionManager/update(sectionData:at:notify:)``.
    public func update(sectionData: any SectionDataModelType, at index: Int, notify: Bool) {
        let titles = content(of: Section(sectionData: sectionData, rows: []))
        perform(
            .updateSectionData(header: titles.header, footer: titles.footer, at: .displayed(index)), notify: notify,
            data: [index: sectionData])
    }

    /// Replaces a section; see ``SectionManager/update(section:at:notify:)``.
    public func update(section: Section, at index: Int, notify: Bool) {
        let content = content(of: section)
        perform(
            .updateSection(content, at: .displayed(index)), notify: notify, replacing: numbers(in: [index]),
            with: content.rows, data: [index: section.sectionData])
    }

    /// Replaces all sections; see ``SectionManager/update(allSections:notify:)``.
    public func update(allSections sections: [Section], notify: Bool) {
        let contents = sections.map { content(of: $0) }
        perform(
            .updateAllSections(contents), notify: notify, replacing: numbers(in: 0..<sectionCount),
            with: contents.flatMap(\.rows),
            data: Dictionary(uniqueKeysWithValues: sections.map(\.sectionData).enumerated().map { ($0, $1) }))
    }

    /// Removes a section; see ``SectionManager/remove(sectionAt:notify:)``.
    public func remove(sectionAt index: Int, notify: Bool) {
        perform(.removeSection(at: .displayed(index)), notify: notify, replacing: numbers(in: [index]))
    }

    /// Removes all sections; see ``SectionManager/removeAllSections(notify:)``.
    public func removeAllSections(notify: Bool) {
        perform(.removeAllSections, notify: notify, replacing: numbers(in: 0..<sectionCount))
    }

    private func content(of section: Section) -> SectionContent {
        SectionContent(
            header: section.sectionData?.header.map { .string($0) },
            footer: section.sectionData?.footer.map { .string($0) },
            rows: section.rows.map { number(for: $0) })
    }
}

/// Sections of rows of any type, changed by index path, with the API of the library DataSourceController.
///
/// ```swift
/// let source = DataSourceController(rows: ["tea", "coffee"], delegate: self)
/// source.register(dataController: DrinkCellController.self, for: String.self)
/// source.add(row: "water", at: RowPath(section: 0, row: 1))  // delegate: section 0 was mutated
/// source.dataController(for: source.modelObject(at: RowPath(section: 0, row: 0)) ?? "")
/// ```
/// Counts, ``modelObject(at:)`` and ``data(for:)`` read the stored rows; ``snapshot`` and ``lastUpdate``, only what
/// calls with `notify` true published. The rules are those of the HTTP API (``DataSourceCommand``). Not `Sendable`.
public final class DataSourceController {
    /// Rows and their header and footer.
    public struct Section {
        /// Header and footer; `nil` for neither.
        public var sectionData: (any SectionDataModelType)?
        /// The models.
        public var rows: [Any]

        /// Creates a section.
        public init(sectionData: (any SectionDataModelType)? = nil, rows: [Any]) {
            self.sectionData = sectionData
            self.rows = rows
        }
    }

    /// Is notified of changes.
    public weak var delegate: (any DataSourceControllerDelegate)?
    /// The table after the last call with `notify` true that was not ignored.
    public private(set) var snapshot: Snapshot
    /// That call's update, for batch updates.
    public private(set) var lastUpdate: BatchUpdate?

    private let binder = Binder.values
    private let values = Values()
    private var table = TableModel()
    private var unpublished: Unpublished?
    private var sectionData: [SectionID: any SectionDataModelType] = [:]
    private var dataControllers: [ObjectIdentifier: any CellDataController.Type] = [:]

    /// Does not notify the delegate.
    public init(sections: [Section] = [], delegate: (any DataSourceControllerDelegate)? = nil) {
        snapshot = Snapshot()
        update(allSections: sections)
        (snapshot.revision, lastUpdate) = (0, nil)
        self.delegate = delegate
    }

    /// With one section.
    public convenience init(section: Section, delegate: (any DataSourceControllerDelegate)? = nil) {
        self.init(sections: [section], delegate: delegate)
    }

    /// With one section of these rows.
    public convenience init(rows: [Any], delegate: (any DataSourceControllerDelegate)? = nil) {
        self.init(sections: [Section(rows: rows)], delegate: delegate)
    }

    /// With one row.
    public convenience init(row: Any, delegate: (any DataSourceControllerDelegate)? = nil) {
        self.init(rows: [row], delegate: delegate)
    }
}

// Access to the stored rows.
extension DataSourceController {
    private var stored: Snapshot { unpublished?.snapshot ?? snapshot }

    /// Stored rows.
    public var totalRowCount: Int { stored.totalRowCount }
    /// Stored sections.
    public var sectionCount: Int { stored.sections.count }

    /// Stored rows of a section; 0 without one.
    public func rowCount(for section: Int) -> Int {
        stored.sections.indices.contains(section) ? stored.sections[section].rows.count : 0
    }

    /// A stored row's model; `nil` without one.
    public func modelObject(at indexPath: RowPath) -> Any? { number(at: indexPath).flatMap { values[$0] } }

    /// A stored section's header and footer; `nil` without any.
    public func data(for section: Int) -> (any SectionDataModelType)? {
        stored.sections.indices.contains(section) ? sectionData[stored.sections[section].id] : nil
    }

    /// From the delegate's `emptyState(for:)`; `nil` while rows are stored.
    public var emptyState: Any? { totalRowCount == 0 ? delegate?.emptyState(for: self) : nil }

    func number(at path: RowPath) -> JSONText? { try? stored.modelObject(at: path) }

    func numbers(at paths: [RowPath]) -> [JSONText] { paths.compactMap { number(at: $0) } }

    func numbers(in sections: some Sequence<Int>) -> [JSONText] {
        sections.filter { stored.sections.indices.contains($0) }.flatMap {
            stored.sections[$0].rows.compactMap(\.model)
        }
    }
}

extension DataSourceController {
    /// Registers the data controller for a model type, or replaces it.
    public func register(dataController: any CellDataController.Type, for modelType: Any.Type) {
        dataControllers[ObjectIdentifier(modelType)] = dataController
    }

    /// The model itself if it is a data controller, else one of the registered type, populated with it.
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

    /// `old`: numbers to forget if applied; `new`: if not. `data`: headers and footers by section index after the call.
    func perform(
        _ call: DataSourceCommand, notify: Bool, replacing old: [JSONText] = [], with new: [JSONText] = [],
        data: [Int: (any SectionDataModelType)?] = [:]
    ) {
        let outcome: Outcome
        do {
            outcome = try binder.applying(
                .dataSource(call, notify: notify), to: table, shown: snapshot, unpublished: unpublished, now: "")
        } catch {
            // Numbers have no ids and schemas, so nothing is refused.
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
    /// See ``RowManager/add(row:at:notify:)``.
    public func add(row: Any, at indexPath: RowPath, notify: Bool) {
        let new = number(for: row)
        perform(.addRow(new, at: RowReference(indexPath)), notify: notify, with: [new])
    }

    /// See ``RowManager/update(row:at:notify:)``.
    public func update(row: Any, at indexPath: RowPath, notify: Bool) {
        let new = number(for: row)
        perform(
            .updateRow(new, at: RowReference(indexPath)), notify: notify, replacing: numbers(at: [indexPath]),
            with: [new])
    }

    /// See ``RowManager/update(rows:atSection:notify:)``.
    public func update(rows: [Any], atSection section: Int, notify: Bool) {
        let new = rows.map { number(for: $0) }
        perform(
            .updateRowsOfSection(new, at: .displayed(section)), notify: notify, replacing: numbers(in: [section]),
            with: new)
    }

    /// See ``RowManager/update(rows:notify:)``.
    public func update(rows: [RowPath: Any], notify: Bool) {
        let ascending = rows.sorted { $0.key < $1.key }
        let paths = ascending.map(\.key), new = ascending.map { number(for: $0.value) }
        let skipped = zip(paths, new).filter { number(at: $0.0) == nil }.map(\.1)
        perform(
            .updateRows(Array(zip(paths.map { RowReference($0) }, new))), notify: notify, replacing: numbers(at: paths),
            with: new)
        forget(skipped)
    }

    /// See ``RowManager/remove(rowAt:notify:)``.
    public func remove(rowAt indexPath: RowPath, notify: Bool) {
        perform(.removeRow(at: RowReference(indexPath)), notify: notify, replacing: numbers(at: [indexPath]))
    }
}

extension DataSourceController: SectionManager {
    /// See ``SectionManager/add(section:at:notify:)``.
    public func add(section: Section, at index: Int?, notify: Bool) {
        let content = content(of: section)
        let place = index.flatMap { (0..<sectionCount).contains($0) ? $0 : nil } ?? sectionCount
        perform(.addSection(content, at: index), notify: notify, with: content.rows, data: [place: section.sectionData])
    }

    /// See ``SectionManager/update(sectionData:at:notify:)``.
    public func update(sectionData: any SectionDataModelType, at index: Int, notify: Bool) {
        let titles = content(of: Section(sectionData: sectionData, rows: []))
        perform(
            .updateSectionData(header: titles.header, footer: titles.footer, at: .displayed(index)), notify: notify,
            data: [index: sectionData])
    }

    /// See ``SectionManager/update(section:at:notify:)``.
    public func update(section: Section, at index: Int, notify: Bool) {
        let content = content(of: section)
        perform(
            .updateSection(content, at: .displayed(index)), notify: notify, replacing: numbers(in: [index]),
            with: content.rows, data: [index: section.sectionData])
    }

    /// See ``SectionManager/update(allSections:notify:)``.
    public func update(allSections sections: [Section], notify: Bool) {
        let contents = sections.map { content(of: $0) }
        perform(
            .updateAllSections(contents), notify: notify, replacing: numbers(in: 0..<sectionCount),
            with: contents.flatMap(\.rows),
            data: Dictionary(uniqueKeysWithValues: sections.map(\.sectionData).enumerated().map { ($0, $1) }))
    }

    /// See ``SectionManager/remove(sectionAt:notify:)``.
    public func remove(sectionAt index: Int, notify: Bool) {
        perform(.removeSection(at: .displayed(index)), notify: notify, replacing: numbers(in: [index]))
    }

    /// See ``SectionManager/removeAllSections(notify:)``.
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

/// Sections of rows of any type, changed by index path: the library of the same name, on the engine of the server.
///
/// ```swift
/// let source = DataSourceController(rows: ["tea", "coffee"], delegate: self)
/// source.register(dataController: DrinkCellController.self, for: String.self)
/// source.add(row: "water", at: RowPath(section: 0, row: 1))    // delegate: section 0 was mutated
/// source.remove(rowAt: RowPath(section: 0, row: 0), notify: false)
/// source.dataController(for: source.modelObject(at: RowPath(section: 0, row: 0)) ?? "")
/// ```
/// Counts, `modelObject(at:)` and `data(for:)` read what is stored, notified of or not; `snapshot` and `lastUpdate` have
/// what notifying calls have shown. Not `Sendable`: it belongs to whoever made it.
///
/// Its models stand in the engine's table as numbers (see `Values`), and every call is a `DataSourceCommand`: bounds,
/// notifications and updates are those of the HTTP API.
/// Source: DataSourceController, https://github.com/peredaniel/DataSourceController
public final class DataSourceController {
    public struct Section {
        public var sectionData: (any SectionDataModelType)?
        public var rows: [Any]

        public init(sectionData: (any SectionDataModelType)? = nil, rows: [Any]) {
            self.sectionData = sectionData
            self.rows = rows
        }
    }

    public weak var delegate: (any DataSourceControllerDelegate)?
    /// The table as it was notified of last.
    public private(set) var snapshot: Snapshot
    /// What the last notifying call has changed since the one before it, for a view's batch updates.
    public private(set) var lastUpdate: BatchUpdate?

    private let binder = Binder.values
    private let values = Values()
    private var table = TableModel()
    private var unpublished: Unpublished?
    private var sectionData: [SectionID: any SectionDataModelType] = [:]
    private var dataControllers: [ObjectIdentifier: any CellDataController.Type] = [:]

    public init(sections: [Section] = [], delegate: (any DataSourceControllerDelegate)? = nil) {
        snapshot = Snapshot()
        update(allSections: sections)
        (snapshot.revision, lastUpdate) = (0, nil)
        self.delegate = delegate
    }

    public convenience init(section: Section, delegate: (any DataSourceControllerDelegate)? = nil) {
        self.init(sections: [section], delegate: delegate)
    }

    public convenience init(rows: [Any], delegate: (any DataSourceControllerDelegate)? = nil) {
        self.init(sections: [Section(rows: rows)], delegate: delegate)
    }

    public convenience init(row: Any, delegate: (any DataSourceControllerDelegate)? = nil) {
        self.init(rows: [row], delegate: delegate)
    }
}

// What is stored.
extension DataSourceController {
    private var stored: Snapshot { unpublished?.snapshot ?? snapshot }

    public var totalRowCount: Int { stored.totalRowCount }
    public var sectionCount: Int { stored.sections.count }

    /// 0 for a section that is not there.
    public func rowCount(for section: Int) -> Int {
        stored.sections.indices.contains(section) ? stored.sections[section].rows.count : 0
    }

    /// Nil for a row that is not there.
    public func modelObject(at indexPath: RowPath) -> Any? { number(at: indexPath).flatMap { values[$0] } }

    /// Nil for a section that is not there, or has none.
    public func data(for section: Int) -> (any SectionDataModelType)? {
        stored.sections.indices.contains(section) ? sectionData[stored.sections[section].id] : nil
    }

    /// The delegate's empty state, while there are no rows.
    public var emptyState: Any? { totalRowCount == 0 ? delegate?.emptyState(for: self) : nil }

    /// The number that stands for the row's model in the engine's table.
    func number(at path: RowPath) -> JSONText? { try? stored.modelObject(at: path) }

    func numbers(at paths: [RowPath]) -> [JSONText] { paths.compactMap { number(at: $0) } }

    func numbers(in sections: some Sequence<Int>) -> [JSONText] {
        sections.filter { stored.sections.indices.contains($0) }.flatMap { stored.sections[$0].rows.compactMap(\.model) }
    }
}

// Cells.
extension DataSourceController {
    /// Which data controller stands for the models of a type; the last registration of a type wins.
    public func register(dataController: any CellDataController.Type, for modelType: Any.Type) {
        dataControllers[ObjectIdentifier(modelType)] = dataController
    }

    /// The model itself if it is a data controller, else one of the type that is registered for its type, populated
    /// with it. Nil: none is registered.
    public func dataController(for model: Any) -> (any CellDataController)? {
        if let controller = model as? any CellDataController { return controller }
        return dataControllers[ObjectIdentifier(type(of: model))]?.populate(with: model)
    }
}

// Changes.
extension DataSourceController {
    /// A new number for a row of a call.
    func number(for row: Any) -> JSONText { values.add(row) }

    func forget(_ numbers: [JSONText]) {
        for number in numbers { values.retire(number) }
        values.commit()
    }

    /// Carries a call out and tells the delegate.
    ///
    /// `old` are the numbers that the call takes out of the table, `new` those that it puts in; those that are not in the
    /// table afterwards are forgotten. `data` is that of sections, by their indices after the call.
    func perform(
        _ call: DataSourceCommand, notify: Bool, replacing old: [JSONText] = [], with new: [JSONText] = [],
        data: [Int: (any SectionDataModelType)?] = [:]
    ) {
        let outcome: Outcome
        do {
            outcome = try binder.applying(
                .dataSource(call, notify: notify), to: table, shown: snapshot, unpublished: unpublished, now: "")
        } catch {
            // Rows that are numbers have neither ids nor schemas that a call could offend against.
            return assertionFailure("The data source refused a call: \(error)")
        }
        let isApplied = outcome.kind == .applied
        (table, snapshot, unpublished) = (outcome.table, outcome.snapshot, outcome.unpublished)
        // What is told of is brought by an update, if only by one that changes nothing.
        if isApplied || outcome.notification != nil, unpublished == nil { lastUpdate = outcome.update }
        forget(isApplied ? old : new)
        keep(data, isIgnored: outcome.isIgnored)
        notifyDelegate(outcome.notification)
    }

    private func keep(_ data: [Int: (any SectionDataModelType)?], isIgnored: Bool) {
        if !isIgnored {
            for (index, data) in data where stored.sections.indices.contains(index) { sectionData[stored.sections[index].id] = data }
        }
        if sectionData.count > table.sections.count { sectionData = sectionData.filter { table.position(of: $0.key) != nil } }
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

/// The only section of a ``TableBinder``.
public enum OnlySection: String, TableSection, CaseIterable { case table }

/// A ``SectionedTableBinder`` with one section, always displayed. Rows are named by index. Source: Braid's
/// `TableViewBinder`.
///
/// ```swift
/// let binder = TableBinder()
/// binder.onTable().bind(cellType: SongCell.self, models: { songs })
/// try binder.finish()
/// ```
public final class TableBinder {
    private let binder = SectionedTableBinder(sectionedBy: OnlySection.self)

    /// Creates one without bindings.
    public init() {}

    /// The table's chain.
    public func onTable() -> BindingChain<OnlySection, any ReuseIdentifiable, Never> { binder.bindings.on(.table) }

    /// See ``SectionedTableBinder/finish()``.
    public func finish() throws { try binder.finish() }

    /// One section; empty before ``finish()``.
    public var snapshot: Snapshot { binder.snapshot }
    /// A row's model.
    public func model<Model>(at row: Int, as: Model.Type = Model.self) throws -> Model {
        try binder.model(at: Self.path(row))
    }
    /// See ``SectionedTableBinder/cell(at:in:)``.
    public func cell(at row: Int, in sections: [Section]? = nil) throws -> any ReuseIdentifiable {
        try binder.cell(at: Self.path(row), in: sections)
    }

    /// The header's view; `nil` for a title or none.
    public func headerView() throws -> (any ReuseIdentifiable)? { try binder.headerView(ofSection: 0) }
    /// The footer's view; `nil` for a title or none.
    public func footerView() throws -> (any ReuseIdentifiable)? { try binder.footerView(ofSection: 0) }

    /// See ``SectionedTableBinder/refresh()``.
    @discardableResult public func refresh() throws -> BatchUpdate { try binder.refresh() }
    /// See ``SectionedTableBinder/commit(_:at:)``.
    @discardableResult public func commit(_ style: EditingStyle, at row: Int) throws -> BatchUpdate {
        try binder.commit(style, at: Self.path(row))
    }
    /// `target` counts without the row; see ``SectionedTableBinder/move(from:to:)``.
    @discardableResult public func move(from row: Int, to target: Int) throws -> BatchUpdate {
        try binder.move(from: Self.path(row), to: Self.path(target))
    }
    /// See ``SectionedTableBinder/tap(at:)``.
    @discardableResult public func tap(at row: Int) throws -> BatchUpdate { try binder.tap(at: Self.path(row)) }
    /// See ``SectionedTableBinder/emit(_:at:)``.
    @discardableResult public func emit(_ event: some Sendable, at row: Int) throws -> BatchUpdate {
        try binder.emit(event, at: Self.path(row))
    }
    /// See ``SectionedTableBinder/willDisplay(_:)``.
    @discardableResult public func willDisplay(_ rows: [Int]) throws -> BatchUpdate {
        try binder.willDisplay(rows.map(Self.path))
    }

    /// See ``SectionedTableBinder/updates``.
    public var updates: AsyncStream<BatchUpdate> { binder.updates }

    /// See ``SectionedTableBinder/latest(of:initially:)``.
    public func latest<Elements: AsyncSequence & Sendable>(
        of elements: Elements, initially first: Elements.Element
    ) -> () -> Elements.Element where Elements.Element: Sendable { binder.latest(of: elements, initially: first) }

    /// See ``SectionedTableBinder/observe(isolation:)``.
    public func observe(isolation: isolated (any Actor)? = #isolation) async throws {
        try await binder.observe(isolation: isolation)
    }

    private static func path(_ row: Int) -> RowPath { RowPath(section: 0, row: row) }
}

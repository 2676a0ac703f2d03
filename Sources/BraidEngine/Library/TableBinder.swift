/// The only section, `table`, of a table without sections.
public enum OnlySection: String, TableSection, CaseIterable { case table }

/// A table without sections: a ``SectionedTableBinder`` with one section, which is always displayed. Rows are named by
/// their index; the methods throw the same errors. Source: Braid's `TableViewBinder`.
public final class TableBinder {
    private let binder = SectionedTableBinder(sectionedBy: OnlySection.self)

    /// Creates a binder without any bindings.
    public init() {}

    /// Begins a binding chain about the table's only section.
    public func onTable() -> BindingChain<OnlySection, any ReuseIdentifiable, Never> { binder.bindings.on(.table) }

    /// Ends the binding and reads the models for the first time; see ``SectionedTableBinder/finish()``.
    public func finish() throws { try binder.finish() }

    /// Has one section; is empty before ``finish()``.
    public var snapshot: Snapshot { binder.snapshot }
    /// The program's model of a row.
    public func model<Model>(at row: Int, as: Model.Type = Model.self) throws -> Model {
        try binder.model(at: Self.path(row))
    }
    /// Makes and fills the cell of a row; see ``SectionedTableBinder/cell(at:in:)``.
    public func cell(at row: Int, in sections: [Section]? = nil) throws -> any ReuseIdentifiable {
        try binder.cell(at: Self.path(row), in: sections)
    }

    /// Makes and fills the header view. `nil` for a title, or without a header.
    public func headerView() throws -> (any ReuseIdentifiable)? { try binder.headerView(ofSection: 0) }
    /// Makes and fills the footer view. `nil` for a title, or without a footer.
    public func footerView() throws -> (any ReuseIdentifiable)? { try binder.footerView(ofSection: 0) }

    /// Calls the program's closures again and updates the table; see ``SectionedTableBinder/refresh()``.
    @discardableResult public func refresh() throws -> BatchUpdate { try binder.refresh() }
    /// Performs a person's edit of the row at an index; see ``SectionedTableBinder/commit(_:at:)``.
    @discardableResult public func commit(_ style: EditingStyle, at row: Int) throws -> BatchUpdate {
        try binder.commit(style, at: Self.path(row))
    }
    /// Moves a row. `target` is an index after the row has been taken out; see ``SectionedTableBinder/move(from:to:)``.
    @discardableResult public func move(from row: Int, to target: Int) throws -> BatchUpdate {
        try binder.move(from: Self.path(row), to: Self.path(target))
    }
    /// Reports a tap on the row at an index; see ``SectionedTableBinder/tap(at:)``.
    @discardableResult public func tap(at row: Int) throws -> BatchUpdate { try binder.tap(at: Self.path(row)) }
    /// Reports an event that the cell of a row emitted; see ``SectionedTableBinder/emit(_:at:)``.
    @discardableResult public func emit(_ event: some Sendable, at row: Int) throws -> BatchUpdate {
        try binder.emit(event, at: Self.path(row))
    }
    /// Reports the indexes of rows on the screen; see ``SectionedTableBinder/willDisplay(_:)``.
    @discardableResult public func willDisplay(_ rows: [Int]) throws -> BatchUpdate {
        try binder.willDisplay(rows.map(Self.path))
    }

    /// A stream of every update from now on that makes a new revision, in order. Each access creates a new stream.
    public var updates: AsyncStream<BatchUpdate> { binder.updates }

    /// Returns a closure that returns a sequence's latest element; see ``SectionedTableBinder/latest(of:initially:)``.
    public func latest<Elements: AsyncSequence & Sendable>(
        of elements: Elements, initially first: Elements.Element
    ) -> () -> Elements.Element where Elements.Element: Sendable { binder.latest(of: elements, initially: first) }

    /// Reads the bound sequences and refreshes the table; see ``SectionedTableBinder/observe(isolation:)``.
    public func observe(isolation: isolated (any Actor)? = #isolation) async throws {
        try await binder.observe(isolation: isolation)
    }

    private static func path(_ row: Int) -> RowPath { RowPath(section: 0, row: row) }
}

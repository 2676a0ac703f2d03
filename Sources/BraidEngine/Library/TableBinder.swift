/// The only section of a table without sections.
public enum OnlySection: String, TableSection, CaseIterable { case table }

/// A table without sections, bound by a program: a `SectionedTableBinder` with one section, which is always displayed.
///
/// Source: Braid's `TableViewBinder`.
public final class TableBinder {
    private let binder = SectionedTableBinder(sectionedBy: OnlySection.self)

    public init() {}

    public func onTable() -> BindingChain<OnlySection, any ReuseIdentifiable, Never> { binder.bindings.onTable() }

    public func finish() throws { try binder.finish() }

    public var snapshot: Snapshot { binder.snapshot }
    public func model<Model>(at row: Int, as: Model.Type = Model.self) throws -> Model { try binder.model(at: Self.path(row)) }
    /// `sections` as in `SectionedTableBinder.cell(at:in:)`.
    public func cell(at row: Int, in sections: [Section]? = nil) throws -> any ReuseIdentifiable { try binder.cell(at: Self.path(row), in: sections) }

    public func headerView() throws -> (any ReuseIdentifiable)? { try binder.headerView(ofSection: 0) }
    public func footerView() throws -> (any ReuseIdentifiable)? { try binder.footerView(ofSection: 0) }

    @discardableResult public func refresh() throws -> BatchUpdate { try binder.refresh() }
    @discardableResult public func commit(_ style: EditingStyle, at row: Int) throws -> BatchUpdate { try binder.commit(style, at: Self.path(row)) }
    /// `target` counts after the row has been taken out.
    @discardableResult public func move(from row: Int, to target: Int) throws -> BatchUpdate { try binder.move(from: Self.path(row), to: Self.path(target)) }
    @discardableResult public func tap(at row: Int) throws -> BatchUpdate { try binder.tap(at: Self.path(row)) }
    @discardableResult public func emit(_ event: some Sendable, at row: Int) throws -> BatchUpdate { try binder.emit(event, at: Self.path(row)) }
    @discardableResult public func willDisplay(_ rows: [Int]) throws -> BatchUpdate { try binder.willDisplay(rows.map(Self.path)) }

    public var updates: AsyncStream<BatchUpdate> { binder.updates }

    public func latest<Elements: AsyncSequence & Sendable>(
        of elements: Elements, initially first: Elements.Element
    ) -> () -> Elements.Element where Elements.Element: Sendable { binder.latest(of: elements, initially: first) }

    public func observe(isolation: isolated (any Actor)? = #isolation) async throws { try await binder.observe(isolation: isolation) }

    private static func path(_ row: Int) -> RowPath { RowPath(section: 0, row: row) }
}

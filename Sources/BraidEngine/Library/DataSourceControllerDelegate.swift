/// Notified after each call with `notify` true that was not ignored. Indexes are those after the call.
public protocol DataSourceControllerDelegate: AnyObject {
    /// Any section or row may have changed.
    func dataSourceWasMutated(_ dataSource: DataSourceController)
    /// A section changed.
    func dataSourceWasMutated(_ dataSource: DataSourceController, section: Int)
    /// Rows changed; ascending, may be empty.
    func dataSourceWasMutated(_ dataSource: DataSourceController, rows: [RowPath])
    /// What to show without rows; `backgroundEmptyView(for:)` in the library DataSourceController.
    func emptyState(for dataSource: DataSourceController) -> Any?
}

extension DataSourceControllerDelegate {
    /// Does nothing.
    public func dataSourceWasMutated(_ dataSource: DataSourceController) {}
    /// Does nothing.
    public func dataSourceWasMutated(_ dataSource: DataSourceController, section: Int) {}
    /// Does nothing.
    public func dataSourceWasMutated(_ dataSource: DataSourceController, rows: [RowPath]) {}
    /// Nothing.
    public func emptyState(for dataSource: DataSourceController) -> Any? { nil }
}

/// A section's titles.
public protocol SectionDataModelType {
    /// `nil` without a header.
    var header: String? { get }
    /// `nil` without a footer.
    var footer: String? { get }
}

/// A section's titles, as a struct.
public struct SectionDataModel: SectionDataModelType {
    /// `nil` without a header.
    public var header: String?
    /// `nil` without a footer.
    public var footer: String?

    /// Creates them.
    public init(header: String? = nil, footer: String? = nil) {
        self.header = header
        self.footer = footer
    }
}

/// Prepares a model for the cell that shows it.
public protocol CellDataController {
    /// That of the cell that shows the model.
    var reuseIdentifier: String { get }
    /// Makes one with what the model's cell shows.
    static func populate(with model: Any) -> any CellDataController
}

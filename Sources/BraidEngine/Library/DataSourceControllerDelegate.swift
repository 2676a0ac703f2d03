/// Is notified after a call of a ``DataSourceController`` with `notify` true that was not ignored. Indexes refer to the
/// rows after the call.
public protocol DataSourceControllerDelegate: AnyObject {
    /// Any section or row may have changed.
    func dataSourceWasMutated(_ dataSource: DataSourceController)
    /// A section changed.
    func dataSourceWasMutated(_ dataSource: DataSourceController, section: Int)
    /// Rows changed, in ascending order; the list can be empty.
    func dataSourceWasMutated(_ dataSource: DataSourceController, rows: [RowPath])
    /// What to show while there are no rows (`backgroundEmptyView(for:)` of the library DataSourceController).
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

/// The titles of a section's header and footer.
public protocol SectionDataModelType {
    /// The header's title. `nil` without a header.
    var header: String? { get }
    /// The footer's title. `nil` without a footer.
    var footer: String? { get }
}

/// The titles of a section's header and footer, as a struct.
public struct SectionDataModel: SectionDataModelType {
    /// The header's title. `nil` without a header.
    public var header: String?
    /// The footer's title. `nil` without a footer.
    public var footer: String?

    /// Creates a section's data.
    public init(header: String? = nil, footer: String? = nil) {
        self.header = header
        self.footer = footer
    }
}

/// Prepares a model for the cell that shows it.
public protocol CellDataController {
    /// The name of the cell.
    var reuseIdentifier: String { get }
    /// A data controller with what the cell of the model shows.
    static func populate(with model: Any) -> any CellDataController
}

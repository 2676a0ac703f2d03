/// An object that a ``DataSourceController`` notifies after a call with `notify` true that was not ignored. Indexes and
/// index paths refer to the rows after the call.
public protocol DataSourceControllerDelegate: AnyObject {
    /// Notifies the delegate that any section or row may have changed.
    func dataSourceWasMutated(_ dataSource: DataSourceController)
    /// Notifies the delegate that the section at an index changed.
    func dataSourceWasMutated(_ dataSource: DataSourceController, section: Int)
    /// Notifies the delegate that the rows at these index paths changed. The index paths are in ascending order. The
    /// list can be empty.
    func dataSourceWasMutated(_ dataSource: DataSourceController, rows: [RowPath])
    /// Returns what to show while the data source has no rows. The library DataSourceController calls this method
    /// `backgroundEmptyView(for:)`.
    func emptyState(for dataSource: DataSourceController) -> Any?
}

extension DataSourceControllerDelegate {
    /// The default implementation, which ignores a notification that any section or row may have changed.
    public func dataSourceWasMutated(_ dataSource: DataSourceController) {}
    /// The default implementation, which ignores a notification that a section changed.
    public func dataSourceWasMutated(_ dataSource: DataSourceController, section: Int) {}
    /// The default implementation, which ignores a notification that rows changed.
    public func dataSourceWasMutated(_ dataSource: DataSourceController, rows: [RowPath]) {}
    /// The default implementation, which returns `nil`: nothing special is shown while the data source has no rows.
    public func emptyState(for dataSource: DataSourceController) -> Any? { nil }
}

/// The data of a section: the titles of its header and footer.
public protocol SectionDataModelType {
    /// The title of the section's header. `nil` if the section has no header.
    var header: String? { get }
    /// The title of the section's footer. `nil` if the section has no footer.
    var footer: String? { get }
}

/// A struct with the titles of a section's header and footer.
public struct SectionDataModel: SectionDataModelType {
    /// The title of the section's header. `nil` if the section has no header.
    public var header: String?
    /// The title of the section's footer. `nil` if the section has no footer.
    public var footer: String?

    /// Creates a section's data from the titles of its header and footer.
    public init(header: String? = nil, footer: String? = nil) {
        self.header = header
        self.footer = footer
    }
}

/// An object that prepares a model for the cell that shows the model.
public protocol CellDataController {
    /// The name of the cell that shows the model.
    var reuseIdentifier: String { get }
    /// Returns a data controller that contains what the cell of a model shows.
    static func populate(with model: Any) -> any CellDataController
}

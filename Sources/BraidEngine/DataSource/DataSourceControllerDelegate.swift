/// An object that a ``DataSourceController`` notifies after a notifying call. Indexes count in the rows after the call.
public protocol DataSourceControllerDelegate: AnyObject {
    /// Notifies that anything may have changed.
    func dataSourceWasMutated(_ dataSource: DataSourceController)
    /// Notifies that the section at an index changed.
    func dataSourceWasMutated(_ dataSource: DataSourceController, section: Int)
    /// Notifies that the rows at these index paths changed, in the order of the call. The list can be empty.
    func dataSourceWasMutated(_ dataSource: DataSourceController, rows: [RowPath])
    /// Returns what to show while the data source has no rows. In the library DataSourceController:
    /// `backgroundEmptyView(for:)`.
    func emptyState(for dataSource: DataSourceController) -> Any?
}

extension DataSourceControllerDelegate {
    /// Does nothing, by default.
    public func dataSourceWasMutated(_ dataSource: DataSourceController) {}
    /// Does nothing, by default.
    public func dataSourceWasMutated(_ dataSource: DataSourceController, section: Int) {}
    /// Does nothing, by default.
    public func dataSourceWasMutated(_ dataSource: DataSourceController, rows: [RowPath]) {}
    /// Returns `nil`, by default.
    public func emptyState(for dataSource: DataSourceController) -> Any? { nil }
}

/// The header and footer of a section.
public protocol SectionDataModelType {
    /// The header's title. `nil` for none.
    var header: String? { get }
    /// The footer's title. `nil` for none.
    var footer: String? { get }
}

/// The header and footer of a section as a value.
public struct SectionDataModel: SectionDataModelType {
    /// The header's title. `nil` for none.
    public var header: String?
    /// The footer's title. `nil` for none.
    public var footer: String?

    /// Creates a section's data.
    public init(header: String? = nil, footer: String? = nil) {
        self.header = header
        self.footer = footer
    }
}

/// An object between a model and the cell that shows it.
public protocol CellDataController {
    /// The name of the cell that shows the model.
    var reuseIdentifier: String { get }
    /// Returns a data controller for a model.
    static func populate(with model: Any) -> any CellDataController
}

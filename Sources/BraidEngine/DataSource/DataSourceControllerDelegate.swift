/// Is told what a notifying call has changed, after it has.
public protocol DataSourceControllerDelegate: AnyObject {
    /// Anything may have changed.
    func dataSourceWasMutated(_ dataSource: DataSourceController)
    func dataSourceWasMutated(_ dataSource: DataSourceController, section: Int)
    func dataSourceWasMutated(_ dataSource: DataSourceController, rows: [RowPath])
    /// What to show in the place of rows while there are none; the original's `backgroundEmptyView(for:)`.
    func emptyState(for dataSource: DataSourceController) -> Any?
}

extension DataSourceControllerDelegate {
    public func dataSourceWasMutated(_ dataSource: DataSourceController) {}
    public func dataSourceWasMutated(_ dataSource: DataSourceController, section: Int) {}
    public func dataSourceWasMutated(_ dataSource: DataSourceController, rows: [RowPath]) {}
    public func emptyState(for dataSource: DataSourceController) -> Any? { nil }
}

/// What a section has beside its rows.
public protocol SectionDataModelType {
    var header: String? { get }
    var footer: String? { get }
}

public struct SectionDataModel: SectionDataModelType {
    public var header: String?
    public var footer: String?

    public init(header: String? = nil, footer: String? = nil) {
        self.header = header
        self.footer = footer
    }
}

/// Stands between a model and the cell that shows it.
public protocol CellDataController {
    var reuseIdentifier: String { get }
    static func populate(with model: Any) -> any CellDataController
}

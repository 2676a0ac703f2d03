/// Changes rows. A call that is out of bounds does what DataSourceController does, and never fails.
///
/// With `notify` false the change is stored, and neither told to the delegate nor part of an update before a later call
/// notifies. Index paths count in the stored rows.
public protocol RowManager: AnyObject {
    /// No such section: a new one with this row at the end. No such row: at the section's end.
    /// Tells `dataSourceWasMutated(_:section:)`, or, of a new section, `dataSourceWasMutated(_:)`.
    func add(row: Any, at indexPath: RowPath, notify: Bool)
    /// No such row: ignored. Tells `dataSourceWasMutated(_:rows:)`.
    func update(row: Any, at indexPath: RowPath, notify: Bool)
    /// No such section: ignored. Tells `dataSourceWasMutated(_:rows:)` of all its rows.
    func update(rows: [Any], atSection section: Int, notify: Bool)
    /// Updates rows in ascending order. A section too high: all are ignored. A row out of bounds, or a negative index:
    /// that one is skipped. Calls `dataSourceWasMutated(_:rows:)` with the rows that were updated, even if there are none.
    func update(rows: [RowPath: Any], notify: Bool)
    /// No such row: ignored. A section that is left empty is removed. Tells `dataSourceWasMutated(_:)`.
    func remove(rowAt indexPath: RowPath, notify: Bool)
}

extension RowManager {
    public func add(row: Any, at indexPath: RowPath) { add(row: row, at: indexPath, notify: true) }
    public func update(row: Any, at indexPath: RowPath) { update(row: row, at: indexPath, notify: true) }
    public func update(rows: [Any], atSection section: Int) { update(rows: rows, atSection: section, notify: true) }
    public func update(rows: [RowPath: Any]) { update(rows: rows, notify: true) }
    public func remove(rowAt indexPath: RowPath) { remove(rowAt: indexPath, notify: true) }
}

/// Changes sections, as `RowManager` changes rows.
public protocol SectionManager: AnyObject {
    /// Nil, or no such section: at the end. Tells `dataSourceWasMutated(_:)`.
    func add(section: DataSourceController.Section, at index: Int?, notify: Bool)
    /// No such section: ignored. Tells `dataSourceWasMutated(_:section:)`.
    func update(sectionData: any SectionDataModelType, at index: Int, notify: Bool)
    /// No such section: ignored. Tells `dataSourceWasMutated(_:section:)`.
    func update(section: DataSourceController.Section, at index: Int, notify: Bool)
    /// Tells `dataSourceWasMutated(_:)`.
    func update(allSections sections: [DataSourceController.Section], notify: Bool)
    /// No such section: ignored. Tells `dataSourceWasMutated(_:)`.
    func remove(sectionAt index: Int, notify: Bool)
    /// Tells `dataSourceWasMutated(_:)`.
    func removeAllSections(notify: Bool)
}

extension SectionManager {
    public func add(section: DataSourceController.Section) { add(section: section, at: nil, notify: true) }
    public func add(section: DataSourceController.Section, at index: Int?) { add(section: section, at: index, notify: true) }
    public func add(section: DataSourceController.Section, notify: Bool) { add(section: section, at: nil, notify: notify) }
    public func update(sectionData: any SectionDataModelType, at index: Int) { update(sectionData: sectionData, at: index, notify: true) }
    public func update(section: DataSourceController.Section, at index: Int) { update(section: section, at: index, notify: true) }
    public func update(allSections sections: [DataSourceController.Section]) { update(allSections: sections, notify: true) }
    public func remove(sectionAt index: Int) { remove(sectionAt: index, notify: true) }
    public func removeAllSections() { removeAllSections(notify: true) }
}

/// Changes stored rows by index path. None fails for an index out of bounds: each method says what happens. A change
/// with `notify` false reaches delegate and updates with a later call with `notify` true.
public protocol RowManager: AnyObject {
    /// Inserts before this path, at the section's end without such a row, in a new last section without such a section.
    /// Notifies with `dataSourceWasMutated(_:section:)`, for a new section with `dataSourceWasMutated(_:)`.
    func add(row: Any, at indexPath: RowPath, notify: Bool)
    /// Replaces a row if it exists. Notifies with `dataSourceWasMutated(_:rows:)`.
    func update(row: Any, at indexPath: RowPath, notify: Bool)
    /// Replaces all rows of a section if it exists. Notifies with `dataSourceWasMutated(_:rows:)` of the new ones.
    func update(rows: [Any], atSection section: Int, notify: Bool)
    /// Replaces rows, ascending. Too high a section makes it all ignored; missing rows and negative indexes are
    /// skipped. Notifies with `dataSourceWasMutated(_:rows:)` even if nothing was replaced.
    func update(rows: [RowPath: Any], notify: Bool)
    /// Removes a row if it exists, and the section with its last one. Notifies with `dataSourceWasMutated(_:)`.
    func remove(rowAt indexPath: RowPath, notify: Bool)
}

extension RowManager {
    /// Notifies; see ``RowManager/add(row:at:notify:)``.
    public func add(row: Any, at indexPath: RowPath) { add(row: row, at: indexPath, notify: true) }
    /// Notifies; see ``RowManager/update(row:at:notify:)``.
    public func update(row: Any, at indexPath: RowPath) { update(row: row, at: indexPath, notify: true) }
    /// Notifies; see ``RowManager/update(rows:atSection:notify:)``.
    public func update(rows: [Any], atSection section: Int) { update(rows: rows, atSection: section, notify: true) }
    /// Notifies; see ``RowManager/update(rows:notify:)``.
    public func update(rows: [RowPath: Any]) { update(rows: rows, notify: true) }
    /// Notifies; see ``RowManager/remove(rowAt:notify:)``.
    public func remove(rowAt indexPath: RowPath) { remove(rowAt: indexPath, notify: true) }
}

/// Changes stored sections by index, as ``RowManager`` does rows.
public protocol SectionManager: AnyObject {
    /// Inserts before this index, or at the end. Notifies with `dataSourceWasMutated(_:)`.
    func add(section: DataSourceController.Section, at index: Int?, notify: Bool)
    /// Replaces header and footer if the section exists. Notifies with `dataSourceWasMutated(_:section:)`.
    func update(sectionData: any SectionDataModelType, at index: Int, notify: Bool)
    /// Replaces header, footer and rows if it exists. Notifies with `dataSourceWasMutated(_:section:)`.
    func update(section: DataSourceController.Section, at index: Int, notify: Bool)
    /// Replaces all sections. Notifies with `dataSourceWasMutated(_:)`.
    func update(allSections sections: [DataSourceController.Section], notify: Bool)
    /// Removes a section if it exists. Notifies with `dataSourceWasMutated(_:)`.
    func remove(sectionAt index: Int, notify: Bool)
    /// Removes all sections. Notifies with `dataSourceWasMutated(_:)`.
    func removeAllSections(notify: Bool)
}

extension SectionManager {
    /// Appends and notifies; see ``SectionManager/add(section:at:notify:)``.
    public func add(section: DataSourceController.Section) { add(section: section, at: nil, notify: true) }
    /// Notifies; see ``SectionManager/add(section:at:notify:)``.
    public func add(section: DataSourceController.Section, at index: Int?) {
        add(section: section, at: index, notify: true)
    }
    /// Appends; see ``SectionManager/add(section:at:notify:)``.
    public func add(section: DataSourceController.Section, notify: Bool) {
        add(section: section, at: nil, notify: notify)
    }
    /// Notifies; see ``SectionManager/update(sectionData:at:notify:)``.
    public func update(sectionData: any SectionDataModelType, at index: Int) {
        update(sectionData: sectionData, at: index, notify: true)
    }
    /// Notifies; see ``SectionManager/update(section:at:notify:)``.
    public func update(section: DataSourceController.Section, at index: Int) {
        update(section: section, at: index, notify: true)
    }
    /// Notifies; see ``SectionManager/update(allSections:notify:)``.
    public func update(allSections sections: [DataSourceController.Section]) {
        update(allSections: sections, notify: true)
    }
    /// Notifies; see ``SectionManager/remove(sectionAt:notify:)``.
    public func remove(sectionAt index: Int) { remove(sectionAt: index, notify: true) }
    /// Notifies; see ``SectionManager/removeAllSections(notify:)``.
    public func removeAllSections() { removeAllSections(notify: true) }
}

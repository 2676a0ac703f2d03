/// Changes stored rows by index path; no index fails. Each notifies of the data source, a section or rows
/// (``DataSourceControllerDelegate``). With `notify` false, a later call with true publishes the change.
public protocol RowManager: AnyObject {
    /// Inserts before a path; at the section's end without that row; in a new last section without that section.
    /// Notifies of the section, or of the data source for a new one.
    func add(row: Any, at indexPath: RowPath, notify: Bool)
    /// Replaces a row, if it exists. Notifies of it.
    func update(row: Any, at indexPath: RowPath, notify: Bool)
    /// Replaces all rows; ignored without such a section. Notifies of the new rows.
    func update(rows: [Any], atSection section: Int, notify: Bool)
    /// Replaces rows, ascending; skips missing ones and negative indexes. Ignored for too high a section. Notifies of
    /// the rows, even of none.
    func update(rows: [RowPath: Any], notify: Bool)
    /// Removes a row, if it exists, and the section with its last one. Notifies of the data source.
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
    /// Inserts before an index, or at the end. Notifies of the data source.
    func add(section: DataSourceController.Section, at index: Int?, notify: Bool)
    /// Replaces a section's header and footer, if it exists. Notifies of it.
    func update(sectionData: any SectionDataModelType, at index: Int, notify: Bool)
    /// Replaces a section, if it exists. Notifies of it.
    func update(section: DataSourceController.Section, at index: Int, notify: Bool)
    /// Replaces all sections. Notifies of the data source.
    func update(allSections sections: [DataSourceController.Section], notify: Bool)
    /// Removes a section, if it exists. Notifies of the data source.
    func remove(sectionAt index: Int, notify: Bool)
    /// Removes all sections. Notifies of the data source.
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

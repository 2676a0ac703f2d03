/// Changes rows by index path, among the stored rows. An index out of bounds never fails: each method says what
/// happens.
///
/// If `notify` is false, the delegate is not notified, and no update contains the change until a later call with
/// `notify` true.
public protocol RowManager: AnyObject {
    /// Inserts a row before the one at an index path: at the section's end if there is none, in a new section at the
    /// end if there is no section. Notifies with `dataSourceWasMutated(_:section:)` or, for a new section,
    /// `dataSourceWasMutated(_:)`.
    func add(row: Any, at indexPath: RowPath, notify: Bool)
    /// Replaces the row at an index path, if it exists. Notifies with `dataSourceWasMutated(_:rows:)`.
    func update(row: Any, at indexPath: RowPath, notify: Bool)
    /// Replaces all rows of a section, if it exists. Notifies with `dataSourceWasMutated(_:rows:)` of all its new rows.
    func update(rows: [Any], atSection section: Int, notify: Bool)
    /// Replaces rows, in ascending order. A section's index that is too high makes the whole call ignored; a row that
    /// does not exist, or a negative index, is skipped. Notifies with `dataSourceWasMutated(_:rows:)`, even if no row
    /// was replaced.
    func update(rows: [RowPath: Any], notify: Bool)
    /// Removes a row, if it exists, and its section with its last row. Notifies with `dataSourceWasMutated(_:)`.
    func remove(rowAt indexPath: RowPath, notify: Bool)
}

extension RowManager {
    /// Inserts a row and notifies the delegate; see ``RowManager/add(row:at:notify:)``.
    public func add(row: Any, at indexPath: RowPath) { add(row: row, at: indexPath, notify: true) }
    /// Replaces a row and notifies the delegate; see ``RowManager/update(row:at:notify:)``.
    public func update(row: Any, at indexPath: RowPath) { update(row: row, at: indexPath, notify: true) }
    /// Replaces all rows of a section and notifies the delegate; see ``RowManager/update(rows:atSection:notify:)``.
    public func update(rows: [Any], atSection section: Int) { update(rows: rows, atSection: section, notify: true) }
    /// Replaces the rows at several index paths and notifies the delegate; see ``RowManager/update(rows:notify:)``.
    public func update(rows: [RowPath: Any]) { update(rows: rows, notify: true) }
    /// Removes a row and notifies the delegate; see ``RowManager/remove(rowAt:notify:)``.
    public func remove(rowAt indexPath: RowPath) { remove(rowAt: indexPath, notify: true) }
}

/// An object that changes sections by index, as ``RowManager`` changes rows. Indexes refer to the stored sections.
public protocol SectionManager: AnyObject {
    /// Inserts a section before the one at an index, or at the end if there is none. Notifies with
    /// `dataSourceWasMutated(_:)`.
    func add(section: DataSourceController.Section, at index: Int?, notify: Bool)
    /// Replaces a section's header and footer, not its rows, if it exists. Notifies with
    /// `dataSourceWasMutated(_:section:)`.
    func update(sectionData: any SectionDataModelType, at index: Int, notify: Bool)
    /// Replaces a section's header, footer and rows, if it exists. Notifies with `dataSourceWasMutated(_:section:)`.
    func update(section: DataSourceController.Section, at index: Int, notify: Bool)
    /// Replaces all sections. Notifies with `dataSourceWasMutated(_:)`.
    func update(allSections sections: [DataSourceController.Section], notify: Bool)
    /// Removes a section, if it exists. Notifies with `dataSourceWasMutated(_:)`.
    func remove(sectionAt index: Int, notify: Bool)
    /// Removes all sections. Notifies with `dataSourceWasMutated(_:)`.
    func removeAllSections(notify: Bool)
}

extension SectionManager {
    /// Appends a section and notifies the delegate; see ``SectionManager/add(section:at:notify:)``.
    public func add(section: DataSourceController.Section) { add(section: section, at: nil, notify: true) }
    /// Inserts a section and notifies the delegate; see ``SectionManager/add(section:at:notify:)``.
    public func add(section: DataSourceController.Section, at index: Int?) {
        add(section: section, at: index, notify: true)
    }
    /// Appends a section; see ``SectionManager/add(section:at:notify:)``.
    public func add(section: DataSourceController.Section, notify: Bool) {
        add(section: section, at: nil, notify: notify)
    }
    /// Replaces a section's header and footer and notifies; see ``SectionManager/update(sectionData:at:notify:)``.
    public func update(sectionData: any SectionDataModelType, at index: Int) {
        update(sectionData: sectionData, at: index, notify: true)
    }
    /// Replaces a section and notifies the delegate; see ``SectionManager/update(section:at:notify:)``.
    public func update(section: DataSourceController.Section, at index: Int) {
        update(section: section, at: index, notify: true)
    }
    /// Replaces all sections and notifies the delegate; see ``SectionManager/update(allSections:notify:)``.
    public func update(allSections sections: [DataSourceController.Section]) {
        update(allSections: sections, notify: true)
    }
    /// Removes a section and notifies the delegate; see ``SectionManager/remove(sectionAt:notify:)``.
    public func remove(sectionAt index: Int) { remove(sectionAt: index, notify: true) }
    /// Removes all sections and notifies the delegate; see ``SectionManager/removeAllSections(notify:)``.
    public func removeAllSections() { removeAllSections(notify: true) }
}

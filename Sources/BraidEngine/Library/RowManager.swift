/// An object that changes rows by index path. A call with an index out of bounds never fails: each method's
/// documentation says what the method does in this case.
///
/// If `notify` is false, the change is stored but the delegate is not notified. No update contains the change until a
/// later call with `notify` true publishes it. Index paths refer to the stored rows.
public protocol RowManager: AnyObject {
    /// Inserts a row before the row at an index path. If the section does not exist, a new section at the end gets the
    /// row. If no row is at the index path, the new row is appended to the section.
    ///
    /// If `notify` is true, the method notifies the delegate: with `dataSourceWasMutated(_:)` if the call adds a
    /// section, otherwise with `dataSourceWasMutated(_:section:)`.
    func add(row: Any, at indexPath: RowPath, notify: Bool)
    /// Replaces the row at an index path. Does nothing if the row does not exist. If `notify` is true, a replaced row
    /// is reported to the delegate with `dataSourceWasMutated(_:rows:)`.
    func update(row: Any, at indexPath: RowPath, notify: Bool)
    /// Replaces all rows of a section. Does nothing if the section does not exist. If `notify` is true and the section
    /// exists, `dataSourceWasMutated(_:rows:)` reports all new rows of the section to the delegate.
    func update(rows: [Any], atSection section: Int, notify: Bool)
    /// Replaces the rows at several index paths, in ascending order. If one section's index is too high, the whole call
    /// is ignored. A row that does not exist, or a negative index, is skipped.
    ///
    /// If `notify` is true and the call is not ignored, `dataSourceWasMutated(_:rows:)` reports the replaced rows to
    /// the delegate. The delegate is notified even if no row was replaced.
    func update(rows: [RowPath: Any], notify: Bool)
    /// Removes a row. Does nothing if the row does not exist. A section that becomes empty is removed with its last
    /// row. If `notify` is true, a removal is reported to the delegate with `dataSourceWasMutated(_:)`.
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
    /// Inserts a section before the section at an index. Appends the section if the index is `nil` or does not exist.
    /// If `notify` is true, the method notifies the delegate with `dataSourceWasMutated(_:)`.
    func add(section: DataSourceController.Section, at index: Int?, notify: Bool)
    /// Replaces a section's header and footer, but not its rows. Does nothing if the section does not exist. If
    /// `notify` is true, the replacement is reported to the delegate with `dataSourceWasMutated(_:section:)`.
    func update(sectionData: any SectionDataModelType, at index: Int, notify: Bool)
    /// Replaces a section's header, footer and rows. Does nothing if the section does not exist. If `notify` is true,
    /// the replacement is reported to the delegate with `dataSourceWasMutated(_:section:)`.
    func update(section: DataSourceController.Section, at index: Int, notify: Bool)
    /// Replaces all sections. If `notify` is true, the method notifies the delegate with `dataSourceWasMutated(_:)`.
    func update(allSections sections: [DataSourceController.Section], notify: Bool)
    /// Removes a section. Does nothing if the section does not exist. If `notify` is true, a removal is reported to the
    /// delegate with `dataSourceWasMutated(_:)`.
    func remove(sectionAt index: Int, notify: Bool)
    /// Removes all sections. If `notify` is true, the method notifies the delegate with `dataSourceWasMutated(_:)`.
    func removeAllSections(notify: Bool)
}

extension SectionManager {
    /// Appends a section and notifies the delegate; see ``SectionManager/add(section:at:notify:)``.
    public func add(section: DataSourceController.Section) { add(section: section, at: nil, notify: true) }
    /// Inserts a section and notifies the delegate; see ``SectionManager/add(section:at:notify:)``.
    public func add(section: DataSourceController.Section, at index: Int?) {
        add(section: section, at: index, notify: true)
    }
    /// Appends a section, and notifies the delegate if `notify` is true; see
    /// ``SectionManager/add(section:at:notify:)``.
    public func add(section: DataSourceController.Section, notify: Bool) {
        add(section: section, at: nil, notify: notify)
    }
    /// Replaces a section's header and footer and notifies the delegate; see
    /// ``SectionManager/update(sectionData:at:notify:)``.
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

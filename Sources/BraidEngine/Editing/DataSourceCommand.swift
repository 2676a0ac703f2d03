/// A section as the data source receives it: its id, titles and models.
public struct SectionContent: Sendable {
    /// The section's id. `nil` means that a replaced section keeps its id, and a new section gets `s1`, `s2`, …
    public var id: SectionID?
    /// The header, as ``Command/setHeaders(_:)`` accepts it. With `nil` the section shows the header that the table's
    /// description binds, if any.
    public var header: JSONText?
    /// The footer, of the same form as ``header``.
    public var footer: JSONText?
    /// The models, in order.
    public var rows: [JSONText]

    /// Creates a section.
    public init(id: SectionID? = nil, header: JSONText? = nil, footer: JSONText? = nil, rows: [JSONText] = []) {
        self.id = id
        self.header = header
        self.footer = footer
        self.rows = rows
    }
}

/// A call to DataSourceController's RowManager or SectionManager.
///
/// Index paths count in the *stored* table, as ``Snapshot/modelObject(at:)`` reads it: sections among those that are
/// displayed, rows among those that are shown. An index out of bounds is never refused; each case says what it does.
/// The table's `editing` policies do not apply, and no handlers run.
///
/// The following calls are refused:
/// - a model that does not match the table's description (`modelInvalid`, `duplicateRowID`),
/// - a change of derived rows (`editingNotAllowed`),
/// - an added or removed section if the table declares its sections (`sectionsAreDeclared`).
///
/// Source: DataSourceController, `RowManager` and `SectionManager`.
public enum DataSourceCommand: Sendable {
    /// Inserts a row before the row at an index path. If the section does not exist, a new section at the end gets the
    /// row. If the row does not exist, the new row is appended to the section.
    case addRow(JSONText, at: RowPath)
    /// Replaces the model of a row. Ignored if the row does not exist.
    case updateRow(JSONText, at: RowPath)
    /// Replaces all rows of a section. Ignored if the section does not exist.
    case updateRowsOfSection([JSONText], at: Int)
    /// Replaces the models of rows. If one section's index is too high, the whole call is ignored. An index path with a
    /// valid section but no row is skipped.
    case updateRows([(at: RowPath, model: JSONText)])
    /// Removes a row. Ignored if the row does not exist. If the section becomes empty, the section is removed, unless
    /// it is declared.
    case removeRow(at: RowPath)
    /// Inserts a section before the section at an index. Appends the section if the index is `nil` or does not exist.
    case addSection(SectionContent, at: Int?)
    /// Sets a section's header and footer. Ignored if the section does not exist.
    case updateSectionData(header: JSONText?, footer: JSONText?, at: Int)
    /// Replaces a section's header, footer and rows, but not the section's id. Ignored if the section does not exist.
    case updateSection(SectionContent, at: Int)
    /// Replaces all sections, displayed or not. A section without an id replaces the displayed section with its index.
    /// If another section of the call has the displayed section's id, the section without an id is new.
    case updateAllSections([SectionContent])
    /// Removes a section. Ignored if the section does not exist.
    case removeSection(at: Int)
    /// Removes all sections, displayed or not.
    case removeAllSections
    /// Registers a cell for a model type, and makes the rows of that type again. The call is always published, and
    /// sends no notification.
    case registerCell(String, modelType: String)
}

/// The notification that DataSourceController's delegate receives. The notification's index paths count in the table
/// after the change.
public enum DataSourceNotification: Sendable, Equatable {
    /// Anything may have changed.
    case dataSource
    /// The displayed section at this index changed.
    case section(Int)
    /// The displayed rows at these index paths changed, in the order of the call.
    case rows([RowPath])
}

extension DataSourceNotification {
    /// The notification's wire form: `{"dataSource": true}`, `{"section": s}` or `{"rows": [[s,r],…]}`.
    public var json: JSONText {
        var writer = JSONWriter()
        writer.beginObject()
        switch self {
        case .dataSource:
            writer.name("dataSource")
            writer.value(true)
        case .section(let section):
            writer.name("section")
            writer.value(section)
        case .rows(let paths):
            writer.name("rows")
            writer.beginArray()
            for path in paths { writer.value(path) }
            writer.endArray()
        }
        writer.endObject()
        return writer.text
    }
}

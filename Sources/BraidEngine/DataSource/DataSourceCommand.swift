/// A section as the data source is given it.
public struct SectionContent: Sendable {
    /// Nil: the section that stands in its place keeps its own, and a new one gets `s1`, `s2`, …
    public var id: SectionID?
    /// A title as `Command.setHeaders` takes it; nil: none of its own (the table's description may bind one).
    public var header: JSONText?
    public var footer: JSONText?
    public var rows: [JSONText]

    public init(id: SectionID? = nil, header: JSONText? = nil, footer: JSONText? = nil, rows: [JSONText] = []) {
        self.id = id
        self.header = header
        self.footer = footer
        self.rows = rows
    }
}

/// A call to DataSourceController's RowManager or SectionManager.
///
/// Index paths count in the *stored* table, as `modelObject(at:)` reads it: sections among those that are displayed,
/// rows among those that are shown. What is out of bounds is handled as DataSourceController does, and never refused.
/// The calls are the controller's own: the table's `editing` policies do not bind them, and no handlers run.
///
/// Refused: models that are not what the table describes (`modelInvalid`, `duplicateRowID`), rows that are derived
/// (`editingNotAllowed`), and sections that would come or go where they are declared (`sectionsAreDeclared`).
/// Source: DataSourceController, `RowManager` and `SectionManager`.
public enum DataSourceCommand: Sendable {
    /// No such section: a new one with this row at the end. No such row: at the section's end.
    case addRow(JSONText, at: RowPath)
    /// No such row: ignored.
    case updateRow(JSONText, at: RowPath)
    /// All rows of a section. No such section: ignored.
    case updateRowsOfSection([JSONText], at: Int)
    /// A section too high: all are ignored. A row out of bounds, or a negative index: that one is skipped.
    case updateRows([(at: RowPath, model: JSONText)])
    /// No such row: ignored. A section that is left empty is removed, unless it is declared.
    case removeRow(at: RowPath)
    /// Nil, or no such section: at the end.
    case addSection(SectionContent, at: Int?)
    /// Header and footer. No such section: ignored.
    case updateSectionData(header: JSONText?, footer: JSONText?, at: Int)
    /// Header, footer and rows. No such section: ignored. The section keeps its id.
    case updateSection(SectionContent, at: Int)
    /// Every section, displayed or not. One without an id is the one that is displayed in its place, if no other claims
    /// that one by id, and else a new one.
    case updateAllSections([SectionContent])
    /// No such section: ignored.
    case removeSection(at: Int)
    /// Every section, displayed or not.
    case removeAllSections
    /// The cell of a model type; rows of that type are made anew. Tells nobody, and is always published.
    case registerCell(String, modelType: String)
}

/// What DataSourceController's delegate is told about a change. Index paths count in the table after it.
public enum DataSourceNotification: Sendable, Equatable {
    /// Anything may have changed.
    case dataSource
    /// This displayed section has changed.
    case section(Int)
    /// These displayed rows have changed, in the order in which they were given.
    case rows([RowPath])
}

extension DataSourceNotification {
    /// `{"dataSource": true}`, `{"section": s}` or `{"rows": [[s,r],…]}`.
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

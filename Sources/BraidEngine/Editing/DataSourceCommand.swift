/// A section as a data source call receives it: its id, titles and models.
public struct SectionContent: Sendable {
    /// Without one, a replaced section keeps its id, and a new one gets `s1`, `s2`, …
    public var id: SectionID?
    /// As in ``Command/setHeaders(_:merging:)``; `nil` shows what the description binds.
    public var header: JSONText?
    /// The section's footer, of the same form as ``header``.
    public var footer: JSONText?
    /// The models of the section's rows, in order.
    public var rows: [JSONText]

    /// Creates the content of a section from its parts.
    public init(id: SectionID? = nil, header: JSONText? = nil, footer: JSONText? = nil, rows: [JSONText] = []) {
        self.id = id
        self.header = header
        self.footer = footer
        self.rows = rows
    }
}

/// Where ``DataSourceCommand/insertRow(_:at:in:)`` and others insert rows, among all stored rows.
public enum RowPlacement: Sendable, Equatable {
    /// Inserts the row before the section's first row.
    case start
    /// Inserts the row after the section's last row.
    case end
    /// Inserts the row before the row with the given id.
    case before(RowID)
    /// Inserts the row after the row with the given id.
    case after(RowID)
    /// From 0; the number of stored rows is the end.
    case index(Int)
}

/// A change of rows or sections by the controller that owns the table's data: the methods of DataSourceController's
/// RowManager and SectionManager, calls that name rows by id, and the registration of a cell.
///
/// References name rows of the *stored* table, even while clients see an older, published one. Indexes count displayed
/// sections and rows that are not hidden; a section named by id need not be displayed. Unless the request is strict, an
/// index out of bounds refuses no call but `addRow`, and an unknown id in a row reference none; the cases say what
/// happens instead. Policies of `editing` do not apply, and no handlers run.
///
/// Refused are, among others:
/// - a model that does not match the description (`modelInvalid`, `duplicateRowID`),
/// - a change of derived rows (`editingNotAllowed`),
/// - an added or removed section if sections are declared (`sectionsAreDeclared`),
/// - in calls by id, a section or row that the table does not contain (`sectionNotFound`, `rowNotFound`).
///
/// Source: DataSourceController, `RowManager` and `SectionManager`.
public enum DataSourceCommand: Sendable {
    /// Inserts a row before another, or at the section's end if the row index is out of bounds. In a section that is
    /// not displayed, at the end of the hidden one with the id, or of a new one. An unknown row id is ignored, or
    /// refused if strict.
    case addRow(JSONText, at: RowReference)
    /// Replaces a row's model. A missing or hidden row is ignored, or refused if strict.
    case updateRow(JSONText, at: RowReference)
    /// Replaces all rows of a section. A missing section is ignored, or refused if strict.
    case updateRowsOfSection([JSONText], at: SectionReference)
    /// Replaces the models of several rows. A section that is not displayed makes the whole call ignored, a missing row
    /// is skipped; both are refused if strict.
    case updateRows([(at: RowReference, model: JSONText)])
    /// Removes a row, and its section if that is not declared and has no other. A missing or hidden row is ignored, or
    /// refused if strict.
    case removeRow(at: RowReference)
    /// Inserts a section before the displayed one at an index, or at the end.
    case addSection(SectionContent, at: Int?)
    /// Sets a section's header and footer. A missing section is ignored, or refused if strict.
    case updateSectionData(header: JSONText?, footer: JSONText?, at: SectionReference)
    /// Replaces a section's header, footer and rows, not its id. A missing section is ignored, or refused if strict.
    case updateSection(SectionContent, at: SectionReference)
    /// Replaces all sections, displayed or not. One without an id replaces the displayed section at its index or, if
    /// another given section has that id, is new. Declared sections that are not displayed stay.
    case updateAllSections([SectionContent])
    /// Removes a section with its rows. A missing section is ignored, or refused if strict.
    case removeSection(at: SectionReference)
    /// Removes all sections of the table, displayed or not.
    case removeAllSections
    /// Inserts a row at a place of a section. A missing dynamic section is created.
    case insertRow(JSONText, at: RowPlacement, in: SectionReference)
    /// Inserts several rows, in order, at a place of a section, as ``insertRow(_:at:in:)`` does.
    case insertRows([JSONText], at: RowPlacement, in: SectionReference)
    /// Replaces the row with the id, or appends it. The model must contain the id. A missing section is created as by
    /// ``insertRow(_:at:in:)``.
    case putRow(JSONText, id: RowID, in: SectionReference)
    /// Replaces the rows that have the models' ids, in whichever section, and inserts the others at a place of the
    /// section, as ``insertRows(_:at:in:)`` does. If `moves`, rows of other sections move there.
    case putRows([JSONText], at: RowPlacement, in: SectionReference, moves: Bool)
    /// Merges a patch (RFC 7396) into the model of the row with the id, which must not change.
    case patchRow(JSONText, id: RowID, in: SectionReference)
    /// Deletes the row with the id. The section stays, even without rows.
    case deleteRow(id: RowID, in: SectionReference)
    /// Registers the cell of a model type, and renders its rows again. Clients see it at once, and the delegate is not
    /// notified.
    case registerCell(String, modelType: String)
}

/// What ``DataSourceCommand/insertRows(_:at:in:)`` or ``DataSourceCommand/putRows(_:at:in:moves:)`` did with its models.
/// Each model counts once.
public struct RowTally: Sendable, Equatable {
    /// The section that received the inserted and the moved rows.
    public var section: SectionID
    /// The new rows.
    public var inserted = 0
    /// The rows that got another model in their places.
    public var replaced = 0
    /// The rows that came from another section, whether or not their models changed.
    public var moved = 0
    /// The rows that had their models already.
    public var unchanged = 0

    /// The tally as JSON: `{"section": id, "inserted": n, "replaced": n, "moved": n, "unchanged": n}`.
    public var json: JSONText {
        .object {
            $0.member("section", section)
            $0.member("inserted", inserted)
            $0.member("replaced", replaced)
            $0.member("moved", moved)
            $0.member("unchanged", unchanged)
        }
    }
}

/// What a data source's delegate is told. Paths refer to the table after the change.
public enum DataSourceNotification: Sendable, Equatable {
    /// Any section or row may have changed.
    case dataSource
    /// The displayed section at this index changed.
    case section(Int)
    /// The displayed rows at these index paths changed, in the order of the call.
    case rows([RowPath])
}

extension DataSourceNotification {
    /// The notification as JSON: `{"dataSource": true}`, `{"section": s}` or `{"rows": [[s,r],…]}`.
    public var json: JSONText {
        .object {
            switch self {
            case .dataSource: $0.member("dataSource", true)
            case .section(let section): $0.member("section", section)
            case .rows(let paths): $0.member("rows", paths)
            }
        }
    }
}

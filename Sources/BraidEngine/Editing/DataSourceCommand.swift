/// A section as a data source call receives it: its id, titles and models.
public struct SectionContent: Sendable {
    /// The section's id. If the id is `nil`, a replaced section keeps its id, and a new section gets `s1`, `s2`, …
    public var id: SectionID?
    /// The section's header, as ``Command/setHeaders(_:merging:)`` accepts it. If the header is `nil`, the section
    /// shows the header that the table's description binds, if any.
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

/// The place at which calls such as ``DataSourceCommand/insertRow(_:at:in:)`` insert rows into a section. All stored
/// rows count, displayed or not.
public enum RowPlacement: Sendable, Equatable {
    /// Inserts the row before the section's first row.
    case start
    /// Inserts the row after the section's last row.
    case end
    /// Inserts the row before the row with the given id.
    case before(RowID)
    /// Inserts the row after the row with the given id.
    case after(RowID)
    /// Inserts the row at an index among the section's stored rows, from 0. The number of stored rows means the
    /// section's end.
    case index(Int)
}

/// A change of single rows or sections by the controller that owns a table's data.
///
/// The cases are the methods of DataSourceController's RowManager and SectionManager, with their arguments, the calls
/// that name rows by ids, and the registration of a cell. A section that is named by its id need not be displayed.
///
/// Row references name rows of the *stored* table, even while clients see an older, published table. Indexes count only
/// sections that are displayed and rows that are not hidden. Unless the request is strict, no call except `addRow` is
/// refused because such an index is out of bounds. Unless the request is strict, no call is refused because a row
/// reference has an id that no displayed row has. The comment of each case says what the call does instead. The table's
/// `editing` policies do not apply, and no handlers run.
///
/// The following data source calls are refused, among others:
/// - a model that does not match the table's description (`modelInvalid`, `duplicateRowID`),
/// - a change of derived rows (`editingNotAllowed`),
/// - an added or removed section if the table declares its sections (`sectionsAreDeclared`),
/// - of the calls that name a row by its id, those with a section or row that the table does not contain
///   (`sectionNotFound`, `rowNotFound`).
///
/// Source: DataSourceController, `RowManager` and `SectionManager`.
public enum DataSourceCommand: Sendable {
    /// Inserts a row before another row. If the reference's row index is out of bounds, the new row is appended to the
    /// section. If a reference with a row index names no displayed section, the row is appended to the hidden section
    /// with the given id. If there is no such section, the row is appended to a new section at the end. If the
    /// reference has a row id that no displayed row has, the call is ignored, or refused if the request is strict.
    case addRow(JSONText, at: RowReference)
    /// Replaces the model of a row. If the row does not exist or is hidden, the call is ignored, or refused if the
    /// request is strict.
    case updateRow(JSONText, at: RowReference)
    /// Replaces all rows of a section. If there is no such section, the call is ignored, or refused if the request is
    /// strict.
    case updateRowsOfSection([JSONText], at: SectionReference)
    /// Replaces the models of several rows. If a reference names a section that is not displayed, the whole call is
    /// ignored. A reference to a missing row is skipped. If the request is strict, both are refused.
    case updateRows([(at: RowReference, model: JSONText)])
    /// Removes a row. If the row does not exist or is hidden, the call is ignored, or refused if the request is strict.
    /// If the section then has no stored rows, the section is removed, unless it is declared.
    case removeRow(at: RowReference)
    /// Inserts a section before the displayed section at an index. If the index is `nil` or out of bounds, appends the
    /// section.
    case addSection(SectionContent, at: Int?)
    /// Sets a section's header and footer, but not its rows. If there is no such section, the call is ignored, or
    /// refused if the request is strict.
    case updateSectionData(header: JSONText?, footer: JSONText?, at: SectionReference)
    /// Replaces a section's header, footer and rows, but not the section's id. If there is no such section, the call is
    /// ignored, or refused if the request is strict.
    case updateSection(SectionContent, at: SectionReference)
    /// Replaces all sections of the table, displayed or not. A given section without an id replaces the displayed
    /// section with the same index. If another given section has that displayed section's id, the section without an id
    /// is new. Declared sections that are not displayed stay as they are.
    case updateAllSections([SectionContent])
    /// Removes a section with its rows. If there is no such section, the call is ignored, or refused if the request is
    /// strict.
    case removeSection(at: SectionReference)
    /// Removes all sections of the table, displayed or not.
    case removeAllSections
    /// Inserts a row at a place of a section. If the table has dynamic sections, a section is created whose id does not
    /// exist.
    case insertRow(JSONText, at: RowPlacement, in: SectionReference)
    /// Inserts several rows, in order, at a place of a section, as ``insertRow(_:at:in:)`` does.
    case insertRows([JSONText], at: RowPlacement, in: SectionReference)
    /// Replaces the row with the given id. If the section has no row with this id, the new row is appended to the
    /// section. The model must contain the id. A missing section is created as by ``insertRow(_:at:in:)``.
    case putRow(JSONText, id: RowID, in: SectionReference)
    /// Replaces the rows that have the models' ids, in whichever section each of them is, and inserts the other models
    /// at a place of the section, as ``insertRows(_:at:in:)`` does. If `moves` is true, rows of other sections move to
    /// that place.
    case putRows([JSONText], at: RowPlacement, in: SectionReference, moves: Bool)
    /// Merges a patch (RFC 7396) into the model of the row with the given id. The model's id must not change.
    case patchRow(JSONText, id: RowID, in: SectionReference)
    /// Deletes the row with the given id. The section remains, even if it has no rows left.
    case deleteRow(id: RowID, in: SectionReference)
    /// Registers which cell shows the models of a type, and renders the rows of that type again. Clients always see the
    /// change at once, and the delegate is not notified.
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

/// The notification that a data source's delegate receives. The index paths in a notification refer to the table after
/// the change.
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

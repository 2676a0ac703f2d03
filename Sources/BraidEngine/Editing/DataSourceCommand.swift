/// A section as a data source call brings it.
public struct SectionContent: Sendable {
    /// Without one, a replaced section keeps its id, and a new one gets `s1`, `s2`, …
    public var id: SectionID?
    /// As in ``Command/setHeaders(_:merging:)``; `nil` shows what the description binds.
    public var header: JSONText?
    /// As ``header``.
    public var footer: JSONText?
    /// Models, in order.
    public var rows: [JSONText]

    /// From its parts.
    public init(id: SectionID? = nil, header: JSONText? = nil, footer: JSONText? = nil, rows: [JSONText] = []) {
        self.id = id
        self.header = header
        self.footer = footer
        self.rows = rows
    }
}

/// A place among all stored rows.
public enum RowPlacement: Sendable, Equatable {
    /// Before the first row.
    case start
    /// After the last row.
    case end
    /// Before this row.
    case before(RowID)
    /// After this row.
    case after(RowID)
    /// From 0 to the number of stored rows.
    case index(Int)
}

/// Changes by the controller that owns the data: those of DataSourceController's `RowManager` and `SectionManager`,
/// calls that name rows by id, and the registration of a cell.
///
/// References are to the *stored* table, even while clients see an older, published one. Indexes count what is
/// displayed; a section named by id need not be. Policies of `editing` do not apply, and no handlers run.
///
/// Missing rows and sections mostly make a call ignored, or refused if the request is strict. Always refused are, among
/// others, models that do not match the description (`modelInvalid`, `duplicateRowID`), changes of derived rows
/// (`editingNotAllowed`) or of the list of declared sections (`sectionsAreDeclared`) and, in calls by id, a missing
/// section or row (`sectionNotFound`, `rowNotFound`).
public enum DataSourceCommand: Sendable {
    /// Before the row, or at the end if its index is out of bounds; of a section that is not displayed, at the end of
    /// the hidden one with the id or of a new one. An unknown row id is ignored.
    case addRow(JSONText, at: RowReference)
    /// Ignored if missing or hidden.
    case updateRow(JSONText, at: RowReference)
    /// Ignored if the section is missing.
    case updateRowsOfSection([JSONText], at: SectionReference)
    /// Skips missing rows. A section that is not displayed makes the whole call ignored.
    case updateRows([(at: RowReference, model: JSONText)])
    /// With its section, if that is not declared and has no other row. Ignored if missing or hidden.
    case removeRow(at: RowReference)
    /// Before the displayed one at this index, or at the end.
    case addSection(SectionContent, at: Int?)
    /// Ignored if the section is missing.
    case updateSectionData(header: JSONText?, footer: JSONText?, at: SectionReference)
    /// Keeps the section's id. Ignored if missing.
    case updateSection(SectionContent, at: SectionReference)
    /// Replaces all sections, displayed or not. One without an id replaces the displayed section at its index or, if
    /// another given one has that id, is new. Declared sections that are not displayed stay.
    case updateAllSections([SectionContent])
    /// With its rows. Ignored if missing.
    case removeSection(at: SectionReference)
    /// All, displayed or not.
    case removeAllSections
    /// Creates a missing dynamic section.
    case insertRow(JSONText, at: RowPlacement, in: SectionReference)
    /// In order, as ``insertRow(_:at:in:)``.
    case insertRows([JSONText], at: RowPlacement, in: SectionReference)
    /// Replaces the row, or appends it as ``insertRow(_:at:in:)``. The model must contain the id.
    case putRow(JSONText, id: RowID, in: SectionReference)
    /// Replaces rows with the models' ids, in whichever section, and inserts the others as ``insertRows(_:at:in:)``. If
    /// `moves`, those of other sections move here.
    case putRows([JSONText], at: RowPlacement, in: SectionReference, moves: Bool)
    /// A merge patch (RFC 7396) that does not change the id.
    case patchRow(JSONText, id: RowID, in: SectionReference)
    /// The section stays, even if empty.
    case deleteRow(id: RowID, in: SectionReference)
    /// Renders the type's rows again. Clients see it at once; the delegate is not notified.
    case registerCell(String, modelType: String)
}

/// What became of the models of ``DataSourceCommand/insertRows(_:at:in:)`` or
/// ``DataSourceCommand/putRows(_:at:in:moves:)``, each counted once.
public struct RowTally: Sendable, Equatable {
    /// Where rows were inserted, and moved to.
    public var section: SectionID
    /// New ones.
    public var inserted = 0
    /// With another model, in place.
    public var replaced = 0
    /// From another section, with the same or another model.
    public var moved = 0
    /// With the same model as before.
    public var unchanged = 0

    /// `{"section": id, "inserted": n, "replaced": n, "moved": n, "unchanged": n}`.
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

/// For a data source's delegate. Paths are those after the change.
public enum DataSourceNotification: Sendable, Equatable {
    /// Anything may have changed.
    case dataSource
    /// One displayed section.
    case section(Int)
    /// In the order of the call.
    case rows([RowPath])
}

extension DataSourceNotification {
    /// `{"dataSource": true}`, `{"section": s}` or `{"rows": [[s,r],…]}`.
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

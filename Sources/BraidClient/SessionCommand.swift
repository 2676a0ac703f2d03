import Foundation

/// A displayed row in a command: see docs/http-api/commands.md.
public enum RowReference: Sendable, Hashable {
    /// If several displayed sections contain the id, the server refuses the command.
    case id(String)
    /// The row with this id in the section whose id is `section`.
    case idInSection(String, section: String)
    /// The row at an index, from 0, of the section with an id.
    case row(Int, in: String)
    /// Counts displayed sections and rows.
    case path(RowPath)

    /// The row at an index path, both from 0.
    public static func path(_ section: Int, _ row: Int) -> RowReference { .path(RowPath(section: section, row: row)) }

    var json: JSON {
        switch self {
        case .id(let id): ["id": .string(id)]
        case .idInSection(let id, let section): ["id": .string(id), "section": .string(section)]
        case .row(let row, let section): ["section": .string(section), "row": .integer(row)]
        case .path(let path): ["section": .integer(path.section), "row": .integer(path.row)]
        }
    }
}

/// Where calls such as ``SessionCommand/insertRow(_:at:inSection:notify:)`` insert, among the section's stored rows.
public enum RowPlacement: Sendable, Hashable {
    /// Before the first row, or after the last.
    case start, end
    /// Before or after the row with this id.
    case before(String), after(String)
    /// From 0; the number of stored rows means the end.
    case index(Int)

    fileprivate var json: JSON {
        switch self {
        case .start: "start"
        case .end: "end"
        case .before(let id): ["before": .string(id)]
        case .after(let id): ["after": .string(id)]
        case .index(let index): .integer(index)
        }
    }
}

/// A request to one of a session's resources. It can be kept, and performed later.
public struct SessionCommand: Sendable, Hashable {
    /// The HTTP method.
    public let method: String
    /// After the session's own path, such as `["edits"]`.
    public let path: [String]
    /// The query's parameters.
    public var query: [String: String]
    /// The request's body.
    public let body: JSON?

    init(_ method: String, _ path: String..., query: [String: String] = [:], body: JSON? = nil) {
        self.init(method, path, query: query, body: body)
    }

    private init(_ method: String, _ path: [String], query: [String: String], body: JSON?) {
        self.method = method
        self.path = path
        self.query = query
        self.body = body
    }
}

extension SessionCommand {
    /// Deletes a row.
    public static func delete(_ row: RowReference) -> SessionCommand {
        SessionCommand("POST", "edits", body: ["delete": row.json])
    }

    /// Inserts a row before another.
    ///
    /// - Parameters:
    ///   - model: `nil` if the description has a template for it.
    ///   - row: with the section's number of rows as its index, the new row is appended.
    public static func insert(_ model: JSON?, at row: RowReference) -> SessionCommand {
        var body: [String: JSON] = ["insert": row.json]
        body["model"] = model
        return SessionCommand("POST", "edits", body: .object(body))
    }

    /// Moves a row. An index in the target counts the rows without the moved one, as in UITableView; an id means the
    /// place before that row.
    public static func move(_ row: RowReference, to target: RowReference) -> SessionCommand {
        SessionCommand("POST", "moves", body: ["from": row.json, "to": target.json])
    }

    /// Moves a row, with the arguments of `tableView(_:moveRowAt:to:)`.
    public static func move(_ from: RowPath, to: RowPath) -> SessionCommand { move(.path(from), to: .path(to)) }

    /// Sends a cell's event: `.event(named: "textEntered", ["text": "x"], at: …)`.
    public static func event(named name: String, _ parameters: JSON = [:], at row: RowReference) -> SessionCommand {
        SessionCommand("POST", "events", body: ["at": row.json, "event": .object([name: parameters])])
    }

    /// Taps a row.
    public static func tap(_ row: RowReference) -> SessionCommand {
        SessionCommand("POST", "taps", body: ["at": row.json])
    }

    /// Reports the visible rows. Near the end of a section, the server runs `onPrefetch`, and again once the section
    /// has more rows or another last row.
    public static func displayed(_ rows: [RowReference]) -> SessionCommand {
        SessionCommand("POST", "displayed-rows", body: ["rows": .array(rows.map(\.json))])
    }

    /// Replaces the models of all sections, by section id. Sections that are not named become empty.
    public static func setModels(_ models: [String: [JSON]]) -> SessionCommand {
        SessionCommand("PUT", "models", body: .object(models.mapValues { .array($0) }))
    }

    /// Replaces the models of the named sections, by section id.
    public static func patchModels(_ models: [String: [JSON]]) -> SessionCommand {
        SessionCommand("PATCH", "models", body: .object(models.mapValues { .array($0) }))
    }

    /// Sets the headers of all sections, by section id: a string for a title, an object for a view, `null` for none.
    /// Sections that are not named show that of the description.
    public static func setHeaders(_ headers: [String: JSON]) -> SessionCommand {
        SessionCommand("PUT", "headers", body: .object(headers))
    }

    /// Sets the headers of the named sections, as ``setHeaders(_:)`` does.
    public static func patchHeaders(_ headers: [String: JSON]) -> SessionCommand {
        SessionCommand("PATCH", "headers", body: .object(headers))
    }

    /// Sets the footers of all sections, as ``setHeaders(_:)`` does headers.
    public static func setFooters(_ footers: [String: JSON]) -> SessionCommand {
        SessionCommand("PUT", "footers", body: .object(footers))
    }

    /// Sets the footers of the named sections, as ``patchHeaders(_:)`` does headers.
    public static func patchFooters(_ footers: [String: JSON]) -> SessionCommand {
        SessionCommand("PATCH", "footers", body: .object(footers))
    }

    /// Displays exactly these sections, in this order. Ignored if the description hides sections automatically.
    public static func setDisplayedSections(_ ids: [String]) -> SessionCommand {
        SessionCommand("PUT", "displayed-sections", body: .array(ids.map { .string($0) }))
    }

    /// Replaces the session's state.
    public static func setState(_ state: JSON) -> SessionCommand { SessionCommand("PUT", "state", body: state) }

    /// Merges a patch into the session's state (RFC 7396).
    public static func patchState(_ patch: JSON) -> SessionCommand { SessionCommand("PATCH", "state", body: patch) }

    /// Performs several commands as one revision, or none of them.
    ///
    /// - Parameter commands: their JSON forms: see docs/http-api/commands.md.
    public static func transaction(_ commands: [JSON]) -> SessionCommand {
        SessionCommand("POST", "transactions", body: ["commands": .array(commands)])
    }

    /// Sets the content back to that with which the session was opened, without what does not fit another description.
    /// The revision does not go back.
    public static var reset: SessionCommand { SessionCommand("POST", "reset", body: [:]) }

    /// Binds the session to another version of its registered description. State and models stay.
    ///
    /// - Parameter discard: the sections that may lose models or titles that do not fit; the server refuses to lose
    ///   others.
    public static func setTable(version: Int, discarding discard: [String] = []) -> SessionCommand {
        SessionCommand(
            "PUT", "table", body: ["version": .integer(version), "discard": .array(discard.map { .string($0) })])
    }

    /// Binds the session to another description of the same name, which need not be registered.
    public static func setTable(_ description: JSON, discarding discard: [String] = []) -> SessionCommand {
        SessionCommand("PUT", "table", body: ["table": description, "discard": .array(discard.map { .string($0) })])
    }
}

/// Calls of the data source, most of them like those of DataSourceController, for controllers. With `notify: false` the
/// change is only stored, and a later command publishes it. Index paths refer to the stored table, unpublished changes
/// included.
extension SessionCommand {
    private static func dataSource(_ method: String, _ path: String..., notify: Bool, body: JSON? = nil)
        -> SessionCommand
    {
        SessionCommand(method, path, query: notify ? [:] : ["notify": "false"], body: body)
    }

    /// Inserts a row before another. An index that is too high appends; a missing section is added, unless the
    /// description declares its sections. Ignored if no displayed row has the reference's id.
    public static func addRow(_ model: JSON, at row: RowReference, notify: Bool = true) -> SessionCommand {
        dataSource("POST", "rows", notify: notify, body: ["at": row.json, "model": model])
    }

    /// Replaces the model of a row. Ignored if the row does not exist.
    public static func updateRow(_ model: JSON, at path: RowPath, notify: Bool = true) -> SessionCommand {
        dataSource("PUT", "rows", "\(path.section)", "\(path.row)", notify: notify, body: ["model": model])
    }

    /// Replaces the models of several rows, without those that do not exist. Ignored as a whole if a named section is
    /// not displayed.
    public static func updateRows(_ rows: [(at: RowReference, model: JSON)], notify: Bool = true) -> SessionCommand {
        dataSource(
            "PATCH", "rows", notify: notify,
            body: ["rows": .array(rows.map { ["at": $0.at.json, "model": $0.model] })])
    }

    /// Replaces all rows of a section. Ignored if the section does not exist.
    public static func updateRows(_ models: [JSON], ofSection section: Int, notify: Bool = true) -> SessionCommand {
        dataSource("PUT", "sections", "\(section)", "rows", notify: notify, body: ["rows": .array(models)])
    }

    /// Removes a row. Ignored if it does not exist.
    public static func removeRow(at path: RowPath, notify: Bool = true) -> SessionCommand {
        dataSource("DELETE", "rows", "\(path.section)", "\(path.row)", notify: notify)
    }

    /// Inserts a section before another; `nil`, or an index that no section has, appends it. Refused if the description
    /// declares its sections.
    ///
    /// - Parameter section: `{"id"?, "header"?, "footer"?, "rows"}`.
    public static func addSection(_ section: JSON, at index: Int? = nil, notify: Bool = true) -> SessionCommand {
        dataSource(
            "POST", "sections", notify: notify, body: ["section": section, "at": index.map { .integer($0) } ?? .null])
    }

    /// Replaces a section's header and footer. Ignored if the section does not exist.
    public static func updateSectionData(_ data: JSON, at section: Int, notify: Bool = true) -> SessionCommand {
        dataSource("PUT", "sections", "\(section)", "data", notify: notify, body: data)
    }

    /// Replaces a section's header, footer and rows. Ignored if the section does not exist.
    public static func updateSection(_ content: JSON, at section: Int, notify: Bool = true) -> SessionCommand {
        dataSource("PUT", "sections", "\(section)", notify: notify, body: content)
    }

    /// Replaces all sections. Refused if that adds, removes or reorders sections that the description declares.
    public static func updateAllSections(_ sections: [JSON], notify: Bool = true) -> SessionCommand {
        dataSource("PUT", "sections", notify: notify, body: ["sections": .array(sections)])
    }

    /// Removes a section. Ignored if it does not exist, refused if the description declares it.
    public static func removeSection(at section: Int, notify: Bool = true) -> SessionCommand {
        dataSource("DELETE", "sections", "\(section)", notify: notify)
    }

    /// Removes all sections. Refused if the description declares them.
    public static func removeAllSections(notify: Bool = true) -> SessionCommand {
        dataSource("DELETE", "sections", notify: notify)
    }

    /// Inserts a row into the section with an id, which is created if the table has dynamic sections.
    public static func insertRow(
        _ model: JSON, at place: RowPlacement = .end, inSection section: String, notify: Bool = true
    ) -> SessionCommand {
        dataSource(
            "POST", "sections", section, "rows", notify: notify, body: ["at": place.json, "model": model])
    }

    /// Inserts several rows, in order, as ``insertRow(_:at:inSection:notify:)`` does.
    public static func insertRows(
        _ models: [JSON], at place: RowPlacement = .end, inSection section: String, notify: Bool = true
    ) -> SessionCommand {
        dataSource(
            "POST", "sections", section, "rows", notify: notify, body: ["at": place.json, "models": .array(models)])
    }

    /// Replaces the rows that have the models' ids, in whichever section they are, and inserts the others. With
    /// `moving`, rows of other sections move to the place.
    public static func putRows(
        _ models: [JSON], at place: RowPlacement = .end, inSection section: String, moving: Bool = false,
        notify: Bool = true
    ) -> SessionCommand {
        dataSource(
            "PUT", "rows", notify: notify,
            body: [
                "section": .string(section), "models": .array(models), "at": place.json, "move": .bool(moving),
            ])
    }

    /// Replaces the row with an id, or appends it to the section, which is created if the table has dynamic sections.
    /// The model must contain the id.
    public static func putRow(_ model: JSON, id: String, inSection section: String, notify: Bool = true)
        -> SessionCommand
    {
        dataSource("PUT", "sections", section, "rows", id, notify: notify, body: model)
    }

    /// Merges a patch into the model of the row with an id (RFC 7396).
    public static func patchRow(_ patch: JSON, id: String, inSection section: String, notify: Bool = true)
        -> SessionCommand
    {
        dataSource("PATCH", "sections", section, "rows", id, notify: notify, body: patch)
    }

    /// Deletes the row with an id. Its section stays.
    public static func deleteRow(id: String, inSection section: String, notify: Bool = true) -> SessionCommand {
        dataSource("DELETE", "sections", section, "rows", id, notify: notify)
    }

    /// Registers the cell that shows models of a model type.
    public static func registerCell(_ cell: String, forModelType modelType: String) -> SessionCommand {
        SessionCommand("PUT", "cells-for-model-types", modelType, body: ["cell": .string(cell)])
    }
}

/// The server's answer to a command, or what a dry run would have led to.
public struct Answer: Decodable, Sendable, Hashable {
    /// After the command.
    public var revision: Int
    /// Whether the command was applied, changed nothing, or was ignored.
    public var outcome: Outcome
    /// Why the command was ignored.
    public var reason: String?
    /// Where the server found the command's row. `nil` without a base, if ignored, and after calls for several rows,
    /// sections or rows by id.
    public var at: RowPath?
    /// What the delegate of an iOS DataSourceController would have been sent: see docs/http-api/data-source.md. `nil`
    /// for other commands.
    public var notification: JSON?
    /// What ``SessionCommand/insertRows(_:at:inSection:notify:)`` or
    /// ``SessionCommand/putRows(_:at:inSection:moving:notify:)`` did.
    public var rows: RowTally?
    /// Without stages if no displayed row or section changed.
    public var update: Update

    /// `applied` created a revision, `unchanged` changed nothing, `ignored` has a reason.
    public enum Outcome: String, Codable, Sendable { case applied, unchanged, ignored }

    /// What a call did with its models, each counted once.
    public struct RowTally: Codable, Sendable, Hashable {
        /// Which received the inserted and the moved rows.
        public var section: String
        /// The numbers of rows.
        public var inserted, replaced, moved, unchanged: Int
    }
}

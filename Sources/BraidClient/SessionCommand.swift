import Foundation

/// A reference to a displayed row in a command. See docs/http-api/commands.md.
public enum RowReference: Sendable, Hashable {
    /// The row with this id. If several displayed sections contain the id, the server refuses the command.
    case id(String)
    /// The row with this id in the section whose id is `section`.
    case idInSection(String, section: String)
    /// The row at this index, from 0, in the section with this id.
    case row(Int, in: String)
    /// The row at this index path, which counts displayed sections and rows.
    case path(RowPath)

    /// Returns a reference to the row at an index path: section first, both from 0.
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

/// The place where calls such as ``SessionCommand/insertRow(_:at:inSection:notify:)`` insert rows, among the section's
/// stored rows.
public enum RowPlacement: Sendable, Hashable {
    /// The place before the section's first row, or after its last row.
    case start, end
    /// The place before or after the row with this id.
    case before(String), after(String)
    /// The place at this index, from 0. An index equal to the number of stored rows means the end of the section.
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

/// A command for a session: a request to one of the session's resources. A program can keep a command and perform it
/// later.
public struct SessionCommand: Sendable, Hashable {
    /// The HTTP method.
    public let method: String
    /// The segments of the path after the session's own path, for example `["edits"]`.
    public let path: [String]
    /// The query's parameters.
    public var query: [String: String]
    /// The request's body. `nil` for none.
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

    /// Inserts a row before another row.
    ///
    /// - Parameters:
    ///   - model: the new row's model. `nil` if the table's description has a template for the model.
    ///   - row: the row to insert before. If the reference's index is the section's number of rows, the server appends
    ///     the new row.
    public static func insert(_ model: JSON?, at row: RowReference) -> SessionCommand {
        var body: [String: JSON] = ["insert": row.json]
        body["model"] = model
        return SessionCommand("POST", "edits", body: .object(body))
    }

    /// Moves a row to a place. An index in the target counts the rows without the moved row, as in UITableView. If the
    /// target is an id, the row moves before the row with this id.
    public static func move(_ row: RowReference, to target: RowReference) -> SessionCommand {
        SessionCommand("POST", "moves", body: ["from": row.json, "to": target.json])
    }

    /// Moves a row to an index path, with the arguments of `tableView(_:moveRowAt:to:)`.
    public static func move(_ from: RowPath, to: RowPath) -> SessionCommand { move(.path(from), to: .path(to)) }

    /// Sends an event that a row's cell emitted: `.event(named: "textEntered", ["text": "x"], at: …)`.
    public static func event(named name: String, _ parameters: JSON = [:], at row: RowReference) -> SessionCommand {
        SessionCommand("POST", "events", body: ["at": row.json, "event": .object([name: parameters])])
    }

    /// Taps a row.
    public static func tap(_ row: RowReference) -> SessionCommand {
        SessionCommand("POST", "taps", body: ["at": row.json])
    }

    /// Reports which rows are visible on the screen. If one of these rows is near the end of its section, the server
    /// runs the handler `onPrefetch`. The server does not run the handler again before the section has more rows or
    /// another last row.
    public static func displayed(_ rows: [RowReference]) -> SessionCommand {
        SessionCommand("POST", "displayed-rows", body: ["rows": .array(rows.map(\.json))])
    }

    /// Replaces the models of all sections, by section id. Sections that are not named become empty.
    public static func setModels(_ models: [String: [JSON]]) -> SessionCommand {
        SessionCommand("PUT", "models", body: .object(models.mapValues { .array($0) }))
    }

    /// Replaces the models of the named sections, by section id. Sections that are not named keep their models.
    public static func patchModels(_ models: [String: [JSON]]) -> SessionCommand {
        SessionCommand("PATCH", "models", body: .object(models.mapValues { .array($0) }))
    }

    /// Sets the headers of all sections, by section id. A header is a string for a title, an object for a view, or
    /// `null` for no header. Sections that are not named show the header from the table description.
    public static func setHeaders(_ headers: [String: JSON]) -> SessionCommand {
        SessionCommand("PUT", "headers", body: .object(headers))
    }

    /// Sets the headers of the named sections, as ``setHeaders(_:)`` does. Sections that are not named keep their
    /// headers.
    public static func patchHeaders(_ headers: [String: JSON]) -> SessionCommand {
        SessionCommand("PATCH", "headers", body: .object(headers))
    }

    /// Sets the footers of all sections, as ``setHeaders(_:)`` sets the headers.
    public static func setFooters(_ footers: [String: JSON]) -> SessionCommand {
        SessionCommand("PUT", "footers", body: .object(footers))
    }

    /// Sets the footers of the named sections, as ``patchHeaders(_:)`` sets the headers.
    public static func patchFooters(_ footers: [String: JSON]) -> SessionCommand {
        SessionCommand("PATCH", "footers", body: .object(footers))
    }

    /// Displays exactly these sections, in this order. The server ignores the command if the table description hides
    /// sections automatically.
    public static func setDisplayedSections(_ ids: [String]) -> SessionCommand {
        SessionCommand("PUT", "displayed-sections", body: .array(ids.map { .string($0) }))
    }

    /// Replaces the session's state.
    public static func setState(_ state: JSON) -> SessionCommand { SessionCommand("PUT", "state", body: state) }

    /// Merges a patch into the session's state (RFC 7396).
    public static func patchState(_ patch: JSON) -> SessionCommand { SessionCommand("PATCH", "state", body: patch) }

    /// Performs several commands, as one revision. If the server refuses one command, nothing changes.
    ///
    /// - Parameter commands: the commands' JSON forms: docs/http-api/commands.md.
    public static func transaction(_ commands: [JSON]) -> SessionCommand {
        SessionCommand("POST", "transactions", body: ["commands": .array(commands)])
    }

    /// Sets the session's content, such as its models and its state, back to that with which the session was opened. If
    /// the session now uses another table description, content that does not fit is left out. The revision does not go
    /// back.
    public static var reset: SessionCommand { SessionCommand("POST", "reset", body: [:]) }

    /// Binds the session to another version of its registered table description. The session keeps its state, and its
    /// models except those that `discard` allows it to lose.
    ///
    /// - Parameters:
    ///   - version: the version's number.
    ///   - discard: the ids of the sections that may lose models or titles that do not fit the version. The server
    ///     refuses the command if any other section would lose something.
    public static func setTable(version: Int, discarding discard: [String] = []) -> SessionCommand {
        SessionCommand(
            "PUT", "table", body: ["version": .integer(version), "discard": .array(discard.map { .string($0) })])
    }

    /// Binds the session to another table description of the same name, which need not be registered.
    public static func setTable(_ description: JSON, discarding discard: [String] = []) -> SessionCommand {
        SessionCommand("PUT", "table", body: ["table": description, "discard": .array(discard.map { .string($0) })])
    }
}

/// The calls of the data source, most of which correspond to calls of DataSourceController. Only controllers may send
/// these commands. With `notify: false` the server only stores the change, and a later command publishes it. Index
/// paths refer to the stored table, which includes unpublished changes.
extension SessionCommand {
    private static func dataSource(_ method: String, _ path: String..., notify: Bool, body: JSON? = nil)
        -> SessionCommand
    {
        SessionCommand(method, path, query: notify ? [:] : ["notify": "false"], body: body)
    }

    /// Inserts a row before another row. The server appends the new row if the reference's row index is too high. If
    /// the reference's section does not exist, the server adds a section with the row, unless the table description
    /// declares its sections. The server ignores the command if no displayed row has the reference's id.
    public static func addRow(_ model: JSON, at row: RowReference, notify: Bool = true) -> SessionCommand {
        dataSource("POST", "rows", notify: notify, body: ["at": row.json, "model": model])
    }

    /// Replaces the model of a row. The server ignores the command if the row does not exist.
    public static func updateRow(_ model: JSON, at path: RowPath, notify: Bool = true) -> SessionCommand {
        dataSource("PUT", "rows", "\(path.section)", "\(path.row)", notify: notify, body: ["model": model])
    }

    /// Replaces the models of several rows. The server skips a reference to a row that does not exist. If a reference
    /// names a section that is not displayed, the server ignores the whole command.
    public static func updateRows(_ rows: [(at: RowReference, model: JSON)], notify: Bool = true) -> SessionCommand {
        dataSource(
            "PATCH", "rows", notify: notify,
            body: ["rows": .array(rows.map { ["at": $0.at.json, "model": $0.model] })])
    }

    /// Replaces all rows of a section. The server ignores the command if the section does not exist.
    public static func updateRows(_ models: [JSON], ofSection section: Int, notify: Bool = true) -> SessionCommand {
        dataSource("PUT", "sections", "\(section)", "rows", notify: notify, body: ["rows": .array(models)])
    }

    /// Removes a row. The server ignores the command if the row does not exist.
    public static func removeRow(at path: RowPath, notify: Bool = true) -> SessionCommand {
        dataSource("DELETE", "rows", "\(path.section)", "\(path.row)", notify: notify)
    }

    /// Inserts a section before the section at an index. The server appends the new section if the index is `nil` or no
    /// section has this index. The server refuses the command if the table description declares its sections.
    ///
    /// - Parameters:
    ///   - section: `{"id"?, "header"?, "footer"?, "rows"}`.
    ///   - index: the section's index, or `nil`.
    ///   - notify: whether the change is published at once.
    public static func addSection(_ section: JSON, at index: Int? = nil, notify: Bool = true) -> SessionCommand {
        dataSource(
            "POST", "sections", notify: notify, body: ["section": section, "at": index.map { .integer($0) } ?? .null])
    }

    /// Replaces a section's header and footer. The server ignores the command if the section does not exist.
    public static func updateSectionData(_ data: JSON, at section: Int, notify: Bool = true) -> SessionCommand {
        dataSource("PUT", "sections", "\(section)", "data", notify: notify, body: data)
    }

    /// Replaces a section's header, footer and rows. The server ignores the command if the section does not exist.
    public static func updateSection(_ content: JSON, at section: Int, notify: Bool = true) -> SessionCommand {
        dataSource("PUT", "sections", "\(section)", notify: notify, body: content)
    }

    /// Replaces all sections. The server refuses to add, remove or reorder sections if the table description declares
    /// its sections.
    public static func updateAllSections(_ sections: [JSON], notify: Bool = true) -> SessionCommand {
        dataSource("PUT", "sections", notify: notify, body: ["sections": .array(sections)])
    }

    /// Removes a section. The server ignores the command if the section does not exist, and refuses to remove a section
    /// that the table description declares.
    public static func removeSection(at section: Int, notify: Bool = true) -> SessionCommand {
        dataSource("DELETE", "sections", "\(section)", notify: notify)
    }

    /// Removes all sections. The server refuses the command if the table description declares its sections.
    public static func removeAllSections(notify: Bool = true) -> SessionCommand {
        dataSource("DELETE", "sections", notify: notify)
    }

    /// Inserts a row at a place of the section with an id. If the table has dynamic sections, and none with this id,
    /// the server creates the section.
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

    /// Replaces the rows that have the models' ids, in whichever section each of them is, and inserts the other models
    /// at a place of the section. If `moving` is true, rows of other sections move to that place.
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

    /// Replaces the row with an id. If the section has no such row, the server appends a row to the section. The model
    /// must contain the id. If the table has dynamic sections, and none with this id, the server creates the section.
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

    /// Deletes the row with an id. The section stays, even if the deleted row was its last row.
    public static func deleteRow(id: String, inSection section: String, notify: Bool = true) -> SessionCommand {
        dataSource("DELETE", "sections", section, "rows", id, notify: notify)
    }

    /// Registers the name of the cell that shows models of a model type.
    public static func registerCell(_ cell: String, forModelType modelType: String) -> SessionCommand {
        SessionCommand("PUT", "cells-for-model-types", modelType, body: ["cell": .string(cell)])
    }
}

/// The server's answer to a command. For a dry run, the answer says what the command would have led to.
public struct Answer: Decodable, Sendable, Hashable {
    /// The session's revision after the command.
    public var revision: Int
    /// Says whether the command was applied, changed nothing, or was ignored.
    public var outcome: Outcome
    /// The reason why the server ignored the command. `nil` if the server did not ignore the command.
    public var reason: String?
    /// The index path at which the server found the command's row. `nil` if the command was sent without a base or was
    /// ignored, and after calls for several rows, sections or rows by id.
    public var at: RowPath?
    /// The notification that the delegate of an iOS DataSourceController would have received: see
    /// docs/http-api/data-source.md. `nil` if the delegate would have received none, and for commands that are not
    /// calls of the data source.
    public var notification: JSON?
    /// What ``SessionCommand/insertRows(_:at:inSection:notify:)`` or
    /// ``SessionCommand/putRows(_:at:inSection:moving:notify:)`` did with its models. `nil` for other commands.
    public var rows: RowTally?
    /// The update that the command led to. Its list of stages is empty if no displayed row or section changed.
    public var update: Update

    /// The effect of a command. An `applied` command created a revision, an `unchanged` one changed nothing, and the
    /// server `ignored` a command for a reason that the answer names.
    public enum Outcome: String, Codable, Sendable { case applied, unchanged, ignored }

    /// What a call did with its models. Each model counts once.
    public struct RowTally: Codable, Sendable, Hashable {
        /// The section that received the inserted and the moved rows.
        public var section: String
        /// The numbers of rows.
        public var inserted, replaced, moved, unchanged: Int
    }
}

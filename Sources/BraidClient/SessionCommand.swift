import Foundation

/// A displayed row: see docs/http-api/commands.md.
public enum RowReference: Sendable, Hashable {
    /// Refused if several displayed sections contain it.
    case id(String)
    /// The id, in one section.
    case idInSection(String, section: String)
    /// An index in the section with this id.
    case row(Int, in: String)
    /// Among displayed sections and rows.
    case path(RowPath)

    /// By indexes, from 0.
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

/// A place among a section's stored rows.
public enum RowPlacement: Sendable, Hashable {
    /// First or last.
    case start, end
    /// Next to the row with this id.
    case before(String), after(String)
    /// From 0; the number of stored rows is the end.
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

/// A command to perform now or later: `.tap(.id("kim"))`, `.setState(["filter": "open"])`.
public struct SessionCommand: Sendable, Hashable {
    /// The HTTP method.
    public let method: String
    /// Below the session's: `["edits"]`.
    public let path: [String]
    /// The parameters.
    public var query: [String: String]
    /// JSON, or `nil`.
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

    /// Inserts before `row`, or at the end for an index that is the number of rows. `model`: `nil` if the description
    /// has a template.
    public static func insert(_ model: JSON?, at row: RowReference) -> SessionCommand {
        var body: [String: JSON] = ["insert": row.json]
        body["model"] = model
        return SessionCommand("POST", "edits", body: .object(body))
    }

    /// Moves a row. An index in `target` counts without it, as in UITableView; an id means before that row.
    public static func move(_ row: RowReference, to target: RowReference) -> SessionCommand {
        SessionCommand("POST", "moves", body: ["from": row.json, "to": target.json])
    }

    /// Moves a row, with the arguments of `tableView(_:moveRowAt:to:)`.
    public static func move(_ from: RowPath, to: RowPath) -> SessionCommand { move(.path(from), to: .path(to)) }

    /// A cell's event: `.event(named: "textEntered", ["text": "x"], at: …)`.
    public static func event(named name: String, _ parameters: JSON = [:], at row: RowReference) -> SessionCommand {
        SessionCommand("POST", "events", body: ["at": row.json, "event": .object([name: parameters])])
    }

    /// Taps a row.
    public static func tap(_ row: RowReference) -> SessionCommand {
        SessionCommand("POST", "taps", body: ["at": row.json])
    }

    /// Reports the visible rows. Near a section's end `onPrefetch` runs, and again once it has other last rows.
    public static func displayed(_ rows: [RowReference]) -> SessionCommand {
        SessionCommand("POST", "displayed-rows", body: ["rows": .array(rows.map(\.json))])
    }

    /// Replaces all models, by section id; sections left out become empty.
    public static func setModels(_ models: [String: [JSON]]) -> SessionCommand {
        SessionCommand("PUT", "models", body: .object(models.mapValues { .array($0) }))
    }

    /// Replaces the models of these sections.
    public static func patchModels(_ models: [String: [JSON]]) -> SessionCommand {
        SessionCommand("PATCH", "models", body: .object(models.mapValues { .array($0) }))
    }

    /// Sets all headers: a title, an object for a view, `null` for none. Sections left out show the description's.
    public static func setHeaders(_ headers: [String: JSON]) -> SessionCommand {
        SessionCommand("PUT", "headers", body: .object(headers))
    }

    /// Sets the headers of these sections.
    public static func patchHeaders(_ headers: [String: JSON]) -> SessionCommand {
        SessionCommand("PATCH", "headers", body: .object(headers))
    }

    /// As ``setHeaders(_:)``.
    public static func setFooters(_ footers: [String: JSON]) -> SessionCommand {
        SessionCommand("PUT", "footers", body: .object(footers))
    }

    /// As ``patchHeaders(_:)``.
    public static func patchFooters(_ footers: [String: JSON]) -> SessionCommand {
        SessionCommand("PATCH", "footers", body: .object(footers))
    }

    /// Displays these sections, in this order. Ignored if the description hides sections by itself.
    public static func setDisplayedSections(_ ids: [String]) -> SessionCommand {
        SessionCommand("PUT", "displayed-sections", body: .array(ids.map { .string($0) }))
    }

    /// Replaces the state.
    public static func setState(_ state: JSON) -> SessionCommand { SessionCommand("PUT", "state", body: state) }

    /// Merges a patch into the state (RFC 7396).
    public static func patchState(_ patch: JSON) -> SessionCommand { SessionCommand("PATCH", "state", body: patch) }

    /// Several commands, in their JSON forms (docs/http-api/commands.md), as one revision or not at all.
    public static func transaction(_ commands: [JSON]) -> SessionCommand {
        SessionCommand("POST", "transactions", body: ["commands": .array(commands)])
    }

    /// Back to the content at the opening, without what does not fit a new description; the revision grows.
    public static var reset: SessionCommand { SessionCommand("POST", "reset", body: [:]) }

    /// Takes back your last command that is not taken back yet.
    public static var undo: SessionCommand { SessionCommand("POST", "undo", body: ["last": "mine"]) }

    /// Takes back what the command of this revision did. Refused (409 `undo-conflict`) if that was changed since.
    public static func undo(revision: Int) -> SessionCommand {
        SessionCommand("POST", "undo", body: ["revision": .integer(revision)])
    }

    /// Takes back your last undo, unless another command of yours followed.
    public static var redo: SessionCommand { SessionCommand("POST", "redo", body: ["last": "mine"]) }

    /// Takes back the undo of this revision.
    public static func redo(revision: Int) -> SessionCommand {
        SessionCommand("POST", "redo", body: ["revision": .integer(revision)])
    }

    /// Changes to another version of the description; state and models stay. Refused if some do not fit, in sections
    /// other than `discard`.
    public static func setTable(version: Int, discarding discard: [String] = []) -> SessionCommand {
        SessionCommand(
            "PUT", "table", body: ["version": .integer(version), "discard": .array(discard.map { .string($0) })])
    }

    /// Changes to another description of the same name, registered or not.
    public static func setTable(_ description: JSON, discarding discard: [String] = []) -> SessionCommand {
        SessionCommand("PUT", "table", body: ["table": description, "discard": .array(discard.map { .string($0) })])
    }
}

/// For controllers: calls of the data source, most as in DataSourceController. `notify: false` only stores a change,
/// for a later command to publish. Index paths count stored rows, unpublished ones included.
extension SessionCommand {
    private static func dataSource(_ method: String, _ path: String..., notify: Bool, body: JSON? = nil)
        -> SessionCommand
    {
        SessionCommand(method, path, query: notify ? [:] : ["notify": "false"], body: body)
    }

    /// Inserts before a row; too high an index appends. Adds a missing section unless sections are declared. Ignored if
    /// no displayed row has the id.
    public static func addRow(_ model: JSON, at row: RowReference, notify: Bool = true) -> SessionCommand {
        dataSource("POST", "rows", notify: notify, body: ["at": row.json, "model": model])
    }

    /// Replaces a row's model. Ignored without such a row.
    public static func updateRow(_ model: JSON, at path: RowPath, notify: Bool = true) -> SessionCommand {
        dataSource("PUT", "rows", "\(path.section)", "\(path.row)", notify: notify, body: ["model": model])
    }

    /// Replaces rows, skipping missing ones. Ignored if a named section is not displayed.
    public static func updateRows(_ rows: [(at: RowReference, model: JSON)], notify: Bool = true) -> SessionCommand {
        dataSource(
            "PATCH", "rows", notify: notify,
            body: ["rows": .array(rows.map { ["at": $0.at.json, "model": $0.model] })])
    }

    /// Replaces all rows of a section. Ignored without it.
    public static func updateRows(_ models: [JSON], ofSection section: Int, notify: Bool = true) -> SessionCommand {
        dataSource("PUT", "sections", "\(section)", "rows", notify: notify, body: ["rows": .array(models)])
    }

    /// Removes a row. Ignored without it.
    public static func removeRow(at path: RowPath, notify: Bool = true) -> SessionCommand {
        dataSource("DELETE", "rows", "\(path.section)", "\(path.row)", notify: notify)
    }

    /// Inserts `{"id"?, "header"?, "footer"?, "rows"}`, at the end for `nil` or too high an index. Refused if
    /// sections are declared.
    public static func addSection(_ section: JSON, at index: Int? = nil, notify: Bool = true) -> SessionCommand {
        dataSource(
            "POST", "sections", notify: notify, body: ["section": section, "at": index.map { .integer($0) } ?? .null])
    }

    /// Replaces header and footer. Ignored without such a section.
    public static func updateSectionData(_ data: JSON, at section: Int, notify: Bool = true) -> SessionCommand {
        dataSource("PUT", "sections", "\(section)", "data", notify: notify, body: data)
    }

    /// Replaces header, footer and rows. Ignored without such a section.
    public static func updateSection(_ content: JSON, at section: Int, notify: Bool = true) -> SessionCommand {
        dataSource("PUT", "sections", "\(section)", notify: notify, body: content)
    }

    /// Replaces all sections. Refused if that adds, removes or reorders declared ones.
    public static func updateAllSections(_ sections: [JSON], notify: Bool = true) -> SessionCommand {
        dataSource("PUT", "sections", notify: notify, body: ["sections": .array(sections)])
    }

    /// Removes a section. Ignored without it, refused if it is declared.
    public static func removeSection(at section: Int, notify: Bool = true) -> SessionCommand {
        dataSource("DELETE", "sections", "\(section)", notify: notify)
    }

    /// Removes all sections. Refused if they are declared.
    public static func removeAllSections(notify: Bool = true) -> SessionCommand {
        dataSource("DELETE", "sections", notify: notify)
    }

    /// Inserts a row by section id; creates the section if sections are dynamic.
    public static func insertRow(
        _ model: JSON, at place: RowPlacement = .end, inSection section: String, notify: Bool = true
    ) -> SessionCommand {
        dataSource(
            "POST", "sections", section, "rows", notify: notify, body: ["at": place.json, "model": model])
    }

    /// As ``insertRow(_:at:inSection:notify:)``, in order.
    public static func insertRows(
        _ models: [JSON], at place: RowPlacement = .end, inSection section: String, notify: Bool = true
    ) -> SessionCommand {
        dataSource(
            "POST", "sections", section, "rows", notify: notify, body: ["at": place.json, "models": .array(models)])
    }

    /// Replaces rows with the models' ids, in any section, and inserts the others. With `moving`, replaced ones from
    /// other sections move here.
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

    /// Replaces or appends the row; creates the section if sections are dynamic. The model must contain the id.
    public static func putRow(_ model: JSON, id: String, inSection section: String, notify: Bool = true)
        -> SessionCommand
    {
        dataSource("PUT", "sections", section, "rows", id, notify: notify, body: model)
    }

    /// Merges a patch into a row's model (RFC 7396).
    public static func patchRow(_ patch: JSON, id: String, inSection section: String, notify: Bool = true)
        -> SessionCommand
    {
        dataSource("PATCH", "sections", section, "rows", id, notify: notify, body: patch)
    }

    /// Deletes a row; its section stays.
    public static func deleteRow(id: String, inSection section: String, notify: Bool = true) -> SessionCommand {
        dataSource("DELETE", "sections", section, "rows", id, notify: notify)
    }

    /// Registers the cell for a model type.
    public static func registerCell(_ cell: String, forModelType modelType: String) -> SessionCommand {
        SessionCommand("PUT", "cells-for-model-types", modelType, body: ["cell": .string(cell)])
    }
}

/// What a command did, or what a dry run would.
public struct Answer: Decodable, Sendable, Hashable {
    /// After the command.
    public var revision: Int
    /// Applied, unchanged or ignored.
    public var outcome: Outcome
    /// Why it was ignored.
    public var reason: String?
    /// Where the row was found. `nil` without a base, if ignored, and for several rows, sections or rows by id.
    public var at: RowPath?
    /// What the delegate of an iOS DataSourceController would get: docs/http-api/data-source.md.
    public var notification: JSON?
    /// After `insertRows` and `putRows`.
    public var rows: RowTally?
    /// Without stages if nothing displayed changed.
    public var update: Update

    /// `applied`: a new revision. `ignored`: see the reason.
    public enum Outcome: String, Codable, Sendable { case applied, unchanged, ignored }

    /// Each model counted once.
    public struct RowTally: Codable, Sendable, Hashable {
        /// Where rows were inserted and moved to.
        public var section: String
        /// Numbers of rows.
        public var inserted, replaced, moved, unchanged: Int
    }
}

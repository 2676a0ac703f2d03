import Foundation

/// A row, by what it is referred to. docs/http-api.md, "Resources".
public enum RowReference: Sendable, Hashable {
    case id(String)
    case idInSection(String, section: String)
    /// A row of the section with this id.
    case row(Int, in: String)
    case path(RowPath)

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

/// What changes a session: a resource below the session, and what it is sent. A value: it may be kept, and performed later.
public struct SessionCommand: Sendable, Hashable {
    public let method: String
    /// Its segments, below the session.
    public let path: [String]
    public var query: [String: String]
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
    public static func delete(_ row: RowReference) -> SessionCommand { SessionCommand("POST", "edits", body: ["delete": row.json]) }

    /// `model`: nil where the table's description has a template for it.
    public static func insert(_ model: JSON?, at row: RowReference) -> SessionCommand {
        var body: [String: JSON] = ["insert": row.json]
        body["model"] = model
        return SessionCommand("POST", "edits", body: .object(body))
    }

    /// `row`: after the moved one was taken out, as UITableView counts.
    public static func move(_ row: RowReference, toRow target: Int, inSection section: String) -> SessionCommand {
        SessionCommand("POST", "moves", body: ["from": row.json, "to": ["section": .string(section), "row": .integer(target)]])
    }

    /// The target as index path: `tableView(_:moveRowAt:to:)`.
    public static func move(_ from: RowPath, to: RowPath) -> SessionCommand {
        SessionCommand("POST", "moves", body: ["from": RowReference.path(from).json, "to": RowReference.path(to).json])
    }

    /// `.event(named: "textEntered", ["text": "x"], at: …)`
    public static func event(named name: String, _ parameters: JSON = [:], at row: RowReference) -> SessionCommand {
        SessionCommand("POST", "events", body: ["at": row.json, "event": .object([name: parameters])])
    }

    public static func tap(_ row: RowReference) -> SessionCommand { SessionCommand("POST", "taps", body: ["at": row.json]) }

    public static func displayed(_ rows: [RowReference]) -> SessionCommand {
        SessionCommand("POST", "displayed-rows", body: ["rows": .array(rows.map(\.json))])
    }

    /// `partial`: dynamic sections that are not named keep their models.
    public static func setModels(_ models: [String: [JSON]], partial: Bool = false) -> SessionCommand {
        SessionCommand("PUT", "models", query: partial ? ["partial": "true"] : [:], body: .object(models.mapValues { .array($0) }))
    }

    /// Titles are strings, views objects, and null is none.
    public static func setHeaders(_ headers: [String: JSON]) -> SessionCommand { SessionCommand("PUT", "headers", body: .object(headers)) }
    public static func setFooters(_ footers: [String: JSON]) -> SessionCommand { SessionCommand("PUT", "footers", body: .object(footers)) }

    public static func setDisplayedSections(_ ids: [String]) -> SessionCommand {
        SessionCommand("PUT", "displayed-sections", body: .array(ids.map { .string($0) }))
    }

    /// A merge patch (RFC 7396).
    public static func patchState(_ patch: JSON) -> SessionCommand { SessionCommand("PATCH", "state", body: patch) }

    /// All or nothing: commands as docs/http-api.md writes them.
    public static func transaction(_ commands: [JSON]) -> SessionCommand { SessionCommand("POST", "transactions", body: ["commands": .array(commands)]) }

    /// Back to the state in which the session was opened.
    public static var reset: SessionCommand { SessionCommand("POST", "reset", body: [:]) }
}

/// DataSourceController's calls. `notify: false`: stored, and published with the next command.
extension SessionCommand {
    private static func dataSource(_ method: String, _ path: String..., notify: Bool, body: JSON? = nil) -> SessionCommand {
        SessionCommand(method, path, query: notify ? [:] : ["notify": "false"], body: body)
    }

    public static func addRow(_ model: JSON, at path: RowPath, notify: Bool = true) -> SessionCommand {
        dataSource("POST", "rows", notify: notify, body: ["at": [.integer(path.section), .integer(path.row)], "model": model])
    }

    public static func updateRow(_ model: JSON, at path: RowPath, notify: Bool = true) -> SessionCommand {
        dataSource("PUT", "rows", "\(path.section)", "\(path.row)", notify: notify, body: ["model": model])
    }

    public static func updateRows(_ models: [RowPath: JSON], notify: Bool = true) -> SessionCommand {
        let rows = models.sorted { ($0.key.section, $0.key.row) < ($1.key.section, $1.key.row) }
        return dataSource("PUT", "rows", notify: notify, body: ["rows": .array(rows.map { ["at": [.integer($0.section), .integer($0.row)], "model": $1] })])
    }

    public static func updateRows(_ models: [JSON], ofSection section: Int, notify: Bool = true) -> SessionCommand {
        dataSource("PUT", "sections", "\(section)", "rows", notify: notify, body: ["rows": .array(models)])
    }

    public static func removeRow(at path: RowPath, notify: Bool = true) -> SessionCommand {
        dataSource("DELETE", "rows", "\(path.section)", "\(path.row)", notify: notify)
    }

    /// `index`: nil, at the end.
    public static func addSection(_ section: JSON, at index: Int? = nil, notify: Bool = true) -> SessionCommand {
        dataSource("POST", "sections", notify: notify, body: ["section": section, "at": index.map { .integer($0) } ?? .null])
    }

    public static func updateSectionData(_ data: JSON, at section: Int, notify: Bool = true) -> SessionCommand {
        dataSource("PUT", "sections", "\(section)", "data", notify: notify, body: data)
    }

    public static func updateSection(_ content: JSON, at section: Int, notify: Bool = true) -> SessionCommand {
        dataSource("PUT", "sections", "\(section)", notify: notify, body: content)
    }

    public static func updateAllSections(_ sections: [JSON], notify: Bool = true) -> SessionCommand {
        dataSource("PUT", "sections", notify: notify, body: ["sections": .array(sections)])
    }

    public static func removeSection(at section: Int, notify: Bool = true) -> SessionCommand {
        dataSource("DELETE", "sections", "\(section)", notify: notify)
    }

    public static func removeAllSections(notify: Bool = true) -> SessionCommand { dataSource("DELETE", "sections", notify: notify) }

    public static func registerCell(_ cell: String, forModelType modelType: String) -> SessionCommand {
        SessionCommand("PUT", "cells-for-model-types", modelType, body: ["cell": .string(cell)])
    }
}

/// What a command answers.
public struct Answer: Decodable, Sendable, Hashable {
    public var revision: Int
    public var outcome: Outcome
    /// Why it was ignored.
    public var reason: String?
    /// Where the row was by then, if there was a base.
    public var at: RowPath?
    /// Of the data source: what its delegate would have been told.
    public var notification: JSON?
    public var update: Update

    public enum Outcome: String, Codable, Sendable { case applied, unchanged, ignored }
}

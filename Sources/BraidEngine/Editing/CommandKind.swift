/// What all commands of one kind have in common; data source calls are one kind. The routes, roles, JSON forms and
/// metrics follow from the declarations in this file.
///
/// To add a command, add its case to ``Command``, its kind with a decoder here and to `all`, and its effect to
/// `CommandInProgress.perform`. The compiler finds the other switches.
public struct CommandKind: Sendable {
    /// The HTTP method (RFC 9110, 9.3, and RFC 5789), which says how the resource changes.
    public enum Method: String, Sendable {
        /// A POST request carries out an action, such as a move.
        case post = "POST"
        /// A PUT request replaces what its resource names, such as the session's models.
        case put = "PUT"
        /// Merges a patch into what the resource names, such as the state.
        case patch = "PATCH"
        /// A DELETE request removes what its resource names, such as a row.
        case delete = "DELETE"
    }

    /// The command's name in transactions, in the journal and in the metrics.
    public let name: String
    /// The last segment of the resource's path. Not used for data source calls.
    public let path: String
    /// `nil` for data source calls, which have their own (``DataSourceCommand/Call``).
    public let method: Method?
    /// The lowest role that may send it. A transaction also needs those of its commands.
    public let role: Role
    /// Whether it may be sent for an earlier revision, and is then rebased.
    public let acceptsBase: Bool
    /// Whether a request may have the parameter `strict`, which refuses calls that would be ignored.
    public var acceptsStrict: Bool { self == .transactions || self == .dataSource }

    /// `nil` if the body alone does not define the command.
    let decode: Decoder?

    typealias Decoder = @Sendable (_ body: JSONText, _ pointer: JSONPointer) throws(Refusal) -> Command

    private init(
        _ method: Method?, _ name: String, at path: String? = nil, for role: Role, acceptsBase: Bool = false,
        _ decode: Decoder?
    ) {
        self.name = name
        self.path = path ?? name
        self.method = method
        self.role = role
        self.acceptsBase = acceptsBase
        self.decode = decode
    }

    /// All kinds of commands.
    public static let all = [
        edits, moves, models, patchModels, headers, patchHeaders, footers, patchFooters, displayedSections, state,
        patchState, taps, events, displayedRows, dataSource, transactions, reset, table,
    ]

    private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    /// `nil` also if the kind has no decoder.
    static func decodable(_ name: String) -> CommandKind? { byName[name].flatMap { $0.decode == nil ? nil : $0 } }

    static let edits = CommandKind(.post, "edits", for: .participant, acceptsBase: true) {
        (body, pointer) throws(Refusal) in
        let object = try BodyReader(body, at: pointer, members: ["delete", "insert", "model"])
        switch (object["delete"], object["insert"]) {
        case (let row?, nil):
            if object["model"] != nil { throw object.fault("model", .conflict, "a delete must not have a `model`") }
            return .delete(try RowReference(row, at: pointer.appending("delete")))
        case (nil, let row?):
            return .insert(try RowReference(row, at: pointer.appending("insert")), model: object["model"])
        default:
            throw Refusal.bad(
                pointer, object["delete"] == nil ? .missingMember : .conflict,
                "an edit has either `delete` or `insert`, a row reference")
        }
    }

    static let moves = CommandKind(.post, "moves", for: .participant, acceptsBase: true) {
        (body, pointer) throws(Refusal) in
        let object = try BodyReader(body, at: pointer, members: ["from", "to"])
        return .move(try object.rowReference("from"), to: try object.rowReference("to"))
    }

    static let models = CommandKind(.put, "models", for: .controller) { (body, pointer) throws(Refusal) in
        .setModels(try models(body, at: pointer, merging: false), merging: false)
    }

    static let patchModels = CommandKind(.patch, "patchModels", at: "models", for: .controller) {
        (body, pointer) throws(Refusal) in .setModels(try models(body, at: pointer, merging: true), merging: true)
    }

    static let headers = CommandKind(.put, "headers", for: .controller) { (body, pointer) throws(Refusal) in
        .setHeaders(try titles(body, at: pointer), merging: false)
    }

    static let patchHeaders = CommandKind(.patch, "patchHeaders", at: "headers", for: .controller) {
        (body, pointer) throws(Refusal) in .setHeaders(try titles(body, at: pointer), merging: true)
    }

    static let footers = CommandKind(.put, "footers", for: .controller) { (body, pointer) throws(Refusal) in
        .setFooters(try titles(body, at: pointer), merging: false)
    }

    static let patchFooters = CommandKind(.patch, "patchFooters", at: "footers", for: .controller) {
        (body, pointer) throws(Refusal) in .setFooters(try titles(body, at: pointer), merging: true)
    }

    static let displayedSections = CommandKind(.put, "displayedSections", at: "displayed-sections", for: .controller) {
        (body, pointer) throws(Refusal) in
        guard let elements = body.elements() else {
            throw Refusal.bad(pointer, .wrongType, "must be an array of section ids")
        }
        var ids: [SectionID] = [], seen: Set<SectionID> = []
        for (index, element) in elements.enumerated() {
            guard let id = element.stringValue else {
                throw Refusal.bad(pointer.appending(index), .wrongType, "a section id must be a string")
            }
            if !seen.insert(SectionID(id)).inserted {
                throw Refusal.bad(pointer.appending(index), .duplicate, "the section \"\(id)\" is named twice")
            }
            ids.append(SectionID(id))
        }
        return .setDisplayedSections(ids)
    }

    static let state = CommandKind(.put, "state", for: .controller) { (body, pointer) throws(Refusal) in
        guard body.kind == .object else { throw Refusal.bad(pointer, .wrongType, "the state must be an object") }
        return .setState(body, merging: false)
    }

    static let patchState = CommandKind(.patch, "patchState", at: "state", for: .controller) {
        (body, pointer) throws(Refusal) in
        guard body.kind == .object else {
            throw Refusal.bad(pointer, .wrongType, "a merge patch on the state must be an object")
        }
        return .setState(body, merging: true)
    }

    static let taps = CommandKind(.post, "taps", for: .participant, acceptsBase: true) {
        (body, pointer) throws(Refusal) in
        let object = try BodyReader(body, at: pointer, members: ["at"])
        return .tap(try object.rowReference("at"))
    }

    static let events = CommandKind(.post, "events", for: .participant, acceptsBase: true) {
        (body, pointer) throws(Refusal) in
        let object = try BodyReader(body, at: pointer, members: ["at", "event"])
        let at = try object.rowReference("at")
        guard let event = try object.required("event").members(), event.count == 1 else {
            throw object.fault(
                "event", .rejecting(object["event"]?.kind ?? .null, accepting: .object),
                "must be an object with one member: the event's name, with its parameters")
        }
        return .event(at, name: event[0].name, parameters: event[0].value)
    }

    static let displayedRows = CommandKind(.post, "displayedRows", at: "displayed-rows", for: .participant) {
        (body, pointer) throws(Refusal) in
        let object = try BodyReader(body, at: pointer, members: ["rows"])
        guard let elements = try object.required("rows").elements() else {
            throw object.fault("rows", .wrongType, "must be an array of row references")
        }
        var rows: [RowReference] = []
        for (index, element) in elements.enumerated() {
            rows.append(try RowReference(element, at: pointer.appending("rows").appending(index)))
        }
        return .displayedRows(rows)
    }

    /// The data source calls. Each call has its own HTTP resource (``DataSourceCommand/Call/resource``).
    public static let dataSource = CommandKind(nil, "dataSource", for: .controller, acceptsBase: true) {
        (body, pointer) throws(Refusal) in try Command(dataSource: body, at: pointer)
    }

    /// A transaction: several commands that are applied together or not at all.
    public static let transactions = CommandKind(.post, "transactions", for: .participant) {
        (body, pointer) throws(Refusal) in
        let object = try BodyReader(body, at: pointer, members: ["commands"])
        guard let elements = try object.required("commands").elements() else {
            throw object.fault("commands", .wrongType, "must be an array of commands")
        }
        var commands: [Command] = []
        for (index, element) in elements.enumerated() {
            commands.append(try Command(json: element, at: pointer.appending("commands").appending(index)))
        }
        return .transaction(commands)
    }

    /// No decoder: the command needs the table that the session was opened with.
    public static let reset = CommandKind(.post, "reset", for: .controller, nil)

    /// Another version of the description. No decoder: only the store knows registered versions.
    public static let table = CommandKind(.put, "table", for: .controller, nil)

    /// In a merge patch, `null` means an empty list.
    private static func models(_ body: JSONText, at pointer: JSONPointer, merging: Bool) throws(Refusal) -> [(
        section: SectionID, models: [JSONText]
    )] {
        var sections: [(section: SectionID, models: [JSONText])] = []
        for (name, value) in try BodyReader.members(body, at: pointer, what: "section ids with arrays of models") {
            guard let models = merging && value.isNull ? [] : value.elements() else {
                throw Refusal.bad(pointer.appending(name), .wrongType, "the models of a section must be an array")
            }
            sections.append((SectionID(name), models))
        }
        return sections
    }

    private static func titles(_ body: JSONText, at pointer: JSONPointer) throws(Refusal) -> [(
        section: SectionID, title: JSONText
    )] {
        var titles: [(section: SectionID, title: JSONText)] = []
        for (name, value) in try BodyReader.members(body, at: pointer, what: "section ids with titles") {
            titles.append((SectionID(name), try BodyReader.title(value, at: pointer.appending(name))))
        }
        return titles
    }
}

extension CommandKind: Equatable {
    /// By name, which no two kinds share.
    public static func == (one: CommandKind, other: CommandKind) -> Bool { one.name == other.name }
}

extension Command {
    /// The kind of this command, which describes its HTTP resource and role.
    public var kind: CommandKind {
        switch self {
        case .delete, .insert: .edits
        case .move: .moves
        case .setModels(_, let merging): merging ? .patchModels : .models
        case .setHeaders(_, let merging): merging ? .patchHeaders : .headers
        case .setFooters(_, let merging): merging ? .patchFooters : .footers
        case .setDisplayedSections: .displayedSections
        case .setState(_, let merging): merging ? .patchState : .state
        case .tap: .taps
        case .event: .events
        case .displayedRows: .displayedRows
        case .dataSource: .dataSource
        case .reset: .reset
        case .rebind: .table
        case .transaction: .transactions
        }
    }

    /// The lowest role that may send this command; for a transaction, the highest that one of its commands needs.
    public var role: Role {
        guard case .transaction(let commands) = self else { return kind.role }
        return commands.map(\.role).max() ?? kind.role
    }
}

/// A section as a client names it: by its id, or by its index among the displayed sections.
public enum SectionReference: Sendable, Hashable {
    /// The section with this section id.
    case id(SectionID)
    /// The section at this index among the displayed sections, from 0.
    case displayed(Int)
}

/// A displayed row as a client names it: by its section and index, or by its id.
public enum RowReference: Sendable, Hashable {
    /// The row at an index among its section's displayed rows, from 0.
    case at(SectionReference, row: Int)
    /// The section is required if several displayed ones have a row with the id.
    case id(RowID, in: SectionReference?)

    /// By index path, from 0 among what is displayed.
    public init(section: Int, row: Int) { self = .at(.displayed(section), row: row) }

    init(_ path: RowPath) { self.init(section: path.section, row: path.row) }
}

/// A command that changes a session or reports something to it, completely or not at all. What changes something makes
/// a new revision.
public indirect enum Command: Sendable {
    /// Deletes a row. The editing policy must give the row the style `delete`.
    case delete(RowReference)
    /// Inserts a row before the named one, whose index may be the section's row count if the policy allows inserts for
    /// every row. With a `nil` model, `insert.template` makes the model, or a program's insert handler if the program
    /// keeps the models.
    case insert(RowReference, model: JSONText?)
    /// Moves a row. A target's index is in the list without the row, as in UITableView; a target's id is that of the
    /// row after the place.
    case move(RowReference, to: RowReference)
    /// Replaces the models of sections. The others become empty or, if `merging`, keep theirs.
    case setModels([(section: SectionID, models: [JSONText])], merging: Bool)
    /// Sets headers: a title, a view or JSON `null` for none. The other sections get the description's or, if
    /// `merging`, keep theirs.
    case setHeaders([(section: SectionID, title: JSONText)], merging: Bool)
    /// Sets the footers of sections, as ``setHeaders(_:merging:)`` sets the headers.
    case setFooters([(section: SectionID, title: JSONText)], merging: Bool)
    /// Displays exactly these sections, in this order. Ignored under automatic display.
    case setDisplayedSections([SectionID])
    /// Replaces the state or, if `merging`, merges a patch into it (RFC 7396).
    case setState(JSONText, merging: Bool)
    /// Reports a tap on a row, whose tap handlers run.
    case tap(RowReference)
    /// Reports a cell's event: its handler runs, and the controllers receive it.
    case event(RowReference, name: String, parameters: JSONText)
    /// Reports which rows a client has on its screen, for `onPrefetch` near a section's end.
    case displayedRows([RowReference])
    /// A data source call. If not `notify`, clients see the change only when another command publishes it, except that
    /// of `registerCell`.
    case dataSource(DataSourceCommand, notify: Bool)
    /// Resets the session to the table that it was opened with. `nil` stands for this table until the session that
    /// executes the command has read it. A transaction must not contain this command.
    case reset(to: TableModel?)
    /// Binds the session to another version of its table description. A transaction must not contain this command.
    case rebind(Rebinding)
    /// Commands in order, as one revision with one update. Not in a transaction.
    case transaction([Command])
}

// The JSON form in transactions and the journal: an object with one member, the kind's name, mostly with the body of a
// request to its resource: `{"edits": {"delete": …}}`, `{"moves": {…}}`, `{"patchModels": {…}}`.
extension Command {
    /// The command that a request to a resource asks for.
    ///
    /// - `kind`: the name of the command's kind, such as `edits`.
    /// - `pointer`: leads to the body in a larger document; the faults' pointers begin with it.
    /// - Throws: ``Refusal`` with `badRequest` and the pointer to the fault.
    public init(kind: String, body: JSONText, at pointer: JSONPointer = .root) throws(Refusal) {
        guard let decode = CommandKind.decodable(kind)?.decode else {
            throw Refusal.bad(
                pointer, .unknownName,
                "there is no command \"\(kind)\"; commands are \(Self.names.joined(separator: ", "))")
        }
        self = try decode(body, pointer)
    }

    private static let names = CommandKind.all.filter { $0.decode != nil }.map(\.name)

    /// The command in its JSON form, as a transaction contains it: an object with one member, the kind's name, with the
    /// body of a request to its resource. The bodies of `edits` and `moves` may lack the name. A transaction is
    /// refused.
    ///
    /// - `pointer`: leads to the command in a larger document; the faults' pointers begin with it.
    /// - Throws: ``Refusal`` with `badRequest` and the pointer to the fault.
    public init(json: JSONText, at pointer: JSONPointer = .root) throws(Refusal) {
        guard let members = json.members() else {
            throw Refusal.bad(pointer, .wrongType, "a command must be an object")
        }
        let names = members.map(\.name)
        if names.contains("delete") || names.contains("insert") {
            self = try Command(kind: "edits", body: json, at: pointer)
        } else if names.contains("from") {
            self = try Command(kind: "moves", body: json, at: pointer)
        } else {
            guard let named = members.first, members.count == 1 else {
                throw Refusal.bad(
                    pointer, members.isEmpty ? .missingMember : .conflict,
                    "a command has one member, its name (\(Self.names.dropLast().joined(separator: ", "))); or it is the body of an edit or a move"
                )
            }
            if named.name == "transactions" {
                throw Refusal.bad(pointer, .conflict, "a transaction cannot contain a transaction")
            }
            self = try Command(kind: named.name, body: named.value, at: pointer.appending(named.name))
        }
    }
}

extension RowReference {
    /// `{"section", "row"}`, `{"id"}`, `{"id", "section"}` or `[section, row]`.
    init(_ json: JSONText, at pointer: JSONPointer) throws(Refusal) {
        if let elements = json.elements() {
            guard elements.count == 2 else {
                throw Refusal.bad(pointer, .invalidValue, "a row reference that is an array must be [section, row]")
            }
            self = .at(
                try SectionReference(elements[0], at: pointer.appending(0)),
                row: try elements[1].index(at: pointer.appending(1)))
            return
        }
        guard json.kind == .object else {
            throw Refusal.bad(
                pointer, .wrongType,
                "a row reference must be {\"section\", \"row\"}, {\"id\"}, {\"id\", \"section\"} or [section, row]")
        }
        let object = try BodyReader(json, at: pointer, members: ["section", "row", "id"])
        if object["id"] != nil {
            if object["row"] != nil {
                throw Refusal.bad(pointer, .conflict, "a row reference has either `id` or `row`")
            }
            self = .id(
                try object.rowID("id"), in: try object["section"] == nil ? nil : object.sectionReference("section"))
        } else {
            self = .at(try object.sectionReference("section"), row: try object.index("row"))
        }
    }
}

extension SectionReference {
    fileprivate init(_ json: JSONText, at pointer: JSONPointer) throws(Refusal) {
        if let id = json.stringValue {
            self = .id(SectionID(id))
            return
        }
        guard let index = json.intValue, index >= 0 else {
            throw Refusal.bad(
                pointer, .rejecting(json.kind, accepting: .number),
                "must be a section's id, or its index among the displayed sections, from 0")
        }
        self = .displayed(index)
    }
}

extension BodyReader {
    func rowReference(_ name: String) throws(Refusal) -> RowReference {
        try RowReference(try required(name), at: place(of: name))
    }

    func sectionReference(_ name: String) throws(Refusal) -> SectionReference {
        try SectionReference(try required(name), at: place(of: name))
    }
}

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

extension Binder {
    /// Estimates a command's cost as the number of rows that are rendered and compared, without what handlers do.
    ///
    /// - Complexity: O(sections and commands that the command lists).
    public func estimatedCost(of command: Command, rowCount: Int) -> Int {
        switch command {
        case .delete, .insert, .move, .tap, .event:
            // Where expressions read these, any change may render every row again.
            reads.isDisjoint(with: [.row, .count, .models, .now]) ? 1 : rowCount
        case .setModels(let sections, let merging):
            sections.reduce(merging ? 0 : rowCount) { $0 + 1 + $1.models.count }
        case .setHeaders(let titles, _), .setFooters(let titles, _): 1 + titles.count
        case .setDisplayedSections(let ids): 1 + ids.count
        case .setState: reads.contains(.state) ? rowCount : 1
        case .displayedRows(let rows): 1 + rows.count
        case .dataSource(let call, _):
            call.bringsRows
                + (call.concernsAllRows || !reads.isDisjoint(with: [.row, .count, .models, .now]) ? rowCount : 1)
        case .reset, .rebind: rowCount
        case .transaction(let commands):
            commands.reduce(1) { $0.saturatingAdd(estimatedCost(of: $1, rowCount: rowCount)) }
        }
    }
}

extension DataSourceCommand {
    /// The length of the call's list of rows, if it has one.
    fileprivate var bringsRows: Int {
        switch self {
        case .updateRowsOfSection(let rows, _), .insertRows(let rows, _, _), .putRows(let rows, _, _, _): rows.count
        case .updateRows(let rows): rows.count
        case .addSection(let section, _), .updateSection(let section, _): section.rows.count
        case .updateAllSections(let sections): sections.reduce(0) { $0 + $1.rows.count }
        case .addRow, .updateRow, .removeRow, .insertRow, .putRow, .patchRow, .deleteRow, .updateSectionData,
            .removeSection, .removeAllSections, .registerCell:
            0
        }
    }

    /// Whether many rows are replaced, removed or rendered again.
    fileprivate var concernsAllRows: Bool {
        switch self {
        case .updateRowsOfSection, .updateSection, .updateAllSections, .removeSection, .removeAllSections,
            .registerCell:
            true
        case .addRow, .updateRow, .updateRows, .removeRow, .insertRow, .insertRows, .putRow, .putRows, .patchRow,
            .deleteRow, .addSection, .updateSectionData:
            false
        }
    }
}

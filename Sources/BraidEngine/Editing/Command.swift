/// A section as clients name it.
public enum SectionReference: Sendable, Hashable {
    /// By its id.
    case id(SectionID)
    /// By its index among displayed sections.
    case displayed(Int)
}

/// A displayed row as clients name it.
public enum RowReference: Sendable, Hashable {
    /// By its index among the section's displayed rows.
    case at(SectionReference, row: Int)
    /// The section is needed if several display the id.
    case id(RowID, in: SectionReference?)

    /// By index path, from 0 among what is displayed.
    public init(section: Int, row: Int) { self = .at(.displayed(section), row: row) }

    init(_ path: RowPath) { self.init(section: path.section, row: path.row) }
}

/// Changes a session or reports something to it, wholly or not at all. A change makes a new revision.
///
/// ```swift
/// let command = try Command(json: JSONText(parsing: #"{"edits": {"delete": {"id": "milk"}}}"#))
/// let outcome = try binder.applying(command, to: table, shown: snapshot, unpublished: nil, now: now)
/// ```
public indirect enum Command: Sendable {
    /// The policy must give the row the style `delete`.
    case delete(RowReference)
    /// Before the row, or at the row count's index if the policy allows inserts for every row. Without a model,
    /// `insert.template` makes one, or the insert handler of a program that keeps the models.
    case insert(RowReference, model: JSONText?)
    /// A target's index is in the list without the row, as in UITableView; a target's id is that of the row after the
    /// place.
    case move(RowReference, to: RowReference)
    /// The other sections become empty or, if `merging`, stay.
    case setModels([(section: SectionID, models: [JSONText])], merging: Bool)
    /// A title, a view, or JSON `null` for none. The other sections get the description's or, if `merging`, keep
    /// theirs.
    case setHeaders([(section: SectionID, title: JSONText)], merging: Bool)
    /// As ``setHeaders(_:merging:)``.
    case setFooters([(section: SectionID, title: JSONText)], merging: Bool)
    /// Exactly these, in this order. Ignored under automatic display.
    case setDisplayedSections([SectionID])
    /// Replaces it or, if `merging`, applies a merge patch (RFC 7396).
    case setState(JSONText, merging: Bool)
    /// Runs the tap handlers.
    case tap(RowReference)
    /// Runs the cell event's handler; controllers receive it, too.
    case event(RowReference, name: String, parameters: JSONText)
    /// What a client has on its screen, for `onPrefetch` near a section's end.
    case displayedRows([RowReference])
    /// Without `notify`, clients see the change when another command publishes it; that of `registerCell` at once.
    case dataSource(DataSourceCommand, notify: Bool)
    /// To the opening table: `nil` until the session has read it. Not in a transaction.
    case reset(to: TableModel?)
    /// To another version of the description. Not in a transaction.
    case rebind(Rebinding)
    /// Takes one revision back. Not in a transaction.
    case undo(Undo)
    /// In order, as one revision with one update. Not in a transaction.
    case transaction([Command])
}

// As JSON, in transactions and the journal: one member, the kind's name, mostly with the body of its request:
// `{"edits": {"delete": …}}`, `{"moves": {…}}`, `{"patchModels": {…}}`.
extension Command {
    /// From a request: `kind` such as `edits`, and its body. Throws `badRequest`; faults' pointers begin with
    /// `pointer`.
    public init(kind: String, body: JSONText, at pointer: JSONPointer = .root) throws(Refusal) {
        guard let decode = CommandKind.decodable(kind)?.decode else {
            throw Refusal.bad(
                pointer, .unknownName,
                "there is no command \"\(kind)\"; commands are \(Self.names.joined(separator: ", "))")
        }
        self = try decode(body, pointer)
    }

    private static let names = CommandKind.all.filter { $0.decode != nil }.map(\.name)

    /// As in a transaction, but not one itself; `edits` and `moves` may lack the kind's name. Throws `badRequest`;
    /// faults' pointers begin with `pointer`.
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
    package init(_ json: JSONText, at pointer: JSONPointer) throws(Refusal) {
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

/// What all commands of a kind have in common; data source calls are one. Routes, roles, JSON and metrics follow from
/// this.
///
/// To add a command, add its case to ``Command``, its kind here and to `all`, and its effect to
/// `CommandInProgress.perform`. The compiler finds the other switches.
public struct CommandKind: Sendable {
    /// Of HTTP (RFC 9110, 9.3, and RFC 5789).
    public enum Method: String, Sendable {
        /// An action, such as a move.
        case post = "POST"
        /// Replaces what the resource names.
        case put = "PUT"
        /// Merges a patch into it.
        case patch = "PATCH"
        /// Removes it.
        case delete = "DELETE"
    }

    /// In transactions, journal and metrics.
    public let name: String
    /// The resource's last segment. Unused for data source calls.
    public let path: String
    /// `nil` for data source calls, which have their own (``DataSourceCommand/Call``).
    public let method: Method?
    /// The lowest that may send it. A transaction also needs those of its commands.
    public let role: Role
    /// May be sent for an earlier revision, and is then rebased.
    public let acceptsBase: Bool
    /// The request may have `strict`, which refuses calls that would be ignored.
    public var acceptsStrict: Bool { self == .transactions || self == .dataSource }

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

    /// Every kind.
    public static let all = [
        edits, moves, models, patchModels, headers, patchHeaders, footers, patchFooters, displayedSections, state,
        patchState, taps, events, displayedRows, dataSource, transactions, undo, redo, reset, table,
    ]

    private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

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
        var seen: Set<SectionID> = []
        let ids = try body.array(of: "section ids", at: pointer) { (element, place) throws(Refusal) in
            let id = try element.sectionID(at: place)
            guard seen.insert(id).inserted else {
                throw Refusal.bad(place, .duplicate, "the section \"\(id)\" is named twice")
            }
            return id
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
        return .displayedRows(
            try object.required("rows").array(of: "row references", at: object.place(of: "rows")) {
                (element, place) throws(Refusal) in try RowReference(element, at: place)
            })
    }

    /// Each has its own resource (``DataSourceCommand/Call/resource``).
    public static let dataSource = CommandKind(nil, "dataSource", for: .controller, acceptsBase: true) {
        (body, pointer) throws(Refusal) in try Command(dataSource: body, at: pointer)
    }

    /// Several commands, all or nothing.
    public static let transactions = CommandKind(.post, "transactions", for: .participant) {
        (body, pointer) throws(Refusal) in
        let object = try BodyReader(body, at: pointer, members: ["commands"])
        return .transaction(
            try object.required("commands").array(of: "commands", at: object.place(of: "commands")) {
                (element, place) throws(Refusal) in try Command(json: element, at: place)
            })
    }

    /// A participant may send it if the description's `undo` allows that.
    public static let undo = CommandKind(.post, "undo", for: .participant) { (body, pointer) throws(Refusal) in
        .undo(try Undo(body, isRedo: false, at: pointer))
    }

    /// As `undo`, for one that was taken back.
    public static let redo = CommandKind(.post, "redo", for: .participant) { (body, pointer) throws(Refusal) in
        .undo(try Undo(body, isRedo: true, at: pointer))
    }

    /// No decoder: needs the opening table.
    public static let reset = CommandKind(.post, "reset", for: .controller, nil)

    /// No decoder: only the store knows registered versions.
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
    public static func == (one: CommandKind, other: CommandKind) -> Bool { one.name == other.name }
}

extension Command {
    /// Its kind, which also says resource and role.
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
        case .undo(let undo): undo.isRedo ? .redo : .undo
        }
    }

    /// The lowest that may send it; for a transaction, the highest of its commands.
    public var role: Role {
        guard case .transaction(let commands) = self else { return kind.role }
        return commands.map(\.role).max() ?? kind.role
    }
}

extension Binder {
    /// Rows rendered and compared, roughly, without what handlers do. O(sections and commands listed).
    public func estimatedCost(of command: Command, rowCount: Int) -> Int {
        switch command {
        case .delete, .insert, .move, .tap, .event:
            // If expressions read these, any change may render every row.
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
        case .reset, .rebind, .undo: rowCount
        case .transaction(let commands):
            commands.reduce(1) { $0.saturatingAdd(estimatedCost(of: $1, rowCount: rowCount)) }
        }
    }
}

extension DataSourceCommand {
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

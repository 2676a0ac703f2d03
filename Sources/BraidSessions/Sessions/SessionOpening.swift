import BraidEngine
import BraidStore

/// The body of `POST /v1/sessions`: with a table description, with rows as for a DataSourceController initializer, or
/// `from` another session.
package struct SessionOpening: Sendable {
    package enum Table: Sendable {
        case named(String)
        case inline(JSONText)
    }

    package struct Origin: Sendable {
        package var session: String
        /// `nil`: the current one.
        package var revision: Int?
        /// The only one that the session may have; `nil`: any.
        package var number: Int?
    }

    package var from: Origin?
    /// A fork's first table, in what the store keeps.
    private(set) var fork: StoredSession?
    /// `nil` for a fork, and with `sections`.
    package var table: Table?
    package var id: String?
    /// Seconds. `nil`: the session stays.
    package private(set) var endIfUnused: Int?
    /// Instead of the description's, per section.
    package var models: [(section: SectionID, models: [JSONText])] = []
    /// A merge patch (RFC 7396) for the description's.
    package var state: JSONText?
    package var sections: [SectionContent] = []
    var cells = RegisteredCells()
    /// Shown without a description while there are no rows.
    package var empty: JSONText?

    private init() {}

    private static let withTable = ["table", "models", "state"]
    private static let initializers = ["row", "rows", "section", "sections", "from"]

    package init(_ body: JSONText) throws {
        guard let members = body.members() else {
            throw Refusal(
                .badRequest,
                "The body must be an object: {\"table\": …, \"id\"?, \"models\"?, \"state\"?}.",
                faults: [.init(pointer: .root, code: .wrongType, detail: "must be an object")])
        }
        let names = members.map(\.name)
        let given = names.filter { $0 == "table" || Self.initializers.contains($0) }
        guard given.count == 1 else {
            let known = ["table"] + Self.initializers
            if given.isEmpty,
                let (name, near) = names.lazy.compactMap({ name in
                    Spelling.nearest(to: name, among: known).map { (name, $0) }
                }).first
            {
                throw Self.fault(
                    JSONPointer.root.appending(name), .unknownMember, "is unknown; did you mean `\(near)`?")
            }
            throw Self.fault(
                .root, given.isEmpty ? .missingMember : .conflict,
                given.isEmpty
                    ? "`table`, a name or a description, is missing (or one of `row`, `rows`, `section`, `sections`, `from`)"
                    : "a session is opened with one of `table`, `row`, `rows`, `section`, `sections`, `from`, not with several"
            )
        }
        for (name, value) in members { try read(name, value, JSONPointer.root.appending(name), beside: given[0]) }
    }

    private mutating func read(_ name: String, _ value: JSONText, _ pointer: JSONPointer, beside opened: String) throws
    {
        if name != opened, Self.withTable.contains(name), opened != "table" {
            throw Self.fault(pointer, .conflict, "is allowed with `table` only, not with `\(opened)`")
        }
        if name != opened, opened == "from", name == "cellsForModelTypes" || name == "empty" {
            throw Self.fault(pointer, .conflict, "is not allowed with `from`: the copied session has its own")
        }
        switch name {
        case "from": from = try Origin(value, at: pointer)
        case "table":
            if let name = value.stringValue {
                table = .named(name)
            } else if value.kind == .object {
                table = .inline(value.detached)
            } else {
                throw Self.fault(pointer, .wrongType, "must be the name of a table description, or a description")
            }
        case "id":
            guard let id = value.stringValue, TableDescription.isName(id) else {
                throw Self.fault(
                    pointer, .rejecting(value.kind, accepting: .string), "must have \(TableDescription.nameRule)")
            }
            self.id = id
        case "endIfUnused":
            guard let seconds = value.intValue, StoredNumber.unusedLimit.range.contains(seconds) else {
                throw Self.fault(
                    pointer, value.kind == .number ? .outOfRange : .wrongType,
                    "must be \(StoredNumber.unusedLimit.rule): seconds")
            }
            endIfUnused = seconds
        case "models":
            guard let sections = value.members() else {
                throw Self.fault(pointer, .wrongType, "must be an object from section ids to arrays of models")
            }
            models = try sections.map { section, models in
                guard let elements = models.elements() else {
                    throw Self.fault(pointer.appending(section), .wrongType, "must be an array of models")
                }
                return (SectionID(section), elements)
            }
        case "state":
            guard value.kind == .object else { throw Self.fault(pointer, .wrongType, "must be an object") }
            state = value.detached
        case "row": sections = [SectionContent(rows: [value])]
        case "rows":
            guard let rows = value.elements() else {
                throw Self.fault(pointer, .wrongType, "must be an array of models")
            }
            sections = [SectionContent(rows: rows)]
        case "section": sections = [try SectionContent(value, at: pointer)]
        case "sections": sections = try SectionContent.list(value, at: pointer)
        case "cellsForModelTypes":
            if opened == "table" {
                throw Self.fault(pointer, .conflict, "is not allowed with `table`: a description has its own")
            }
            cells = try RegisteredCells(json: value, at: pointer)
        case "empty":
            if opened == "table" {
                throw Self.fault(pointer, .conflict, "is not allowed with `table`: a description has its own")
            }
            if value.isNull {
                throw Self.fault(pointer, .invalidValue, "must not be null: in an update, null means no `empty`")
            }
            empty = value.detached
        default:
            let known =
                switch opened {
                case "table": ["table", "id", "models", "state", "endIfUnused"]
                case "from": ["from", "id", "endIfUnused"]
                default: [opened, "id", "cellsForModelTypes", "empty", "endIfUnused"]
                }
            throw Self.fault(
                pointer, .unknownMember,
                "is unknown; \(Spelling.hint(for: name, among: known, else: "a session is opened with"))")
        }
    }

    fileprivate static func fault(_ pointer: JSONPointer, _ code: FaultCode, _ detail: String) -> Refusal {
        let start = pointer.tokens.isEmpty ? "The body is not valid:" : "The body's member \"\(pointer)\""
        return Refusal(
            .badRequest, "\(start) \(detail.asSentence)", faults: [.init(pointer: pointer, code: code, detail: detail)])
    }
}

extension SessionOpening.Origin {
    fileprivate init(_ value: JSONText, at pointer: JSONPointer) throws {
        guard let members = value.members() else {
            throw SessionOpening.fault(pointer, .wrongType, "must be an object: {\"session\": …, \"revision\"?}")
        }
        var session: String?
        for (name, value) in members {
            let pointer = pointer.appending(name)
            switch name {
            case "session":
                guard let id = value.stringValue else {
                    throw SessionOpening.fault(pointer, .wrongType, "must be the id of a session")
                }
                session = id
            case "revision":
                guard let number = value.intValue, number >= 0 else {
                    throw SessionOpening.fault(
                        pointer, .rejecting(value.kind, accepting: .number), "must be a revision: 0, 1, 2, …")
                }
                revision = number
            default: throw SessionOpening.fault(pointer, .unknownMember, "is unknown; known are `session`, `revision`")
            }
        }
        guard let session else {
            throw SessionOpening.fault(pointer, .missingMember, "must have the member `session`, the id of a session")
        }
        self.session = session
    }
}

// A fork's opening as stored: `{"from", "empty"?, "checkpoint"}`. With the copied table as checkpoint, `reset` and
// `replay` do not depend on the other session.
extension SessionOpening {
    package init(stored body: JSONText, description: JSONText?) throws {
        guard let checkpoint = body["checkpoint"], let from = body["from"] else {
            try self.init(body)
            return
        }
        self.init()
        self.from = try Origin(from, at: .root)
        empty = body["empty"]
        var fork = try StoredSession(checkpoint: checkpoint)
        fork.description = description
        self.fork = fork
    }

    static func stored(from origin: Origin, revision: Int, empty: JSONText?, _ fork: StoredSession) -> JSONText {
        .object {
            $0.object("from") {
                $0.member("session", origin.session)
                $0.member("revision", revision)
            }
            $0.member("empty", empty)
            $0.object("checkpoint") { fork.writeCheckpoint(openedWith: fork.description, to: &$0) }
        }
    }
}

import BraidEngine

/// The parsed body of a request to open a session: a table description, or the rows and sections of a
/// DataSourceController initializer.
package struct SessionOpening: Sendable {
    /// Where a session's table description comes from: a registered description by its name, or the request itself.
    package enum Table: Sendable {
        case named(String)
        case inline(JSONText)
    }

    /// The table description of the new session. `nil` for a session without one, whose rows are in `sections`.
    package var table: Table?
    package var id: String?
    /// The models of each section, which replace the models in the table description.
    package var models: [(section: SectionID, models: [JSONText])] = []
    /// The session's first state, which replaces the state in the table description.
    package var state: JSONText?
    /// The sections with their rows, for a session without a table description.
    package var sections: [SectionContent] = []
    var cells = RegisteredCells()
    /// The JSON that a session without a table description shows while it has no rows.
    package var empty: JSONText?

    private static let withTable = ["table", "models", "state"]
    private static let initializers = ["row", "rows", "section", "sections"]

    /// Parses the body of a request to open a session. Throws a `Refusal` that names the place of a fault by a JSON
    /// Pointer.
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
            throw Self.fault(
                .root, given.isEmpty ? .missingMember : .conflict,
                given.isEmpty
                    ? "`table`, a name or a description, is missing (or one of `row`, `rows`, `section`, `sections`)"
                    : "a session is opened with one of `table`, `row`, `rows`, `section`, `sections`, not with several")
        }
        for (name, value) in members { try read(name, value, JSONPointer.root.appending(name), beside: given[0]) }
    }

    private mutating func read(_ name: String, _ value: JSONText, _ pointer: JSONPointer, beside opened: String) throws
    {
        if name != opened, Self.withTable.contains(name), opened != "table" {
            throw Self.fault(pointer, .conflict, "is allowed with `table` only, not with `\(opened)`")
        }
        switch name {
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
            throw Self.fault(
                pointer, .unknownMember,
                opened == "table"
                    ? "is unknown; a session is opened with `table`, `id`, `models`, `state`"
                    : "is unknown; a session is opened with `\(opened)`, `id`, `cellsForModelTypes`, `empty`")
        }
    }

    private static func fault(_ pointer: JSONPointer, _ code: FaultCode, _ detail: String) -> Refusal {
        let start = pointer.tokens.isEmpty ? "The body is not valid:" : "The body's member \"\(pointer)\""
        return Refusal(
            .badRequest, "\(start) \(detail).", faults: [.init(pointer: pointer, code: code, detail: detail)])
    }
}

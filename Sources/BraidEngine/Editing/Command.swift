/// A section as a client names it: by its id, or by its index among the displayed sections.
public enum SectionReference: Sendable, Equatable {
    /// The section with this id. It must be displayed.
    case id(SectionID)
    /// The section at this index among the displayed sections, from 0.
    case displayed(Int)
}

/// A displayed row as a client names it: by its place or by its id.
public enum RowReference: Sendable, Equatable {
    /// The row at an index among the section's displayed rows, from 0.
    case at(SectionReference, row: Int)
    /// The row with an id. The section is required if several displayed sections contain the id.
    case id(RowID, in: SectionReference?)
}

/// A command for a session. A command is executed as a whole or refused, and one that changes something makes a
/// revision.
public indirect enum Command: Sendable {
    /// Deletes a row. The section's editing policy must allow it.
    case delete(RowReference)
    /// Inserts a new row before the named one. With a `nil` model, the binding's `insert.template` creates the model.
    ///
    /// To append, the reference may name the section's row count as the row. The editing policy must then allow inserts
    /// for every row.
    case insert(RowReference, model: JSONText?)
    /// Moves a row. The target index counts after the row has been taken out, which is UITableView's rule.
    case move(RowReference, to: SectionReference, row: Int)
    /// Replaces the models of sections. Other sections keep theirs. Dynamic sections that are not named become empty,
    /// unless `partial` is true.
    case setModels([(section: SectionID, models: [JSONText])], partial: Bool)
    /// Sets the headers of sections: a title, a view or JSON `null` for none.
    case setHeaders([(section: SectionID, title: JSONText)])
    /// Sets the footers of sections: a title, a view or JSON `null` for none.
    case setFooters([(section: SectionID, title: JSONText)])
    /// Displays exactly these sections, in this order.
    case setDisplayedSections([SectionID])
    /// Merges a patch into the session's state (RFC 7396).
    case patchState(JSONText)
    /// Taps a row. Its `onTapped` handlers run.
    case tap(RowReference)
    /// Sends a custom cell event of a row, with its name and parameters. Its handlers run, and controllers receive it.
    case event(RowReference, name: String, parameters: JSONText)
    /// Reports rows that a client has on its screen, for the `onPrefetch` handlers.
    case displayedRows([RowReference])
    /// Calls the data source. Without `notify` the change is stored, but clients see it only after a later command
    /// publishes it.
    case dataSource(DataSourceCommand, notify: Bool)
    /// Returns to the table that the session was opened with.
    case reset(to: TableModel)
    /// Executes commands in order, as one revision with one update. A transaction must not contain a transaction.
    case transaction([Command])
}

// The JSON form of a command: an object with one member.
//
// The member has the name of the resource that accepts the command, and that resource's body as its value: `{"edits":
// {"delete": …}}`, `{"moves": {…}}`, `{"models": {…}}`. Transactions and the journal contain commands in this form.
extension Command {
    /// Creates the command that the body of an HTTP resource asks for.
    ///
    /// - Parameters:
    ///   - resource: the last segment of the resource's path, one of ``resources``.
    ///   - body: the request's body.
    ///   - partial: for `models`, whether sections that the body does not name keep their models.
    /// - Throws: ``Refusal`` with `badRequest` and the pointer to the fault.
    public init(resource: String, body: JSONText, partial: Bool = false) throws(Refusal) {
        try self.init(resource: resource, body: body, partial: partial, at: .root)
    }

    /// The names of the resources that accept commands.
    public static let resources = [
        "edits", "moves", "models", "headers", "footers", "displayed-sections", "state", "taps", "events",
        "displayed-rows", "data-source", "transactions",
    ]

    private init(resource: String, body: JSONText, partial: Bool, at pointer: JSONPointer) throws(Refusal) {
        switch resource {
        case "edits":
            let object = try BodyReader(body, at: pointer, members: ["delete", "insert", "model"])
            switch (object["delete"], object["insert"]) {
            case (let row?, nil):
                if object["model"] != nil { throw object.fault("model", "a delete must not have a `model`") }
                self = .delete(try RowReference(row, at: pointer.appending("delete")))
            case (nil, let row?):
                self = .insert(try RowReference(row, at: pointer.appending("insert")), model: object["model"])
            default: throw Refusal.bad(pointer, "an edit has either `delete` or `insert`, a row reference")
            }
        case "moves":
            let object = try BodyReader(body, at: pointer, members: ["from", "to"])
            let from = try RowReference(try object.required("from"), at: pointer.appending("from"))
            let to = try BodyReader(
                try object.required("to"), at: pointer.appending("to"), members: ["section", "row"])
            self = .move(from, to: try to.sectionReference("section"), row: try to.index("row"))
        case "models":
            var sections: [(section: SectionID, models: [JSONText])] = []
            for (name, value) in try BodyReader.members(body, at: pointer, what: "section ids with arrays of models") {
                guard let models = value.elements() else {
                    throw Refusal.bad(pointer.appending(name), "the models of a section must be an array")
                }
                sections.append((SectionID(name), models))
            }
            self = .setModels(sections, partial: partial)
        case "headers": self = .setHeaders(try Self.titles(body, at: pointer))
        case "footers": self = .setFooters(try Self.titles(body, at: pointer))
        case "displayed-sections":
            guard let elements = body.elements() else { throw Refusal.bad(pointer, "must be an array of section ids") }
            var ids: [SectionID] = [], seen: Set<SectionID> = []
            for (index, element) in elements.enumerated() {
                guard let id = element.stringValue else {
                    throw Refusal.bad(pointer.appending(index), "a section id must be a string")
                }
                if !seen.insert(SectionID(id)).inserted {
                    throw Refusal.bad(pointer.appending(index), "the section \"\(id)\" is named twice")
                }
                ids.append(SectionID(id))
            }
            self = .setDisplayedSections(ids)
        case "state":
            guard body.kind == .object else {
                throw Refusal.bad(pointer, "a merge patch on the state must be an object")
            }
            self = .patchState(body)
        case "taps":
            let object = try BodyReader(body, at: pointer, members: ["at"])
            self = .tap(try RowReference(try object.required("at"), at: pointer.appending("at")))
        case "events":
            let object = try BodyReader(body, at: pointer, members: ["at", "event"])
            let at = try RowReference(try object.required("at"), at: pointer.appending("at"))
            guard let event = try object.required("event").members(), event.count == 1 else {
                throw object.fault("event", "must be an object with one member: the event's name, with its parameters")
            }
            self = .event(at, name: event[0].name, parameters: event[0].value)
        case "displayed-rows":
            let object = try BodyReader(body, at: pointer, members: ["rows"])
            guard let elements = try object.required("rows").elements() else {
                throw object.fault("rows", "must be an array of row references")
            }
            var rows: [RowReference] = []
            for (index, element) in elements.enumerated() {
                rows.append(try RowReference(element, at: pointer.appending("rows").appending(index)))
            }
            self = .displayedRows(rows)
        case "data-source": try self.init(dataSource: body, at: pointer)
        case "transactions":
            let object = try BodyReader(body, at: pointer, members: ["commands"])
            guard let elements = try object.required("commands").elements() else {
                throw object.fault("commands", "must be an array of commands")
            }
            self = .transaction(try Self.commands(elements, at: pointer.appending("commands")))
        default:
            throw Refusal.bad(
                pointer, "there is no command \"\(resource)\"; commands are \(Self.resources.joined(separator: ", "))")
        }
    }

    private static func commands(_ elements: [JSONText], at pointer: JSONPointer) throws(Refusal) -> [Command] {
        var commands: [Command] = []
        for (index, element) in elements.enumerated() {
            commands.append(try Command(json: element, at: pointer.appending(index)))
        }
        return commands
    }

    /// Creates a command from its JSON form, as in transactions and in the journal.
    ///
    /// The form is an object with one member: a resource's name, with the body of that resource. `models` may be
    /// accompanied by `partial`. The bodies of `edits` and `moves` may be given without the name.
    ///
    /// - Parameters:
    ///   - json: the command's object.
    ///   - pointer: the pointer to the object in a larger document, for the faults.
    /// - Throws: ``Refusal`` with `badRequest` and the pointer to the fault.
    public init(json: JSONText, at pointer: JSONPointer = .root) throws(Refusal) {
        guard let members = json.members() else { throw Refusal.bad(pointer, "a command must be an object") }
        let names = members.map(\.name)
        if names.contains("delete") || names.contains("insert") {
            self = try Command(resource: "edits", body: json, partial: false, at: pointer)
        } else if names.contains("from") {
            self = try Command(resource: "moves", body: json, partial: false, at: pointer)
        } else {
            let isOfModels = names.contains("models")
            let named = members.filter { !(isOfModels && $0.name == "partial") }
            guard let resource = named.first, named.count == 1 else {
                throw Refusal.bad(
                    pointer,
                    "a command has one member, named as its resource (\(Self.resources.dropLast().joined(separator: ", "))), and of models also `partial`; or it is the body of an edit or a move"
                )
            }
            let given = members.first { $0.name == "partial" && isOfModels }
            guard given == nil || given?.value.boolValue != nil else {
                throw Refusal.bad(pointer.appending("partial"), "must be true or false")
            }
            let partial = given?.value.boolValue ?? false
            if resource.name == "transactions" {
                throw Refusal.bad(pointer, "a transaction cannot contain a transaction")
            }
            self = try Command(
                resource: resource.name, body: resource.value, partial: partial, at: pointer.appending(resource.name))
        }
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

extension RowReference {
    init(_ path: RowPath) { self = .at(.displayed(path.section), row: path.row) }

    init(_ json: JSONText, at pointer: JSONPointer) throws(Refusal) {
        let object = try BodyReader(json, at: pointer, members: ["section", "row", "id"])
        if let id = object["id"] {
            if object["row"] != nil { throw Refusal.bad(pointer, "a row reference has either `id` or `row`") }
            guard let id = RowID(json: id) else {
                throw object.fault("id", "a row's id must be a string, or an integer")
            }
            self = .id(id, in: try object["section"] == nil ? nil : object.sectionReference("section"))
        } else {
            self = .at(try object.sectionReference("section"), row: try object.index("row"))
        }
    }
}

extension BodyReader {
    func sectionReference(_ name: String) throws(Refusal) -> SectionReference {
        let value = try required(name)
        if let id = value.stringValue { return .id(SectionID(id)) }
        guard let index = value.intValue, index >= 0 else {
            throw fault(name, "must be a section's id, or its index among the displayed sections, from 0")
        }
        return .displayed(index)
    }
}

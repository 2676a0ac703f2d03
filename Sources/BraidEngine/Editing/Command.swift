/// A section as a client names it: by its id, or by its index among the displayed sections.
public enum SectionReference: Sendable, Equatable {
    /// The displayed section with this section id.
    case id(SectionID)
    /// The section at this index among the displayed sections, from 0.
    case displayed(Int)
}

/// A displayed row as a client names it: by its section and index, or by its id.
public enum RowReference: Sendable, Equatable {
    /// The row at an index among its section's displayed rows, from 0.
    case at(SectionReference, row: Int)
    /// The row with a row id. The section is required if several displayed sections contain a row with the id.
    case id(RowID, in: SectionReference?)
}

/// A command that changes a session or reports something to it. A command is executed as a whole or refused. A command
/// that changes something makes a new revision.
public indirect enum Command: Sendable {
    /// Deletes a row. The editing policy must give the row the style `delete`.
    case delete(RowReference)
    /// Inserts a new row before the named row. With a `nil` model, the template `insert.template` of the section's
    /// binding creates the model.
    ///
    /// To append a row, the reference may name the section's row count as the row's index. Appending requires an
    /// editing policy that allows inserts for every row.
    case insert(RowReference, model: JSONText?)
    /// Moves a row. The target index is an index in the list without the moved row, as in UITableView.
    case move(RowReference, to: SectionReference, row: Int)
    /// Replaces all models of the named sections. Declared sections that are not named keep their models. Dynamic
    /// sections that are not named become empty, unless `partial` is true.
    case setModels([(section: SectionID, models: [JSONText])], partial: Bool)
    /// Sets the headers of sections: a title, a view or JSON `null` for none.
    case setHeaders([(section: SectionID, title: JSONText)])
    /// Sets the footers of sections: a title, a view or JSON `null` for none.
    case setFooters([(section: SectionID, title: JSONText)])
    /// Displays exactly these sections of the table, in this order.
    case setDisplayedSections([SectionID])
    /// Merges a patch into the session's state (RFC 7396).
    case patchState(JSONText)
    /// Reports a tap on a row, and runs the tap handlers that are bound to the row.
    case tap(RowReference)
    /// Reports an event that a row's cell emitted, with the event's name and parameters. The event's handlers run, and
    /// the session's controllers receive the event.
    case event(RowReference, name: String, parameters: JSONText)
    /// Reports which rows a client has on its screen. `onPrefetch` handlers run for rows near their section's end.
    case displayedRows([RowReference])
    /// Makes a data source call. If `notify` is false, the change is stored, but clients see it only after a later
    /// command publishes it.
    case dataSource(DataSourceCommand, notify: Bool)
    /// Resets the session to the table that it was opened with.
    case reset(to: TableModel)
    /// Binds the session to another version of its table description. A transaction must not contain this command.
    case rebind(Rebinding)
    /// Executes commands in order, as one revision with one update. A transaction must not contain a transaction.
    case transaction([Command])
}

// The JSON form of a session's command: an object with one member.
//
// The member has the name of the resource that accepts the command, and the resource's body as its value: `{"edits":
// {"delete": …}}`, `{"moves": {…}}`, `{"models": {…}}`. Transactions and the journal contain commands in this form.
extension Command {
    /// Creates the command that a request to an HTTP resource asks for.
    ///
    /// - Parameters:
    ///   - resource: the last segment of the resource's path, such as `edits`: the name of a ``CommandKind``.
    ///   - body: the request's body.
    ///   - partial: for `models`, whether dynamic sections that the body does not name keep their models.
    /// - Throws: ``Refusal`` with `badRequest` and the pointer to the fault.
    public init(resource: String, body: JSONText, partial: Bool = false) throws(Refusal) {
        try self.init(resource: resource, body: body, partial: partial, at: .root)
    }

    /// The names of all kinds of commands that have a JSON form.
    private static let names = CommandKind.all.filter { $0.decode != nil }.map(\.name)

    private init(resource: String, body: JSONText, partial: Bool, at pointer: JSONPointer) throws(Refusal) {
        guard let decode = CommandKind.decodable(resource)?.decode else {
            throw Refusal.bad(
                pointer, .unknownName,
                "there is no command \"\(resource)\"; commands are \(Self.names.joined(separator: ", "))")
        }
        self = try decode(body, partial, pointer)
    }

    /// Creates a command from its JSON form, as in transactions and in the journal.
    ///
    /// The form is an object with one member: the name of the command's HTTP resource, with the body of a request to
    /// that resource. `models` may be accompanied by `partial`. The bodies of `edits` and `moves` may be given without
    /// the name.
    ///
    /// - Parameters:
    ///   - json: the command's object.
    ///   - pointer: the pointer to the command's object in a larger document. The faults' pointers begin with it.
    /// - Throws: ``Refusal`` with `badRequest` and the pointer to the fault.
    public init(json: JSONText, at pointer: JSONPointer = .root) throws(Refusal) {
        guard let members = json.members() else {
            throw Refusal.bad(pointer, .wrongType, "a command must be an object")
        }
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
                    pointer, named.isEmpty ? .missingMember : .conflict,
                    "a command has one member, named as its resource (\(Self.names.dropLast().joined(separator: ", "))), and of models also `partial`; or it is the body of an edit or a move"
                )
            }
            let given = members.first { $0.name == "partial" && isOfModels }
            guard given == nil || given?.value.boolValue != nil else {
                throw Refusal.bad(pointer.appending("partial"), .wrongType, "must be true or false")
            }
            let partial = given?.value.boolValue ?? false
            if resource.name == "transactions" {
                throw Refusal.bad(pointer, .conflict, "a transaction cannot contain a transaction")
            }
            self = try Command(
                resource: resource.name, body: resource.value, partial: partial, at: pointer.appending(resource.name))
        }
    }
}

extension RowReference {
    init(_ path: RowPath) { self = .at(.displayed(path.section), row: path.row) }

    init(_ json: JSONText, at pointer: JSONPointer) throws(Refusal) {
        let object = try BodyReader(json, at: pointer, members: ["section", "row", "id"])
        if let id = object["id"] {
            if object["row"] != nil {
                throw Refusal.bad(pointer, .conflict, "a row reference has either `id` or `row`")
            }
            guard let id = RowID(json: id) else {
                throw object.fault(
                    "id", .rejecting(id.kind, accepting: .number), "a row's id must be a string, or an integer")
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
            throw fault(
                name, .rejecting(value.kind, accepting: .number),
                "must be a section's id, or its index among the displayed sections, from 0")
        }
        return .displayed(index)
    }
}

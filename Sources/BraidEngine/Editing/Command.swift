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
    /// The row with the given row id. The section is required if several displayed sections contain a row with this id.
    case id(RowID, in: SectionReference?)

    /// Creates a reference to the row at an index path, which counts displayed sections and rows from 0.
    public init(section: Int, row: Int) { self = .at(.displayed(section), row: row) }

    init(_ path: RowPath) { self.init(section: path.section, row: path.row) }
}

/// A command that changes a session or reports something to it. A command is executed completely or not at all. A
/// command that changes something makes a new revision.
public indirect enum Command: Sendable {
    /// Deletes a row. The editing policy must give the row the style `delete`.
    case delete(RowReference)
    /// Inserts a new row before the named row. With a `nil` model, the template `insert.template` of the section's
    /// binding creates the model. If a Swift program keeps the models, its insert handler creates the model.
    ///
    /// To append a row, the reference may name the section's row count as the row's index. Appending requires an
    /// editing policy that allows inserts for every row.
    case insert(RowReference, model: JSONText?)
    /// Moves a row to a place. A target with an index is an index in the list without the moved row, as in UITableView.
    /// A target with an id is the place before the row with this id.
    case move(RowReference, to: RowReference)
    /// Replaces the models of the named sections. The other sections become empty or, if `merging` is true, keep their
    /// models.
    case setModels([(section: SectionID, models: [JSONText])], merging: Bool)
    /// Sets the headers of sections: a title, a view or JSON `null` for none. The other sections show the header that
    /// the table's description binds or, if `merging` is true, keep their headers.
    case setHeaders([(section: SectionID, title: JSONText)], merging: Bool)
    /// Sets the footers of sections, as ``setHeaders(_:merging:)`` sets the headers.
    case setFooters([(section: SectionID, title: JSONText)], merging: Bool)
    /// Displays exactly the given sections of the table, in the given order. The command is ignored if the display is
    /// automatic.
    case setDisplayedSections([SectionID])
    /// Replaces the session's state or, if `merging` is true, merges the value into the state as a patch (RFC 7396).
    case setState(JSONText, merging: Bool)
    /// Reports a tap on a row, and runs the tap handlers that are bound to the row.
    case tap(RowReference)
    /// Reports an event that a row's cell emitted, with the event's name and parameters. The event's handler runs, if
    /// one is bound, and the session's controllers receive the event.
    case event(RowReference, name: String, parameters: JSONText)
    /// Reports which rows a client has on its screen. If a reported row is near its section's end, the section's
    /// `onPrefetch` handler may run.
    case displayedRows([RowReference])
    /// Makes a data source call. If `notify` is false, the change is stored, but clients see the change only when
    /// another command publishes it. The call `registerCell` publishes its change even if `notify` is false.
    case dataSource(DataSourceCommand, notify: Bool)
    /// Resets the session to the table that it was opened with. `nil` stands for this table until the session that
    /// executes the command has read it. A transaction must not contain this command.
    case reset(to: TableModel?)
    /// Binds the session to another version of its table description. A transaction must not contain this command.
    case rebind(Rebinding)
    /// Executes commands in order, as one revision with one update. A transaction must not contain a transaction.
    case transaction([Command])
}

// The JSON form of a session's command: an object with one member.
//
// The member has the name of the command's kind. For most kinds, the member's value is the body of a request to the
// kind's resource: `{"edits": {"delete": …}}`, `{"moves": {…}}`, `{"patchModels": {…}}`. Transactions and the journal
// contain commands in this form.
extension Command {
    /// Creates the command that a request to an HTTP resource asks for.
    ///
    /// - Parameters:
    ///   - kind: the name of the command's kind, such as `edits`.
    ///   - body: the request's body.
    ///   - pointer: the pointer to the body in a larger document. The faults' pointers begin with it.
    /// - Throws: ``Refusal`` with `badRequest` and the pointer to the fault.
    public init(kind: String, body: JSONText, at pointer: JSONPointer = .root) throws(Refusal) {
        guard let decode = CommandKind.decodable(kind)?.decode else {
            throw Refusal.bad(
                pointer, .unknownName,
                "there is no command \"\(kind)\"; commands are \(Self.names.joined(separator: ", "))")
        }
        self = try decode(body, pointer)
    }

    /// The names of all kinds of commands that have a decoder from JSON.
    private static let names = CommandKind.all.filter { $0.decode != nil }.map(\.name)

    /// Creates a command from its JSON form, as a transaction contains it.
    ///
    /// The form is an object with one member: the name of the command's kind, with the body of a request to the kind's
    /// resource. The bodies of `edits` and `moves` may be given without the name. A transaction is refused.
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
    /// Decodes a row reference from one of its JSON forms: `{"section", "row"}`, `{"id"}`, `{"id", "section"}` or
    /// `[section, row]`.
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
    /// Reads a member of a JSON object as a row reference.
    func rowReference(_ name: String) throws(Refusal) -> RowReference {
        try RowReference(try required(name), at: place(of: name))
    }

    func sectionReference(_ name: String) throws(Refusal) -> SectionReference {
        try SectionReference(try required(name), at: place(of: name))
    }
}

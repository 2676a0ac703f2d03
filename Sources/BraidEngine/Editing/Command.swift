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
    /// - Parameters:
    ///   - kind: the name of the command's kind, such as `edits`.
    ///   - pointer: leads to the body in a larger document; the faults' pointers begin with it.
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
    /// - Parameter pointer: leads to the command in a larger document; the faults' pointers begin with it.
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

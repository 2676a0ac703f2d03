extension Snapshot {
    /// A snapshot as the wire has it, for `POST /v1/diff`. Strict; every fault with its pointer. Rows come out in the
    /// canonical order of their members. Throws `badRequest`, `duplicateRowID`.
    public init(json: JSONText, at pointer: JSONPointer = .root) throws(Refusal) {
        let object = try BodyReader(json, at: pointer, members: ["session", "table", "epoch", "revision", "totalRowCount", "sections", "state", "empty"])
        var sections: [Section] = []
        var ids: Set<SectionID> = []
        let list = pointer.appending("sections")
        guard let elements = try object.required("sections").elements() else { throw .bad(list, "must be an array of sections") }
        for (index, element) in elements.enumerated() {
            let section = try Section(json: element, at: list.appending(index))
            guard ids.insert(section.id).inserted else { throw .bad(list.appending(index).appending("id"), "the section \"\(section.id)\" stands in the snapshot twice") }
            sections.append(section)
        }
        self.init(
            revision: try object["revision"] == nil ? 0 : object.index("revision"), sections: sections,
            state: object["state"] ?? .emptyObject, empty: object["empty"])
        if state.kind != .object { throw object.fault("state", "must be an object") }
        if object["totalRowCount"] != nil, try object.index("totalRowCount") != totalRowCount {
            throw object.fault("totalRowCount", "the sections have \(totalRowCount) rows")
        }
    }
}

extension Section {
    init(json: JSONText, at pointer: JSONPointer) throws(Refusal) {
        let object = try BodyReader(json, at: pointer, members: ["id", "header", "footer", "rowCount", "movesTo", "diffable", "rows"])
        guard let id = try object.required("id").stringValue else { throw object.fault("id", "must be a string") }
        guard let elements = try object.required("rows").elements() else { throw object.fault("rows", "must be an array of rows") }
        var isDiffable = true
        if let diffable = object["diffable"] {
            guard let value = diffable.boolValue else { throw object.fault("diffable", "must be true or false") }
            isDiffable = value
        }
        var rows: [Row] = []
        rows.reserveCapacity(elements.count)
        var ids: Set<RowID> = []
        for (index, element) in elements.enumerated() {
            let place = pointer.appending("rows").appending(index)
            let row = try Row(json: element, at: place)
            if let rowID = row.id {
                guard ids.insert(rowID).inserted else { throw .duplicateRow(rowID, in: SectionID(id)) }
            } else if isDiffable {
                throw .bad(place, "a row without an id stands only in a section with \"diffable\": false")
            }
            rows.append(row)
        }
        if object["rowCount"] != nil, try object.index("rowCount") != rows.count {
            throw object.fault("rowCount", "there are \(rows.count) rows; a window of a snapshot cannot be diffed")
        }
        self.init(
            id: SectionID(id), header: try Self.title("header", of: object), footer: try Self.title("footer", of: object),
            movesTo: object["movesTo"], isDiffable: isDiffable, rows: ChunkedList(rows))
    }

    private static func title(_ name: String, of object: BodyReader) throws(Refusal) -> JSONText {
        let title = object[name] ?? .null
        guard title.isNull || title.kind == .object else { throw object.fault(name, "must be null or an object, such as {\"title\": …}") }
        return title
    }
}

extension Row {
    convenience init(json: JSONText, at pointer: JSONPointer) throws(Refusal) {
        let object = try BodyReader(json, at: pointer, members: ["id", "cell", "model", "viewModel", "editing", "movable", "height", "estimatedHeight"])
        guard let cell = try object.required("cell").stringValue else { throw object.fault("cell", "must be the name of a cell, a string") }
        var id: RowID?
        if let value = object["id"] {
            guard let text = value.stringValue else { throw object.fault("id", "must be a string") }
            id = RowID(text)
        }
        var editing: String?
        if let value = object["editing"] {
            guard let text = value.stringValue, text == "delete" || text == "insert" else { throw object.fault("editing", "must be \"delete\" or \"insert\"") }
            editing = text
        }
        var isMovable = false
        if let value = object["movable"] {
            guard let flag = value.boolValue else { throw object.fault("movable", "must be true or false") }
            isMovable = flag
        }
        self.init(parts: RowParts(
            id: id, cell: cell, model: object["model"], viewModel: object["viewModel"], editing: editing, movable: isMovable,
            height: object["height"], estimatedHeight: object["estimatedHeight"]))
    }
}

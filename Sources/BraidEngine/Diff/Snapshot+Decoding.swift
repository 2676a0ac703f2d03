extension Snapshot {
    /// From JSON. Unknown members are faults; `session`, `table` and `epoch` are checked and dropped. Members of rows
    /// come into the wire format's order, so that rows can be compared. Faults' pointers begin with `pointer`.
    ///
    /// Throws ``Refusal`` with the first hundred faults: `duplicateRowID` if all are repeated ids, otherwise
    /// `badRequest`.
    public init(json: JSONText, at pointer: JSONPointer = .root) throws(Refusal) {
        var reader = SnapshotReader()
        let snapshot = reader.snapshot(json, pointer)
        if let refusal = reader.refusal("snapshot") { throw refusal }
        self = snapshot
    }
}

/// Goes on after a fault to find more; results then do not count.
struct SnapshotReader {
    private var faults: [Refusal.Fault] = []
    private var faultCount = 0
    private var onlyDuplicateRows = true
    private static let limit = 100

    func refusal(_ what: String) -> Refusal? {
        guard let first = faults.first else { return nil }
        let others = faultCount > 1 ? " There are \(faultCount - 1) more faults." : ""
        return Refusal(
            onlyDuplicateRows ? .duplicateRowID : .badRequest,
            "This is not a valid \(what): \"\(first.pointer)\": \(first.detail).\(others)", faults: faults)
    }

    mutating func fault(
        _ pointer: JSONPointer, _ code: FaultCode, _ detail: String, isDuplicateRow: Bool = false
    ) {
        faultCount += 1
        if !isDuplicateRow { onlyDuplicateRows = false }
        if faults.count < Self.limit { faults.append(.init(pointer: pointer, code: code, detail: detail)) }
    }

    mutating func snapshot(_ json: JSONText, _ pointer: JSONPointer) -> Snapshot {
        var result = Snapshot()
        var total: Int?, hasSections = false
        members(json, pointer, "a snapshot", Self.snapshotMembers) { reader, name, value, pointer in
            switch name {
            case "session", "table", "epoch": _ = reader.string(value, pointer)
            case "revision": result.revision = reader.count(value, pointer)
            case "totalRowCount": total = reader.count(value, pointer)
            case "sections":
                hasSections = true
                result.sections = PersistentList(reader.sections(value, pointer))
            case "state":
                result.state = reader.state(value, pointer)
            default: result.empty = value.detached
            }
        }
        if json.kind == .object, !hasSections { fault(pointer, .missingMember, "the member `sections` is missing") }
        result.totalRowCount = result.sections.reduce(0) { $0 + $1.rows.count }
        if let total, total != result.totalRowCount {
            fault(pointer.appending("totalRowCount"), .conflict, "the sections contain \(result.totalRowCount) rows")
        }
        return result
    }

    private mutating func sections(_ json: JSONText, _ pointer: JSONPointer) -> [Section] {
        var ids: Set<SectionID> = []
        return elements(json, pointer).enumerated().map { index, element in
            let section = section(element, pointer.appending(index))
            if element["id"]?.kind == .string, !ids.insert(section.id).inserted {
                fault(
                    pointer.appending(index).appending("id"), .duplicate,
                    "another section already has the id \"\(section.id)\"")
            }
            return section
        }
    }

    mutating func section(_ json: JSONText, _ pointer: JSONPointer) -> Section {
        var id: String?, result = Section(id: ""), rowCount: Int?, rows: JSONText?
        members(json, pointer, "a section", Self.sectionMembers) { reader, name, value, pointer in
            switch name {
            case "id": id = reader.string(value, pointer)
            case "header": result.header = reader.title(value, pointer)
            case "footer": result.footer = reader.title(value, pointer)
            case "rowCount": rowCount = reader.count(value, pointer)
            case "movesTo":
                result.movesTo = reader.movesTo(value, pointer)
            case "diffable": result.isDiffable = reader.bool(value, pointer)
            default: rows = value
            }
        }
        if json.kind == .object, id == nil { fault(pointer, .missingMember, "the member `id`, a string, is missing") }
        if let rows {
            result.rows = self.rows(rows, pointer.appending("rows"), isDiffable: result.isDiffable)
        } else if json.kind == .object {
            fault(pointer, .missingMember, "the member `rows` is missing")
        }
        if let rowCount, rowCount != result.rows.count {
            fault(
                pointer.appending("rowCount"), .conflict,
                "there are \(result.rows.count) rows; a window of a snapshot cannot be compared")
        }
        result.id = SectionID(id ?? "")
        result.idsWereChecked = result.isDiffable
        return result
    }

    private mutating func rows(_ json: JSONText, _ pointer: JSONPointer, isDiffable: Bool) -> PersistentList<Row> {
        var ids: Set<RowID> = []
        var rows: [Row] = []
        for (index, element) in elements(json, pointer).enumerated() {
            let pointer = pointer.appending(index)
            let row = row(element, pointer)
            if isDiffable {
                if let id = row.id, !ids.insert(id).inserted {
                    fault(
                        pointer.appending("id"), .duplicate, "another row of the section already has the id \"\(id)\"",
                        isDuplicateRow: true)
                } else if row.id == nil, element.kind == .object {
                    fault(
                        pointer, .missingMember,
                        "the member `id` is missing; only rows of sections with \"diffable\": false have none")
                }
            }
            rows.append(row)
        }
        return PersistentList(rows)
    }

    mutating func row(_ json: JSONText, _ pointer: JSONPointer) -> Row {
        var cell: String?, parts = RowParts(cell: "")
        members(json, pointer, "a row", Self.rowMembers) { reader, name, value, pointer in
            switch name {
            case "id": parts.id = reader.string(value, pointer).map { RowID($0) }
            case "cell": cell = reader.string(value, pointer)
            case "model": parts.model = value
            case "viewModel": parts.viewModel = value
            case "editing":
                parts.editing = value.stringValue
                if parts.editing != "delete", parts.editing != "insert" {
                    reader.fault(
                        pointer, .rejecting(value.kind, accepting: .string), "must be \"delete\" or \"insert\"")
                }
            case "movable": parts.movable = reader.bool(value, pointer)
            case "height": parts.height = reader.dimension(value, pointer)
            default: parts.estimatedHeight = reader.dimension(value, pointer)
            }
        }
        if json.kind == .object, cell == nil {
            fault(pointer, .missingMember, "the member `cell`, the name of a cell, is missing")
        }
        parts.cell = cell ?? ""
        return Row(parts: parts)
    }

    private static let snapshotMembers = [
        "session", "table", "epoch", "revision", "totalRowCount", "sections", "state", "empty",
    ]
    private static let sectionMembers = ["id", "header", "footer", "rowCount", "movesTo", "diffable", "rows"]
    private static let rowMembers = [
        "id", "cell", "model", "viewModel", "editing", "movable", "height", "estimatedHeight",
    ]
}

extension SnapshotReader {
    mutating func members(
        _ json: JSONText, _ pointer: JSONPointer, _ what: String, _ known: [String],
        _ body: (inout SnapshotReader, _ name: String, _ value: JSONText, _ pointer: JSONPointer) -> Void
    ) {
        guard let members = json.members() else { return fault(pointer, .wrongType, "\(what) must be an object") }
        for (name, value) in members {
            if known.contains(name) {
                body(&self, name, value, pointer.appending(name))
            } else {
                fault(
                    pointer.appending(name), .unknownMember,
                    "\(what) has no such member; its members are \(known.map { "`\($0)`" }.joined(separator: ", "))")
            }
        }
    }

    mutating func elements(_ json: JSONText, _ pointer: JSONPointer) -> [JSONText] {
        guard let elements = json.elements() else {
            fault(pointer, .wrongType, "must be an array")
            return []
        }
        return elements
    }

    private mutating func string(_ json: JSONText, _ pointer: JSONPointer) -> String? {
        if json.kind != .string { fault(pointer, .wrongType, "must be a string") }
        return json.stringValue
    }

    private mutating func bool(_ json: JSONText, _ pointer: JSONPointer) -> Bool {
        if json.kind != .bool { fault(pointer, .wrongType, "must be true or false") }
        return json.boolValue ?? false
    }

    private mutating func dimension(_ json: JSONText, _ pointer: JSONPointer) -> JSONText {
        if json.kind != .number, json != .string("automatic") {
            fault(pointer, .rejecting(json.kind, accepting: .string), "must be a number or \"automatic\"")
        }
        return json
    }

    mutating func count(_ json: JSONText, _ pointer: JSONPointer) -> Int {
        guard let count = json.intValue, count >= 0 else {
            fault(pointer, .rejecting(json.kind, accepting: .number), "must be an integer from 0")
            return 0
        }
        return count
    }

    mutating func movesTo(_ json: JSONText, _ pointer: JSONPointer) -> JSONText {
        let isList = json.elements()?.allSatisfy { $0.kind == .string } ?? false
        if !isList, json.stringValue != "anySection" {
            fault(pointer, .rejecting(json.kind, accepting: .string), "must be \"anySection\" or an array of ids")
        }
        return json.detached
    }

    mutating func state(_ json: JSONText, _ pointer: JSONPointer) -> JSONText {
        if json.kind != .object { fault(pointer, .wrongType, "the state is an object") }
        return json.detached
    }

    /// `null`, `{"title", "height"?, "estimatedHeight"?}`, or `view` and perhaps `viewModel` in place of `title`.
    mutating func title(_ json: JSONText, _ pointer: JSONPointer) -> JSONText {
        if json.isNull { return json.detached }
        let isView = json["view"] != nil
        members(
            json, pointer, "a header or footer",
            (isView ? ["view", "viewModel"] : ["title"]) + ["height", "estimatedHeight"]
        ) { reader, name, value, pointer in
            switch name {
            case "title", "view": _ = reader.string(value, pointer)
            case "viewModel": break
            default: _ = reader.dimension(value, pointer)
            }
        }
        if json.kind == .object, !isView, json["title"] == nil {
            fault(pointer, .missingMember, "the member `title` or `view` is missing")
        }
        return json.detached
    }
}

extension BatchUpdate {
    /// From JSON with `stages`. What comes from ``json`` is encoded to the same bytes again. Unknown members are
    /// faults. Indexes must not be negative; ``applied(to:)`` checks the rest. Faults' pointers begin with `pointer`.
    ///
    /// Throws ``Refusal`` with `badRequest` and the first hundred faults.
    public init(json: JSONText, at pointer: JSONPointer = .root) throws(Refusal) {
        var reader = SnapshotReader()
        let update = reader.update(json, pointer)
        if var refusal = reader.refusal("update") {
            refusal.code = .badRequest
            throw refusal
        }
        self = update
    }
}

extension SnapshotReader {
    fileprivate mutating func update(_ json: JSONText, _ pointer: JSONPointer) -> BatchUpdate {
        var result = BatchUpdate(from: 0, to: 0, totalRowCount: 0)
        object(json, pointer, "an update", ["from", "to", "stages", "totalRowCount"], ["state", "empty", "by"]) {
            reader, name, value, pointer in
            switch name {
            case "from": result.from = reader.count(value, pointer)
            case "to": result.to = reader.count(value, pointer)
            case "totalRowCount": result.totalRowCount = reader.count(value, pointer)
            case "stages": result.stages = reader.list(value, pointer) { $0.stage($1, $2) }
            case "state": result.state = reader.state(value, pointer)
            case "by": result.by = value.detached
            default: result.empty = value.detached
            }
        }
        return result
    }

    private mutating func stage(_ json: JSONText, _ pointer: JSONPointer) -> BatchUpdate.Stage {
        var stage = BatchUpdate.Stage()
        object(json, pointer, "a stage", [], Self.stageMembers) { reader, name, value, pointer in
            switch name {
            case "deleteSections": stage.deleteSections = reader.list(value, pointer) { $0.count($1, $2) }
            case "insertSections": stage.insertSections = reader.list(value, pointer) { $0.placedSection($1, $2) }
            case "moveSections": stage.moveSections = reader.list(value, pointer) { $0.sectionMove($1, $2) }
            case "reloadSections": stage.reloadSections = reader.list(value, pointer) { $0.placedSection($1, $2) }
            case "updateSections": stage.updateSections = reader.list(value, pointer) { $0.sectionUpdate($1, $2) }
            case "deleteRows": stage.deleteRows = reader.list(value, pointer) { $0.indexPath($1, $2) }
            case "insertRows": stage.insertRows = reader.list(value, pointer) { $0.placedRow($1, $2) }
            case "moveRows": stage.moveRows = reader.list(value, pointer) { $0.rowMove($1, $2) }
            case "reloadRows": stage.reloadRows = reader.list(value, pointer) { $0.placedRow($1, $2) }
            default: stage.updateRows = reader.list(value, pointer) { $0.placedRow($1, $2) }
            }
        }
        return stage
    }

    private mutating func placedSection(_ json: JSONText, _ pointer: JSONPointer) -> (at: Int, section: Section) {
        var result = (at: 0, section: Section(id: ""))
        object(json, pointer, "a section with its place", ["at", "section"]) { reader, name, value, pointer in
            if name == "at" {
                result.at = reader.count(value, pointer)
            } else {
                result.section = reader.section(value, pointer)
            }
        }
        return result
    }

    private mutating func placedRow(_ json: JSONText, _ pointer: JSONPointer) -> BatchUpdate.PlacedRow {
        var at = RowPath(section: 0, row: 0), row: Row?
        object(json, pointer, "a row with its place", ["at", "row"]) { reader, name, value, pointer in
            if name == "at" { at = reader.indexPath(value, pointer) } else { row = reader.row(value, pointer) }
        }
        return .init(at: at, row: row ?? Row(parts: RowParts(cell: "")))
    }

    private mutating func sectionMove(_ json: JSONText, _ pointer: JSONPointer) -> (from: Int, to: Int) {
        var move = (from: 0, to: 0)
        object(json, pointer, "the move of a section", ["from", "to"]) { reader, name, value, pointer in
            if name == "from" {
                move.from = reader.count(value, pointer)
            } else {
                move.to = reader.count(value, pointer)
            }
        }
        return move
    }

    private mutating func rowMove(_ json: JSONText, _ pointer: JSONPointer) -> BatchUpdate.MovedRow {
        var from = RowPath(section: 0, row: 0), to = from, row: Row?
        object(json, pointer, "the move of a row", ["from", "to"], ["row"]) { reader, name, value, pointer in
            switch name {
            case "from": from = reader.indexPath(value, pointer)
            case "to": to = reader.indexPath(value, pointer)
            default: row = reader.row(value, pointer)
            }
        }
        return .init(from: from, to: to, row: row)
    }

    private mutating func sectionUpdate(_ json: JSONText, _ pointer: JSONPointer) -> BatchUpdate.SectionUpdate {
        var update = BatchUpdate.SectionUpdate(at: 0)
        object(json, pointer, "the update of a section", ["at"], ["header", "footer", "movesTo"]) {
            reader, name, value, pointer in
            switch name {
            case "at": update.at = reader.count(value, pointer)
            case "header": update.header = reader.title(value, pointer)
            case "footer": update.footer = reader.title(value, pointer)
            default: update.movesTo = value.isNull ? .null : reader.movesTo(value, pointer)
            }
        }
        return update
    }

    private mutating func indexPath(_ json: JSONText, _ pointer: JSONPointer) -> RowPath {
        let numbers = list(json, pointer) { $0.count($1, $2) }
        guard numbers.count == 2 else {
            if json.kind == .array { fault(pointer, .invalidValue, "must be a section and a row, two integers from 0") }
            return RowPath(section: 0, row: 0)
        }
        return RowPath(section: numbers[0], row: numbers[1])
    }

    private mutating func list<Element>(
        _ json: JSONText, _ pointer: JSONPointer, _ read: (inout SnapshotReader, JSONText, JSONPointer) -> Element
    ) -> [Element] {
        elements(json, pointer).enumerated().map { read(&self, $1, pointer.appending($0)) }
    }

    private mutating func object(
        _ json: JSONText, _ pointer: JSONPointer, _ what: String, _ required: [String], _ optional: [String] = [],
        _ body: (inout SnapshotReader, _ name: String, _ value: JSONText, _ pointer: JSONPointer) -> Void
    ) {
        var missing = required
        members(json, pointer, what, required + optional) { reader, name, value, pointer in
            missing.removeAll { $0 == name }
            body(&reader, name, value, pointer)
        }
        guard json.kind == .object else { return }
        for name in missing { fault(pointer, .missingMember, "the member `\(name)` is missing") }
    }

    private static let stageMembers = [
        "deleteSections", "insertSections", "moveSections", "reloadSections", "updateSections",
        "deleteRows", "insertRows", "moveRows", "reloadRows", "updateRows",
    ]
}

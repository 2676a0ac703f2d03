// Members are in the HTTP contract's order.
extension BatchUpdate {
    /// `{"from", "to", "stages", "totalRowCount", "state"?, "empty"?, "by"?}`. A stage's empty lists are omitted.
    public var json: JSONText { json { _ in } }

    func json(_ members: (inout JSONWriter) -> Void) -> JSONText {
        json(members) { $0.member("stages", stages) }
    }

    /// With `operations` in place of `stages`; see ``sequential()``.
    public var sequentialJSON: JSONText { sequentialJSON { _ in } }

    func sequentialJSON(_ members: (inout JSONWriter) -> Void) -> JSONText {
        json(members) { $0.member("operations", sequential()) }
    }

    private func json(_ members: (inout JSONWriter) -> Void, changes: (inout JSONWriter) -> Void) -> JSONText {
        .object(capacity: estimatedSize) {
            $0.member("from", from)
            $0.member("to", to)
            changes(&$0)
            $0.member("totalRowCount", totalRowCount)
            $0.member("state", state)
            $0.member("empty", empty)
            $0.member("by", by)
            members(&$0)
        }
    }

    /// In bytes, estimated. O(operations, and rows of inserted and reloaded sections).
    package var estimatedSize: Int {
        stages.reduce(128 + (state?.count ?? 0) + (empty?.count ?? 0) + (by?.count ?? 0)) { $0 + $1.estimatedSize }
    }
}

extension BatchUpdate.Stage {
    fileprivate var estimatedSize: Int {
        var size = 64 + 16 * (deleteRows.count + deleteSections.count) + 48 * (moveRows.count + moveSections.count)
        for move in moveRows { size += move.row?.json.count ?? 0 }
        for rows in [insertRows, reloadRows, updateRows] {
            for placed in rows { size += placed.row.json.count + 32 }
        }
        for sections in [insertSections, reloadSections] {
            for placed in sections { size += placed.section.encodedSize }
        }
        for update in updateSections {
            size += 64 + (update.header?.count ?? 0) + (update.footer?.count ?? 0) + (update.movesTo?.count ?? 0)
        }
        return size
    }
}

extension BatchUpdate.Stage: JSONWritable {
    public func write(to writer: inout JSONWriter) {
        writer.object {
            $0.nonEmptyArray("deleteSections", of: deleteSections) { $0.value($1) }
            $0.nonEmptyArray("insertSections", of: insertSections) { $0.section($1.section, at: $1.at) }
            $0.nonEmptyArray("moveSections", of: moveSections) { $0.move($1.from, $1.to) }
            $0.nonEmptyArray("reloadSections", of: reloadSections) { $0.section($1.section, at: $1.at) }
            $0.nonEmptyArray("updateSections", of: updateSections) { $0.value($1) }
            $0.nonEmptyArray("deleteRows", of: deleteRows) { $0.value($1) }
            $0.nonEmptyArray("insertRows", of: insertRows) { $0.row($1.row, at: $1.at) }
            $0.nonEmptyArray("moveRows", of: moveRows) { $0.move($1.from, $1.to, $1.row) }
            $0.nonEmptyArray("reloadRows", of: reloadRows) { $0.row($1.row, at: $1.at) }
            $0.nonEmptyArray("updateRows", of: updateRows) { $0.row($1.row, at: $1.at) }
        }
    }
}

// One member each, such as `{"deleteRow": [0,3]}`.
extension TableOperation: JSONWritable {
    public func write(to writer: inout JSONWriter) {
        writer.object {
            $0.name(name)
            switch self {
            case .deleteSection(let at): $0.value(at)
            case .insertSection(let at, let section), .reloadSection(let at, let section): $0.section(section, at: at)
            case .moveSection(let from, let to): $0.move(from, to)
            case .updateSection(let update): $0.value(update)
            case .deleteRow(let at): $0.value(at)
            case .insertRow(let at, let row), .reloadRow(let at, let row), .updateRow(let at, let row):
                $0.row(row, at: at)
            case .moveRow(let from, let to, let row): $0.move(from, to, row)
            }
        }
    }

    private var name: StaticString {
        switch self {
        case .deleteSection: "deleteSection"
        case .insertSection: "insertSection"
        case .moveSection: "moveSection"
        case .reloadSection: "reloadSection"
        case .updateSection: "updateSection"
        case .deleteRow: "deleteRow"
        case .insertRow: "insertRow"
        case .moveRow: "moveRow"
        case .reloadRow: "reloadRow"
        case .updateRow: "updateRow"
        }
    }
}

extension BatchUpdate.SectionUpdate: JSONWritable {
    public func write(to writer: inout JSONWriter) {
        writer.object {
            $0.member("at", at)
            $0.member("header", header)
            $0.member("footer", footer)
            $0.member("movesTo", movesTo)
        }
    }
}

extension RowPath: JSONWritable {
    public func write(to writer: inout JSONWriter) {
        writer.array {
            $0.value(section)
            $0.value(row)
        }
    }
}

extension JSONWriter {
    fileprivate mutating func section(_ section: Section, at place: Int) {
        object {
            $0.member("at", place)
            $0.member("section", section)
        }
    }

    fileprivate mutating func row(_ row: Row, at path: RowPath) {
        object {
            $0.member("at", path)
            $0.member("row", row.json)
        }
    }

    fileprivate mutating func move<Place: JSONWritable>(_ from: Place, _ to: Place, _ row: Row? = nil) {
        object {
            $0.member("from", from)
            $0.member("to", to)
            $0.member("row", row?.json)
        }
    }
}

// The JSON format of updates. Members are in the order that the HTTP contract defines. A stage's empty lists are
// omitted.
extension BatchUpdate {
    /// The update as JSON: `{"from", "to", "stages", "totalRowCount", "state"?, "empty"?}`. A stage's empty lists are
    /// omitted.
    public var json: JSONText { json { _ in } }

    /// Returns the update as JSON. `members` writes additional members after the members of the update.
    func json(_ members: (inout JSONWriter) -> Void) -> JSONText {
        json("stages", members) { writer in
            for stage in stages { stage.write(to: &writer) }
        }
    }

    /// The update as JSON with `operations`, to be applied one by one, in place of `stages`; see ``sequential()``.
    public var sequentialJSON: JSONText { sequentialJSON { _ in } }

    /// Returns the update as JSON with `operations` in place of `stages`. `members` writes additional members after the
    /// members of the update.
    func sequentialJSON(_ members: (inout JSONWriter) -> Void) -> JSONText {
        json("operations", members) { writer in
            for operation in sequential() { operation.write(to: &writer) }
        }
    }

    private func json(
        _ name: StaticString, _ members: (inout JSONWriter) -> Void, _ elements: (inout JSONWriter) -> Void
    ) -> JSONText {
        var writer = JSONWriter(capacity: estimatedSize)
        writer.beginObject()
        writer.name("from")
        writer.value(from)
        writer.name("to")
        writer.value(to)
        writer.name(name)
        writer.beginArray()
        elements(&writer)
        writer.endArray()
        writer.name("totalRowCount")
        writer.value(totalRowCount)
        if let state {
            writer.name("state")
            writer.value(state)
        }
        if let empty {
            writer.name("empty")
            writer.value(empty)
        }
        members(&writer)
        writer.endObject()
        return writer.text
    }

    /// An estimate of the number of bytes of ``json``. O(operations, and rows of inserted and reloaded sections).
    package var estimatedSize: Int {
        stages.reduce(128 + (state?.count ?? 0) + (empty?.count ?? 0)) { $0 + $1.estimatedSize }
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

extension BatchUpdate.Stage {
    /// Writes the stage as a JSON object without the lists that are empty.
    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.list("deleteSections", deleteSections) { $0.value($1) }
        writer.list("insertSections", insertSections) { $0.section($1.section, at: $1.at) }
        writer.list("moveSections", moveSections) { $0.move($1.from, $1.to) }
        writer.list("reloadSections", reloadSections) { $0.section($1.section, at: $1.at) }
        writer.list("updateSections", updateSections) { $0.update($1) }
        writer.list("deleteRows", deleteRows) { $0.value($1) }
        writer.list("insertRows", insertRows) { $0.row($1.row, at: $1.at) }
        writer.list("moveRows", moveRows) { $0.move($1.from, $1.to, $1.row) }
        writer.list("reloadRows", reloadRows) { $0.row($1.row, at: $1.at) }
        writer.list("updateRows", updateRows) { $0.row($1.row, at: $1.at) }
        writer.endObject()
    }
}

extension TableOperation {
    /// Writes the operation as a JSON object with one member that is named after the operation, such as `{"deleteRow":
    /// [0,3]}`.
    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        switch self {
        case .deleteSection(let at):
            writer.name("deleteSection")
            writer.value(at)
        case .insertSection(let at, let section):
            writer.name("insertSection")
            writer.section(section, at: at)
        case .moveSection(let from, let to):
            writer.name("moveSection")
            writer.move(from, to)
        case .reloadSection(let at, let section):
            writer.name("reloadSection")
            writer.section(section, at: at)
        case .updateSection(let update):
            writer.name("updateSection")
            writer.update(update)
        case .deleteRow(let at):
            writer.name("deleteRow")
            writer.value(at)
        case .insertRow(let at, let row):
            writer.name("insertRow")
            writer.row(row, at: at)
        case .moveRow(let from, let to, let row):
            writer.name("moveRow")
            writer.move(from, to, row)
        case .reloadRow(let at, let row):
            writer.name("reloadRow")
            writer.row(row, at: at)
        case .updateRow(let at, let row):
            writer.name("updateRow")
            writer.row(row, at: at)
        }
        writer.endObject()
    }
}

// Encoding of the parts of an update's operations.
extension JSONWriter {
    fileprivate mutating func list<Element>(
        _ name: StaticString, _ elements: [Element], _ write: (inout JSONWriter, Element) -> Void
    ) {
        guard !elements.isEmpty else { return }
        self.name(name)
        beginArray()
        for element in elements { write(&self, element) }
        endArray()
    }

    /// Writes an index path as the JSON array `[section, row]`.
    mutating func value(_ path: RowPath) {
        beginArray()
        value(path.section)
        value(path.row)
        endArray()
    }

    fileprivate mutating func section(_ section: Section, at place: Int) {
        beginObject()
        name("at")
        value(place)
        name("section")
        section.write(to: &self)
        endObject()
    }

    fileprivate mutating func row(_ row: Row, at path: RowPath) {
        beginObject()
        name("at")
        value(path)
        name("row")
        value(row.json)
        endObject()
    }

    fileprivate mutating func move(_ from: Int, _ to: Int) {
        beginObject()
        name("from")
        value(from)
        name("to")
        value(to)
        endObject()
    }

    fileprivate mutating func move(_ from: RowPath, _ to: RowPath, _ row: Row?) {
        beginObject()
        name("from")
        value(from)
        name("to")
        value(to)
        if let row {
            name("row")
            value(row.json)
        }
        endObject()
    }

    fileprivate mutating func update(_ update: BatchUpdate.SectionUpdate) {
        beginObject()
        name("at")
        value(update.at)
        if let header = update.header {
            name("header")
            value(header)
        }
        if let footer = update.footer {
            name("footer")
            value(footer)
        }
        if let movesTo = update.movesTo {
            name("movesTo")
            value(movesTo)
        }
        endObject()
    }
}

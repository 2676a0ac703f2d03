// The wire's JSON. Members in the contract's order; empty lists are left out.
extension BatchUpdate {
    /// `{"from", "to", "stages", "totalRowCount", "state"?, "empty"?}`.
    public var json: JSONText {
        var writer = JSONWriter()
        writeFrame(to: &writer) { writer in
            writer.name("stages")
            writer.beginArray()
            for stage in stages { stage.write(to: &writer) }
            writer.endArray()
        }
        return writer.text
    }

    func writeFrame(to writer: inout JSONWriter, _ operations: (inout JSONWriter) -> Void) {
        writer.beginObject()
        writer.name("from")
        writer.value(from)
        writer.name("to")
        writer.value(to)
        operations(&writer)
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
        writer.endObject()
    }
}

extension BatchUpdate.Stage {
    func write(to writer: inout JSONWriter) {
        func list<Element>(_ name: String, _ elements: [Element], _ write: (inout JSONWriter, Element) -> Void) {
            guard !elements.isEmpty else { return }
            writer.name(name)
            writer.beginArray()
            for element in elements { write(&writer, element) }
            writer.endArray()
        }
        writer.beginObject()
        list("deleteSections", deleteSections) { $0.value($1) }
        list("insertSections", insertSections) { $0.object(at: $1.at, section: $1.section) }
        list("moveSections", moveSections) { writer, move in
            writer.beginObject()
            writer.name("from")
            writer.value(move.from)
            writer.name("to")
            writer.value(move.to)
            writer.endObject()
        }
        list("reloadSections", reloadSections) { $0.object(at: $1.at, section: $1.section) }
        list("updateSections", updateSections) { $1.write(to: &$0) }
        list("deleteRows", deleteRows) { $0.value($1) }
        list("insertRows", insertRows) { $0.object(at: $1.at, row: $1.row) }
        list("moveRows", moveRows) { $0.object(from: $1.from, to: $1.to, row: $1.row) }
        list("reloadRows", reloadRows) { $0.object(at: $1.at, row: $1.row) }
        list("updateRows", updateRows) { $0.object(at: $1.at, row: $1.row) }
        writer.endObject()
    }
}

extension BatchUpdate.SectionUpdate {
    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.name("at")
        writer.value(at)
        for (name, value) in [("header", header), ("footer", footer), ("movesTo", movesTo)] {
            guard let value else { continue }
            writer.name(name)
            writer.value(value)
        }
        writer.endObject()
    }
}

extension JSONWriter {
    /// `[section, row]`.
    mutating func value(_ path: IndexPath) {
        beginArray()
        value(path.section)
        value(path.row)
        endArray()
    }

    mutating func object(at path: IndexPath, row: Row) {
        beginObject()
        name("at")
        value(path)
        name("row")
        value(row.json)
        endObject()
    }

    mutating func object(at index: Int, section: Section) {
        beginObject()
        name("at")
        value(index)
        name("section")
        section.write(to: &self, rows: 0..<section.rows.count)
        endObject()
    }

    mutating func object(from: IndexPath, to: IndexPath, row: Row?) {
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
}

extension Section {
    /// Members in the contract's order; `rowCount` counts all rows, `rows` has those of the range.
    func write(to writer: inout JSONWriter, rows range: Range<Int>) {
        writer.beginObject()
        writer.name("id")
        writer.value(id.text)
        writer.name("header")
        writer.value(header)
        writer.name("footer")
        writer.value(footer)
        writer.name("rowCount")
        writer.value(rows.count)
        if let movesTo {
            writer.name("movesTo")
            writer.value(movesTo)
        }
        if !isDiffable {
            writer.name("diffable")
            writer.value(false)
        }
        writer.name("rows")
        writer.beginArray()
        if range.count == rows.count {
            rows.forEachRun { for row in $0 { writer.value(row.json) } }
        } else {
            for index in range { writer.value(rows[index].json) }
        }
        writer.endArray()
        writer.endObject()
    }
}

extension Snapshot {
    /// The snapshot as the wire has it. With a window, every section's facts, and rows of that section's window only.
    public func encoded(
        session: String?, table: String?, epoch: String?, window: (section: SectionID, offset: Int, limit: Int)? = nil
    ) -> [UInt8] {
        var capacity = 256 + state.count
        if window == nil {
            for section in sections {
                capacity += 256
                section.rows.forEachRun { for row in $0 { capacity += row.json.count + 1 } }
            }
        }
        var writer = JSONWriter(capacity: capacity)
        writer.beginObject()
        for (name, value) in [("session", session), ("table", table), ("epoch", epoch)] {
            guard let value else { continue }
            writer.name(name)
            writer.value(value)
        }
        writer.name("revision")
        writer.value(revision)
        writer.name("totalRowCount")
        writer.value(totalRowCount)
        writer.name("sections")
        writer.beginArray()
        for section in sections {
            var range = 0..<section.rows.count
            if let window {
                let start = section.id == window.section ? min(window.offset, section.rows.count) : 0
                range = section.id == window.section ? start..<start + min(window.limit, section.rows.count - start) : 0..<0
            }
            section.write(to: &writer, rows: range)
        }
        writer.endArray()
        writer.name("state")
        writer.value(state)
        if let empty {
            writer.name("empty")
            writer.value(empty)
        }
        writer.endObject()
        return writer.bytes
    }
}

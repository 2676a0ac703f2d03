extension Snapshot {
    /// The snapshot as the contract has it, near the speed of copying its bytes: rows are written as they are. What
    /// stands before the table's own members, in a snapshot of a session, is left out where it is nil.
    ///
    /// With a window, every section's facts, and rows of that section's window only.
    public func encoded(
        session: String? = nil, table: String? = nil, epoch: String? = nil,
        window: (section: SectionID, offset: Int, limit: Int)? = nil
    ) -> [UInt8] {
        func rows(of section: Section) -> Range<Int> {
            guard let window else { return 0..<section.rows.count }
            guard window.section == section.id else { return 0..<0 }
            let start = min(window.offset, section.rows.count)
            return start..<start + min(window.limit, section.rows.count - start)
        }
        var writer = JSONWriter(capacity: sections.reduce(256 + state.count) { $0 + $1.encodedSize(rows: rows(of: $1)) })
        writer.beginObject()
        if let session {
            writer.name("session")
            writer.value(session)
        }
        if let table {
            writer.name("table")
            writer.value(table)
        }
        if let epoch {
            writer.name("epoch")
            writer.value(epoch)
        }
        writer.name("revision")
        writer.value(revision)
        writer.name("totalRowCount")
        writer.value(totalRowCount)
        writer.name("sections")
        writer.beginArray()
        for section in sections { section.write(to: &writer, rows: rows(of: section)) }
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

    var json: JSONText { JSONText(valid: encoded()) }
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
        rows.forEach(in: range) { _, row in writer.value(row.json) }
        writer.endArray()
        writer.endObject()
    }

    /// Bytes that `write` needs, or a little more.
    func encodedSize(rows range: Range<Int>) -> Int {
        var size = 128 + 2 * id.text.utf8.count + header.count + footer.count + (movesTo?.count ?? 0)
        rows.forEach(in: range) { _, row in size += row.json.count + 1 }
        return size
    }
}

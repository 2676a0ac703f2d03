import BraidEngine
import BraidStore

// The checkpoint in a journal file: a stored table as JSON, `{"revision", "at", "nextKey", "nextSection", "state",
// "description"?, "displayedSections"?, "cells"?, "sections", "published"?}`. A section contains its rows as
// `[key, rank, id, model]`. `published` is what clients see, if that differs.
extension StoredSession {
    /// Writes a checkpoint. It contains the description only if that differs from `openedWith`, the one with which the
    /// session was opened.
    func writeCheckpoint(openedWith first: JSONText?, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.name("revision")
        writer.value(facts.revision)
        writer.name("at")
        writer.value(facts.updated)
        writer.name("nextKey")
        writer.value(nextKey)
        writer.name("nextSection")
        writer.value(nextSection)
        writer.name("state")
        writer.value(state)
        if facts.table != nil, let description, description != first {
            writer.name("description")
            writer.value(description)
        }
        if let cells {
            writer.name("cells")
            writer.value(cells)
        }
        Self.write(displayedSections, sections, to: &writer)
        if let published {
            writer.name("published")
            writer.beginObject()
            writer.name("at")
            writer.value(published.updated)
            Self.write(published.displayedSections, published.sections, to: &writer)
            writer.endObject()
        }
        writer.endObject()
    }

    private static func write(
        _ displayed: JSONText?, _ sections: [(facts: StoredSectionSummary, rows: [StoredRow])],
        to writer: inout JSONWriter
    ) {
        if let displayed {
            writer.name("displayedSections")
            writer.value(displayed)
        }
        writer.name("sections")
        writer.beginArray()
        for (facts, rows) in sections {
            writer.beginObject()
            facts.writeMembers(to: &writer)
            writer.name("rows")
            writer.beginArray()
            for row in rows { row.write(to: &writer) }
            writer.endArray()
            writer.endObject()
        }
        writer.endArray()
    }

    /// Reads a checkpoint. Throws a `JournalFault` or a `StoreError` if the text is none.
    package init(checkpoint: JSONText) throws {
        func number(_ json: JSONText, _ name: String, _ kind: StoredNumber) throws -> Int {
            guard let value = json[name]?.intValue else { throw JournalFault("the checkpoint has no `\(name)`") }
            return try kind.checked(value, name)
        }
        func sections(_ json: JSONText) throws -> [(facts: StoredSectionSummary, rows: [StoredRow])] {
            guard let sections = json["sections"]?.elements() else {
                throw JournalFault("the checkpoint has no `sections`")
            }
            return try sections.map {
                (
                    try StoredSectionSummary(stored: $0),
                    try ($0["rows"]?.elements() ?? []).map { try StoredRow.read($0).row }
                )
            }
        }
        guard let state = checkpoint["state"] else { throw JournalFault("the checkpoint has no `state`") }
        let at = try number(checkpoint, "at", .time)
        self.init(
            facts: SessionSummary(
                id: "", number: 0, table: nil, tableVersion: nil, epoch: "",
                revision: try number(checkpoint, "revision", .revision), created: at, updated: at, totalRowCount: 0),
            description: nil, state: state, displayedSections: checkpoint["displayedSections"],
            cells: checkpoint["cells"],
            nextKey: try number(checkpoint, "nextKey", .nextKey),
            nextSection: try number(checkpoint, "nextSection", .nextKey),
            sections: try sections(checkpoint),
            published: try checkpoint["published"].map {
                PublishedTable(
                    updated: try number($0, "at", .time), displayedSections: $0["displayedSections"],
                    sections: try sections($0))
            })
    }
}

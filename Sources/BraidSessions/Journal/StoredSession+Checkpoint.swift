import BraidEngine
import BraidStore

// A stored table as JSON, the checkpoint of a journal file: `{"revision", "at", "nextKey", "nextSection", "state",
// "description"?, "displayedSections"?, "cells"?, "sections", "published"?}`. Rows are `[key, rank, id, model]`.
// `published` is what clients see, if that differs.
extension StoredSession {
    /// The description only if it has changed since the opening.
    func writeCheckpoint(openedWith first: JSONText?, to writer: inout JSONWriter) {
        writer.member("revision", summary.revision)
        writer.member("at", summary.updated)
        writer.member("nextKey", nextKey)
        writer.member("nextSection", nextSection)
        writer.member("state", state)
        if summary.table != nil, let description, description != first { writer.member("description", description) }
        writer.member("cells", cells)
        Self.write(displayedSections, sections, to: &writer)
        if let published {
            writer.object("published") {
                $0.member("at", published.updated)
                Self.write(published.displayedSections, published.sections, to: &$0)
            }
        }
    }

    private static func write(
        _ displayed: JSONText?, _ sections: [SectionRows],
        to writer: inout JSONWriter
    ) {
        writer.member("displayedSections", displayed)
        writer.array("sections", of: sections) { writer, section in
            writer.object {
                section.summary.writeMembers(to: &$0)
                $0.member("rows", section.rows)
            }
        }
    }

    package init(checkpoint: JSONText) throws {
        func number(_ json: JSONText, _ name: String, _ kind: StoredNumber) throws -> Int {
            guard let value = json[name]?.intValue else { throw JournalFault("the checkpoint has no `\(name)`") }
            return try kind.checked(value, name)
        }
        func sections(_ json: JSONText) throws -> [SectionRows] {
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
            summary: SessionSummary(
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

/// Takes back what one command did. It fits only the table for which it was found (`TableModel.undo(_:by:)`).
public struct UndoChange: Sendable {
    typealias Place = (section: SectionID, row: Int)

    // Indexes are those before the undo, except in `placed`.

    /// With other content, but the same id.
    var replaced: [(at: Place, id: RowID?, model: JSONText)] = []
    /// Go, or move to a place in `placed`. Ascending in each section.
    var taken: [Place] = []
    /// Come back or move, to the old rank if it fits. Without content, it is that of the taken row. Ascending; indexes
    /// are those after the undo.
    var placed: [(at: Place, key: Int, rank: Int, content: (id: RowID?, model: JSONText)?)] = []
    /// Come back without rows, at the end.
    var sections: [StoredSectionSummary] = []
    var removedSections: [SectionID] = []
    /// Of all sections. `nil`: unchanged.
    var order: [SectionID]?
    /// A title of `nil` is the description's.
    var headers: [(section: SectionID, title: JSONText?)] = []
    var footers: [(section: SectionID, title: JSONText?)] = []
    var prefetched: [(section: SectionID, count: Int?)] = []
    /// `nil`: unchanged, as the next two. JSON `null` for no choice of sections.
    var state: JSONText?
    var displayedSections: JSONText?
    var cells: JSONText?

    /// Nothing is left to take back.
    public var isEmpty: Bool {
        replaced.isEmpty && taken.isEmpty && placed.isEmpty && sections.isEmpty && removedSections.isEmpty
            && order == nil && headers.isEmpty && footers.isEmpty && prefetched.isEmpty && state == nil
            && displayedSections == nil && cells == nil
    }
}

// MARK: In the journal

extension UndoChange: JSONWritable {
    public func write(to writer: inout JSONWriter) {
        writer.object {
            $0.nonEmptyArray("replaced", of: replaced) { writer, row in
                writer.array {
                    $0.value(row.at.section)
                    $0.value(row.at.row)
                    $0.value(row.id)
                    $0.value(row.model)
                }
            }
            $0.nonEmptyArray("taken", of: taken) { writer, place in
                writer.array {
                    $0.value(place.section)
                    $0.value(place.row)
                }
            }
            $0.nonEmptyArray("placed", of: placed) { writer, row in
                writer.array {
                    $0.value(row.at.section)
                    $0.value(row.at.row)
                    $0.value(row.key)
                    $0.value(row.rank)
                    if let content = row.content {
                        $0.value(content.id)
                        $0.value(content.model)
                    }
                }
            }
            $0.nonEmptyArray("sections", of: sections) { writer, section in
                writer.object {
                    $0.member("number", section.number)
                    $0.member("id", section.id)
                    $0.member("header", section.header)
                    $0.member("footer", section.footer)
                    $0.member("prefetched", section.prefetched)
                }
            }
            if !removedSections.isEmpty { $0.member("removedSections", removedSections) }
            $0.member("order", order)
            func pairs(_ name: StaticString, _ pairs: [(SectionID, JSONText?)], _ writer: inout JSONWriter) {
                writer.nonEmptyArray(name, of: pairs) { writer, pair in
                    writer.array {
                        $0.value(pair.0)
                        if let value = pair.1 { $0.value(value) }
                    }
                }
            }
            pairs("headers", headers.map { ($0.section, $0.title) }, &$0)
            pairs("footers", footers.map { ($0.section, $0.title) }, &$0)
            pairs("prefetched", prefetched.map { ($0.section, $0.count.map { .number($0) }) }, &$0)
            $0.member("state", state)
            $0.member("displayedSections", displayedSections)
            $0.member("cells", cells)
        }
    }

    /// From the journal. Throws `badRequest`.
    public init(json: JSONText) throws(Refusal) {
        func parts(_ name: String, _ counts: ClosedRange<Int>) throws(Refusal) -> [[JSONText]] {
            var parts: [[JSONText]] = []
            for part in json[name]?.elements() ?? [] {
                guard let part = part.elements(), counts.contains(part.count) else { throw Self.malformed(name) }
                parts.append(part)
            }
            return parts
        }
        func place(_ parts: [JSONText], _ name: String) throws(Refusal) -> Place {
            guard let section = parts[0].stringValue, let row = parts[1].intValue, row >= 0 else {
                throw Self.malformed(name)
            }
            return (SectionID(section), row)
        }
        func content(_ parts: ArraySlice<JSONText>) -> (id: RowID?, model: JSONText)? {
            guard let id = parts.first, let model = parts.last, parts.count == 2 else { return nil }
            return (id.stringValue.map { RowID($0) }, model.detached)
        }
        for row in try parts("replaced", 4...4) {
            guard let (id, model) = content(row[2...]) else { throw Self.malformed("replaced") }
            replaced.append((try place(row, "replaced"), id, model))
        }
        for row in try parts("taken", 2...2) { taken.append(try place(row, "taken")) }
        for row in try parts("placed", 4...6) {
            guard let key = row[2].intValue, let rank = row[3].intValue else { throw Self.malformed("placed") }
            placed.append((try place(row, "placed"), key, rank, content(row[4...])))
        }
        for section in json["sections"]?.elements() ?? [] {
            guard let number = section["number"]?.intValue, let id = section["id"]?.stringValue else {
                throw Self.malformed("sections")
            }
            sections.append(
                StoredSectionSummary(
                    number: number, id: SectionID(id), ordinal: 0, header: section["header"]?.detached,
                    footer: section["footer"]?.detached, prefetched: section["prefetched"]?.intValue))
        }
        func ids(_ name: String) -> [SectionID]? {
            json[name]?.elements()?.compactMap { $0.stringValue.map { SectionID($0) } }
        }
        removedSections = ids("removedSections") ?? []
        order = ids("order")
        func pairs(_ name: String) throws(Refusal) -> [(section: SectionID, value: JSONText?)] {
            var pairs: [(section: SectionID, value: JSONText?)] = []
            for part in try parts(name, 1...2) {
                guard let id = part[0].stringValue else { throw Self.malformed(name) }
                pairs.append((SectionID(id), part.count == 2 ? part[1].detached : nil))
            }
            return pairs
        }
        headers = try pairs("headers").map { ($0.section, $0.value) }
        footers = try pairs("footers").map { ($0.section, $0.value) }
        prefetched = try pairs("prefetched").map { ($0.section, $0.value?.intValue) }
        state = json["state"]?.detached
        displayedSections = json["displayedSections"]?.detached
        cells = json["cells"]?.detached
    }

    private static func malformed(_ name: String) -> Refusal {
        Refusal.bad(JSONPointer(tokens: ["change", name]), .invalidValue, "the journal's undo is malformed")
    }
}

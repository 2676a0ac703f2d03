import BraidEngine

/// What leads a stored session from a revision back to the one before. The journal stores it with each of its records,
/// so that a session can be restored at any revision that the journal reaches.
public struct StoredUndo: Sendable {
    public var change: TableChange
    // As of the previous revision:

    /// `nil` if this revision did not change the description.
    public var description: SessionDescription?
    /// Milliseconds since 1970.
    public var updated: Int
    /// The key of the next new row.
    public var nextKey: Int
    /// The number of the next new section.
    public var nextSection: Int
    /// Whether clients saw the stored table.
    public var isPublished: Bool

    public init(
        change: TableChange, description: SessionDescription? = nil, updated: Int, nextKey: Int, nextSection: Int,
        isPublished: Bool
    ) {
        self.change = change
        self.description = description
        self.updated = updated
        self.nextKey = nextKey
        self.nextSection = nextSection
        self.isPublished = isPublished
    }

    /// With the members `updated`, `nextKey` and `nextSection`, and others only for what the revision changed.
    public var json: JSONText {
        var writer = JSONWriter()
        func list<Element>(_ name: String, _ elements: [Element], _ write: (Element) -> Void) {
            guard !elements.isEmpty else { return }
            writer.name(name)
            writer.beginArray()
            for element in elements { write(element) }
            writer.endArray()
        }
        writer.beginObject()
        writer.name("updated")
        writer.value(updated)
        writer.name("nextKey")
        writer.value(nextKey)
        writer.name("nextSection")
        writer.value(nextSection)
        if !isPublished {
            writer.name("unpublished")
            writer.value(true)
        }
        list("rows", change.writtenRows) { $0.row.write(to: &writer, section: $0.section) }
        list("places", change.placedRows) { place in
            writer.beginArray()
            for number in [place.key, place.rank, place.section] { writer.value(number) }
            writer.endArray()
        }
        list("removedRows", change.removedRows) { writer.value($0) }
        list("sections", change.writtenSections) { summary in
            writer.beginObject()
            summary.writeMembers(to: &writer)
            writer.endObject()
        }
        list("removedSections", change.removedSections) { writer.value($0) }
        for (name, value) in [
            ("state", change.state), ("displayedSections", change.displayedSections), ("cells", change.cells),
        ] {
            guard let value else { continue }
            writer.name(name)
            writer.value(value)
        }
        if let description {
            writer.name("table")
            writer.beginObject()
            writer.name("name")
            writer.value(description.table)
            if let version = description.version {
                writer.name("version")
                writer.value(version)
            }
            writer.name("description")
            writer.value(description.text)
            writer.endObject()
        }
        writer.endObject()
        return writer.text
    }

    /// Decodes ``json``, or throws `corrupt`.
    public init(json: JSONText) throws {
        func keys(_ name: String) throws -> [Int] { try (json[name]?.elements() ?? []).map { try $0.stored(.key) } }
        change = TableChange()
        updated = try json.stored("updated", .time)
        nextKey = try json.stored("nextKey", .nextKey)
        nextSection = try json.stored("nextSection", .nextKey)
        isPublished = json["unpublished"] == nil
        change.writtenRows = try (json["rows"]?.elements() ?? []).map { row in
            let (section, row) = try StoredRow.read(row)
            guard let section else { throw StoreError.corrupt("a stored row is of no section") }
            return (section, row)
        }
        change.placedRows = try (json["places"]?.elements() ?? []).map { place in
            guard let numbers = place.elements(), numbers.count == 3 else {
                throw StoreError.corrupt("a stored place is not one")
            }
            return (
                section: try numbers[2].stored(.key), key: try numbers[0].stored(.key),
                rank: try numbers[1].stored(.place)
            )
        }
        change.removedRows = try keys("removedRows")
        change.writtenSections = try (json["sections"]?.elements() ?? []).map { try StoredSectionSummary(stored: $0) }
        change.removedSections = try keys("removedSections")
        change.state = json["state"]
        change.displayedSections = json["displayedSections"]
        change.cells = json["cells"]
        description = try json["table"].map { table in
            guard let name = table["name"]?.stringValue, let description = table["description"] else {
                throw StoreError.corrupt("a stored binding is not one")
            }
            return SessionDescription(
                table: name, version: try table["version"]?.stored(.version), text: description.detached)
        }
    }
}

/// Takes a stored session back to earlier revisions, by the undo records of its journal, the latest first.
package struct SessionRewind {
    /// At the revision reached so far. Its sections are in `content`; `sections` is outdated.
    private var session: StoredSession
    private var content: StoredContent
    /// What clients saw, if every revision so far had unpublished changes.
    private var published: PublishedTable?
    private var isPublished: Bool
    /// At the earliest revision so far at which clients saw the stored table. Set when they saw an older table at the
    /// revision before, because the journal does not contain that.
    private var lastPublished: StoredSession?

    package init(_ session: StoredSession) {
        self.session = session
        content = StoredContent(session.sections)
        published = session.published
        isPublished = session.published == nil
    }

    package mutating func apply(_ undo: StoredUndo) throws {
        guard session.summary.revision > 0 else { throw StoreError.corrupt("the journal goes beyond the session") }
        if isPublished, !undo.isPublished { lastPublished = try stored }
        isPublished = undo.isPublished
        if isPublished { published = nil }
        content.apply(undo.change)
        if let state = undo.change.state { session.state = state }
        if let displayed = undo.change.displayedSections {
            session.displayedSections = displayed.isNull ? nil : displayed
        }
        if let cells = undo.change.cells { session.cells = cells }
        if let description = undo.description {
            session.summary.tableVersion = description.version
            session.description = description.text
        }
        session.summary.revision -= 1
        session.summary.updated = undo.updated
        session.nextKey = undo.nextKey
        session.nextSection = undo.nextSection
        session.published = nil
    }

    /// The session at the earliest revision at which clients saw the stored table, or `start`, whose `totalRowCount` the
    /// result always has.
    package func earliest(from start: StoredSession) throws -> StoredSession {
        isPublished ? try stored : lastPublished ?? start
    }

    /// Whether the session is rewound to the table that clients saw at this revision.
    package func reaches(_ revision: Int) -> Bool { isPublished && session.summary.revision <= revision }

    /// The session as clients saw it at a revision, or `nil` if the undo records do not lead back to it.
    package func seen(at revision: Int) throws -> StoredSession? {
        var seen: StoredSession
        if reaches(revision) {
            seen = try stored
        } else if let published, session.summary.revision <= revision {
            seen = session
            seen.sections = published.sections
            seen.displayedSections = published.displayedSections
            seen.summary.updated = published.updated
            seen.published = nil
        } else {
            return nil
        }
        seen.summary.revision = revision
        return seen
    }

    private var stored: StoredSession {
        get throws {
            var session = session
            session.sections = try content.sorted(session.summary.number)
            return session
        }
    }
}

/// Sections by number and rows by key, so that changes can be applied to them.
package struct StoredContent {
    package var sections: [Int: StoredSectionSummary]
    package var rows: [Int: (section: Int, row: StoredRow)] = [:]

    package init(_ sorted: [SectionRows]) {
        sections = Dictionary(uniqueKeysWithValues: sorted.map { ($0.summary.number, $0.summary) })
        rows.reserveCapacity(sorted.reduce(0) { $0 + $1.rows.count })
        for (summary, stored) in sorted { for row in stored { rows[row.key] = (summary.number, row) } }
    }

    mutating func apply(_ change: TableChange) {
        for key in change.removedRows { rows[key] = nil }
        for (section, row) in change.writtenRows { rows[row.key] = (section, row) }
        for (section, key, rank) in change.placedRows {
            rows[key]?.row.rank = rank
            rows[key]?.section = section
        }
        for number in change.removedSections { sections[number] = nil }
        for summary in change.writtenSections { sections[summary.number] = summary }
    }

    /// Sets the section in a database row, or removes it if its id is null: it was not there when the row was published.
    package mutating func setSection(from columns: some StoredColumns, number: Int) throws {
        sections[number] = columns.isNull(1) ? nil : try StoredSectionSummary(columns, number: number)
    }

    /// Sets the row in a database row, or removes it if its section is null.
    package mutating func setRow(from columns: some StoredColumns, key: Int) throws {
        rows[key] = try columns.optionalNumber(1, .key, "section").map { ($0, try StoredRow(columns, key: key)) }
    }

    /// By ascending ordinal, each with its rows by ascending rank.
    ///
    /// - Parameter session: the session's number, for messages.
    package func sorted(_ session: Int) throws -> [SectionRows] {
        var bySection: [Int: [StoredRow]] = [:]
        for (section, row) in rows.values {
            guard sections[section] != nil else { throw StoreError.rowsWithoutSection(session) }
            bySection[section, default: []].append(row)
        }
        return sections.values.sorted { $0.ordinal < $1.ordinal }.map { summary in
            (summary, (bySection[summary.number] ?? []).sorted { $0.rank < $1.rank })
        }
    }
}

// MARK: JSON in undo records and checkpoints

extension StoredRow {
    /// Writes `[key, rank, id or null, model]`, and the number of the row's section if it is given.
    public func write(to writer: inout JSONWriter, section: Int? = nil) {
        writer.beginArray()
        writer.value(key)
        writer.value(rank)
        if let id { writer.value(id.text) } else { writer.null() }
        writer.value(model)
        if let section { writer.value(section) }
        writer.endArray()
    }

    /// Decodes what `write` writes, or throws `corrupt`.
    public static func read(_ json: JSONText) throws -> (section: Int?, row: StoredRow) {
        guard let parts = json.elements(), parts.count == 4 || parts.count == 5,
            parts[2].isNull || parts[2].stringValue != nil
        else {
            throw StoreError.corrupt("a stored row is not one")
        }
        let row = StoredRow(
            key: try parts[0].stored(.key), rank: try parts[1].stored(.place),
            id: parts[2].stringValue.map { RowID($0) }, model: parts[3])
        return (parts.count == 5 ? try parts[4].stored(.key) : nil, row)
    }
}

extension StoredSectionSummary {
    /// Writes `number`, `ordinal` and `id`, and those of `header`, `footer` and `prefetched` that are set.
    public func writeMembers(to writer: inout JSONWriter) {
        writer.name("number")
        writer.value(number)
        writer.name("ordinal")
        writer.value(ordinal)
        writer.name("id")
        writer.value(id.text)
        for (name, value) in [("header", header), ("footer", footer)] {
            guard let value else { continue }
            writer.name(name)
            writer.value(value)
        }
        if let prefetched {
            writer.name("prefetched")
            writer.value(prefetched)
        }
    }

    /// Decodes what `writeMembers` writes, or throws `corrupt`.
    public init(stored json: JSONText) throws {
        guard let id = json["id"]?.stringValue else { throw StoreError.corrupt("a stored section is not one") }
        self.init(
            number: try json.stored("number", .key), id: SectionID(id), ordinal: try json.stored("ordinal", .place),
            header: json["header"]?.detached, footer: json["footer"]?.detached,
            prefetched: try json["prefetched"]?.stored(.count))
    }
}

extension JSONText {
    fileprivate func stored(_ kind: StoredNumber) throws -> Int {
        guard let int = intValue else { throw StoreError.corrupt("a stored number is not one") }
        return try kind.checked(int, "a stored number")
    }

    fileprivate func stored(_ name: String, _ kind: StoredNumber) throws -> Int {
        guard let value = self[name] else { throw StoreError.corrupt("a stored text has no \"\(name)\"") }
        return try value.stored(kind)
    }
}

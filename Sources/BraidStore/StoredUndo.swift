import BraidEngine

/// Leads a stored session back by one revision. Each journal record has one.
package struct StoredUndo: Sendable {
    package var change: TableChange
    // As of the previous revision:

    package var description: SessionDescription?
    /// Milliseconds since 1970.
    package var updated: Int
    package var nextKey: Int
    package var nextSection: Int
    /// Whether clients saw the stored table.
    package var isPublished: Bool

    package init(
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

    /// `updated`, `nextKey`, `nextSection`, and what the revision changed.
    package var json: JSONText {
        .object(capacity: 128 + change.estimatedSize) {
            $0.member("updated", updated)
            $0.member("nextKey", nextKey)
            $0.member("nextSection", nextSection)
            if !isPublished { $0.member("unpublished", true) }
            $0.nonEmptyArray("rows", of: change.writtenRows) { $1.row.write(to: &$0, section: $1.section) }
            $0.nonEmptyArray("places", of: change.placedRows) { $0.value([$1.key, $1.rank, $1.section]) }
            $0.nonEmptyArray("removedRows", of: change.removedRows) { $0.value($1) }
            $0.nonEmptyArray("sections", of: change.writtenSections) { writer, section in
                writer.object { section.writeMembers(to: &$0) }
            }
            $0.nonEmptyArray("removedSections", of: change.removedSections) { $0.value($1) }
            $0.nonEmptyArray("moved", of: change.movedRows) { $0.value($1) }
            $0.nonEmptyArray("refilled", of: change.refilledSections) { $0.value($1) }
            $0.member("state", change.state)
            $0.member("displayedSections", change.displayedSections)
            $0.member("cells", change.cells)
            if let description {
                $0.object("table") {
                    $0.member("name", description.table)
                    $0.member("version", description.version)
                    $0.member("description", description.text)
                }
            }
        }
    }

    /// Reads `json`. Throws `corrupt`.
    package init(json: JSONText) throws {
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
        change.movedRows = try keys("moved")
        change.refilledSections = try keys("refilled")
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

/// Goes back by undo records, the latest first.
package struct SessionRewind {
    /// At the revision reached; `sections` is outdated, see `content`.
    private var session: StoredSession
    private var content: StoredContent
    /// What clients saw, if every revision so far had unpublished changes.
    private var published: PublishedTable?
    private var isPublished: Bool
    /// The earliest revision at which clients saw the stored table, if they saw an older one before, which the
    /// journal does not contain.
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

    /// The earliest revision reached at which clients saw the stored table, otherwise `start`. Its `totalRowCount` is
    /// always that of `start`.
    package func earliest(from start: StoredSession) throws -> StoredSession {
        isPublished ? try stored : lastPublished ?? start
    }

    /// Whether it is back at what clients saw at this revision.
    package func reaches(_ revision: Int) -> Bool { isPublished && session.summary.revision <= revision }

    /// `nil` if the records do not lead back to it.
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

/// Sections by number and rows by key, so that changes can be applied.
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

    /// A null id: there was no section when the row was published.
    package mutating func setSection(from columns: some StoredColumns, number: Int) throws {
        sections[number] = columns.isNull(1) ? nil : try StoredSectionSummary(columns, number: number)
    }

    /// A null section: there was no row.
    package mutating func setRow(from columns: some StoredColumns, key: Int) throws {
        rows[key] = try columns.optionalNumber(1, .key, "section").map { ($0, try StoredRow(columns, key: key)) }
    }

    /// By ordinal, with rows by rank. The session's number is for messages.
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

extension StoredRow: JSONWritable {
    public func write(to writer: inout JSONWriter) { write(to: &writer, section: nil) }

    /// `[key, rank, id or null, model]`, and the section's number if given.
    func write(to writer: inout JSONWriter, section: Int?) {
        writer.array {
            $0.value(key)
            $0.value(rank)
            $0.value(id)
            $0.value(model)
            if let section { $0.value(section) }
        }
    }

    /// Throws `corrupt`.
    package static func read(_ json: JSONText) throws -> (section: Int?, row: StoredRow) {
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
    /// `header`, `footer` and `prefetched` only if set.
    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("number", number)
        writer.member("ordinal", ordinal)
        writer.member("id", id)
        writer.member("header", header)
        writer.member("footer", footer)
        writer.member("prefetched", prefetched)
    }

    /// Throws `corrupt`.
    package init(stored json: JSONText) throws {
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

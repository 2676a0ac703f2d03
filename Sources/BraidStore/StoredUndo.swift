import BraidEngine

/// The undo record of a revision: the changes that lead a stored session back to the revision before it.
///
/// The journal stores an undo record with each of its records, so that a session can be restored at any revision that
/// the journal reaches.
public struct StoredUndo: Sendable {
    /// The changes that restore the rows, sections, state and everything else of the previous revision.
    public var change: TableChange
    /// The table description to which the session was bound at the previous revision. `nil` if the revision of this
    /// record did not change the binding.
    public var binding: StoredBinding?
    /// The time of the previous revision, in milliseconds since 1970.
    public var updated: Int
    /// The key of the session's next new row, as it was at the previous revision.
    public var nextKey: Int
    /// The number of the session's next new section, as it was at the previous revision.
    public var nextSection: Int
    /// Whether all stored changes were published at the previous revision, so that clients saw the stored table.
    public var isPublished: Bool

    public init(
        change: TableChange, binding: StoredBinding? = nil, updated: Int, nextKey: Int, nextSection: Int,
        isPublished: Bool
    ) {
        self.change = change
        self.binding = binding
        self.updated = updated
        self.nextKey = nextKey
        self.nextSection = nextSection
        self.isPublished = isPublished
    }

    /// The undo record as JSON. The JSON always has the members `updated`, `nextKey` and `nextSection`. It has other
    /// members only for values that the revision changed, and `unpublished` if changes were unpublished before it.
    public var json: JSONText {
        .object {
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
            $0.member("state", change.state)
            $0.member("displayedSections", change.displayedSections)
            $0.member("cells", change.cells)
            if let binding {
                $0.object("table") {
                    $0.member("name", binding.table)
                    $0.member("version", binding.version)
                    $0.member("description", binding.description)
                }
            }
        }
    }

    /// Decodes an undo record from the JSON that the property ``json`` returns. Throws `corrupt` for JSON that the
    /// initializer cannot decode.
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
        binding = try json["table"].map { table in
            guard let name = table["name"]?.stringValue, let description = table["description"] else {
                throw StoreError.corrupt("a stored binding is not one")
            }
            return StoredBinding(
                table: name, version: try table["version"]?.stored(.version), description: description.detached)
        }
    }
}

/// Takes a stored session back to earlier revisions, by applying the undo records of its journal one after the other,
/// the latest one first.
package struct SessionRewind {
    /// The session at the revision reached so far, except its `sections`, which are outdated. The property `content`
    /// contains the sections at this revision.
    private var session: StoredSession
    private var content: StoredContent
    /// The session's published table, if every revision so far had unpublished changes. At all these revisions, clients
    /// saw this published table. Otherwise `nil`.
    private var published: PublishedTable?
    private var isPublished: Bool
    /// The session at the earliest revision so far at which clients saw the stored table. This property is set when the
    /// revision before has unpublished changes: at that revision, clients saw an older table, which the journal does
    /// not contain.
    private var lastPublished: StoredSession?

    package init(_ session: StoredSession) {
        self.session = session
        content = StoredContent(session.sections)
        published = session.published
        isPublished = session.published == nil
    }

    /// Takes the stored session back by one revision, with that revision's undo record.
    package mutating func apply(_ undo: StoredUndo) throws {
        guard session.facts.revision > 0 else { throw StoreError.corrupt("the journal goes beyond the session") }
        if isPublished, !undo.isPublished { lastPublished = try stored }
        isPublished = undo.isPublished
        if isPublished { published = nil }
        content.apply(undo.change)
        if let state = undo.change.state { session.state = state }
        if let displayed = undo.change.displayedSections {
            session.displayedSections = displayed.isNull ? nil : displayed
        }
        if let cells = undo.change.cells { session.cells = cells }
        if let binding = undo.binding {
            session.facts.tableVersion = binding.version
            session.description = binding.description
        }
        session.facts.revision -= 1
        session.facts.updated = undo.updated
        session.nextKey = undo.nextKey
        session.nextSection = undo.nextSection
        session.published = nil
    }

    /// Returns the session at the earliest restored revision at which clients saw the stored table. Returns `start` if
    /// clients saw an older table at all restored revisions.
    ///
    /// The result's `totalRowCount` is that of `start`.
    package func earliest(from start: StoredSession) throws -> StoredSession {
        isPublished ? try stored : lastPublished ?? start
    }

    /// Whether the session is rewound far enough to contain the table that clients saw at the given revision.
    package func reaches(_ revision: Int) -> Bool { isPublished && session.facts.revision <= revision }

    /// Returns the session with the table that clients saw at a revision. In the result, no change is unpublished.
    /// Returns `nil` if the undo records that were applied do not lead back to this table.
    package func seen(at revision: Int) throws -> StoredSession? {
        var seen: StoredSession
        if reaches(revision) {
            seen = try stored
        } else if let published, session.facts.revision <= revision {
            seen = session
            seen.sections = published.sections
            seen.displayedSections = published.displayedSections
            seen.facts.updated = published.updated
            seen.published = nil
        } else {
            return nil
        }
        seen.facts.revision = revision
        return seen
    }

    private var stored: StoredSession {
        get throws {
            var session = session
            session.sections = try content.sorted(session.facts.number)
            return session
        }
    }
}

/// The sections and rows of a session in dictionaries, so that changes can be applied to them. The keys are the
/// sections' numbers and the rows' keys.
package struct StoredContent {
    package var sections: [Int: StoredSectionSummary]
    package var rows: [Int: (section: Int, row: StoredRow)] = [:]

    package init(_ sorted: [(facts: StoredSectionSummary, rows: [StoredRow])]) {
        sections = Dictionary(uniqueKeysWithValues: sorted.map { ($0.facts.number, $0.facts) })
        rows.reserveCapacity(sorted.reduce(0) { $0 + $1.rows.count })
        for (facts, stored) in sorted { for row in stored { rows[row.key] = (facts.number, row) } }
    }

    /// Applies the changes of rows and sections in `change`.
    mutating func apply(_ change: TableChange) {
        for key in change.removedRows { rows[key] = nil }
        for (section, row) in change.writtenRows { rows[row.key] = (section, row) }
        for (section, key, rank) in change.placedRows {
            rows[key]?.row.rank = rank
            rows[key]?.section = section
        }
        for number in change.removedSections { sections[number] = nil }
        for facts in change.writtenSections { sections[facts.number] = facts }
    }

    /// Returns the session's sections by ascending ordinal, each with its rows by ascending rank.
    package func sorted(_ session: Int) throws -> [(facts: StoredSectionSummary, rows: [StoredRow])] {
        var bySection: [Int: [StoredRow]] = [:]
        for (section, row) in rows.values {
            guard sections[section] != nil else {
                throw StoreError.corrupt("session \(session) has rows of a section that it has not")
            }
            bySection[section, default: []].append(row)
        }
        return sections.values.sorted { $0.ordinal < $1.ordinal }.map { facts in
            (facts, (bySection[facts.number] ?? []).sorted { $0.rank < $1.rank })
        }
    }
}

// The JSON form of rows and sections in undo records and checkpoints.

extension StoredRow: JSONWritable {
    public func write(to writer: inout JSONWriter) { write(to: &writer, section: nil) }

    /// Writes the row as a JSON array `[key, rank, id or null, model]`. If `section` is given, this number of the row's
    /// section follows as a fifth element.
    func write(to writer: inout JSONWriter, section: Int?) {
        writer.array {
            $0.value(key)
            $0.value(rank)
            $0.value(id)
            $0.value(model)
            if let section { $0.value(section) }
        }
    }

    /// Decodes a row from the JSON array that `write` writes. Throws `corrupt` for any other JSON.
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
    /// Writes the section as members of a JSON object: `number`, `ordinal` and `id`, and those of `header`, `footer`
    /// and `prefetched` that are set.
    public func writeMembers(to writer: inout JSONWriter) {
        writer.member("number", number)
        writer.member("ordinal", ordinal)
        writer.member("id", id)
        writer.member("header", header)
        writer.member("footer", footer)
        writer.member("prefetched", prefetched)
    }

    /// Decodes a section from a JSON object with the members that `writeMembers` writes. Throws `corrupt` if `number`,
    /// `ordinal` or `id` is missing or malformed.
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

/// What an update removed from the display, in the journal as `{"sections": [{"at": index, "id": …, "rows": [id or
/// null]}], "rows": [{"at": [section, row], "id"?: …}]}`. Indexes are those before the update.
struct HiddenRows: Sendable {
    struct HiddenSection: Sendable {
        var index: Int
        var id: SectionID
        var rows: [RowID?]
    }

    var sections: [HiddenSection] = []
    /// Deleted rows with ids; and rows without ids in whose place another model is displayed afterwards.
    var rows: [RowPath: RowID?] = [:]

    init() {}

    init(_ json: JSONText) {
        sections = (json["sections"]?.elements() ?? []).compactMap { section in
            guard let index = section["at"]?.intValue, let id = section["id"]?.stringValue else { return nil }
            return HiddenSection(
                index: index, id: SectionID(id),
                rows: (section["rows"]?.elements() ?? []).map { $0.stringValue.map { RowID($0) } })
        }
        for row in json["rows"]?.elements() ?? [] {
            guard let at = row["at"]?.elements(), at.count == 2, let section = at[0].intValue,
                let index = at[1].intValue
            else { continue }
            // `rows[…] = nil` would remove a row without id.
            rows.updateValue(row["id"]?.stringValue.map { RowID($0) }, forKey: RowPath(section: section, row: index))
        }
    }

    /// `nil` if the journal does not know it.
    func id(at path: RowPath) -> RowID? {
        if let id = rows[path] { return id }
        guard let section = sections.first(where: { $0.index == path.section }), section.rows.indices.contains(path.row)
        else { return nil }
        return section.rows[path.row]
    }

    func places(of id: RowID) -> [RowPath] {
        var places = rows.filter { $0.value == id }.map(\.key)
        for section in sections {
            if let row = section.rows.firstIndex(of: id) { places.append(RowPath(section: section.index, row: row)) }
        }
        return places
    }
}

extension BatchUpdate {
    /// For the journal, so that ``RowHistory`` recognizes what is displayed again. `before` is what the update is
    /// applied to. `nil` if it hides nothing. O(n log n) for n operations, and O(rows of
    /// deleted and reloaded sections).
    public func hidden(in before: Snapshot) -> JSONText? {
        let (sections, rows) = hiddenPlaces(in: before)
        guard !sections.isEmpty || !rows.isEmpty else { return nil }
        return .object {
            $0.array("sections", of: sections) { writer, index in
                let section = before.sections[index]
                writer.object {
                    $0.member("at", index)
                    $0.member("id", section.id)
                    $0.array("rows", of: section.rows) { $0.value($1.id) }
                }
            }
            $0.array("rows", of: rows) { writer, hidden in
                writer.object {
                    $0.member("at", hidden.at)
                    $0.member("id", hidden.row?.id)
                }
            }
        }
    }

    /// Bytes of ``hidden(in:)``, roughly. O(operations, and rows of deleted and reloaded sections).
    func hiddenSize(in before: Snapshot) -> Int {
        // Otherwise the JSON contains no ids, and is short.
        let hides = stages.contains {
            !$0.deleteRows.isEmpty || !$0.deleteSections.isEmpty || !$0.reloadSections.isEmpty
        }
        guard hides else { return 0 }
        let (sections, rows) = hiddenPlaces(in: before)
        var size = 64
        for index in sections {
            let section = before.sections[index]
            size += 64 + section.id.text.utf8.count
            section.rows.forEach(in: 0..<section.rows.count) { _, row in size += row.content.idSize + 5 }
        }
        for (_, row) in rows { size += 64 + (row?.content.idSize ?? 0) }
        return size
    }

    /// Indexes before the update. Rows without ids are `nil`.
    private func hiddenPlaces(in before: Snapshot) -> (sections: [Int], rows: [(at: RowPath, row: Row?)]) {
        var sections: [Int] = []
        var rows: [(at: RowPath, row: Row?)] = []
        for (number, stage) in stages.enumerated() {
            // What came in an earlier stage has no place before the update.
            let origins = RowFollower(back: stages.prefix(number))
            func row(_ path: RowPath) -> (at: RowPath, row: Row)? {
                guard let origin = origins.following(path), before.sections.indices.contains(origin.section),
                    before.sections[origin.section].rows.indices.contains(origin.row)
                else { return nil }
                return (origin, before.sections[origin.section].rows[origin.row])
            }
            for path in stage.deleteRows { if let (at, row) = row(path), row.content.hasID { rows.append((at, row)) } }
            for update in stage.updateRows + stage.reloadRows where !update.row.content.hasID {
                if let (at, row) = row(update.at),
                    row.model != update.row.model || row.model == nil && !row.looksSame(as: update.row)
                {
                    rows.append((at, nil))
                }
            }
            sections += (stage.deleteSections + stage.reloadSections.map(\.at)).compactMap(origins.followingSection)
                .filter(before.sections.indices.contains)
        }
        return (sections, rows)
    }
}

extension BatchUpdate.Stage {
    /// From after the stage to before it. Deleted sections get `nil` and 0, reloaded ones keep their counts, perhaps
    /// wrong: the journal's `HiddenRows` corrects both.
    func undo(in sections: inout [SectionID?], counts: inout [Int]) {
        func count(_ paths: some Sequence<RowPath>, _ difference: Int) {
            for path in paths where counts.indices.contains(path.section) { counts[path.section] += difference }
        }
        count(insertRows.lazy.map(\.at), -1)
        count(moveRows.lazy.map(\.to), -1)
        if !deleteSections.isEmpty || !insertSections.isEmpty || !moveSections.isEmpty {
            // Flattens an optional of an optional.
            sections = sectionsBefore(sections).map { $0 ?? nil }
            counts = sectionsBefore(counts).map { $0 ?? 0 }
        }
        count(deleteRows, 1)
        count(moveRows.lazy.map(\.from), 1)
    }

    private func sectionsBefore<Known>(_ after: [Known]) -> [Known?] {
        let arrivals = Set(insertSections.map(\.at) + moveSections.map(\.to))
        var staying = after.indices.lazy.filter { !arrivals.contains($0) }.map { after[$0] }.makeIterator()
        let gone = Set(deleteSections),
            targets = Dictionary(moveSections.map { ($0.from, $0.to) }) { first, _ in first }
        return (0..<max(0, after.count - insertSections.count + deleteSections.count)).map { index in
            if gone.contains(index) { return nil }
            if let target = targets[index] { return after.indices.contains(target) ? after[target] : nil }
            return staying.next()
        }
    }
}

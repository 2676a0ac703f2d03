/// What became of the displayed rows since an earlier revision: finds the rows that a client means who has not yet seen
/// what came after it.
///
/// Index paths are followed through the updates, one after the other: through deletes, inserts, moves, and sections that
/// come, go and move. Of rows that went out of sight the journal keeps the ids, so that a row is found again where it
/// comes back, unless two rows with its id come at once.
public struct RowHistory: Sendable {
    private struct Step: Sendable {
        var update: BatchUpdate
        var hidden: Hidden
    }

    private let steps: [Step]
    private let now: Snapshot
    /// The sections that were displayed at the earlier revision, as far as they are known.
    private let sectionsThen: [SectionID?]

    /// The updates since the earlier revision in order, each with what it hid (`BatchUpdate.hidden(in:)`), and the
    /// snapshot that the last one led to. O(operations).
    public init(_ updates: [(update: JSONText, hidden: JSONText?)], now: Snapshot) throws(Refusal) {
        var steps: [Step] = []
        for (update, hidden) in updates {
            steps.append(Step(update: try BatchUpdate(json: update), hidden: hidden.map { Hidden($0) } ?? Hidden()))
        }
        self.steps = steps
        self.now = now
        var sections: [SectionID?] = now.sections.map(\.id)
        for step in steps.reversed() {
            for (number, stage) in step.update.stages.enumerated().reversed() {
                sections = stage.sectionsBefore(sections, hidden: number == 0 ? step.hidden.sections : [])
            }
        }
        sectionsThen = sections
    }

    /// The command with its references to rows and sections as they are now. `at` is where the row stands that it is about.
    ///
    /// Throws `rowGone` for a row, or a section, that is displayed no longer.
    public func present(_ command: Command) throws(Refusal) -> (command: Command, at: IndexPath?) {
        switch command {
        case .delete(let row):
            let at = try displayed(row)
            return (.delete(RowReference(at)), at)
        case .insert(let row, let model):
            let at = try displayed(row, orEnd: true)
            return (.insert(RowReference(at), model: model), at)
        case .tap(let row):
            let at = try displayed(row)
            return (.tap(RowReference(at)), at)
        case .event(let row, let name, let parameters):
            let at = try displayed(row)
            return (.event(RowReference(at), name: name, parameters: parameters), at)
        case .move(let row, let section, let index):
            let at = try displayed(row)
            let target = try target(section, index, of: row, at: at)
            return (.move(RowReference(at), to: .displayed(target.section), row: target.row), at)
        case .dataSource(let call, let notify):
            let (call, at) = try present(call)
            return (.dataSource(call, notify: notify), at)
        default: return (command, nil)
        }
    }

    /// Where the row is displayed now that a command is about. What is out of bounds was so then, by the number that the client gave.
    private func displayed(_ reference: RowReference, orEnd: Bool = false) throws(Refusal) -> IndexPath {
        guard case .at(let section, let row) = reference else { return try present(reference) }
        let then = try place(section)
        guard sectionsThen.indices.contains(then) else {
            throw Refusal(.rowNotFound, "\(sectionsThen.count) sections were displayed at the base, counted from 0: there was no section \(then).")
        }
        let at = try present(reference)
        guard now.sections.indices.contains(at.section) else { throw .gone(reference) }
        let count = now.sections[at.section].rows.count
        guard (0..<count + (orEnd ? 1 : 0)).contains(at.row) else {
            throw Refusal(.rowNotFound, "The section \"\(now.sections[at.section].id)\" had no row \(row) at the base.")
        }
        return at
    }

    /// Where the row is displayed now.
    private func present(_ reference: RowReference) throws(Refusal) -> IndexPath {
        switch reference {
        case .at(let section, let row):
            // No section has so many rows: it is out of bounds then and now.
            guard row < RowPieces.endless else { return IndexPath(section: try present(section), row: row) }
            guard let place = trace(IndexPath(section: try place(section), row: row)) else { throw .gone(reference) }
            return place
        case .id(let id, let section):
            // An id says by itself which row it is.
            var found: [IndexPath] = []
            let only = try section.map { section throws(Refusal) in try present(section) }
            for (index, section) in now.sections.enumerated() where only == nil || only == index {
                if let row = section.rows.indexes(of: id).first { found.append(IndexPath(section: index, row: row)) }
            }
            guard let first = found.first else { throw .gone(reference) }
            guard found.count == 1 else {
                throw Refusal(.ambiguousRow, "Several displayed sections have a row with the id \"\(id)\": name the section as well.")
            }
            return first
        }
    }

    /// The displayed index that a section had then.
    private func place(_ section: SectionReference) throws(Refusal) -> Int {
        switch section {
        case .displayed(let index): return index
        case .id(let id):
            guard let index = sectionsThen.firstIndex(of: id) else { throw .noDisplayedSection(id) }
            return index
        }
    }

    /// The displayed index that a section has now.
    private func present(_ section: SectionReference) throws(Refusal) -> Int {
        let index = try place(section)
        if sectionsThen.indices.contains(index), let id = sectionsThen[index] {
            guard let index = now.sections.firstIndex(where: { $0.id == id }) else { throw .noDisplayedSection(id) }
            return index
        }
        var place: Int? = index
        for step in steps { place = place.flatMap { step.update.followingSection($0) } }
        guard let place else { throw Refusal(.rowGone, "The section \(index) is not displayed any more.") }
        return place
    }

    private func trace(_ path: IndexPath) -> IndexPath? {
        var place: IndexPath? = path, id: RowID?
        for step in steps {
            if let hidden = place.flatMap({ step.hidden.id(at: $0) }) { id = hidden }
            place = switch place {
            case let path?: step.update.following(path, id: id)
            case nil: id.flatMap { step.update.arrival(of: $0) }
            }
        }
        return place
    }

    /// Where the row that stands there now stood then, `trace` backwards; nil: it has come since.
    private func origin(of path: IndexPath, _ id: RowID) -> IndexPath? {
        var place: IndexPath? = path
        for step in steps.reversed() { place = place.flatMap { step.update.preceding($0) } ?? step.hidden.place(of: id) }
        return place
    }

    /// The place that the row is to be moved to: before the row that it was to stand before, or, if that one is gone, behind
    /// the one that it was to stand behind; what was to stand at the section's end stands at its end now.
    ///
    /// How many rows the section had is not known here; but what would have stood behind its end leads behind its end.
    private func target(_ section: SectionReference, _ row: Int, of moved: RowReference, at: IndexPath) throws(Refusal) -> IndexPath {
        let then = try place(section), index = try present(section)
        guard now.sections.indices.contains(index) else { throw Refusal(.rowGone, "The section \(index) is not displayed any more.") }
        let id = now.sections[index].id, count = now.sections[index].rows.count
        guard (0..<RowPieces.endless).contains(row) else { throw .noRow(row, in: id, of: count) }
        let from: IndexPath? = switch moved {
        case .at(let section, let row): IndexPath(section: try place(section), row: row)
        case .id(let id, _): origin(of: at, id)
        }
        let source = from?.section == then ? from?.row : nil
        // `row` counts once the row has been taken out; the rows around it count before.
        let follower = source.map { row >= $0 ? row + 1 : row } ?? row
        var place = min(follower, count)
        if let next = trace(IndexPath(section: then, row: follower)), next.section == index {
            guard next.row <= count else { throw .noRow(row, in: id, of: count) }
            place = next.row
        } else {
            for candidate in (max(0, follower - Self.mostPredecessors)..<max(0, follower)).reversed() where candidate != source {
                guard let previous = trace(IndexPath(section: then, row: candidate)), previous.section == index else { continue }
                place = previous.row + 1
                break
            }
        }
        let isWithin = at.section == index
        if isWithin, at.row < place { place -= 1 }
        return IndexPath(section: index, row: max(0, min(place, count - (isWithin ? 1 : 0))))
    }

    /// How far back to look for a row that is still there.
    private static let mostPredecessors = 16
}

/// What an update took out of sight, as the journal keeps it: `{"sections": [{"at": index, "id": …, "rows": [id or
/// null]}], "rows": [{"at": [section, row], "id": …}]}`. Indices count in the table before the update.
struct Hidden: Sendable {
    struct HiddenSection: Sendable {
        var index: Int
        var id: SectionID
        var rows: [RowID?]
    }

    var sections: [HiddenSection] = []
    var rows: [IndexPath: RowID] = [:]

    init() {}

    init(_ json: JSONText) {
        sections = (json["sections"]?.elements() ?? []).compactMap { section in
            guard let index = section["at"]?.intValue, let id = section["id"]?.stringValue else { return nil }
            return HiddenSection(
                index: index, id: SectionID(id), rows: (section["rows"]?.elements() ?? []).map { $0.stringValue.map { RowID($0) } })
        }
        for row in json["rows"]?.elements() ?? [] {
            guard let at = row["at"]?.elements(), at.count == 2, let section = at[0].intValue, let index = at[1].intValue,
                let id = row["id"]?.stringValue
            else { continue }
            rows[IndexPath(section: section, row: index)] = RowID(id)
        }
    }

    /// The id of the row that stood there, if it is known.
    func id(at path: IndexPath) -> RowID? {
        if let id = rows[path] { return id }
        guard let section = sections.first(where: { $0.index == path.section }), section.rows.indices.contains(path.row) else { return nil }
        return section.rows[path.row]
    }
}

extension Hidden {
    /// Where the row stood; nil where that is not known, or where several with its id were hidden. O(rows).
    fileprivate func place(of id: RowID) -> IndexPath? {
        var places = rows.filter { $0.value == id }.map(\.key)
        for section in sections { if let row = section.rows.firstIndex(of: id) { places.append(IndexPath(section: section.index, row: row)) } }
        return places.count == 1 ? places[0] : nil
    }
}

extension BatchUpdate {
    /// What this update takes out of sight, so that it is known again when it comes back; nil for nothing. `before` is
    /// the snapshot that it leads on from. O(operations, and rows of the sections that went).
    public func hidden(in before: Snapshot) -> JSONText? {
        let sections = (stages.first?.deleteSections ?? []).filter { before.sections.indices.contains($0) }
        var rows: [(at: IndexPath, id: RowID)] = []
        // Where the sections of a stage were before the first: rows do not change section before they go.
        var origins: [Int?] = Array(before.sections.indices)
        for stage in stages {
            func note(_ section: Int, _ row: Int) {
                guard origins.indices.contains(section), let origin = origins[section], before.sections[origin].rows.indices.contains(row),
                    let id = before.sections[origin].rows[row].id
                else { return }
                rows.append((IndexPath(section: origin, row: row), id))
            }
            for path in stage.deleteRows { note(path.section, path.row) }
            for (section, _) in stage.reloadSections where origins.indices.contains(section) {
                for row in origins[section].map({ before.sections[$0].rows.indices }) ?? 0..<0 { note(section, row) }
            }
            if stages.count > 1 { origins = stage.sectionsAfter(origins) }
        }
        guard !sections.isEmpty || !rows.isEmpty else { return nil }
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("sections")
        writer.beginArray()
        for index in sections {
            writer.beginObject()
            writer.name("at")
            writer.value(index)
            writer.name("id")
            writer.value(before.sections[index].id.text)
            writer.name("rows")
            writer.beginArray()
            for row in before.sections[index].rows { if let id = row.id { writer.value(id.text) } else { writer.value(JSONText.null) } }
            writer.endArray()
            writer.endObject()
        }
        writer.endArray()
        writer.name("rows")
        writer.beginArray()
        for (path, id) in rows {
            writer.beginObject()
            writer.name("at")
            writer.value(path)
            writer.name("id")
            writer.value(id.text)
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
        return writer.text
    }
}

extension BatchUpdate.Stage {
    /// What is known of each section after the stage, from what is known of those before it; nil for one that came.
    fileprivate func sectionsAfter<Known>(_ before: [Known?]) -> [Known?] {
        let leaving = Set(deleteSections + moveSections.map(\.from))
        var staying = before.indices.lazy.filter { !leaving.contains($0) }.map { before[$0] }.makeIterator()
        let sources = Dictionary(moveSections.map { ($0.to, $0.from) }) { first, _ in first }
        let arrivals = Set(insertSections.map(\.at))
        return (0..<max(0, before.count - deleteSections.count + insertSections.count)).map { index in
            if arrivals.contains(index) { return nil }
            if let source = sources[index] { return before.indices.contains(source) ? before[source] : nil }
            return staying.next() ?? nil
        }
    }

    /// The ids of the sections before the stage, from those after it; nil for one that is not known.
    fileprivate func sectionsBefore(_ after: [SectionID?], hidden: [Hidden.HiddenSection]) -> [SectionID?] {
        let arrivals = Set(insertSections.map(\.at) + moveSections.map(\.to))
        var staying = after.indices.lazy.filter { !arrivals.contains($0) }.map { after[$0] }.makeIterator()
        let count = after.count - insertSections.count + deleteSections.count
        let gone = Set(deleteSections), targets = Dictionary(moveSections.map { ($0.from, $0.to) }) { first, _ in first }
        let ids = Dictionary(hidden.map { ($0.index, $0.id) }) { first, _ in first }
        return (0..<max(0, count)).map { index in
            if gone.contains(index) { return ids[index] }
            if let target = targets[index] { return after.indices.contains(target) ? after[target] : nil }
            return staying.next() ?? nil
        }
    }
}

extension Refusal {
    fileprivate static func gone(_ reference: RowReference) -> Refusal {
        let name = switch reference {
        case .id(let id, _): "with the id \"\(id)\""
        case .at(.displayed(let section), let row): "[\(section),\(row)]"
        case .at(.id(let section), let row): "\(row) of the section \"\(section)\""
        }
        return Refusal(.rowGone, "The row \(name) is not displayed any more.")
    }

    fileprivate static func noDisplayedSection(_ id: SectionID) -> Refusal {
        Refusal(.rowGone, "The section \"\(id)\" is not displayed any more.")
    }
}

// Calls to the data source. What is out of bounds then stays out of bounds.
extension RowHistory {
    /// `at`: where the row, or the section's first row, stands that the call is about.
    private func present(_ call: DataSourceCommand) throws(Refusal) -> (call: DataSourceCommand, at: IndexPath?) {
        switch call {
        case .addRow(let model, let path):
            let at = try present(path)
            // A section too high makes a new one; a row too high is the section's last.
            guard now.sections.indices.contains(at.section) else { return (.addRow(model, at: at), nil) }
            return (.addRow(model, at: at), IndexPath(section: at.section, row: min(at.row, now.sections[at.section].rows.count)))
        case .updateRow(let model, let path):
            let at = try present(path)
            return (.updateRow(model, at: at), displayed(at))
        case .removeRow(let path):
            let at = try present(path)
            return (.removeRow(at: at), displayed(at))
        case .updateRows(let rows):
            var present: [(at: IndexPath, model: JSONText)] = []
            for (path, model) in rows { present.append((try self.present(path), model)) }
            return (.updateRows(present), nil)
        case .updateRowsOfSection(let rows, let section): return (.updateRowsOfSection(rows, at: try presentSection(section)), nil)
        case .updateSectionData(let header, let footer, let section):
            return (.updateSectionData(header: header, footer: footer, at: try presentSection(section)), nil)
        case .updateSection(let content, let section): return (.updateSection(content, at: try presentSection(section)), nil)
        case .removeSection(let section): return (.removeSection(at: try presentSection(section)), nil)
        case .addSection(let content, let section?): return (.addSection(content, at: try presentSection(section)), nil)
        case .addSection, .updateAllSections, .removeAllSections, .registerCell: return (call, nil)
        }
    }

    private func present(_ path: IndexPath) throws(Refusal) -> IndexPath {
        guard sectionsThen.indices.contains(path.section) else { return IndexPath(section: outOfBounds(path.section), row: path.row) }
        return try present(.at(.displayed(path.section), row: path.row))
    }

    private func presentSection(_ index: Int) throws(Refusal) -> Int {
        sectionsThen.indices.contains(index) ? try present(.displayed(index)) : outOfBounds(index)
    }

    /// The index of a section that was not there then: its own, unless another section stands there by now.
    private func outOfBounds(_ section: Int) -> Int { max(section, now.sections.count) }

    /// The row that stands there; nil where none does: the call is ignored.
    private func displayed(_ path: IndexPath) -> IndexPath? {
        now.sections.indices.contains(path.section) && now.sections[path.section].rows.indices.contains(path.row) ? path : nil
    }
}

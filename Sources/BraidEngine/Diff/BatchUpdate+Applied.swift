/// Why an update cannot be applied or composed: a table view would crash, or it breaks a rule of the wire format.
public struct InvalidUpdate: Error, Sendable, Equatable, CustomStringConvertible {
    /// The faulty one, from 0; `nil` if the fault is in none.
    public var stage: Int?
    /// Part of a sentence for a developer.
    public var detail: String

    public var description: String { stage.map { "stage \($0): \(detail)" } ?? detail }
}

extension BatchUpdate {
    /// What a view needs for one `performBatchUpdates`.
    public struct Step: Sendable {
        /// Its operations.
        public let stage: Stage
        /// Displayed before it.
        public let before: [Section]
        /// What the data source returns while the view performs it.
        public let after: [Section]
    }
    /// Each stage with the sections before and after it, for views. Throws as ``applied(to:)``, except for a wrong
    /// ``totalRowCount``. O(sections, and rows of the changed sections).
    public func steps(from snapshot: Snapshot) throws(InvalidUpdate) -> [Step] {
        guard snapshot.revision == from else {
            throw InvalidUpdate(
                detail: "the update leads on from revision \(from), the snapshot is of revision \(snapshot.revision)")
        }
        var steps: [Step] = [], sections = Array(snapshot.sections)
        for (number, stage) in stages.enumerated() {
            do {
                let after = try StageApplication(stage, sections).sections()
                steps.append(Step(stage: stage, before: sections, after: after))
                sections = after
            } catch {
                throw InvalidUpdate(stage: number, detail: error.detail)
            }
        }
        return steps
    }

    /// Applies the update; the reference for how clients do.
    ///
    /// ```swift
    /// let update = try BatchUpdate(from: old, to: new)
    /// let result = try update.applied(to: old)  // shows what `new` does
    /// ```
    ///
    /// - Throws: ``InvalidUpdate`` where a table view would crash, or a rule of the wire format is broken:
    ///   - an index out of bounds or named twice,
    ///   - a row operation in a section that the same stage deletes, inserts, moves or reloads,
    ///   - reloads in one stage with moves,
    ///   - a stage without operations, or an update of a section that changes nothing,
    ///   - a row or section that changes its id,
    ///   - a wrong revision or ``totalRowCount``.
    /// - Complexity: O(sections, and rows of the changed sections).
    public func applied(to snapshot: Snapshot) throws(InvalidUpdate) -> Snapshot {
        let sections = try steps(from: snapshot).last?.after ?? Array(snapshot.sections)
        let result = Snapshot(
            revision: to, sections: sections, state: state ?? snapshot.state,
            empty: empty.map { $0.isNull ? nil : $0 } ?? snapshot.empty)
        guard result.totalRowCount == totalRowCount else {
            throw InvalidUpdate(
                detail: "`totalRowCount` is \(totalRowCount), but there are \(result.totalRowCount) rows")
        }
        return result
    }
}

private struct StageApplication {
    private let stage: BatchUpdate.Stage
    private let before: [Section]
    /// One for each section before the stage; `origins` has one for each after it.
    private var fates: [Fate]
    private var origins: [Origin]

    private enum Fate: Equatable { case stays, deleted, reloaded, updated, moved }
    private enum Origin { case stayed(Int), moved(Int), inserted(Section) }

    init(_ stage: BatchUpdate.Stage, _ sections: [Section]) throws(InvalidUpdate) {
        self.stage = stage
        before = sections
        fates = Array(repeating: .stays, count: sections.count)
        origins = []
        if stage.isEmpty { throw InvalidUpdate(detail: "it has no operations") }
        let reloads = stage.reloadSections.count + stage.reloadRows.count,
            moves = stage.moveSections.count + stage.moveRows.count
        if reloads > 0, moves > 0 { throw InvalidUpdate(detail: "reloads and moves share it") }
        try findFates()
        try findOrigins()
    }

    private mutating func findFates() throws(InvalidUpdate) {
        for section in stage.deleteSections { try settle(section, .deleted) }
        for (section, _) in stage.moveSections { try settle(section, .moved) }
        for (section, _) in stage.reloadSections { try settle(section, .reloaded) }
        for update in stage.updateSections {
            try settle(update.at, .updated)
            if update.isEmpty {
                throw InvalidUpdate(detail: "the update of section \(update.at) changes nothing")
            }
        }
    }

    private mutating func settle(_ section: Int, _ fate: Fate) throws(InvalidUpdate) {
        guard fates.indices.contains(section) else {
            throw InvalidUpdate(
                detail: "section \(section) cannot be \(fate): there are \(before.count) sections before the stage")
        }
        guard fates[section] == .stays else {
            throw InvalidUpdate(detail: "section \(section) is both \(fates[section]) and \(fate)")
        }
        fates[section] = fate
    }

    private mutating func findOrigins() throws(InvalidUpdate) {
        let count = before.count - stage.deleteSections.count + stage.insertSections.count
        var places: [Origin?] = Array(repeating: nil, count: count)
        func place(_ section: Int, _ origin: Origin) throws(InvalidUpdate) {
            guard places.indices.contains(section) else {
                throw InvalidUpdate(
                    detail: "no section can come to \(section): there are \(count) sections after the stage")
            }
            guard places[section] == nil else { throw InvalidUpdate(detail: "two sections come to \(section)") }
            places[section] = origin
        }
        for (at, section) in stage.insertSections { try place(at, .inserted(section)) }
        for (from, to) in stage.moveSections { try place(to, .moved(from)) }
        var others = before.indices.filter { fates[$0] != .deleted && fates[$0] != .moved }[...]
        for index in places.indices where places[index] == nil { places[index] = others.popFirst().map { .stayed($0) } }
        origins = places.compactMap { $0 }
    }

    func sections() throws(InvalidUpdate) -> [Section] {
        var rows: [Int: ContiguousArray<Row?>] = [:]
        try takeRows(from: &rows)
        let arrivals = try arrivals()
        var reloaded: [Int: Section] = [:], updated: [Int: BatchUpdate.SectionUpdate] = [:]
        for (at, section) in stage.reloadSections { reloaded[at] = section }
        for update in stage.updateSections { updated[update.at] = update }

        var after: [Section] = []
        for (index, origin) in origins.enumerated() {
            switch origin {
            case .inserted(let section): after.append(section)
            case .moved(let old): after.append(before[old])
            case .stayed(let old):
                if let section = reloaded[old] {
                    guard section.id == before[old].id else {
                        throw InvalidUpdate(
                            detail: "section \(old), \"\(before[old].id)\", is reloaded as \"\(section.id)\"")
                    }
                    after.append(section)
                    continue
                }
                var section = before[old]
                if let update = updated[old] {
                    section.header = update.header ?? section.header
                    section.footer = update.footer ?? section.footer
                    if let movesTo = update.movesTo { section.movesTo = movesTo.isNull ? nil : movesTo }
                }
                if rows[old] != nil || arrivals[index] != nil {
                    section.rows = try Self.filled(
                        index, rows[old]?.compactMap { $0 } ?? Array(section.rows), arrivals[index] ?? [:])
                }
                after.append(section)
            }
        }
        return after
    }

    /// `rows` receives the rows of the sections concerned, by index before the stage; `nil` is where one left.
    private func takeRows(from rows: inout [Int: ContiguousArray<Row?>]) throws(InvalidUpdate) {
        var sources: Set<RowPath> = []
        func check(_ path: RowPath, _ what: String, _ replacement: Row?) throws(InvalidUpdate) {
            guard before.indices.contains(path.section), path.row >= 0, path.row < before[path.section].rows.count
            else {
                throw InvalidUpdate(detail: "there is no row \(path) to be \(what) before the stage")
            }
            guard sources.insert(path).inserted else {
                throw InvalidUpdate(detail: "the row \(path) is \(what) and the source of another operation")
            }
            let fate = fates[path.section]
            guard fate == .stays || fate == .updated else {
                throw InvalidUpdate(detail: "the row \(path) is \(what), but its section is \(fate) in the same stage")
            }
            let row = before[path.section].rows[path.row]
            if let replacement, replacement.id != row.id {
                throw InvalidUpdate(
                    detail: "the row \(path), \(row.json), is \(what) as another row, \(replacement.json)")
            }
        }
        func put(_ row: Row?, at path: RowPath) {
            rows[path.section, default: ContiguousArray(before[path.section].rows.lazy.map { $0 })][path.row] = row
        }
        for path in stage.deleteRows {
            try check(path, "deleted", nil)
            put(nil, at: path)
        }
        for move in stage.moveRows {
            try check(move.from, "moved", move.row)
            put(nil, at: move.from)
        }
        for change in stage.reloadRows {
            try check(change.at, "reloaded", change.row)
            put(change.row, at: change.at)
        }
        for change in stage.updateRows {
            try check(change.at, "updated", change.row)
            put(change.row, at: change.at)
        }
    }

    /// By section and index after the stage.
    private func arrivals() throws(InvalidUpdate) -> [Int: [Int: Row]] {
        var arrivals: [Int: [Int: Row]] = [:]
        func arrive(_ row: Row, _ path: RowPath) throws(InvalidUpdate) {
            guard origins.indices.contains(path.section) else {
                throw InvalidUpdate(
                    detail: "no row can come to \(path): there are \(origins.count) sections after the stage")
            }
            switch origins[path.section] {
            case .inserted:
                throw InvalidUpdate(detail: "a row comes to \(path), but its section is inserted in the same stage")
            case .moved:
                throw InvalidUpdate(detail: "a row comes to \(path), but its section is moved in the same stage")
            case .stayed(let old):
                if fates[old] == .reloaded {
                    throw InvalidUpdate(detail: "a row comes to \(path), but its section is reloaded in the same stage")
                }
            }
            guard arrivals[path.section, default: [:]].updateValue(row, forKey: path.row) == nil else {
                throw InvalidUpdate(detail: "two rows come to \(path)")
            }
        }
        for arrival in stage.insertRows { try arrive(arrival.row, arrival.at) }
        for move in stage.moveRows { try arrive(move.row ?? before[move.from.section].rows[move.from.row], move.to) }
        return arrivals
    }

    /// Arrivals at their indexes, the others in order around them.
    private static func filled(_ section: Int, _ stayed: [Row], _ arrivals: [Int: Row]) throws(InvalidUpdate)
        -> PersistentList<Row>
    {
        let count = stayed.count + arrivals.count
        if let row = arrivals.keys.filter({ $0 < 0 || $0 >= count }).min() {
            throw InvalidUpdate(
                detail:
                    "no row can come to \(RowPath(section: section, row: row)): the section has \(count) rows after the stage"
            )
        }
        var next = stayed.makeIterator()
        return PersistentList((0..<count).compactMap { arrivals[$0] ?? next.next() })
    }
}

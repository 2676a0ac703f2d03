/// An update of another revision, against the format, or one that would crash a table view.
public struct UpdateFault: Error, Sendable, Hashable, CustomStringConvertible {
    /// From 0; `nil` outside of stages.
    public var stage: Int?
    /// What is wrong, for developers.
    public var detail: String

    public var description: String { stage.map { "stage \($0): \(detail)" } ?? detail }
}

extension Update {
    /// One stage to animate. In a window, `rowCount` and `offset` are the old ones until ``Update/applied(to:)``.
    public struct Step: Sendable {
        /// The operations.
        public var stage: Stage
        /// The sections that it starts from.
        public var before: [Snapshot.Section]
        /// What a data source must return during the batch update.
        public var after: [Snapshot.Section]
    }

    /// The snapshot after the update, which must start at its revision. O(sections, and rows of changed ones).
    ///
    /// - Throws: ``UpdateFault`` if a table view would crash or a rule is broken: docs/http-api/following.md.
    public func applied(to snapshot: Snapshot) throws(UpdateFault) -> Snapshot {
        guard snapshot.revision == from else {
            throw UpdateFault(
                detail: "the update leads on from revision \(from), the snapshot is of revision \(snapshot.revision)")
        }
        var result = snapshot
        result.sections = try steps(from: snapshot).last?.after ?? snapshot.sections
        result.revision = to
        result.totalRowCount = totalRowCount
        result.state = state ?? snapshot.state
        if let empty { result.empty = empty.isNull ? nil : empty }
        if let place = snapshot.window {
            result.window = window ?? place
            try setExtents(of: &result.sections)
        } else {
            let count = result.sections.reduce(0) { $0 + $1.rows.count }
            guard count == totalRowCount else {
                throw UpdateFault(detail: "`totalRowCount` is \(totalRowCount), but there are \(count) rows")
            }
        }
        return result
    }

    /// Sets the sections' new offsets and counts. Throws unless the window's rows are then consecutive in the table.
    private func setExtents(of sections: inout [Snapshot.Section]) throws(UpdateFault) {
        for extent in extents ?? [] {
            guard sections.indices.contains(extent.section) else {
                throw UpdateFault(
                    detail: "`extents` names section \(extent.section), but the window has \(sections.count)")
            }
            sections[extent.section].offset = extent.offset
            sections[extent.section].rowCount = extent.rowCount
        }
        for (index, section) in sections.enumerated() {
            let start = section.offset ?? 0, end = start + section.rows.count
            guard start >= 0, index == 0 || start == 0, end <= section.rowCount,
                index == sections.count - 1 || end == section.rowCount
            else {
                throw UpdateFault(
                    detail:
                        "the window is not one run of rows: of the \(section.rowCount) rows of section \(index), it has \(section.rows.count) from index \(start) on"
                )
            }
        }
    }

    /// The stages with the sections around each, for batch updates. Throws as ``applied(to:)``, except for revisions,
    /// counts and `extents`.
    public func steps(from snapshot: Snapshot) throws(UpdateFault) -> [Step] {
        var steps: [Step] = []
        var sections = snapshot.sections
        for (number, stage) in stages.enumerated() {
            do {
                let after = try StageApplication(stage, sections, isWindow: snapshot.window != nil).sections()
                steps.append(Step(stage: stage, before: sections, after: after))
                sections = after
            } catch {
                throw UpdateFault(stage: number, detail: error.detail)
            }
        }
        return steps
    }
}

private struct StageApplication {
    private let stage: Update.Stage
    private let before: [Snapshot.Section]
    /// Sections may have more rows than are here.
    private let isWindow: Bool
    /// By the index before the stage.
    private var fates: [Int: Fate] = [:]
    /// By the index after the stage.
    private var origins: [Origin] = []

    private enum Fate { case deleted, moved, reloaded, updated }
    private enum Origin { case stayed(Int), moved(Int), inserted(Snapshot.Section) }

    init(_ stage: Update.Stage, _ sections: [Snapshot.Section], isWindow: Bool) throws(UpdateFault) {
        self.stage = stage
        self.isWindow = isWindow
        before = sections
        if stage.isEmpty { throw UpdateFault(detail: "it has no operations") }
        let reloads = stage.reloadSections.count + stage.reloadRows.count,
            moves = stage.moveSections.count + stage.moveRows.count
        if reloads > 0, moves > 0 { throw UpdateFault(detail: "reloads and moves share it") }
        for section in stage.deleteSections { try settle(section, .deleted) }
        for move in stage.moveSections { try settle(move.from, .moved) }
        for reload in stage.reloadSections { try settle(reload.at, .reloaded) }
        for update in stage.updateSections {
            try settle(update.at, .updated)
            if update.header == nil, update.footer == nil, update.movesTo == nil {
                throw UpdateFault(detail: "the update of section \(update.at) changes nothing")
            }
        }
        try findOrigins()
    }

    private mutating func settle(_ section: Int, _ fate: Fate) throws(UpdateFault) {
        guard before.indices.contains(section) else {
            throw UpdateFault(
                detail: "section \(section) cannot be \(fate): there are \(before.count) sections before the stage")
        }
        if let other = fates.updateValue(fate, forKey: section) {
            throw UpdateFault(detail: "section \(section) is both \(other) and \(fate)")
        }
    }

    private mutating func findOrigins() throws(UpdateFault) {
        let count = before.count - stage.deleteSections.count + stage.insertSections.count
        var places = [Origin?](repeating: nil, count: count)
        func place(_ section: Int, _ origin: Origin) throws(UpdateFault) {
            guard places.indices.contains(section) else {
                throw UpdateFault(
                    detail: "no section can come to \(section): there are \(count) sections after the stage")
            }
            guard places[section] == nil else { throw UpdateFault(detail: "two sections come to \(section)") }
            places[section] = origin
        }
        for insert in stage.insertSections { try place(insert.at, .inserted(insert.section)) }
        for move in stage.moveSections { try place(move.to, .moved(move.from)) }
        var others = before.indices.filter { fates[$0] != .deleted && fates[$0] != .moved }[...]
        origins = places.compactMap { $0 ?? others.popFirst().map { .stayed($0) } }
    }

    func sections() throws(UpdateFault) -> [Snapshot.Section] {
        // In this order: the first checks the moves' sources, which the second reads.
        let staying = try rowsThatStay(), arriving = try rowsThatCome()
        let reloads = Dictionary(stage.reloadSections.map { ($0.at, $0.section) }) { $1 }
        let updates = Dictionary(stage.updateSections.map { ($0.at, $0) }) { $1 }
        var after: [Snapshot.Section] = []
        for (index, origin) in origins.enumerated() {
            switch origin {
            case .inserted(let section): after.append(section)
            case .moved(let old): after.append(before[old])
            case .stayed(let old):
                if let section = reloads[old] {
                    guard section.id.isSame(as: before[old].id) else {
                        throw UpdateFault(
                            detail: "section \(old), \"\(before[old].id)\", is reloaded as \"\(section.id)\"")
                    }
                    after.append(section)
                    continue
                }
                var section = before[old]
                if let update = updates[old] {
                    if let header = update.header { section.header = header.value }
                    if let footer = update.footer { section.footer = footer.value }
                    if let movesTo = update.movesTo { section.movesTo = movesTo.value }
                }
                if staying[old] != nil || arriving[index] != nil {
                    section.rows = try Self.filled(
                        index, staying[old]?.compactMap { $0 } ?? section.rows, arriving[index] ?? [:])
                    if !isWindow { section.rowCount = section.rows.count }
                }
                after.append(section)
            }
        }
        return after
    }

    /// The rows of sections that lose or change some, by indexes before the stage; `nil` for rows that leave.
    private func rowsThatStay() throws(UpdateFault) -> [Int: [Snapshot.Row?]] {
        var rows: [Int: [Snapshot.Row?]] = [:], sources: Set<RowPath> = []
        func take(_ path: RowPath, _ what: String, _ replacement: Snapshot.Row?, left: Snapshot.Row?)
            throws(UpdateFault)
        {
            guard before.indices.contains(path.section), before[path.section].rows.indices.contains(path.row) else {
                throw UpdateFault(detail: "there is no row \(path) to be \(what) before the stage")
            }
            guard sources.insert(path).inserted else {
                throw UpdateFault(detail: "the row \(path) is \(what) and the source of another operation")
            }
            if let fate = fates[path.section], fate != .updated {
                throw UpdateFault(detail: "the row \(path) is \(what), but its section is \(fate) in the same stage")
            }
            let id = before[path.section].rows[path.row].id
            if let replacement, !Self.areSame(replacement.id, id) {
                throw UpdateFault(
                    detail:
                        "the row \(path), \(id ?? "without an id"), is \(what) as another row, \(replacement.id ?? "without an id")"
                )
            }
            rows[path.section, default: before[path.section].rows][path.row] = left
        }
        for path in stage.deleteRows { try take(path, "deleted", nil, left: nil) }
        for move in stage.moveRows { try take(move.from, "moved", move.row, left: nil) }
        for reload in stage.reloadRows { try take(reload.at, "reloaded", reload.row, left: reload.row) }
        for update in stage.updateRows { try take(update.at, "updated", update.row, left: update.row) }
        return rows
    }

    /// The rows that come, by section and row after the stage.
    private func rowsThatCome() throws(UpdateFault) -> [Int: [Int: Snapshot.Row]] {
        var rows: [Int: [Int: Snapshot.Row]] = [:]
        func arrive(_ row: Snapshot.Row, _ path: RowPath) throws(UpdateFault) {
            guard origins.indices.contains(path.section) else {
                throw UpdateFault(
                    detail: "no row can come to \(path): there are \(origins.count) sections after the stage")
            }
            let fate =
                switch origins[path.section] {
                case .inserted: "inserted"
                case .moved: "moved"
                case .stayed(let old): fates[old] == .reloaded ? "reloaded" : ""
                }
            guard fate.isEmpty else {
                throw UpdateFault(detail: "a row comes to \(path), but its section is \(fate) in the same stage")
            }
            guard rows[path.section, default: [:]].updateValue(row, forKey: path.row) == nil else {
                throw UpdateFault(detail: "two rows come to \(path)")
            }
        }
        for insert in stage.insertRows { try arrive(insert.row, insert.at) }
        for move in stage.moveRows { try arrive(move.row ?? before[move.from.section].rows[move.from.row], move.to) }
        return rows
    }

    /// Arriving rows at their indexes, the others around them in order.
    private static func filled(_ section: Int, _ staying: [Snapshot.Row], _ arriving: [Int: Snapshot.Row])
        throws(UpdateFault) -> [Snapshot.Row]
    {
        let count = staying.count + arriving.count
        if let row = arriving.keys.filter({ !(0..<count).contains($0) }).min() {
            throw UpdateFault(
                detail:
                    "no row can come to \(RowPath(section: section, row: row)): the section has \(count) rows after the stage"
            )
        }
        var next = staying.makeIterator()
        return (0..<count).compactMap { arriving[$0] ?? next.next() }
    }

    private static func areSame(_ left: String?, _ right: String?) -> Bool {
        guard let left, let right else { return left == nil && right == nil }
        return left.isSame(as: right)
    }
}

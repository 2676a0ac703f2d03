/// Rebases commands of clients that have seen only an earlier revision, by the updates since.
///
/// Follows index paths through the updates one by one. The journal keeps the ids of rows that an update hides: if one
/// is displayed again, it is found by id in its own section, or in another if the id can mean no other row. A row
/// without id is followed while it stays displayed with the same model.
public struct RowHistory: Sendable {
    private struct Step: Sendable {
        var update: BatchUpdate
        var hidden: HiddenRows
        /// Section ids before the update; `nil` for those unknown to the journal.
        var sections: [SectionID?] = []
    }

    private var steps: [Step] = []
    private let now: Snapshot
    private let meter: CommandMeter
    /// At the earlier revision.
    private let sectionsThen: [SectionID?]
    private let countsThen: [Int]

    /// Updates in order, each with what it hid (``BatchUpdate/hidden(in:)``); they lead to `now`, else this throws
    /// `rowGone`. The limits are the command's, whose time starts here. O(operations), and O(sections) for each update
    /// that changes the list of sections.
    public init(
        _ updates: [(update: JSONText, hidden: JSONText?)], now: Snapshot, limits: TableLimits = TableLimits()
    ) throws(Refusal) {
        meter = CommandMeter(rows: 0, limits)
        for (update, hidden) in updates {
            try meter.checkTime()
            steps.append(
                Step(update: try BatchUpdate(json: update), hidden: hidden.map { HiddenRows($0) } ?? HiddenRows()))
        }
        self.now = now
        var sections: [SectionID?] = now.sections.map(\.id), counts = now.sections.map(\.rows.count)
        for index in steps.indices.reversed() {
            try meter.checkTime()
            for stage in steps[index].update.stages.reversed() { stage.undo(in: &sections, counts: &counts) }
            for section in steps[index].hidden.sections where sections.indices.contains(section.index) {
                sections[section.index] = section.id
                counts[section.index] = section.rows.count
            }
            guard counts.allSatisfy({ $0 >= 0 }) else {
                throw Refusal(
                    .rowGone,
                    "The session's journal does not fit its table, so no row can be followed. Get the snapshot.")
            }
            steps[index].sections = sections
        }
        sectionsThen = sections
        countsThen = counts
    }

    /// The command with references to where rows and sections are now, and the path of the row that it names. Throws
    /// `rowNotFound` or `sectionNotFound` if it never was there, `rowGone` if it or a move's target cannot be found
    /// now, `ambiguousRow` if several sections display the id, `commandTimeout`.
    public func rebased(_ command: Command) throws(Refusal) -> (command: Command, at: RowPath?) {
        switch command {
        case .move(let row, let target):
            let at = try rebased(row)
            return (.move(RowReference(at), to: RowReference(try self.target(target, of: row, at: at))), at)
        case .dataSource(let call, let notify):
            let (call, at) = try rebased(call)
            return (.dataSource(call, notify: notify), at)
        default:
            var at: RowPath?
            let command = try command.replacingRows { (row, orEnd) throws(Refusal) in
                let path = try rebased(row, orEnd: orEnd)
                at = path
                return RowReference(path)
            }
            return (command, at)
        }
    }

    /// `orEnd` accepts the place after the last row.
    private func rebased(_ reference: RowReference, orEnd: Bool = false) throws(Refusal) -> RowPath {
        switch reference {
        case .at(let section, let row):
            let path = RowPath(section: try index(of: section), row: row), count = countsThen[path.section]
            guard (0..<count + (orEnd ? 1 : 0)).contains(row) else { throw noRowThen(row, path.section) }
            if row == count { return try end(of: path.section) }
            guard let place = try trace(path).place else { throw .gone(reference) }
            return place
        case .id(let id, let section):
            // A row named by id needs no history.
            var found: [RowPath] = []
            let only = try section.map { section throws(Refusal) in try rebased(section: try index(of: section)) }
            for (index, section) in now.sections.enumerated() where only == nil || only == index {
                if let row = section.rows.indexes(of: id).first { found.append(RowPath(section: index, row: row)) }
            }
            guard let first = found.first else { throw .gone(reference) }
            guard found.count == 1 else {
                throw Refusal(
                    .ambiguousRow,
                    "Several displayed sections have a row with the id \"\(id)\": name the section as well.")
            }
            return first
        }
    }

    private func noRowThen(_ row: Int, _ section: Int) -> Refusal {
        let name = sectionsThen[section].map { "\"\($0)\"" } ?? "\(section)"
        return Refusal(
            .rowNotFound,
            "There was no row \(row) at the base: the section \(name) had \(counted(countsThen[section], "row")), counted from 0."
        )
    }

    /// At the earlier revision.
    private func index(of section: SectionReference) throws(Refusal) -> Int {
        switch section {
        case .displayed(let index):
            guard sectionsThen.indices.contains(index) else {
                throw Refusal(
                    .sectionNotFound,
                    "The table displayed \(counted(sectionsThen.count, "section")) at the base, counted from 0: there was no section \(index)."
                )
            }
            return index
        case .id(let id):
            guard let index = sectionsThen.firstIndex(of: id) else {
                throw Refusal(.sectionNotFound, "The section \"\(id)\" was not displayed at the base.")
            }
            return index
        }
    }

    private func rebased(section then: Int) throws(Refusal) -> Int {
        guard let id = sectionsThen[then], let index = now.sections.firstIndex(where: { $0.id == id }) else {
            throw Refusal(
                .rowGone,
                "The section \(sectionsThen[then].map { "\"\($0)\"" } ?? "\(then)") is not displayed any more. Get the snapshot."
            )
        }
        return index
    }

    /// The place after the section's last row now; `section` is its old index.
    private func end(of section: Int) throws(Refusal) -> RowPath {
        let index = try rebased(section: section)
        return RowPath(section: index, row: now.sections[index].rows.count)
    }
}

extension RowHistory {
    private enum Fate {
        case displayed(at: RowPath)
        case gone
        /// Perhaps displayed, but its id is unknown or not unique.
        case unknown

        var place: RowPath? { if case .displayed(let place) = self { place } else { nil } }
    }

    private func trace(_ path: RowPath) throws(Refusal) -> Fate {
        var place: RowPath? = path, isUnknown = false
        // Its id and section when an update first hid it; `nil` once it is displayed in that section again.
        var lost: (id: RowID, section: SectionID?)?
        // The updates that hid it, with its path before each.
        var losses: [(step: Int, at: RowPath)] = []
        for (number, step) in steps.enumerated() {
            try meter.checkTime()
            if let path = place {
                place = step.hidden.rows.keys.contains(path) ? nil : step.update.following(path)
                if place == nil {
                    guard let id = step.hidden.id(at: path) else { return .unknown }
                    guard step.sections.indices.contains(path.section) else { return .unknown }
                    lost = lost ?? (id, step.sections[path.section])
                    losses.append((number, path))
                }
            }
            guard let (id, section) = lost else { continue }
            let arrivals = step.update.arrivals(of: id)
            if arrivals.isEmpty { continue }
            let sections = number + 1 < steps.count ? steps[number + 1].sections : now.sections.map(\.id)
            if let own = arrivals.first(where: {
                sections.indices.contains($0.section) && sections[$0.section] == section
            }) {
                (place, lost) = (own, nil)
            } else if place == nil {
                // In another section only if no other row can have had its id.
                let hasRival = steps[...number].enumerated().contains { number, step in
                    step.hidden.places(of: id).contains { place in !losses.contains { $0 == (number, place) } }
                }
                if arrivals.count == 1, !hasRival { place = arrivals[0] }
                isUnknown = place == nil
            }
        }
        return place.map { .displayed(at: $0) } ?? (isUnknown ? .unknown : .gone)
    }

    /// Where the row now at `path` may have been at the earlier revision.
    private func origins(of path: RowPath, _ id: RowID) throws(Refusal) -> [RowPath] {
        var places = [path]
        for step in steps.reversed() {
            try meter.checkTime()
            let follower = RowFollower(back: step.update.stages)
            places = places.compactMap { follower.following($0) }
            for place in step.hidden.places(of: id) where !places.contains(place) { places.append(place) }
        }
        return places
    }
}

extension RowHistory {
    /// The client meant a place between two rows that it saw. The first that applies:
    /// 1. It meant the section's end: the end.
    /// 2. The row that was to follow is still in the section: before it.
    /// 3. After the nearest row above that is still there.
    /// 4. It meant the beginning: the beginning.
    /// 5. Before the nearest row below that is still there.
    ///
    /// Throws `rowGone` if none of the 16 nearest rows on either side remains, or that is unknown, for example because
    /// rows without ids have changed.
    private func target(_ target: RowReference, of moved: RowReference, at: RowPath) throws(Refusal) -> RowPath {
        guard case .at(let section, let row) = target else {
            var place = try rebased(target)
            if place.section == at.section, place.row > at.row { place.row -= 1 }
            return place
        }
        let then = try index(of: section), source = try source(of: moved, at: at, in: then)
        let last = countsThen[then] - (source == nil ? 0 : 1)
        guard row >= 0, row <= last else { throw noRowThen(row, then) }
        let end = try end(of: then)
        var place = end.row
        if row < last {
            // `row` is in the list without the moved row, `follower` in that with it.
            let follower = source.map { row >= $0 ? row + 1 : row } ?? row
            let unknown = Refusal(
                .rowGone,
                "The place at row \(row) of the section \"\(now.sections[end.section].id)\" is not known any more: the rows around it cannot be found. Get the snapshot, and name the place there."
            )
            let fate = try trace(RowPath(section: then, row: follower))
            if case .displayed(let next) = fate, next.section == end.section {
                place = next.row
            } else if let previous = try nearest(
                (0..<follower).reversed().lazy.filter { $0 != source }, of: then, in: end.section, orThrow: unknown)
            {
                place = previous + 1
            } else if case .unknown = fate {
                throw unknown
            } else if row == 0 {
                place = 0
            } else if let next = try nearest(
                (follower + 1..<countsThen[then]).lazy.filter { $0 != source }, of: then, in: end.section,
                orThrow: unknown)
            {
                place = next
            } else {
                throw unknown
            }
        }
        if at.section == end.section, at.row < place { place -= 1 }
        return RowPath(section: end.section, row: at.section == end.section ? min(place, end.row - 1) : place)
    }

    /// `nil` if the first 16 (`mostNeighbours`) have all left the section.
    private func nearest(_ rows: some Sequence<Int>, of then: Int, in section: Int, orThrow unknown: Refusal)
        throws(Refusal) -> Int?
    {
        for row in rows.prefix(Self.mostNeighbours) {
            switch try trace(RowPath(section: then, row: row)) {
            case .displayed(let place) where place.section == section: return place.row
            case .unknown: throw unknown
            case .displayed, .gone: continue
            }
        }
        return nil
    }

    /// The old index, if the row was in the target's section.
    private func source(of moved: RowReference, at: RowPath, in section: Int) throws(Refusal) -> Int? {
        switch moved {
        case .at(let reference, let row): return try index(of: reference) == section ? row : nil
        case .id(let id, _):
            let origins = try origins(of: at, id)
            for origin in origins where try trace(origin).place == at {
                return origin.section == section ? origin.row : nil
            }
            if origins.contains(where: { $0.section == section }) {
                throw Refusal(
                    .rowGone,
                    "Several rows had the id \"\(id)\" since the base, so its place then is not known. Get the snapshot."
                )
            }
            return nil
        }
    }

    private static let mostNeighbours = 16
}

extension Refusal {
    fileprivate static func gone(_ reference: RowReference) -> Refusal {
        let name =
            switch reference {
            case .id(let id, _): "with the id \"\(id)\""
            case .at(.displayed(let section), let row): "[\(section),\(row)]"
            case .at(.id(let section), let row): "\(row) of the section \"\(section)\""
            }
        return Refusal(.rowGone, "The row \(name) is not displayed any more. Get the snapshot.")
    }
}

// Data source calls. An index that was out of bounds stays so.
extension RowHistory {
    /// The path is that of `addRow`, `updateRow` or `removeRow`, if displayed.
    private func rebased(_ call: DataSourceCommand) throws(Refusal) -> (call: DataSourceCommand, at: RowPath?) {
        switch call {
        case .addRow(let model, let row):
            let row = try rebased(storedRow: row)
            return (.addRow(model, at: row), displayed(row, orEnd: true))
        case .updateRow(let model, let row):
            let row = try rebased(storedRow: row)
            return (.updateRow(model, at: row), displayed(row))
        case .removeRow(let row):
            let row = try rebased(storedRow: row)
            return (.removeRow(at: row), displayed(row))
        case .updateRows(let rows):
            var rebased: [(at: RowReference, model: JSONText)] = []
            for (row, model) in rows {
                try meter.checkTime()
                rebased.append((try self.rebased(storedRow: row), model))
            }
            return (.updateRows(rebased), nil)
        case .updateRowsOfSection(let rows, let section):
            return (.updateRowsOfSection(rows, at: try presentSection(section)), nil)
        case .updateSectionData(let header, let footer, let section):
            return (.updateSectionData(header: header, footer: footer, at: try presentSection(section)), nil)
        case .updateSection(let content, let section):
            return (.updateSection(content, at: try presentSection(section)), nil)
        case .removeSection(let section): return (.removeSection(at: try presentSection(section)), nil)
        case .addSection(let content, let section?): return (.addSection(content, at: try presentSection(section)), nil)
        case .insertRow(let model, let place, let section):
            return (.insertRow(model, at: place, in: try presentSection(section)), nil)
        case .insertRows(let models, let place, let section):
            return (.insertRows(models, at: place, in: try presentSection(section)), nil)
        case .putRow(let model, let id, let section):
            return (.putRow(model, id: id, in: try presentSection(section)), nil)
        case .putRows(let models, let place, let section, let moves):
            return (.putRows(models, at: place, in: try presentSection(section), moves: moves), nil)
        case .patchRow(let patch, let id, let section):
            return (.patchRow(patch, id: id, in: try presentSection(section)), nil)
        case .deleteRow(let id, let section): return (.deleteRow(id: id, in: try presentSection(section)), nil)
        case .addSection, .updateAllSections, .removeAllSections, .registerCell: return (call, nil)
        }
    }

    /// An id needs no history.
    private func rebased(storedRow reference: RowReference) throws(Refusal) -> RowReference {
        switch reference {
        case .id(let id, let section?):
            if let then = indexThen(of: section) { _ = try rebased(section: then) }
            return .id(id, in: try presentSection(section))
        case .id: return reference
        case .at(let section, let row):
            if let then = indexThen(of: section), (0..<countsThen[then]).contains(row) {
                return RowReference(try rebased(reference))
            }
            let present = try presentSection(section)
            return .at(present, row: max(row, displayed(present)?.rows.count ?? 0))
        }
    }

    private func indexThen(of section: SectionReference) -> Int? {
        switch section {
        case .displayed(let index): sectionsThen.indices.contains(index) ? index : nil
        case .id(let id): sectionsThen.firstIndex(of: id)
        }
    }

    private func displayed(_ section: SectionReference) -> Section? {
        switch section {
        case .displayed(let index): now.sections.indices.contains(index) ? now.sections[index] : nil
        case .id(let id): now.sections.first { $0.id == id }
        }
    }

    private func presentSection(_ section: SectionReference) throws(Refusal) -> SectionReference {
        guard case .displayed(let index) = section else { return section }
        return .displayed(try presentSection(index))
    }

    /// Raises an index that was out of bounds, so that it stays so.
    private func presentSection(_ index: Int) throws(Refusal) -> Int {
        sectionsThen.indices.contains(index) ? try rebased(section: index) : max(index, now.sections.count)
    }

    private func displayed(_ reference: RowReference, orEnd: Bool = false) -> RowPath? {
        guard case .at(let reference, let row) = reference else { return try? rebased(reference) }
        let place =
            switch reference {
            case .displayed(let index): index
            case .id(let id): now.sections.firstIndex { $0.id == id } ?? .max
            }
        guard now.sections.indices.contains(place) else { return nil }
        let count = now.sections[place].rows.count
        return row < count || orEnd ? RowPath(section: place, row: min(row, count)) : nil
    }
}

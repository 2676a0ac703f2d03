extension BatchUpdate {
    /// Why an update cannot be applied: where a table view would crash, or a rule of the contract is broken.
    public struct Illegal: Error, Sendable, Equatable, CustomStringConvertible {
        public let description: String
    }

    /// The snapshot after the update. The reference for clients: strict, it throws where a table view would crash.
    /// O(rows).
    public func applied(to snapshot: Snapshot) throws(Illegal) -> Snapshot {
        guard snapshot.revision == from else { throw Illegal(description: "the update is from revision \(from), the snapshot is at \(snapshot.revision)") }
        var sections = snapshot.sections
        for (number, stage) in stages.enumerated() {
            do {
                sections = try stage.applied(to: sections)
            } catch {
                throw Illegal(description: "stage \(number): \(error.description)")
            }
        }
        var result = snapshot
        result.sections = sections
        result.revision = to
        result.totalRowCount = sections.reduce(0) { $0 + $1.rows.count }
        guard result.totalRowCount == totalRowCount else {
            throw Illegal(description: "there are \(result.totalRowCount) rows, not \(totalRowCount)")
        }
        if let state { result.state = state }
        if let empty { result.empty = empty.isNull ? nil : empty }
        return result
    }
}

extension BatchUpdate.Stage {
    private typealias Illegal = BatchUpdate.Illegal

    /// One `performBatchUpdates`, by UITableView's rules and the contract's.
    func applied(to old: [Section]) throws(BatchUpdate.Illegal) -> [Section] {
        func check(_ holds: Bool, _ what: @autoclosure () -> String) throws(BatchUpdate.Illegal) {
            if !holds { throw BatchUpdate.Illegal(description: what()) }
        }
        func unique<Place: Hashable>(_ places: [Place], _ what: String) throws(BatchUpdate.Illegal) -> Set<Place> {
            let set = Set(places)
            try check(set.count == places.count, "\(what) has a place twice")
            return set
        }
        let hasReloads = !reloadRows.isEmpty || !reloadSections.isEmpty, hasMoves = !moveRows.isEmpty || !moveSections.isEmpty
        try check(!(hasReloads && hasMoves), "reloads share the stage with moves")

        // Sections: each is the source of one operation at most.
        _ = try unique(deleteSections + reloadSections.map(\.at) + updateSections.map(\.at) + moveSections.map(\.from), "sections before the stage")
        for at in deleteSections + reloadSections.map(\.at) + updateSections.map(\.at) + moveSections.map(\.from) {
            try check(old.indices.contains(at), "there is no section \(at) before the stage")
        }
        let arriving = try unique(insertSections.map(\.at) + moveSections.map(\.to), "sections after the stage")
        let gone = Set(deleteSections), moved = Set(moveSections.map(\.from))
        let count = old.count - deleteSections.count + insertSections.count
        for at in arriving { try check((0..<count).contains(at), "there is no section \(at) after the stage") }
        let targets = Dictionary(uniqueKeysWithValues: moveSections.map { ($0.to, $0.from) })
        let inserted = Dictionary(uniqueKeysWithValues: insertSections.map { ($0.at, $0.section) })
        var staying = old.indices.filter { !gone.contains($0) && !moved.contains($0) }.makeIterator()
        // What stands at each place after the stage: a section of before, or an inserted one.
        var sources: [Int?] = []
        for at in 0..<count {
            if let from = targets[at] { sources.append(from) } else if inserted[at] != nil { sources.append(nil) } else {
                guard let next = staying.next() else { throw BatchUpdate.Illegal(description: "the section counts do not add up") }
                sources.append(next)
            }
        }

        // Rows.
        let noSource = gone.union(moved).union(reloadSections.map(\.at))
        let noTarget = arriving.union(reloadSections.compactMap { reload in sources.firstIndex(of: reload.at) })
        let rowSources = deleteRows + reloadRows.map(\.at) + updateRows.map(\.at) + moveRows.map(\.from)
        _ = try unique(rowSources, "rows before the stage")
        for path in rowSources {
            try check(old.indices.contains(path.section) && old[path.section].rows.indices.contains(path.row), "there is no row \(path) before the stage")
            try check(!noSource.contains(path.section), "the row \(path) is in a section that is deleted, reloaded or moved")
        }
        let rowTargets = insertRows.map(\.at) + moveRows.map(\.to)
        _ = try unique(rowTargets, "rows after the stage")
        for path in rowTargets {
            try check((0..<count).contains(path.section), "there is no section for the row \(path) after the stage")
            try check(!noTarget.contains(path.section), "the row \(path) comes to a section that is inserted, reloaded or moved")
        }

        var content = old
        for (at, section) in reloadSections { content[at] = section }
        for update in updateSections {
            if let header = update.header { content[update.at].header = header }
            if let footer = update.footer { content[update.at].footer = footer }
            if let movesTo = update.movesTo { content[update.at].movesTo = movesTo.isNull ? nil : movesTo }
        }
        for (at, row) in reloadRows + updateRows { content[at.section].rows[at.row] = row }
        let leaving = Dictionary(grouping: deleteRows + moveRows.map(\.from), by: \.section)
        var coming: [Int: [(row: Int, content: Row)]] = [:]
        for (at, row) in insertRows { coming[at.section, default: []].append((at.row, row)) }
        for move in moveRows { coming[move.to.section, default: []].append((move.to.row, move.row ?? content[move.from.section].rows[move.from.row])) }

        var result: [Section] = []
        for (at, source) in sources.enumerated() {
            guard let source else {
                guard let section = inserted[at] else { throw BatchUpdate.Illegal(description: "the section counts do not add up") }
                result.append(section)
                continue
            }
            var section = content[source]
            for path in (leaving[source] ?? []).sorted().reversed() { section.rows.remove(at: path.row) }
            for (row, content) in (coming[at] ?? []).sorted(by: { $0.row < $1.row }) {
                try check(row <= section.rows.count, "there is no row [\(at),\(row)] after the stage")
                section.rows.insert(content, at: row)
            }
            result.append(section)
        }
        return result
    }
}

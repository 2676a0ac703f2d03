/// For clients that change one row or section at a time (RecyclerView, NSTableView, the DOM). Indexes refer to the
/// table after all earlier operations; a move's `to`, to the list without what moves.
public enum TableOperation: Sendable {
    /// With its rows.
    case deleteSection(Int)
    /// With its rows.
    case insertSection(at: Int, Section)
    /// With its rows.
    case moveSection(from: Int, to: Int)
    /// Old and new rows are not matched.
    case reloadSection(at: Int, Section)
    /// Header, footer or `movesTo`.
    case updateSection(BatchUpdate.SectionUpdate)
    /// One row.
    case deleteRow(RowPath)
    /// One row.
    case insertRow(at: RowPath, Row)
    /// With the new content, if that changed without a visual reload.
    case moveRow(from: RowPath, to: RowPath, Row?)
    /// New content, shown with a visual reload.
    case reloadRow(at: RowPath, Row)
    /// New content, without a visual reload.
    case updateRow(at: RowPath, Row)
}

extension BatchUpdate {
    /// The operations one by one, as many as in all stages together. Meaningless if ``applied(to:)`` would refuse the
    /// update. O(n log n).
    public func sequential() -> [TableOperation] {
        stages.flatMap { $0.sequential() }
    }
}

extension BatchUpdate.Stage {
    /// Content first, while indexes are those before the stage. Then rows: deletes from the last, moves, inserts from
    /// the first. Then sections likewise.
    fileprivate func sequential() -> [TableOperation] {
        var operations: [TableOperation] = []
        operations += reloadSections.map { .reloadSection(at: $0.at, $0.section) }
        operations += updateSections.map { .updateSection($0) }
        operations += reloadRows.map { .reloadRow(at: $0.at, $0.row) }
        operations += updateRows.map { .updateRow(at: $0.at, $0.row) }
        arrangeRows(&operations)
        arrangeSections(&operations)
        return operations
    }

    private func arrangeSections(_ operations: inout [TableOperation]) {
        var places = MovingPlaces(
            leaving: deleteSections + moveSections.map(\.from),
            arriving: insertSections.map(\.at) + moveSections.map(\.to))
        for section in deleteSections.sorted(by: >) { operations.append(.deleteSection(places.leave(section))) }
        for move in moveSections {
            let from = places.leave(move.from)
            operations.append(.moveSection(from: from, to: places.arrive(move.to)))
        }
        for (at, section) in insertSections.sorted(by: { $0.at < $1.at }) {
            operations.append(.insertSection(at: places.arrive(at), section))
        }
    }

    private func arrangeRows(_ operations: inout [TableOperation]) {
        guard !deleteRows.isEmpty || !insertRows.isEmpty || !moveRows.isEmpty else { return }
        // Sections, which follow, still have their old indexes.
        let sections = SectionFollower(self, backwards: true)
        func origin(of section: Int) -> Int { sections.following(section) ?? section }
        var leaving: [Int: [Int]] = [:], arriving: [Int: [Int]] = [:]
        for path in deleteRows { leaving[path.section, default: []].append(path.row) }
        for move in moveRows {
            leaving[move.from.section, default: []].append(move.from.row)
            arriving[origin(of: move.to.section), default: []].append(move.to.row)
        }
        for insert in insertRows { arriving[origin(of: insert.at.section), default: []].append(insert.at.row) }
        var places: [Int: MovingPlaces] = [:]
        for section in Set(leaving.keys).union(arriving.keys) {
            places[section] = MovingPlaces(leaving: leaving[section] ?? [], arriving: arriving[section] ?? [])
        }
        func leave(_ path: RowPath) -> RowPath {
            RowPath(section: path.section, row: places[path.section]?.leave(path.row) ?? path.row)
        }
        func arrive(_ path: RowPath) -> RowPath {
            let section = origin(of: path.section)
            return RowPath(section: section, row: places[section]?.arrive(path.row) ?? path.row)
        }
        for path in deleteRows.sorted(by: >) { operations.append(.deleteRow(leave(path))) }
        for move in moveRows {
            let from = leave(move.from)
            operations.append(.moveRow(from: from, to: arrive(move.to), move.row))
        }
        for insert in insertRows.sorted(by: { $0.at < $1.at }) {
            operations.append(.insertRow(at: arrive(insert.at), insert.row))
        }
    }
}

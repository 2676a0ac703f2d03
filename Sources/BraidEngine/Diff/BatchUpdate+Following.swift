extension BatchUpdate {
    /// Where a displayed row is after this update.
    ///
    /// - Parameter path: before the update. Without such a row, the result means nothing.
    /// - Returns: `nil` if the update deletes the row, or deletes or reloads its section.
    /// - Complexity: O(n log n) for n operations.
    public func following(_ path: RowPath) -> RowPath? {
        RowFollower(self).following(path)
    }

    /// The inverse of ``following(_:)``. `nil` if the update inserts the row, or inserts or reloads its section. O(n
    /// log n) for n operations.
    func preceding(_ path: RowPath) -> RowPath? {
        stages.reversed().reduce(path) { path, stage in path.flatMap { stage.preceding($0) } }
    }

    /// Where a displayed section is after this update.
    ///
    /// - Returns: `nil` if the update deletes the section, even if it inserts one with the same id.
    /// - Complexity: O(n log n) for n operations.
    public func followingSection(_ index: Int) -> Int? {
        RowFollower(self).followingSection(index)
    }

    /// Where the rows with an id are that the update inserts, those of inserted and reloaded sections included. O(n log
    /// n) for n operations and such rows.
    func arrivals(of id: RowID) -> [RowPath] {
        var paths: [RowPath] = []
        for stage in stages {
            let follower = StageFollower(stage)
            paths = paths.compactMap { follower.following($0) } + stage.arrivals(of: id, follower)
        }
        return paths
    }
}

extension BatchUpdate.Stage {
    fileprivate func preceding(_ path: RowPath) -> RowPath? {
        guard let section = preceding(section: path.section), !reloadSections.contains(where: { $0.at == section })
        else { return nil }
        if let move = moveRows.first(where: { $0.to == path }) { return move.from }
        if insertRows.contains(where: { $0.at == path }) { return nil }
        let arriving = (insertRows.map(\.at) + moveRows.map(\.to)).filter { $0.section == path.section }
        let leaving = (deleteRows + moveRows.map(\.from)).filter { $0.section == section }
        return RowPath(
            section: section, row: Self.following(path.row, leaving: arriving.map(\.row), arriving: leaving.map(\.row)))
    }

    private func preceding(section: Int) -> Int? {
        guard !insertSections.contains(where: { $0.at == section }) else { return nil }
        if let move = moveSections.first(where: { $0.to == section }) { return move.from }
        return Self.following(
            section, leaving: insertSections.map(\.at) + moveSections.map(\.to),
            arriving: deleteSections + moveSections.map(\.from))
    }

    /// `leaving` before the change, `arriving` after it.
    private static func following(_ index: Int, leaving: [Int], arriving: [Int]) -> Int {
        var place = index - Set(leaving).count { $0 >= 0 && $0 < index }
        for arrival in arriving.sorted() where arrival <= place { place += 1 }
        return place
    }

    /// Those of inserted and reloaded sections included.
    fileprivate func arrivals(of id: RowID, _ follower: StageFollower) -> [RowPath] {
        var paths = insertRows.filter { $0.row.content.has(id) }.map(\.at)
        for (at, section) in insertSections {
            paths += section.rows.indexes(of: id).map { RowPath(section: at, row: $0) }
        }
        for (at, section) in reloadSections {
            guard let place = follower.followingSection(at) else { continue }
            paths += section.rows.indexes(of: id).map { RowPath(section: place, row: $0) }
        }
        return paths
    }
}

/// Where many rows are after the same update, which is prepared once.
///
/// - Complexity: O(n log n) to prepare n operations, O(log n) for each row.
public struct RowFollower: Sendable {
    private let stages: [StageFollower]

    /// Prepares the computation for one update, in O(n log n) for n operations.
    public init(_ update: BatchUpdate) { stages = update.stages.map { StageFollower($0) } }

    /// Where a displayed row is after the update.
    ///
    /// - Parameter path: before the update. Without such a row, the result means nothing.
    /// - Returns: `nil` if the update deletes the row, or deletes or reloads its section.
    public func following(_ path: RowPath) -> RowPath? {
        var path = path
        for stage in stages {
            guard let next = stage.following(path) else { return nil }
            path = next
        }
        return path.section >= 0 && path.row >= 0 ? path : nil
    }

    /// `nil` if the update deletes the section.
    func followingSection(_ index: Int) -> Int? {
        stages.reduce(Optional(index)) { index, stage in index.flatMap { stage.followingSection($0) } }
            .flatMap { $0 >= 0 ? $0 : nil }
    }
}

/// Where rows and sections are after one stage.
struct StageFollower {
    private let sections: ListFollower
    private let reloadedSections: Set<Int>
    /// Ascending row indexes by section: of rows that leave, by their section before the stage; of those that arrive,
    /// by that after it.
    private var leaving: [Int: [Int]] = [:]
    private var arriving: [Int: [Int]] = [:]
    private var moves: [RowPath: RowPath] = [:]

    init(_ stage: BatchUpdate.Stage) {
        sections = ListFollower(
            leaving: stage.deleteSections + stage.moveSections.map(\.from),
            arriving: stage.insertSections.map(\.at) + stage.moveSections.map(\.to),
            moves: Dictionary(stage.moveSections.map { ($0.from, $0.to) }) { first, _ in first })
        reloadedSections = Set(stage.reloadSections.map(\.at))
        for path in stage.deleteRows { leaving[path.section, default: []].append(path.row) }
        for insert in stage.insertRows { arriving[insert.at.section, default: []].append(insert.at.row) }
        for move in stage.moveRows {
            leaving[move.from.section, default: []].append(move.from.row)
            arriving[move.to.section, default: []].append(move.to.row)
            moves[move.from] = moves[move.from] ?? move.to
        }
        for section in leaving.keys { leaving[section]?.sort() }
        for section in arriving.keys { arriving[section]?.sort() }
    }

    /// `nil` if the stage deletes the row, or deletes or reloads its section.
    func following(_ path: RowPath) -> RowPath? {
        guard path.row >= 0, path.row < RowPieces.endless, !reloadedSections.contains(path.section),
            let section = followingSection(path.section)
        else { return nil }
        if let target = moves[path] { return target }
        let leaving = leaving[path.section] ?? [], left = leaving.partitionIndex { $0 >= path.row }
        if left < leaving.count, leaving[left] == path.row { return nil }
        let row = (arriving[section] ?? []).shifted(path.row - left)
        return RowPath(section: section, row: row)
    }

    /// `nil` if the stage deletes the section.
    func followingSection(_ index: Int) -> Int? { sections.following(index) }
}

private struct ListFollower {
    private let leaving: [Int]
    private let arriving: [Int]
    private let moves: [Int: Int]

    init(leaving: [Int], arriving: [Int], moves: [Int: Int]) {
        self.leaving = leaving.sorted()
        self.arriving = arriving.sorted()
        self.moves = moves
    }

    func following(_ index: Int) -> Int? {
        guard index >= 0, index < RowPieces.endless else { return nil }
        if let target = moves[index] { return target }
        let left = leaving.partitionIndex { $0 >= index }
        if left < leaving.count, leaving[left] == index { return nil }
        return arriving.shifted(index - left)
    }
}

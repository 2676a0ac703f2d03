/// Computes the new index paths of many rows after the same update. `init` prepares the update once for all rows.
///
/// - Complexity: O(n log n) to prepare an update of n operations, O(log n) for each row.
public struct RowFollower: Sendable {
    private let stages: [StageFollower]

    /// Prepares the computation for one update, in O(n log n) for n operations.
    public init(_ update: BatchUpdate) { stages = update.stages.map { StageFollower($0) } }

    /// Returns the index path that a displayed row has after the update has been applied.
    ///
    /// - Parameter path: the row's index path before the update. If the table had no such row, the result is
    ///   meaningless.
    /// - Returns: the row's index path after the update. `nil` if the update deletes the row, or deletes or reloads its
    ///   section, and for a negative path.
    public func following(_ path: RowPath) -> RowPath? {
        var path = path
        for stage in stages {
            guard let next = stage.following(path) else { return nil }
            path = next
        }
        return path.section >= 0 && path.row >= 0 ? path : nil
    }

    /// Returns the index that a displayed section has after the update has been applied. `nil` if the update deletes
    /// the section.
    func followingSection(_ index: Int) -> Int? {
        stages.reduce(Optional(index)) { index, stage in index.flatMap { stage.followingSection($0) } }
            .flatMap { $0 >= 0 ? $0 : nil }
    }
}

/// Computes the index paths of rows after one stage of an update.
struct StageFollower {
    private let sections: ListFollower
    private let reloadedSections: Set<Int>
    /// Row indexes in ascending order, by section. `leaving` contains the rows that the stage deletes or moves away, by
    /// their section's index before the stage. `arriving` contains the rows that the stage inserts or moves into a
    /// section, by that section's index after the stage.
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

    /// Returns the index path that a row has after the stage. `path` is the row's index path before the stage. Returns
    /// `nil` if the stage deletes the row, or deletes or reloads the row's section.
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

    /// Returns the index that a section has after the stage. `index` is the section's index before the stage. Returns
    /// `nil` if the stage deletes the section.
    func followingSection(_ index: Int) -> Int? { sections.following(index) }
}

/// Computes the index that a section has after one stage has changed the list of sections.
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

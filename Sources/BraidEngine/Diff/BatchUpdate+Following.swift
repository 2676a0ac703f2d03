extension BatchUpdate {
    /// Returns the index path that a displayed row has after this update has been applied.
    ///
    /// - Parameter path: the row's index path before the update. If the table had no such row, the result is
    ///   meaningless.
    /// - Returns: the row's index path after the update. `nil` if the update deletes the row, or deletes or reloads its
    ///   section, and for a negative path.
    /// - Complexity: O(n log n) for n operations.
    public func following(_ path: RowPath) -> RowPath? {
        RowFollower(self).following(path)
    }

    /// Returns the index path that a row had before this update. `path` is the row's index path after the update. `nil`
    /// if the update inserts the row, or inserts or reloads its section. O(n log n) for n operations. The inverse of
    /// ``following(_:)``.
    func preceding(_ path: RowPath) -> RowPath? {
        stages.reversed().reduce(path) { path, stage in path.flatMap { stage.preceding($0) } }
    }

    /// Returns the index that a displayed section has after this update has been applied.
    ///
    /// - Parameter index: the section's index before the update.
    /// - Returns: the section's index after the update. `nil` for a negative index, and if the update deletes the
    ///   section, even if it inserts a section with the same id.
    /// - Complexity: O(n log n) for n operations.
    public func followingSection(_ index: Int) -> Int? {
        RowFollower(self).followingSection(index)
    }

    /// Returns the index paths, after the update, of the rows with a given id that the update inserts. Rows of inserted
    /// and reloaded sections count as inserted. O(n log n) for n operations and rows of inserted and reloaded sections.
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
    /// Returns the index path that a row had before the stage. `path` is the row's index path after the stage. Returns
    /// `nil` if the stage inserts the row, or inserts or reloads its section.
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

    /// Returns the index that a section had before the stage. `section` is the section's index after the stage. Returns
    /// `nil` if the stage inserts the section.
    private func preceding(section: Int) -> Int? {
        guard !insertSections.contains(where: { $0.at == section }) else { return nil }
        if let move = moveSections.first(where: { $0.to == section }) { return move.from }
        return Self.following(
            section, leaving: insertSections.map(\.at) + moveSections.map(\.to),
            arriving: deleteSections + moveSections.map(\.from))
    }

    /// Returns the new index of an element that stays in a list while other elements leave and arrive. `leaving`
    /// contains the indexes of the leaving elements before the change, and `arriving` the indexes of the arriving
    /// elements after the change.
    private static func following(_ index: Int, leaving: [Int], arriving: [Int]) -> Int {
        var place = index - Set(leaving).count { $0 >= 0 && $0 < index }
        for arrival in arriving.sorted() where arrival <= place { place += 1 }
        return place
    }

    /// Returns the index paths, after the stage, of the rows with a given id that the stage inserts. Rows of inserted
    /// and reloaded sections count as inserted.
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

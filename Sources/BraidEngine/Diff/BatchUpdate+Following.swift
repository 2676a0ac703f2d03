extension BatchUpdate {
    /// Where a row is after the update; `nil` if it, or its section, is deleted, or the section reloaded. O(operations
    /// · log operations): ``RowFollower`` is faster for many rows.
    public func following(_ path: RowPath) -> RowPath? {
        RowFollower(self).following(path)
    }

    /// Where rows with this id are inserted, with or without their sections.
    func arrivals(of id: RowID) -> [RowPath] {
        var paths: [RowPath] = []
        for stage in stages {
            let follower = StageFollower(stage)
            paths = paths.compactMap { follower.following($0) }
            paths += stage.insertRows.filter { $0.row.content.has(id) }.map(\.at)
            let reloaded = stage.reloadSections.compactMap { reload in
                follower.sections.following(reload.at).map { (at: $0, section: reload.section) }
            }
            for (at, section) in stage.insertSections + reloaded {
                paths += section.rows.indexes(of: id).map { RowPath(section: at, row: $0) }
            }
        }
        return paths
    }
}

/// Where many rows are after one update: O(n log n) to prepare n operations, then O(log n) for each row.
public struct RowFollower: Sendable {
    private let stages: [StageFollower]

    /// O(n log n) for n operations.
    public init(_ update: BatchUpdate) { stages = update.stages.map { StageFollower($0) } }

    /// From after these stages to before them.
    init(back stages: some BidirectionalCollection<BatchUpdate.Stage>) {
        self.stages = stages.reversed().map { StageFollower($0, backwards: true) }
    }

    /// `nil` if the update deletes the row or its section, or reloads the section.
    public func following(_ path: RowPath) -> RowPath? {
        var path = path
        for stage in stages {
            guard let next = stage.following(path) else { return nil }
            path = next
        }
        return path.section >= 0 && path.row >= 0 ? path : nil
    }

    func followingSection(_ index: Int) -> Int? {
        stages.reduce(Optional(index)) { index, stage in index.flatMap { stage.sections.following($0) } }
            .flatMap { $0 >= 0 ? $0 : nil }
    }
}

/// Follows rows across one stage, forwards or backwards.
struct StageFollower {
    private let isBackwards: Bool
    let sections: SectionFollower
    private let reloadedSections: Set<Int>
    /// Rows by section, ascending. Backwards, what came leaves.
    private var leaving: [Int: [Int]] = [:]
    private var arriving: [Int: [Int]] = [:]
    private var moves: [RowPath: RowPath] = [:]

    init(_ stage: BatchUpdate.Stage, backwards: Bool = false) {
        var leaving = stage.deleteRows + stage.moveRows.map(\.from)
        var arriving = stage.insertRows.map(\.at) + stage.moveRows.map(\.to)
        if backwards { swap(&leaving, &arriving) }
        isBackwards = backwards
        sections = SectionFollower(stage, backwards: backwards)
        reloadedSections = Set(stage.reloadSections.map(\.at))
        for path in leaving { self.leaving[path.section, default: []].append(path.row) }
        for path in arriving { self.arriving[path.section, default: []].append(path.row) }
        for section in self.leaving.keys { self.leaving[section]?.sort() }
        for section in self.arriving.keys { self.arriving[section]?.sort() }
        for move in stage.moveRows {
            let (from, to) = backwards ? (move.to, move.from) : (move.from, move.to)
            moves[from] = moves[from] ?? to
        }
    }

    /// `nil` if the other end is unknown: row or section is deleted (backwards, inserted), or the section reloaded.
    func following(_ path: RowPath) -> RowPath? {
        guard path.row >= 0, path.row < RowPieces.endless, let section = sections.following(path.section),
            !reloadedSections.contains(isBackwards ? section : path.section)
        else { return nil }
        if let target = moves[path] { return target }
        let leaving = leaving[path.section] ?? [], left = leaving.firstPosition { $0 >= path.row }
        if left < leaving.count, leaving[left] == path.row { return nil }
        return RowPath(section: section, row: (arriving[section] ?? []).shifted(path.row - left))
    }
}

struct SectionFollower {
    private let leaving: [Int]
    private let arriving: [Int]
    private let moves: [Int: Int]

    init(_ stage: BatchUpdate.Stage, backwards: Bool) {
        var leaving = stage.deleteSections + stage.moveSections.map(\.from)
        var arriving = stage.insertSections.map(\.at) + stage.moveSections.map(\.to)
        if backwards { swap(&leaving, &arriving) }
        self.leaving = leaving.sorted()
        self.arriving = arriving.sorted()
        moves = Dictionary(stage.moveSections.map { backwards ? ($0.to, $0.from) : ($0.from, $0.to) }) { first, _ in
            first
        }
    }

    /// `nil` if it is deleted (backwards, inserted).
    func following(_ index: Int) -> Int? {
        guard index >= 0, index < RowPieces.endless else { return nil }
        if let target = moves[index] { return target }
        let left = leaving.firstPosition { $0 >= index }
        if left < leaving.count, leaving[left] == index { return nil }
        return arriving.shifted(index - left)
    }
}

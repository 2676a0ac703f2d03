/// Which operations go into which stage, in as few as the contract ("Update") allows. Sections are inserted in the
/// first stage, and all their moves share one. More may be needed because:
/// - reloads never share a stage with moves,
/// - nothing happens inside a section in the stage that inserts, moves or deletes it,
/// - a row moves into an inserted section after the insert, and out of a deleted one before the delete.
///
/// Tries one stage, then two; three are always enough.
struct StagePlan {
    /// What decides in which stages a row's operation is allowed.
    struct RowTask: OptionSet {
        let rawValue: Int
        static let inMovedSection = RowTask(rawValue: 1)
        static let isMove = RowTask(rawValue: 2)
        static let intoInsertedSection = RowTask(rawValue: 4)
        static let outOfDeletedSection = RowTask(rawValue: 8)
        static let all = (0..<16).map { RowTask(rawValue: $0) }
    }

    struct Tasks {
        var sectionsMove = false
        /// Which occur, by a `RowTask`'s raw value.
        var rows = Array(repeating: false, count: 16)
        var hasReloads = false
        var hasContentInMovedSections = false

        fileprivate var rowsMoveOutOfDeleted: Bool {
            RowTask.all.contains { rows[$0.rawValue] && $0.contains(.outOfDeletedSection) }
        }
    }

    private(set) var stageCount = 1
    var insertedSections: Int { 0 }
    private(set) var movedSections = 0
    private(set) var deletedSections = 0
    private(set) var content = 0
    private var rows = Array(repeating: 0, count: 16)
    /// That of all rows' inserts, deletes and moves; `nil` if there are several.
    private(set) var stageOfAllRows: Int? = 0

    func stage(of task: RowTask) -> Int { rows[task.rawValue] }

    init() {}

    init(for tasks: Tasks) {
        for stageCount in 1...2 {
            // Prefers reloads last and section moves first.
            for reloads in (0..<stageCount).reversed() {
                for moves in 0..<stageCount {
                    if let plan = StagePlan(tasks, stageCount: stageCount, movedSections: moves, reloads: reloads) {
                        self = plan
                        return
                    }
                }
            }
        }
        stageCount = 3
        rows = Array(repeating: 1, count: 16)
        stageOfAllRows = 1
        (movedSections, deletedSections, content) = tasks.rowsMoveOutOfDeleted ? (2, 2, 0) : (0, 0, 2)
    }

    /// `nil` if the rules allow an operation in no stage.
    private init?(_ tasks: Tasks, stageCount: Int, movedSections: Int, reloads: Int) {
        if tasks.sectionsMove, tasks.hasReloads, movedSections == reloads { return nil }
        self.stageCount = stageCount
        self.movedSections = movedSections
        deletedSections = tasks.rowsMoveOutOfDeleted ? stageCount - 1 : 0

        let mayHaveContent = (0..<stageCount).filter { stage in
            if tasks.hasReloads, stage != reloads { return false }
            return !(tasks.hasContentInMovedSections && stage == movedSections)
        }
        guard let content = mayHaveContent.last else { return nil }
        self.content = content

        var common = Array(0..<stageCount)
        for task in RowTask.all where tasks.rows[task.rawValue] {
            let stages = (0..<stageCount).filter { stage in
                if task.contains(.inMovedSection), stage == movedSections { return false }
                if task.contains(.isMove), tasks.hasReloads, stage == reloads { return false }
                if task.contains(.intoInsertedSection), stage <= insertedSections { return false }
                return !(task.contains(.outOfDeletedSection) && stage >= deletedSections)
            }
            guard let first = stages.first else { return nil }
            rows[task.rawValue] = first
            common.removeAll { !stages.contains($0) }
        }
        stageOfAllRows = common.first
        if let stage = common.first { rows = Array(repeating: stage, count: 16) }
    }
}

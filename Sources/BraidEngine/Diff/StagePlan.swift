/// Assigns each kind of an update's operations to a stage, with as few stages as the contract's rules allow.
///
/// Sections are inserted in the first stage, and all moving sections move in one stage. Three rules can require more
/// stages:
/// - Reloads never share a stage with moves.
/// - Nothing happens inside a section in the stage that inserts, moves or deletes it.
/// - A row moves into an inserted section after the insert, and out of a deleted section before the delete.
///
/// The plan tries one stage, then two. Three stages are always enough. Source: the wire contract, "Update".
struct StagePlan {
    /// The properties of a row's insert, delete or move that decide in which stages it is allowed.
    struct RowTask: OptionSet {
        let rawValue: Int
        static let inMovedSection = RowTask(rawValue: 1)
        static let isMove = RowTask(rawValue: 2)
        static let intoInsertedSection = RowTask(rawValue: 4)
        static let outOfDeletedSection = RowTask(rawValue: 8)
        static let all = (0..<16).map { RowTask(rawValue: $0) }
    }

    /// A summary of an update's operations: only the facts that decide how many stages the update needs.
    struct Tasks {
        var sectionsMove = false
        /// For each combination of `RowTask`, whether it occurs in the update. The index is `RowTask.rawValue`.
        var rows = Array(repeating: false, count: 16)
        var hasReloads = false
        /// Whether a section that moves also has reloads or updates, of its rows or of itself.
        var hasContentInMovedSections = false

        /// Whether a row moves out of a deleted section.
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
    /// The stage that contains all inserts, deletes and moves of rows, or `nil` if these are in several stages.
    private(set) var stageOfAllRows: Int? = 0

    func stage(of task: RowTask) -> Int { rows[task.rawValue] }

    /// Creates a plan that puts all operations in one stage.
    init() {}

    init(for tasks: Tasks) {
        for stageCount in 1...2 {
            // Reloads in the last stage and section moves in the first stage are preferred, so these are tried first.
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

    /// Creates a plan with a given number of stages, and given stages for the section moves and for the reloads.
    /// Returns `nil` if the rules allow an operation in no stage of the plan.
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

import TestSupport
import Testing
@testable import BraidEngine

/// A plan keeps the rules, and no shorter arrangement does.
@Suite struct StagePlanTests {
    private typealias Task = StagePlan.RowTask

    /// In which stages sections are inserted, deleted and moved, and which have reloads in place of moves.
    private struct Layout {
        var count: Int, inserts: Int, deletes: Int, moves: Int, reloads: Set<Int>

        func allows(_ task: Task, in stage: Int) -> Bool {
            !(task.contains(.inMovedSection) && stage == moves) && !(task.contains(.isMove) && reloads.contains(stage))
                && !(task.contains(.intoInsertedSection) && stage <= inserts)
                && !(task.contains(.outOfDeletedSection) && stage >= deletes)
        }

        func fits(_ tasks: StagePlan.Tasks) -> Bool {
            if tasks.sectionsMove, reloads.contains(moves) { return false }
            if tasks.hasReloads, reloads.isEmpty { return false }
            if tasks.hasContentInMovedSections,
                !(0..<count).contains(where: { $0 != moves && (!tasks.hasReloads || reloads.contains($0)) })
            {
                return false
            }
            return Task.all.allSatisfy { task in
                !tasks.rows[task.rawValue] || (0..<count).contains { allows(task, in: $0) }
            }
        }
    }

    private static func least(_ tasks: StagePlan.Tasks) -> Int {
        (1...3).first { count in
            (0..<count * count * count).contains { number in
                (0..<1 << count).contains { mask in
                    Layout(
                        count: count, inserts: number % count, deletes: number / count % count,
                        moves: number / count / count,
                        reloads: Set((0..<count).filter { mask & 1 << $0 != 0 })
                    ).fits(tasks)
                }
            }
        } ?? 4
    }

    @Test("No plan with fewer stages keeps the rules")
    func shortestPlan() {
        var random = SeededGenerator(seed: 23 << 32)
        for _ in 0..<DiffRuns.count / 10 {
            var tasks = StagePlan.Tasks()
            tasks.sectionsMove = random.below(2) == 0
            tasks.hasReloads = random.below(2) == 0
            tasks.hasContentInMovedSections = tasks.sectionsMove && random.below(2) == 0
            for _ in 0..<random.below(6) {
                let task = Task.all[random.below(16)]
                if tasks.sectionsMove || !task.contains(.inMovedSection) { tasks.rows[task.rawValue] = true }
            }
            let plan = StagePlan(for: tasks)
            #expect(plan.stageCount == Self.least(tasks), "\(tasks)")
            let layout = Layout(
                count: plan.stageCount, inserts: plan.insertedSections, deletes: plan.deletedSections,
                moves: plan.movedSections,
                reloads: tasks.hasReloads ? [plan.content] : [])
            #expect(layout.fits(tasks))
            #expect(!tasks.hasContentInMovedSections || plan.content != plan.movedSections)
            for task in Task.all where tasks.rows[task.rawValue] {
                #expect(layout.allows(task, in: plan.stage(of: task)), "\(task) \(tasks) \(plan)")
                #expect(plan.stageOfAllRows ?? plan.stage(of: task) == plan.stage(of: task))
            }
        }
    }
}

@testable import BraidEngine

/// The smallest update's cost. Tries every choice without the diff's code, so only for small tables.
struct DiffReference {
    let old: Snapshot
    let new: Snapshot

    /// In both snapshots, and compared row by row.
    private var compared: [(old: Int, new: Int)] {
        survivors.filter { !isReloaded($0) && new.sections[$0.new].isDiffable }
    }

    private var survivors: [(old: Int, new: Int)] {
        new.sections.indices.compactMap { place in
            old.sections.firstIndex { $0.id == new.sections[place].id }.map { ($0, place) }
        }
    }

    private func isReloaded(_ pair: (old: Int, new: Int)) -> Bool {
        let before = old.sections[pair.old], after = new.sections[pair.new]
        if before.isDiffable != after.isDiffable { return true }
        return !after.isDiffable
            && zip(before.rows, after.rows).contains { !$1.looksSame(as: $0) && !$1.updatesManually }
    }

    private func ids(_ section: Section) -> [RowID] { section.rows.map { $0.id! } }

    /// Ids that left exactly one compared section and entered exactly one other; sections are indexes in `new`.
    private var crossing: [(id: RowID, from: Int, to: Int)] {
        var left: [RowID: [Int]] = [:], came: [RowID: [Int]] = [:]
        for pair in compared {
            let before = ids(old.sections[pair.old]), after = ids(new.sections[pair.new])
            for id in before where !after.contains(id) { left[id, default: []].append(pair.new) }
            for id in after where !before.contains(id) { came[id, default: []].append(pair.new) }
        }
        return left.compactMap { id, from in
            guard from.count == 1, let to = came[id], to.count == 1 else { return nil }
            return (id, from[0], to[0])
        }
    }

    /// In quadratic time.
    static func longest(_ values: [Int]) -> Int {
        var best: [Int] = []
        for (index, value) in values.enumerated() {
            best.append(1 + (values.indices.prefix(index).filter { values[$0] < value }.map { best[$0] }.max() ?? 0))
        }
        return best.max() ?? 0
    }

    /// The fewest deletes, inserts and moves.
    var rowOperations: Int {
        var count = 0
        for pair in survivors where !isReloaded(pair) && !new.sections[pair.new].isDiffable {
            count += abs(old.sections[pair.old].rows.count - new.sections[pair.new].rows.count)
        }
        for pair in compared {
            let before = ids(old.sections[pair.old]), after = ids(new.sections[pair.new])
            let common = after.compactMap { before.firstIndex(of: $0) }
            count += before.count - common.count + after.count - common.count
            count += common.count - Self.longest(common)
        }
        // Counted above as a delete and an insert, but one move.
        return count - crossing.count
    }

    var sectionOperations: Int {
        let common = survivors.map(\.old)
        return old.sections.count + new.sections.count - common.count - Self.longest(common)
    }

    /// The fewest. Tries each smallest set of moved sections, and every assignment of tasks to at most three stages. A
    /// task is a group of operations with the same rules: a section's rows, its content, or the moves between two
    /// sections.
    var stages: Int {
        /// In these sections.
        struct Task: Hashable { var sections: Set<Int>; var isMove: Bool; var isReload: Bool }
        var tasks: Set<Task> = []
        for pair in survivors {
            let before = old.sections[pair.old], after = new.sections[pair.new]
            if isReloaded(pair) {
                tasks.insert(Task(sections: [pair.new], isMove: false, isReload: true))
                continue
            }
            if before.header != after.header || before.footer != after.footer || before.movesTo != after.movesTo {
                tasks.insert(Task(sections: [pair.new], isMove: false, isReload: false))
            }
            if !after.isDiffable {
                let differs = zip(before.rows, after.rows).contains { !$1.isSame(as: $0) }
                if differs || before.rows.count != after.rows.count {
                    tasks.insert(Task(sections: [pair.new], isMove: false, isReload: false))
                }
                continue
            }
            let oldIDs = ids(before), newIDs = ids(after)
            let common = newIDs.compactMap { oldIDs.firstIndex(of: $0) }
            if Self.longest(common) < common.count {
                tasks.insert(Task(sections: [pair.new], isMove: true, isReload: false))
            }
            let arrivals = crossing.filter { $0.to == pair.new }.count,
                departures = crossing.filter { $0.from == pair.new }.count
            if oldIDs.count - common.count > departures || newIDs.count - common.count > arrivals {
                tasks.insert(Task(sections: [pair.new], isMove: false, isReload: false))
            }
        }
        for row in crossing { tasks.insert(Task(sections: [row.from, row.to], isMove: true, isReload: false)) }
        for pair in compared {
            for row in new.sections[pair.new].rows {
                let id = row.id!
                let from = crossing.first { $0.id == id && $0.to == pair.new }?.from ?? pair.new
                let oldPlace = survivors.first { $0.new == from }!.old
                guard let before = old.sections[oldPlace].rows.first(where: { $0.id! == id }), !row.isSame(as: before)
                else { continue }
                let isReload = !row.looksSame(as: before) && !row.updatesManually
                // Without a reload, a move to another section brings new content.
                if isReload || from == pair.new {
                    tasks.insert(Task(sections: [pair.new], isMove: false, isReload: isReload))
                }
            }
        }

        let common = survivors.map(\.old), fewest = common.count - Self.longest(common)
        var least = Int.max
        for subset in 0..<(1 << common.count) where subset.nonzeroBitCount == fewest {
            let stays = common.indices.filter { subset & (1 << $0) == 0 }
            guard zip(stays, stays.dropFirst()).allSatisfy({ common[$0] < common[$1] }) else { continue }
            let moved = Set(common.indices.filter { subset & (1 << $0) != 0 }.map { survivors[$0].new })
            let arranges = sectionOperations > 0
            // No stage has both reloads and moves, or operations inside a section that it moves.
            for count in 0...3 where count < least {
                if count == 0 {
                    if tasks.isEmpty, !arranges { least = 0 }
                    continue
                }
                for arranging in 0..<count {
                    var choices = 1
                    for _ in 0..<count { choices *= 2 }
                    // Every choice of stages with reloads in place of moves.
                    for kinds in 0..<choices {
                        func isForReloads(_ stage: Int) -> Bool { kinds & (1 << stage) != 0 }
                        if !moved.isEmpty, isForReloads(arranging) { continue }
                        let fits = tasks.allSatisfy { task in
                            (0..<count).contains { stage in
                                if stage == arranging, !task.sections.isDisjoint(with: moved) { return false }
                                if task.isReload, !isForReloads(stage) { return false }
                                if task.isMove, isForReloads(stage) { return false }
                                return true
                            }
                        }
                        if fits { least = min(least, count) }
                    }
                }
            }
        }
        return least
    }
}

extension DiffReference {
    /// In O(n log n), by patience sorting.
    static func longest(_ values: [Int], linearithmic: Bool) -> Int {
        var ends: [Int] = []
        for value in values {
            var low = 0, high = ends.count
            while low < high {
                let middle = (low + high) / 2
                if ends[middle] < value { low = middle + 1 } else { high = middle }
            }
            if low == ends.count { ends.append(value) } else { ends[low] = value }
        }
        return ends.count
    }
}

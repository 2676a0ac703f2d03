/// Computes indexes in a list while its elements leave and arrive in different stages. The list is the sections of a
/// table or the rows of a section. "Old" indexes are those before all stages, and "new" indexes those after all stages.
/// An element that moves within the list leaves at its old index and arrives at its new one.
///
/// The cost does not depend on the elements that stay. Each mover (an element that leaves or arrives) has a slot in the
/// order of all elements that are ever in the list. A mover's rank is its number among the leaving or among the
/// arriving elements. A mover's index minus its rank is the number of staying elements before the mover.
///
/// - Complexity: O(movers log movers) to create, O(log movers) for each index.
struct StagedPlaces {
    private let leaving: [Int]
    private let arriving: [Int]
    private let slots: MoverSlots
    /// `present[state][slot]` is the number of movers before the slot that are in the list in the given state. State 0
    /// is the list before the first stage, and the last state is the list after the last stage.
    private let present: [[Int]]

    init(leaving: [(index: Int, stage: Int)], arriving: [(index: Int, stage: Int)], stageCount: Int) {
        let leaving = leaving.sorted { $0.index < $1.index }, arriving = arriving.sorted { $0.index < $1.index }
        self.leaving = leaving.map(\.index)
        self.arriving = arriving.map(\.index)
        slots = MoverSlots(leaving: self.leaving, arriving: self.arriving)
        // For each slot, the states in which the slot's mover is in the list.
        var states = Array(repeating: 0...stageCount, count: leaving.count + arriving.count)
        for (slot, mover) in zip(slots.leaving, leaving) { states[slot] = 0...mover.stage }
        for (slot, mover) in zip(slots.arriving, arriving) { states[slot] = mover.stage + 1...stageCount }
        present = (0...stageCount).map { state in
            var count = 0
            return [0]
                + states.map { states in
                    if states.contains(state) { count += 1 }
                    return count
                }
        }
    }

    /// Returns the index that an element has just before a stage. The element is given by its old index and must not
    /// have left yet.
    func place(ofOld index: Int, before stage: Int) -> Int {
        let rank = leaving.countBelow(index)
        if rank < leaving.count, leaving[rank] == index { return index - rank + present[stage][slots.leaving[rank]] }
        return index - rank + present[stage][rank + arriving.countOfThoseBefore(stayer: index - rank)]
    }

    /// Returns the index that an element has just before a stage. The element is given by its new index and must have
    /// arrived already.
    func place(ofNew index: Int, before stage: Int) -> Int {
        let rank = arriving.countBelow(index)
        if rank < arriving.count, arriving[rank] == index { return index - rank + present[stage][slots.arriving[rank]] }
        return index - rank + present[stage][rank + leaving.countOfThoseBefore(stayer: index - rank)]
    }
}

/// The positions (slots) of leaving and arriving elements, in the order of all elements that are ever in the list.
struct MoverSlots {
    private(set) var leaving: [Int] = []
    private(set) var arriving: [Int] = []

    /// Computes the slots of a list's leaving and arriving elements.
    ///
    /// - Parameters:
    ///   - leavers: ascending indexes before any element has left.
    ///   - arrivers: ascending indexes after all elements have arrived.
    init(leaving leavers: [Int], arriving arrivers: [Int]) {
        while leaving.count < leavers.count || arriving.count < arrivers.count {
            let left = leaving.count, arrived = arriving.count
            // If two movers have the same number of staying elements before them, the arriving mover comes first.
            let arrivesNext =
                arrived < arrivers.count
                && (left == leavers.count || arrivers[arrived] - arrived <= leavers[left] - left)
            if arrivesNext { arriving.append(left + arrived) } else { leaving.append(left + arrived) }
        }
    }
}

/// The leaving and arriving of a list's elements over all stages. In most lists everything leaves and arrives in one
/// stage.
enum StagedList {
    case inOneStage(Int)
    case spread(StagedPlaces)

    /// Returns the index that an element of the list has just before a stage.
    ///
    /// - Parameters:
    ///   - old: the element's old index, or -1 if the element arrives from another list or is inserted.
    ///   - new: the element's new index, or -1 if the element leaves the list.
    ///   - stage: the stage in which the element moves within the list, or `nil` if it does not move.
    func place(old: Int = -1, new: Int = -1, movingIn stage: Int? = nil, before state: Int) -> Int {
        switch self {
        case .inOneStage(let stage): return state <= stage ? old : new
        case .spread(let places):
            let isOld = old >= 0 && stage.map { state <= $0 } ?? true
            return isOld ? places.place(ofOld: old, before: state) : places.place(ofNew: new, before: state)
        }
    }
}

extension Array where Element == Int {
    /// Returns how many elements of an ascending list are less than `value`. O(log count).
    func countBelow(_ value: Int) -> Int {
        var low = 0, high = count
        while low < high {
            let middle = (low + high) / 2
            if self[middle] < value { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Returns how many movers come before a staying element. `stayer` is the number of staying elements before that
    /// element. The array contains the movers' indexes, ascending. A mover comes before the element if at most `stayer`
    /// staying elements come before the mover. O(log count).
    func countOfThoseBefore(stayer: Int) -> Int {
        var low = 0, high = count
        while low < high {
            let middle = (low + high) / 2
            if self[middle] - middle <= stayer { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

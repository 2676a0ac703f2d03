/// Places in one list, the sections of a table or the rows of a section, while things leave it and arrive in it in
/// different stages. "Old" indexes count before all stages and "new" ones after all; what was moved within the list
/// left at its old index and arrived at its new one.
///
/// Those that stay are not looked at: each mover has a slot in the order of all that ever stand in the list, and knows
/// how many that stay are before it. O(movers log movers) to set up, O(log movers) a place.
struct StagedPlaces {
    private let leaving: [Int]
    private let arriving: [Int]
    private let slots: MoverSlots
    /// For each state, before the first stage to after the last: how many movers are there before each slot.
    private let present: [[Int]]

    init(leaving: [(index: Int, stage: Int)], arriving: [(index: Int, stage: Int)], stageCount: Int) {
        let leaving = leaving.sorted { $0.index < $1.index }, arriving = arriving.sorted { $0.index < $1.index }
        self.leaving = leaving.map(\.index)
        self.arriving = arriving.map(\.index)
        slots = MoverSlots(leaving: self.leaving, arriving: self.arriving)
        // The states in which the mover in each slot is there.
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

    /// Where what stood at an old index stands before a stage, if it has not left yet.
    func place(ofOld index: Int, before stage: Int) -> Int {
        let rank = leaving.countBelow(index)
        if rank < leaving.count, leaving[rank] == index { return index - rank + present[stage][slots.leaving[rank]] }
        return index - rank + present[stage][rank + arriving.countOfThoseBefore(stayer: index - rank)]
    }

    /// Where what will stand at a new index stands before a stage, if it has arrived already.
    func place(ofNew index: Int, before stage: Int) -> Int {
        let rank = arriving.countBelow(index)
        if rank < arriving.count, arriving[rank] == index { return index - rank + present[stage][slots.arriving[rank]] }
        return index - rank + present[stage][rank + leaving.countOfThoseBefore(stayer: index - rank)]
    }
}

/// The slots of those that leave a list and of those that arrive in it, in the order of all that ever stand there.
struct MoverSlots {
    private(set) var leaving: [Int] = []
    private(set) var arriving: [Int] = []

    /// Indexes before any left, and indexes after all arrived: ascending.
    init(leaving leavers: [Int], arriving arrivers: [Int]) {
        while leaving.count < leavers.count || arriving.count < arrivers.count {
            let left = leaving.count, arrived = arriving.count
            // Of movers with equally many that stay before them, the arriving come first.
            let arrivesNext =
                arrived < arrivers.count
                && (left == leavers.count || arrivers[arrived] - arrived <= leavers[left] - left)
            if arrivesNext { arriving.append(left + arrived) } else { leaving.append(left + arrived) }
        }
    }
}

/// One list over the stages: in most of them all that leaves and arrives does so in one stage.
enum StagedList {
    case inOneStage(Int)
    case spread(StagedPlaces)

    /// Where something stands before a stage. It has an old index, unless it arrives from without, and a new one,
    /// unless it leaves for good; `stage` is the one in which it moves within the list.
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
    /// How many of an ascending list are below `value`. O(log count).
    func countBelow(_ value: Int) -> Int {
        var low = 0, high = count
        while low < high {
            let middle = (low + high) / 2
            if self[middle] < value { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// How many of an ascending list of movers have at most `stayer` of those that stay before them: how many stand
    /// before the one that stays of that number. O(log count).
    func countOfThoseBefore(stayer: Int) -> Int {
        var low = 0, high = count
        while low < high {
            let middle = (low + high) / 2
            if self[middle] - middle <= stayer { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

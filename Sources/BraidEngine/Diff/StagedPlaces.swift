/// Indexes in a list, of sections or of a section's rows, while its elements leave and arrive in different stages,
/// whatever number of elements stay. "Old" is before all stages, "new" after all. What moves within the list leaves at
/// its old index and arrives at its new one.
///
/// Each mover has a slot, as in `MovingPlaces`: its index minus its rank among those that leave, or arrive, is the
/// number of staying elements before it.
///
/// - Complexity: O(movers log movers) to create, O(log movers) for each index.
struct StagedPlaces {
    private let leaving: [Int]
    private let arriving: [Int]
    private let slots: MoverSlots
    /// `present[state][slot]`: how many movers before the slot are in the list. State 0 is before the first stage.
    private let present: [[Int]]

    init(leaving: [(index: Int, stage: Int)], arriving: [(index: Int, stage: Int)], stageCount: Int) {
        let leaving = leaving.sorted { $0.index < $1.index }, arriving = arriving.sorted { $0.index < $1.index }
        self.leaving = leaving.map(\.index)
        self.arriving = arriving.map(\.index)
        slots = MoverSlots(leaving: self.leaving, arriving: self.arriving)
        // In which states the slot's mover is in the list.
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

    /// Just before a stage. The element must not have left yet.
    func place(ofOld index: Int, before stage: Int) -> Int {
        place(of: index, among: leaving, slots.leaving, others: arriving, before: stage)
    }

    /// Just before a stage. The element must have arrived.
    func place(ofNew index: Int, before stage: Int) -> Int {
        place(of: index, among: arriving, slots.arriving, others: leaving, before: stage)
    }

    private func place(of index: Int, among movers: [Int], _ slots: [Int], others: [Int], before stage: Int) -> Int {
        let rank = movers.partitionIndex { $0 >= index }, staying = index - rank
        let isMover = rank < movers.count && movers[rank] == index
        return staying + present[stage][isMover ? slots[rank] : rank + others.shifted(staying) - staying]
    }
}

/// The positions of movers in the order of all elements that are ever in the list.
struct MoverSlots {
    private(set) var leaving: [Int] = []
    private(set) var arriving: [Int] = []

    /// `leavers` ascending before any has left, `arrivers` ascending after all have arrived.
    init(leaving leavers: [Int], arriving arrivers: [Int]) {
        while leaving.count < leavers.count || arriving.count < arrivers.count {
            let left = leaving.count, arrived = arriving.count
            // With the same number of staying elements before them, the arriving one comes first.
            let arrivesNext =
                arrived < arrivers.count
                && (left == leavers.count || arrivers[arrived] - arrived <= leavers[left] - left)
            if arrivesNext { arriving.append(left + arrived) } else { leaving.append(left + arrived) }
        }
    }
}

/// In most lists, everything leaves and arrives in one stage.
enum StagedList {
    case inOneStage(Int)
    case spread(StagedPlaces)

    /// The index just before a stage.
    ///
    /// - Parameters:
    ///   - old: -1 if the element arrives from elsewhere.
    ///   - new: -1 if it leaves the list.
    ///   - stage: in which it moves within the list, if it does.
    func place(old: Int = -1, new: Int = -1, movingIn stage: Int? = nil, before state: Int) -> Int {
        switch self {
        case .inOneStage(let stage): return state <= stage ? old : new
        case .spread(let places):
            let isOld = old >= 0 && stage.map { state <= $0 } ?? true
            return isOld ? places.place(ofOld: old, before: state) : places.place(ofNew: new, before: state)
        }
    }
}

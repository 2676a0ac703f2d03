/// Indexes in a list while elements leave and arrive, however many stay. "Old" is before any has left, "new" after all
/// have arrived. What moves within the list leaves at its old index and arrives at its new one.
///
/// Each mover has a slot in the order of all elements that are ever in the list; its index minus its rank among the
/// movers is the number of stayers before it. A Fenwick tree counts present movers. O(log movers) for each operation.
/// Arithmetic wraps, as indexes of invalid updates must not trap.
struct MovingPlaces {
    private let leaving: [Int]
    private let arriving: [Int]
    private var leavingSlots: [Int] = []
    private var arrivingSlots: [Int] = []
    private var presence: [Int]

    init(leaving: [Int], arriving: [Int]) {
        self.leaving = leaving.sorted()
        self.arriving = arriving.sorted()
        presence = Array(repeating: 0, count: leaving.count + arriving.count + 1)
        arrangeSlots()
        for slot in leavingSlots { change(slot, by: 1) }
    }

    private mutating func arrangeSlots() {
        while leavingSlots.count < leaving.count || arrivingSlots.count < arriving.count {
            let left = leavingSlots.count, arrived = arrivingSlots.count
            // Of equals, the arriving one comes first.
            let arrivesNext =
                arrived < arriving.count
                && (left == leaving.count || arriving[arrived] &- arrived <= leaving[left] &- left)
            if arrivesNext { arrivingSlots.append(left + arrived) } else { leavingSlots.append(left + arrived) }
        }
    }

    func place(ofOld index: Int) -> Int { place(of: index, among: leaving, leavingSlots, others: arriving) }

    func place(ofNew index: Int) -> Int { place(of: index, among: arriving, arrivingSlots, others: leaving) }

    private func place(of index: Int, among movers: [Int], _ slots: [Int], others: [Int]) -> Int {
        let rank = movers.firstPosition { $0 >= index }, staying = index &- rank
        let isMover = rank < movers.count && movers[rank] == index
        return staying &+ present(before: isMover ? slots[rank] : rank + others.shifted(staying) - staying)
    }

    /// Returns the index that it leaves.
    @discardableResult
    mutating func leave(_ index: Int) -> Int {
        change(leavingSlots[leaving.firstPosition { $0 >= index }], by: -1)
        return place(ofOld: index)
    }

    /// Returns the index at which it arrives.
    @discardableResult
    mutating func arrive(_ index: Int) -> Int {
        change(arrivingSlots[arriving.firstPosition { $0 >= index }], by: 1)
        return place(ofNew: index)
    }

    private mutating func change(_ slot: Int, by difference: Int) {
        var node = slot + 1
        while node < presence.count {
            presence[node] += difference
            node += node & -node
        }
    }

    private func present(before slot: Int) -> Int {
        var node = slot, count = 0
        while node > 0 {
            count += presence[node]
            node &= node - 1
        }
        return count
    }
}

/// Most lists change in one stage.
enum StagedList {
    case inOneStage(Int)
    /// The list before each stage, and after the last.
    case spread([MovingPlaces])

    init(leaving: [(index: Int, stage: Int)], arriving: [(index: Int, stage: Int)], stageCount: Int) {
        var places = MovingPlaces(leaving: leaving.map(\.index), arriving: arriving.map(\.index))
        var states = [places]
        for stage in 0..<stageCount {
            for mover in leaving where mover.stage == stage { places.leave(mover.index) }
            for mover in arriving where mover.stage == stage { places.arrive(mover.index) }
            states.append(places)
        }
        self = .spread(states)
    }

    /// The index just before the stage `state`. `old` is -1 for what arrives from elsewhere, `new` is -1 for what
    /// leaves; `stage` is that in which it moves within the list.
    func place(old: Int = -1, new: Int = -1, movingIn stage: Int? = nil, before state: Int) -> Int {
        switch self {
        case .inOneStage(let stage): return state <= stage ? old : new
        case .spread(let states):
            let isOld = old >= 0 && stage.map { state <= $0 } ?? true
            return isOld ? states[state].place(ofOld: old) : states[state].place(ofNew: new)
        }
    }
}

extension [JTDNode] {
    /// Lets each reference lead to a schema of another form, so that validating follows one step at most (RFC 8927,
    /// section 3.3.2). Null is accepted where any schema on the way accepts it.
    ///
    /// Only references lead on without a step into the value: all circles that could be endless are found here
    /// (section 5), and those through data are left as they are. O(nodes).
    mutating func followReferences() {
        var isDone = [Bool](repeating: false, count: count)
        var isOnWay = isDone
        for start in indices {
            var way: [Int] = [], position = start
            while !isDone[position], !isOnWay[position], case .reference(let target) = self[position].form {
                isOnWay[position] = true
                way.append(position)
                position = target
            }
            // What earlier ways met is done: this is on the way that was just gone.
            if !isDone[position], isOnWay[position] {
                let circle = way[way.firstIndex(of: position)!...]
                let isNullable = circle.contains { self[$0].isNullable }
                for position in circle {
                    self[position].form = .circle
                    self[position].isNullable = isNullable
                    isDone[position] = true
                }
            }
            for position in way.reversed() where !isDone[position] {
                if case .reference(let target) = self[position].form { follow(from: position, to: target) }
                isDone[position] = true
            }
        }
    }

    /// The target's own way has been followed.
    private mutating func follow(from position: Int, to target: Int) {
        switch self[target].form {
        case .reference(let last): self[position].form = .reference(last)
        case .circle: self[position].form = .circle
        default: break
        }
        if self[target].isNullable { self[position].isNullable = true }
    }
}

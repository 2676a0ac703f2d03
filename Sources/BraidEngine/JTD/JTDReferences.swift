extension [JTDNode] {
    /// Replaces the target of each `ref` schema by the schema at the end of the chain of references (RFC 8927, section
    /// 3.3.2). After the replacement, validation follows at most one reference per value. A reference accepts null if
    /// any schema of its chain does.
    ///
    /// Only chains of references can be endless, because validation by every other form continues with a part of the
    /// value. The method marks all endless chains (RFC 8927, section 5). A schema that uses itself for a part of the
    /// value is allowed and not changed. O(nodes).
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
            // The nodes of earlier chains are done. A node that is in progress and not done is therefore on the current
            // chain, which has closed a circle.
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

    /// Resolves one reference, whose target must be resolved already.
    private mutating func follow(from position: Int, to target: Int) {
        switch self[target].form {
        case .reference(let last): self[position].form = .reference(last)
        case .circle: self[position].form = .circle
        default: break
        }
        if self[target].isNullable { self[position].isNullable = true }
    }
}

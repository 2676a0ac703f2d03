/// Finds a heaviest or a longest strictly increasing subsequence: the elements that can stay where they are while all
/// others move.
///
/// The heaviest subsequence costs O(n log n). A Fenwick tree finds, for each rank, the heaviest subsequence that ends
/// below the rank. The cost is O(n) if the values increase already. Ties are broken by position, so the result is
/// deterministic.
///
/// Sources: Fredman, "On computing the length of longest increasing subsequences", 1975, here with weights instead of
/// lengths. Fenwick, "A new data structure for cumulative frequency tables", 1994, here with maxima instead of sums.
enum IncreasingSubsequence {
    /// Returns the positions, ascending, of the strictly increasing subsequence of `values` with the greatest weight.
    /// Values must not be negative, and weights must be positive.
    static func heaviest<Weight: Comparable & AdditiveArithmetic>(_ values: [Int], weights: [Weight]) -> [Int] {
        heaviest(of: values.count, { values[$0] }, weight: { weights[$0] })
    }

    /// Returns the positions of the heaviest strictly increasing subsequence of `count` values. The closure `value`
    /// returns the value at a position, and the closure `weight` returns the value's weight.
    @inline(__always)
    static func heaviest<Weight: Comparable & AdditiveArithmetic>(
        of count: Int, _ value: (Int) -> Int, weight: (Int) -> Weight
    ) -> [Int] {
        if !(1..<max(1, count)).contains(where: { value($0) <= value($0 - 1) }) { return Array(0..<count) }

        // One array contains two things. The members of `nodes[i]` describe the value at position i, except for
        // `heaviestEnd`, which belongs to the Fenwick tree's node of the rank i + 1.
        var nodes = ContiguousArray<Node<Weight>>()
        nodes.reserveCapacity(count)
        for position in 0..<count { nodes.append(Node(total: weight(position))) }
        rank(&nodes, value)
        var heaviestEnd = -1
        for position in 0..<count {
            var best = -1
            var node = nodes[position].rank - 1
            while node > 0 {
                let end = nodes[node - 1].heaviestEnd
                if end >= 0, best < 0 || nodes[end].total > nodes[best].total { best = end }
                node &= node - 1
            }
            nodes[position].previous = best
            if best >= 0 { nodes[position].total += nodes[best].total }
            let total = nodes[position].total
            node = nodes[position].rank
            while node <= count {
                let end = nodes[node - 1].heaviestEnd
                if end < 0 || total > nodes[end].total { nodes[node - 1].heaviestEnd = position }
                node += node & -node
            }
            if heaviestEnd < 0 || total > nodes[heaviestEnd].total { heaviestEnd = position }
        }
        var positions: [Int] = []
        positions.reserveCapacity(count)
        while heaviestEnd >= 0 {
            positions.append(heaviestEnd)
            heaviestEnd = nodes[heaviestEnd].previous
        }
        positions.reverse()
        return positions
    }

    private struct Node<Weight> {
        /// The value's rank among all values. The smallest value has rank 1.
        var rank = 1
        /// The weight of the heaviest increasing subsequence that ends with this value. Until the loop over the
        /// positions reaches the value, `total` is only the value's own weight.
        var total: Weight
        /// The position of the previous element of the heaviest increasing subsequence that ends with this value. -1 if
        /// this value is the first element.
        var previous = -1
        /// The position at which a subsequence ends: the heaviest one found so far that ends at a rank which this node
        /// of the Fenwick tree covers. -1 if no such subsequence was found.
        var heaviestEnd = -1
    }

    /// Sets the rank of each value. Of equal values the later one gets the lower rank, so that no subsequence contains
    /// both.
    @inline(__always)
    private static func rank<Weight>(_ nodes: inout ContiguousArray<Node<Weight>>, _ value: (Int) -> Int) {
        if nodes.count <= 16 {
            // For short lists, comparing each pair of values is faster than sorting.
            for later in nodes.indices {
                for earlier in 0..<later {
                    if value(earlier) < value(later) { nodes[later].rank += 1 } else { nodes[earlier].rank += 1 }
                }
            }
        } else {
            var order = ContiguousArray(nodes.indices.reversed().map { (value: UInt64(value($0)), position: $0) })
            order.sortAscending { $0.value }
            for (rank, value) in order.enumerated() { nodes[value.position].rank = rank + 1 }
        }
    }

    /// Returns the positions, ascending, of a longest strictly increasing subsequence. Of several longest subsequences,
    /// the result is the one with the earliest positions. O(n log n). Source: Knuth, "Permutations, matrices, and
    /// generalized Young tableaux", 1970, with binary search.
    static func longest(_ values: [Int]) -> [Int] {
        // The loop runs from the end of `values`. `starts[k]` is the position where an increasing subsequence of k + 1
        // values begins. Of all such subsequences found so far, `starts[k]` belongs to one with the highest first
        // value.
        var starts = ContiguousArray<Int>(), highest = ContiguousArray<Int>()
        var next = ContiguousArray(repeating: -1, count: values.count)
        for position in values.indices.reversed() {
            let value = values[position]
            let length = firstAtMost(value, in: highest)
            if length > 0 { next[position] = starts[length - 1] }
            if length == starts.count {
                starts.append(position)
                highest.append(value)
            } else {
                starts[length] = position
                highest[length] = value
            }
        }
        var positions: [Int] = []
        positions.reserveCapacity(starts.count)
        var position = starts.last ?? -1
        while position >= 0 {
            positions.append(position)
            position = next[position]
        }
        return positions
    }

    /// Returns the first position in a descending array whose element is at most `value`, or the array's count. No
    /// element is negative.
    @inline(__always)
    private static func firstAtMost(_ value: Int, in values: ContiguousArray<Int>) -> Int {
        var low = 0, length = values.count
        while length > 0 {
            let half = length / 2
            // A bit mask: all ones if the middle value is larger than `value`, otherwise 0. The compiler would turn a
            // comparison into a branch that the processor cannot predict.
            let isLarger = (value &- values[low &+ half]) >> (Int.bitWidth - 1)
            low &+= (length &- half) & isLarger
            length = half
        }
        return low
    }
}

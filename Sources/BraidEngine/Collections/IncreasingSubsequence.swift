/// The heaviest strictly increasing subsequence: what may stay where it is while the rest moves around it.
///
/// O(n log n) by a Fenwick tree that holds, for each rank, the heaviest subsequence ending at or below it; O(n) where
/// the values increase already. Ties are settled by position, so the answer is always the same.
/// Source: Fredman, "On computing the length of longest increasing subsequences", 1975, with weights in place of ones;
/// Fenwick, "A new data structure for cumulative frequency tables", 1994, with maxima in place of sums.
enum IncreasingSubsequence {
    /// Positions, ascending, of a subsequence of `values` that increases strictly and weighs the most. Values must not
    /// be negative, and weights must be positive.
    static func heaviest<Weight: Comparable & AdditiveArithmetic>(_ values: [Int], weights: [Weight]) -> [Int] {
        heaviest(of: values.count, { values[$0] }, weight: { weights[$0] })
    }

    /// As above, of `count` values.
    @inline(__always)
    static func heaviest<Weight: Comparable & AdditiveArithmetic>(
        of count: Int, _ value: (Int) -> Int, weight: (Int) -> Weight
    ) -> [Int] {
        if !(1..<max(1, count)).contains(where: { value($0) <= value($0 - 1) }) { return Array(0..<count) }

        // Each stands for a value, and as a node of the tree for a rank less one.
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
        /// Of the value, from 1.
        var rank = 1
        /// The weight of the heaviest subsequence that ends with the value; before it is reached its own weight.
        var total: Weight
        /// Where the value before it stands in that subsequence, or -1.
        var previous = -1
        /// Where the heaviest subsequence of the ranks under this node of the tree ends, or -1.
        var heaviestEnd = -1
    }

    /// Equal values must not follow one another: of equal values the later one is ranked lower.
    @inline(__always)
    private static func rank<Weight>(_ nodes: inout ContiguousArray<Node<Weight>>, _ value: (Int) -> Int) {
        if nodes.count <= 16 {
            // Quicker counted than sorted.
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

    /// Positions, ascending, of a longest subsequence that increases strictly: of equal choices the earlier one. O(n
    /// log n). Source: Knuth, "Permutations, matrices, and generalized Young tableaux", 1970, with binary search.
    static func longest(_ values: [Int]) -> [Int] {
        // From the end: `starts[k]` is where the subsequence of k + 1 values starts whose first value is the highest.
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

    /// The first position of a value that is at most this one, or the count. The values descend, and none is negative.
    @inline(__always)
    private static func firstAtMost(_ value: Int, in values: ContiguousArray<Int>) -> Int {
        var low = 0, length = values.count
        while length > 0 {
            let half = length / 2
            // All ones where it is larger: of a condition the compiler makes a branch, which could not be predicted.
            let isLarger = (value &- values[low &+ half]) >> (Int.bitWidth - 1)
            low &+= (length &- half) & isLarger
            length = half
        }
        return low
    }
}

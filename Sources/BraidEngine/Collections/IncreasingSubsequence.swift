/// Which elements can stay while all others move: a heaviest or longest strictly increasing subsequence.
///
/// Heaviest: O(n log n), or O(n) if the values increase already. Ties go by position, so results are deterministic.
/// Sources: Fredman, "On computing the length of longest increasing subsequences", 1975, with weights; Fenwick, "A new
/// data structure for cumulative frequency tables", 1994, with maxima for sums.
enum IncreasingSubsequence {
    /// Positions, ascending. Values are not negative, weights positive.
    static func heaviest<Weight: Comparable & AdditiveArithmetic>(_ values: [Int], weights: [Weight]) -> [Int] {
        heaviest(of: values.count, { values[$0] }, weight: { weights[$0] })
    }

    @inline(__always)
    static func heaviest<Weight: Comparable & AdditiveArithmetic>(
        of count: Int, _ value: (Int) -> Int, weight: (Int) -> Weight
    ) -> [Int] {
        if !(1..<max(1, count)).contains(where: { value($0) <= value($0 - 1) }) { return Array(0..<count) }

        // One array for two things: `nodes[i]` describes value i, but its `heaviestEnd` belongs to the Fenwick node of
        // rank i + 1.
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
        /// 1 for the smallest value.
        var rank = 1
        /// Of the heaviest subsequence that ends here; until the loop gets here, the value's own weight.
        var total: Weight
        /// The element before it there, or -1.
        var previous = -1
        /// Where the heaviest one so far ends, of those at a rank of this tree node; or -1.
        var heaviestEnd = -1
    }

    /// Of equal values the later ranks lower, so no subsequence contains both.
    @inline(__always)
    private static func rank<Weight>(_ nodes: inout ContiguousArray<Node<Weight>>, _ value: (Int) -> Int) {
        if nodes.count <= 16 {
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

    /// The one with the earliest positions. O(n log n). Source: Knuth, "Permutations, matrices, and generalized Young
    /// tableaux", 1970.
    static func longest(_ values: [Int]) -> [Int] {
        // From the end: `starts[k]` begins a subsequence of k + 1 values, the one with the highest first value so far.
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

    /// An index in a descending array without negative elements, or its count.
    @inline(__always)
    private static func firstAtMost(_ value: Int, in values: ContiguousArray<Int>) -> Int {
        var low = 0, length = values.count
        while length > 0 {
            let half = length / 2
            // All ones if the middle value is larger: a comparison would be a branch that the processor cannot predict.
            let isLarger = (value &- values[low &+ half]) >> (Int.bitWidth - 1)
            low &+= (length &- half) & isLarger
            length = half
        }
        return low
    }
}

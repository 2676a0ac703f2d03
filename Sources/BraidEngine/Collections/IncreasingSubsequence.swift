/// Which elements can stay while all others move: a heaviest or longest strictly increasing subsequence.
///
/// Heaviest: O(n log n), or O(n) if the values increase already. Ties go by position, so results are deterministic.
/// Sources: Fredman, "On computing the length of longest increasing subsequences", 1975, with weights; Fenwick, "A new
/// data structure for cumulative frequency tables", 1994, with maxima for sums.
enum IncreasingSubsequence {
    /// Positions, ascending. Values are not negative, weights positive.
    static func heaviest<Weight: Comparable & AdditiveArithmetic>(_ values: [Int], weights: [Weight]) -> [Int] {
        if !values.indices.dropFirst().contains(where: { values[$0] <= values[$0 - 1] }) {
            return Array(values.indices)
        }
        var candidates = ContiguousArray(zip(values, weights).lazy.map { Candidate($0, weight: $1) })
        chooseHeaviest(&candidates)
        return candidates.indices.filter { candidates[$0].isChosen }
    }

    struct Candidate<Weight: Comparable & AdditiveArithmetic> {
        let value: Int
        fileprivate(set) var isChosen = false
        /// Of the heaviest subsequence that ends here; until the loop gets here, the value's own weight.
        fileprivate var total: Weight
        /// The element before it there, or -1.
        fileprivate var previous = -1
        // One array for two things: the rank is this value's, but `heaviestEnd` belongs to the Fenwick node of the rank
        // that is one more than this position.
        /// 1 for the smallest value.
        fileprivate var rank = 1
        /// Where the heaviest one so far ends, of those at a rank of this tree node; or -1.
        fileprivate var heaviestEnd = -1

        @inline(__always)
        init(_ value: Int, weight: Weight) {
            self.value = value
            total = weight
        }
    }

    /// Up to so many, looking at all pairs is faster than ranking.
    private static var few: Int { 16 }

    @inline(__always)
    static func chooseHeaviest<Weight>(_ candidates: inout ContiguousArray<Candidate<Weight>>) {
        if candidates.count <= few { linkPairs(&candidates) } else { linkRanked(&candidates) }
        var end = -1
        for position in candidates.indices where end < 0 || candidates[position].total > candidates[end].total {
            end = position
        }
        while end >= 0 {
            candidates[end].isChosen = true
            end = candidates[end].previous
        }
    }

    /// Chooses as `linkRanked` does: ends with equal totals descend, so the first is at the highest rank.
    @inline(__always)
    private static func linkPairs<Weight>(_ candidates: inout ContiguousArray<Candidate<Weight>>) {
        for position in candidates.indices {
            var best = -1
            for earlier in 0..<position
            where candidates[earlier].value < candidates[position].value
                && (best < 0 || candidates[earlier].total > candidates[best].total)
            {
                best = earlier
            }
            candidates[position].previous = best
            if best >= 0 { candidates[position].total += candidates[best].total }
        }
    }

    @inline(__always)
    private static func linkRanked<Weight>(_ candidates: inout ContiguousArray<Candidate<Weight>>) {
        // Of equal values the later ranks lower, so no subsequence contains both.
        var order = ContiguousArray(
            candidates.indices.reversed().map { (value: UInt64(candidates[$0].value), position: $0) })
        order.sortAscending { $0.value }
        for (rank, value) in order.enumerated() { candidates[value.position].rank = rank + 1 }
        for position in candidates.indices {
            var best = -1
            var node = candidates[position].rank - 1
            while node > 0 {
                let end = candidates[node - 1].heaviestEnd
                if end >= 0, best < 0 || candidates[end].total > candidates[best].total { best = end }
                node &= node - 1
            }
            candidates[position].previous = best
            if best >= 0 { candidates[position].total += candidates[best].total }
            let total = candidates[position].total
            node = candidates[position].rank
            while node <= candidates.count {
                let end = candidates[node - 1].heaviestEnd
                if end < 0 || total > candidates[end].total { candidates[node - 1].heaviestEnd = position }
                node += node & -node
            }
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

extension RandomAccessCollection where Self: RangeReplaceableCollection & MutableCollection, Index == Int {
    /// Stable. O(n) for elements in order (most lists of a diff), a few runs, or many small keys.
    mutating func sortAscending(by key: (Element) -> UInt64) {
        var descents = 0, last: UInt64 = 0, bits: UInt64 = 0
        for element in self {
            let key = key(element)
            if key < last { descents += 1 }
            bits |= key
            last = key
        }
        if descents == 0 { return }
        // Keys such as `RowPath.place` have a small number in each half. If both fit into 32 bits, a large disordered
        // list is sorted by radix.
        let lowBits = 64 - (bits & 0xFFFF_FFFF).leadingZeroBitCount, highBits = 64 - (bits >> 32).leadingZeroBitCount
        guard count >= 256, descents > 8, count - descents > 8, lowBits + highBits <= 32, count <= 1 << 32 else {
            return sort { key($0) < key($1) }
        }
        var order = ContiguousArray<UInt64>()
        order.reserveCapacity(count)
        for (index, element) in self.enumerated() {
            let key = key(element)
            order.append(((key >> 32) << lowBits | key & 0xFFFF_FFFF) << 32 | UInt64(index))
        }
        order.radixSort(32..<32 + lowBits + highBits)
        let unordered = self
        self = Self(order.lazy.map { unordered[Int($0 & 0xFFFF_FFFF)] })
    }
}

extension ContiguousArray<UInt64> {
    /// From the lowest digit. Source: Knuth, "The Art of Computer Programming", volume 3, section 5.2.5.
    fileprivate mutating func radixSort(_ bits: Range<Int>) {
        var sorted = self
        for shift in stride(from: bits.lowerBound, to: bits.upperBound, by: 8) {
            var starts = ContiguousArray<Int>(repeating: 0, count: 257)
            for word in self { starts[Int((word >> shift) & 0xFF) + 1] += 1 }
            for digit in 1...256 { starts[digit] += starts[digit - 1] }
            for word in self {
                let digit = Int((word >> shift) & 0xFF)
                sorted[starts[digit]] = word
                starts[digit] += 1
            }
            swap(&self, &sorted)
        }
    }
}

extension RandomAccessCollection where Index == Int {
    /// The first index from which on all elements satisfy a condition, or the end. If it holds for one element, it must
    /// hold for all later ones. O(log n).
    @inline(__always)
    func firstPosition(where holds: (Element) -> Bool) -> Int {
        var low = startIndex, length = count
        while length > 0 {
            let half = length / 2
            if !holds(self[low + half]) { low += length - half }
            length = half
        }
        return low
    }
}

extension [Int] {
    /// An element's new index after insertions, whose resulting indexes are in `self`, ascending. O(log count).
    func shifted(_ index: Int) -> Int {
        index + indices.firstPosition { self[$0] - $0 > index }
    }
}

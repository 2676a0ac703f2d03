extension RandomAccessCollection where Self: RangeReplaceableCollection & MutableCollection, Index == Int {
    /// Puts the elements in order of their keys; those with equal keys keep their order. O(n) where they stand in
    /// order, as most lists of a diff do, or in few runs that ascend or descend, or are many.
    mutating func sortAscending(by key: (Element) -> UInt64) {
        var descents = 0, last: UInt64 = 0, bits: UInt64 = 0
        for element in self {
            let key = key(element)
            if key < last { descents += 1 }
            bits |= key
            last = key
        }
        if descents == 0 { return }
        // A key's halves, as those of `RowPath.place`, mostly have room in 32 bits together.
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
    /// Orders by these bits. Source: the radix sort from the lowest digit up; Knuth, "The Art of Computer Programming",
    /// volume 3, 5.2.5.
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

extension ContiguousArray {
    /// The first position at which the condition holds, or the count; it must hold from there on. O(log n).
    func firstPosition(where holds: (Element) -> Bool) -> Int {
        var low = 0, length = count
        while length > 0 {
            let half = length / 2
            if !holds(self[low + half]) { low += length - half }
            length = half
        }
        return low
    }
}

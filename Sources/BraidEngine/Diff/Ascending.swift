extension RandomAccessCollection where Index == Int {
    /// The elements in order of their keys; those with equal keys keep their order. O(n) where they stand in order, as
    /// most lists of a diff do, or for many elements.
    ///
    /// Source: the radix sort from the lowest digit up; Knuth, "The Art of Computer Programming", volume 3, 5.2.5.
    func ascending(by key: (Element) -> UInt64) -> ContiguousArray<Element> {
        var isAscending = true, last: UInt64 = 0, varying: UInt64 = 0
        for element in self {
            let key = key(element)
            if key < last { isAscending = false }
            varying |= key ^ last
            last = key
        }
        if isAscending { return ContiguousArray(self) }
        var order = ContiguousArray(indices.map { (key: key(self[$0]), index: $0) })
        if count < 256 {
            order.sort { ($0.key, $0.index) < ($1.key, $1.index) }
        } else {
            var sorted = order
            for shift in stride(from: UInt64(0), to: 64, by: 8) where varying >> shift & 0xFF != 0 {
                var starts = ContiguousArray(repeating: 0, count: 257)
                for element in order { starts[Int(element.key >> shift & 0xFF) + 1] += 1 }
                for digit in 1...256 { starts[digit] += starts[digit - 1] }
                for element in order {
                    let digit = Int(element.key >> shift & 0xFF)
                    sorted[starts[digit]] = element
                    starts[digit] += 1
                }
                swap(&order, &sorted)
            }
        }
        return ContiguousArray(order.lazy.map { self[$0.index] })
    }
}

extension Array {
    /// Puts the elements in order of their keys.
    mutating func sortAscending(by key: (Element) -> UInt64) {
        if indices.dropFirst().allSatisfy({ key(self[$0 - 1]) <= key(self[$0]) }) { return }
        self = Array(ascending(by: key))
    }
}

extension ContiguousArray {
    /// The first position at which the condition holds, or the count; it must hold from there on. O(log n).
    func firstPosition(where holds: (Element) -> Bool) -> Int {
        var low = 0, length = count
        while length > 0 {
            let half = length / 2
            // Without a branch, which could not be predicted.
            low = holds(self[low + half]) ? low : low + length - half
            length = half
        }
        return low
    }
}

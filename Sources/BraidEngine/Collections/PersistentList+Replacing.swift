extension PersistentList {
    typealias Replacement = (range: Range<Int>, elements: ContiguousArray<Element>)

    /// Chunks without changes mostly stay shared. The replacements ascend and are disjoint; their ranges are indexes
    /// before all of them.
    ///
    /// - Complexity: O(log count) for each changed element if they are few, else O(count / 64 + elements of changed
    ///   chunks).
    mutating func replace(_ replacements: [Replacement]) {
        precondition(
            replacements.last.map { $0.range.upperBound <= count } ?? true, "PersistentList: index out of bounds")
        let changed = replacements.reduce(0) { $0 + $1.range.count + $1.elements.count }
        if changed <= Swift.max(1, count / Self.fewOf) {
            for replacement in replacements.reversed() { replaceOneByOne(replacement) }
        } else {
            rebuild(replacements)
        }
    }

    /// Above one change in so many elements, the tree is rebuilt: one change takes about as long as copying the
    /// references to a few chunks.
    private static var fewOf: Int { 512 }

    private mutating func replaceOneByOne(_ replacement: Replacement) {
        let (range, elements) = replacement, common = Swift.min(range.count, elements.count)
        for offset in 0..<common { self[range.lowerBound + offset] = elements[offset] }
        for _ in common..<range.count { remove(at: range.lowerBound + common) }
        for offset in common..<elements.count { insert(elements[offset], at: range.lowerBound + offset) }
    }

    private mutating func rebuild(_ replacements: [Replacement]) {
        var leaves = Leaves(), next = 0
        var start = 0, index = 0
        let count = count
        for chunk in chunks {
            defer { start += chunk.count }
            let end = start + chunk.count
            /// Whether the next replacement begins in this chunk; in the last one, also at the end of the list.
            func isNextHere() -> Bool {
                next < replacements.count && (replacements[next].range.lowerBound < end || end == count)
            }
            if index == start, !isNextHere() {
                leaves.append(chunk: chunk)
                index = end
                continue
            }
            while isNextHere() {
                let (range, elements) = replacements[next]
                leaves.append(chunk[index - start..<range.lowerBound - start])
                leaves.append(elements[...])
                index = range.upperBound
                next += 1
            }
            if index < end {
                leaves.append(chunk[index - start..<chunk.count])
                index = end
            }
        }
        if count == 0 { for replacement in replacements { leaves.append(replacement.elements[...]) } }
        root = leaves.root()
    }

    /// Collects leaves, and avoids short ones between others.
    private struct Leaves {
        private var done: ContiguousArray<Node> = []
        /// Not yet in `done`: takes in what follows if that stays short.
        private var full: Chunk?
        private var run = Chunk()

        private static var fullCount: Int { widest * 3 / 4 }

        mutating func append(_ elements: Chunk.SubSequence) {
            var rest = elements
            while !rest.isEmpty {
                if run.isEmpty { run.reserveCapacity(Self.fullCount) }
                let count = Swift.min(rest.count, Self.fullCount - run.count)
                run.append(contentsOf: rest.prefix(count))
                rest = rest.dropFirst(count)
                if run.count == Self.fullCount {
                    if let full { done.append(.leaf(full)) }
                    full = run
                    run = []
                }
            }
        }

        mutating func append(chunk: Chunk) {
            if full == nil, !run.isEmpty, run.count < widest / 4 { return append(chunk[...]) }
            flush()
            done.append(.leaf(chunk))
        }

        private mutating func flush() {
            if var full {
                if run.count < widest - Self.fullCount {
                    full += run
                    run = []
                }
                done.append(.leaf(full))
            }
            if !run.isEmpty { done.append(.leaf(run)) }
            (full, run) = (nil, [])
        }

        mutating func root() -> Node? {
            flush()
            return PersistentList.root(over: done)
        }
    }
}

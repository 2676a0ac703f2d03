extension PersistentList {
    /// The direction in which a cursor moves through a list: towards higher indexes (forward) or lower ones (backward).
    enum Direction { case forward, backward }

    /// A position between two elements of a list. A cursor moves by elements of a chunk, by chunks or by whole
    /// subtrees.
    struct Cursor {
        private(set) var path: [(inner: Inner, child: Int)] = []
        private(set) var chunk: Chunk
        /// The number of elements of the current chunk that have lower indexes than the cursor.
        var offset: Int
        let direction: Direction

        /// Creates a cursor between the elements at `index - 1` and `index`. The list must contain the element that the
        /// cursor passes first. Returns `nil` if the list is empty. O(log count).
        init?(_ list: PersistentList, at index: Int, _ direction: Direction) {
            guard var node = list.root else { return nil }
            var rest = direction == .forward ? index : index - 1
            if case .inner = node { path.reserveCapacity(4) }
            while case .inner(let inner) = node {
                let (child, offset) = inner.locate(rest)
                path.append((inner, child))
                (node, rest) = (inner.children[child].node, offset)
            }
            guard case .leaf(let chunk) = node else { return nil }
            self.chunk = chunk
            offset = direction == .forward ? rest : rest + 1
            self.direction = direction
        }

        /// The number of elements of the current chunk that are ahead of the cursor, in its direction.
        var ahead: Int { direction == .forward ? chunk.count - offset : offset }

        /// Whether all elements of the cursor's current chunk are still ahead of the cursor.
        var isAtStartOfChunk: Bool { ahead == chunk.count }

        /// Returns the inner node `level` levels above the cursor's chunk if the cursor is in the first of the node's
        /// children that it visits. Otherwise returns `nil`. A backward cursor visits the last child first.
        @inline(__always)
        func parent(_ level: Int) -> Inner? {
            guard level <= path.count else { return nil }
            let (inner, child) = path[path.count - level]
            return child == (direction == .forward ? 0 : inner.children.count - 1) ? inner : nil
        }

        /// Moves the cursor past `count` elements of its chunk. `count` is at most the number of elements ahead in the
        /// chunk. After the chunk's last element, the cursor enters the next chunk, if there is one.
        mutating func pass(_ count: Int) {
            offset += direction == .forward ? count : -count
            if ahead == 0 { leave(0) }
        }

        /// Returns the parent of the node `level` levels above the cursor's chunk, and the position in that parent of
        /// the node's next sibling. The position is out of bounds if the node has no next sibling.
        @inline(__always)
        func siblings(_ level: Int) -> (inner: Inner, next: Int)? {
            guard level < path.count else { return nil }
            let (inner, child) = path[path.count - 1 - level]
            return (inner, direction == .forward ? child + 1 : child - 1)
        }

        /// Moves the cursor past the node `level` levels above its chunk, and past a number of that node's siblings. If
        /// no element is ahead in the cursor's direction, the cursor stays in its chunk.
        mutating func leave(_ level: Int, siblings: Int = 0) {
            path.removeLast(level)
            if siblings > 0 { path[path.count - 1].child += direction == .forward ? siblings : -siblings }
            while let (inner, child) = path.last {
                let next = direction == .forward ? child + 1 : child - 1
                guard inner.children.indices.contains(next) else {
                    path.removeLast()
                    continue
                }
                path[path.count - 1].child = next
                var node = inner.children[next].node
                while case .inner(let below) = node {
                    let first = direction == .forward ? 0 : below.children.count - 1
                    path.append((below, first))
                    node = below.children[first].node
                }
                if case .leaf(let chunk) = node { self.chunk = chunk }
                offset = direction == .forward ? 0 : chunk.count
                return
            }
        }
    }

    /// Random access to a list. A window keeps the chunk of the last accessed element, so that neighbouring elements
    /// are found faster.
    struct Window {
        private let list: PersistentList
        private var chunk: Chunk = []
        /// The range of list indexes that the kept chunk contains.
        private var range = 0..<0

        init(_ list: PersistentList) { self.list = list }

        /// The list's element at an index, which must be in the list's bounds.
        subscript(index: Int) -> Element {
            @inline(__always)
            mutating get {
                if range.contains(index) { return chunk[index - range.lowerBound] }
                let found = list.chunk(at: index)
                chunk = found.chunk
                range = index - found.offset..<index - found.offset + chunk.count
                return chunk[found.offset]
            }
        }
    }

    /// Walks through two lists in parallel and skips the nodes that both lists share.
    ///
    /// If one list was made from the other by replacing one element, a walk over the whole lists costs O(log count).
    ///
    /// - Parameters:
    ///   - limit: the maximum number of elements to pass. Each list must contain at least `limit` elements from its
    ///     start position on, in the walk's direction.
    ///   - accept: called where the lists do not share a node. `accept` receives both cursors, the number of elements
    ///     ahead and the number of elements passed so far. `accept` returns how many of the elements ahead it accepts.
    ///     If `accept` does not accept all elements ahead, the walk ends.
    /// - Returns: the number of elements passed.
    static func walk(
        _ left: PersistentList, _ leftStart: Int, _ right: PersistentList, _ rightStart: Int, limit: Int,
        _ direction: Direction,
        _ accept: (_ left: Cursor, _ right: Cursor, _ count: Int, _ passed: Int) -> Int
    ) -> Int {
        guard limit > 0, var left = Cursor(left, at: leftStart, direction),
            var right = Cursor(right, at: rightStart, direction)
        else { return 0 }
        var passed = 0
        while passed < limit {
            let count = Swift.min(left.ahead, right.ahead, limit - passed)
            guard count > 0 else { break }
            if left.chunk.hasSameStorage(as: right.chunk), left.offset == right.offset {
                if left.isAtStartOfChunk, count == left.ahead {
                    var level = 0, shared = count
                    while let parent = left.parent(level + 1), let other = right.parent(level + 1),
                        parent.isShared(with: other), parent.count <= limit - passed
                    {
                        level += 1
                        shared = parent.count
                    }
                    passed += shared
                    let siblings = Self.sharedSiblings(left, right, level, limit: limit - passed)
                    passed += siblings.elements
                    left.leave(level, siblings: siblings.count)
                    right.leave(level, siblings: siblings.count)
                    continue
                }
                passed += count
            } else {
                let accepted = accept(left, right, count, passed)
                passed += accepted
                if accepted < count { break }
            }
            left.pass(count)
            right.pass(count)
        }
        return passed
    }

    /// Compares the next siblings of a node in one list with the next siblings of a node in another list. Returns how
    /// many siblings, from the first on, both lists share, and the number of elements below them. Stops before the
    /// number of elements would exceed `limit`.
    private static func sharedSiblings(_ left: Cursor, _ right: Cursor, _ level: Int, limit: Int) -> (
        count: Int, elements: Int
    ) {
        guard let (leftParent, leftNext) = left.siblings(level), let (rightParent, rightNext) = right.siblings(level)
        else { return (0, 0) }
        let step = left.direction == .forward ? 1 : -1
        var count = 0, elements = 0
        while leftParent.children.indices.contains(leftNext + step * count),
            rightParent.children.indices.contains(rightNext + step * count)
        {
            let node = leftParent.children[leftNext + step * count].node
            guard node.isShared(with: rightParent.children[rightNext + step * count].node),
                elements + node.count <= limit
            else { break }
            elements += node.count
            count += 1
        }
        return (count, elements)
    }

    /// Calls a closure with each element of a range and the element's index in the list, in order. O(log count +
    /// range).
    func forEach<Failure: Error>(in range: Range<Int>, _ body: (Int, Element) throws(Failure) -> Void) throws(Failure) {
        try forEachBuffer(in: range) { (index, elements) throws(Failure) in
            for offset in elements.indices { try body(index + offset, elements[offset]) }
        }
    }

    /// Calls a closure with the elements of a range, one chunk at a time. The closure receives a buffer of the
    /// elements, which must not leave the closure, and the list index of the buffer's first element. O(log count +
    /// range).
    @inline(__always)
    func forEachBuffer<Failure: Error>(
        in range: Range<Int>, _ body: (Int, UnsafeBufferPointer<Element>) throws(Failure) -> Void
    ) throws(Failure) {
        var index = range.lowerBound
        while index < range.upperBound {
            let (chunk, offset) = chunk(at: index)
            let count = Swift.min(chunk.count - offset, range.upperBound - index)
            let result = chunk.withUnsafeBufferPointer { elements in
                Result { () throws(Failure) in
                    try body(index, UnsafeBufferPointer(rebasing: elements[offset..<offset + count]))
                }
            }
            try result.get()
            index += count
        }
    }
}

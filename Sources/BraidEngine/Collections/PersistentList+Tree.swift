extension PersistentList {
    /// Lists share chunks: equal addresses, equal content.
    typealias Chunk = ContiguousArray<Element>

    struct Child: Sendable {
        fileprivate(set) var node: Node
        /// Elements below it and its earlier siblings.
        let end: Int
    }

    struct Inner: Sendable {
        fileprivate(set) var children: ContiguousArray<Child>

        init(_ children: ContiguousArray<Child>) { self.children = children }

        init(_ nodes: some Collection<Node>) {
            var children = ContiguousArray<Child>()
            children.reserveCapacity(nodes.count)
            for node in nodes { children.append(node) }
            self.children = children
        }

        var count: Int { children[children.count - 1].end }

        @inline(__always)
        func isShared(with other: Inner) -> Bool { children.hasSameStorage(as: other.children) }

        /// The child with the element, and its offset there. For the end index, the last child.
        func locate(_ index: Int) -> (child: Int, offset: Int) {
            var low = 0, high = children.count - 1
            while low < high {
                let middle = (low + high) / 2
                if children[middle].end <= index { low = middle + 1 } else { high = middle }
            }
            return (low, index - (low == 0 ? 0 : children[low - 1].end))
        }

        func replacing(_ range: ClosedRange<Int>, with nodes: (Node, Node?)) -> ContiguousArray<Child> {
            var changed = ContiguousArray<Child>()
            changed.reserveCapacity(children.count - range.count + 2)
            changed.append(contentsOf: children[..<range.lowerBound])
            changed.append(nodes.0)
            if let second = nodes.1 { changed.append(second) }
            let shift = (changed.last?.end ?? 0) - children[range.upperBound].end
            for child in children[(range.upperBound + 1)...] {
                changed.append(Child(node: child.node, end: child.end + shift))
            }
            return changed
        }
    }

    /// All leaves have the same depth.
    enum Node: Sendable {
        case leaf(Chunk)
        case inner(Inner)

        var count: Int {
            switch self {
            case .leaf(let chunk): chunk.count
            case .inner(let inner): inner.count
            }
        }

        var first: Element {
            switch self {
            case .leaf(let chunk): chunk[0]
            case .inner(let inner): inner.children[0].node.first
            }
        }

        @inline(__always)
        func isShared(with other: Node) -> Bool {
            switch (self, other) {
            case (.leaf(let mine), .leaf(let others)): mine.hasSameStorage(as: others)
            case (.inner(let mine), .inner(let others)): mine.isShared(with: others)
            default: false
            }
        }

        var width: Int {
            switch self {
            case .leaf(let chunk): chunk.count
            case .inner(let inner): inner.children.count
            }
        }
    }

    /// Wider nodes are split; one that a removal makes narrower than a quarter is joined with a neighbour.
    static var widest: Int { 64 }

    static func root(over leaves: ContiguousArray<Node>) -> Node? {
        var level = leaves
        while level.count > 1 {
            level = ContiguousArray(
                stride(from: 0, to: level.count, by: widest / 2).map { start in
                    .inner(Inner(level[start..<Swift.min(start + widest / 2, level.count)]))
                })
        }
        return level.first
    }

    /// Two nodes if one would be too wide.
    static func inserting(_ element: Element, at index: Int, in node: Node) -> (Node, Node?) {
        switch node {
        case .leaf(let chunk):
            return leaves(chunk.replacing(index..<index, with: CollectionOfOne(element)))
        case .inner(let inner):
            let (child, offset) = inner.locate(index)
            return inners(
                inner.replacing(child...child, with: inserting(element, at: offset, in: inner.children[child].node)))
        }
    }

    /// `nil` if nothing is left.
    static func removing(at index: Int, from node: Node) -> Node? {
        switch node {
        case .leaf(let chunk):
            return chunk.count == 1 ? nil : .leaf(chunk.replacing(index..<index + 1, with: EmptyCollection()))
        case .inner(let inner):
            let (child, offset) = inner.locate(index), children = inner.children
            guard let smaller = removing(at: offset, from: children[child].node) else {
                let others = (children[..<child] + children[(child + 1)...]).map { $0.node }
                return others.isEmpty ? nil : .inner(Inner(others))
            }
            if smaller.width >= widest / 4 || children.count == 1 {
                return .inner(Inner(inner.replacing(child...child, with: (smaller, nil))))
            }
            let pair = child > 0 ? joined(children[child - 1].node, smaller) : joined(smaller, children[1].node)
            let left = Swift.max(child - 1, 0)
            return .inner(Inner(inner.replacing(left...left + 1, with: pair)))
        }
    }

    private static func joined(_ left: Node, _ right: Node) -> (Node, Node?) {
        switch (left, right) {
        case (.leaf(let left), .leaf(let right)): leaves(left + right)
        case (.inner(let left), .inner(let right)):
            inners(Inner((left.children + right.children).map { $0.node }).children)
        default: (left, right)
        }
    }

    private static func leaves(_ elements: Chunk) -> (Node, Node?) {
        if elements.count <= widest { return (.leaf(elements), nil) }
        let half = elements.count / 2
        return (.leaf(Chunk(elements[..<half])), .leaf(Chunk(elements[half...])))
    }

    private static func inners(_ children: ContiguousArray<Child>) -> (Node, Node?) {
        if children.count <= widest { return (.inner(Inner(children)), nil) }
        let half = children.count / 2
        return (.inner(Inner(ContiguousArray(children[..<half]))), .inner(Inner(children[half...].map { $0.node })))
    }

    /// Changes unshared nodes in place, and copies the others on the path.
    static func replace(at index: Int, in node: inout Node, with element: Element) {
        switch node {
        case .leaf(var chunk):
            // Gives up the node's reference, so that the next assignment does not copy the chunk.
            node = .leaf([])
            chunk[index] = element
            node = .leaf(chunk)
        case .inner(var inner):
            node = .leaf([])
            let (child, offset) = inner.locate(index)
            replace(at: offset, in: &inner.children[child].node, with: element)
            node = .inner(inner)
        }
    }
}

extension PersistentList {
    /// Takes over another list's chunk, if both have the same elements there, so that they share it. Ignores an index
    /// out of bounds. O(log count).
    mutating func adopt(
        chunkAt index: Int, of other: PersistentList, at otherIndex: Int, where areSame: (Element, Element) -> Bool
    ) {
        guard indices.contains(index), other.indices.contains(otherIndex), var node = root else { return }
        let mine = chunk(at: index), others = other.chunk(at: otherIndex)
        guard mine.offset == others.offset, mine.chunk.count == others.chunk.count,
            !mine.chunk.hasSameStorage(as: others.chunk), zip(mine.chunk, others.chunk).allSatisfy(areSame)
        else { return }
        root = nil
        Self.replaceChunk(at: index, in: &node, with: others.chunk)
        root = node
    }

    /// Elements in chunks that the other list does not have. O(count / 64).
    func unsharedCount(with other: PersistentList) -> Int {
        if isShared(with: other) { return 0 }
        func address(_ chunk: Chunk) -> UnsafePointer<Element>? { chunk.withUnsafeBufferPointer { $0.baseAddress } }
        let others = Set(other.chunks.map(address))
        return chunks.reduce(0) { $0 + (others.contains(address($1)) ? 0 : $1.count) }
    }

    private static func replaceChunk(at index: Int, in node: inout Node, with chunk: Chunk) {
        guard case .inner(var inner) = node else { return node = .leaf(chunk) }
        node = .leaf([])
        let (child, offset) = inner.locate(index)
        replaceChunk(at: offset, in: &inner.children[child].node, with: chunk)
        node = .inner(inner)
    }
}

extension Array {
    /// Shared arrays are equal; equal ones need not share. O(1).
    func hasSameStorage(as other: [Element]) -> Bool {
        count == other.count
            && withUnsafeBufferPointer { mine in other.withUnsafeBufferPointer { mine.baseAddress == $0.baseAddress } }
    }
}

extension ContiguousArray {
    /// As for `Array`.
    @inline(__always)
    func hasSameStorage(as other: ContiguousArray) -> Bool {
        withUnsafeBufferPointer { $0.baseAddress } == other.withUnsafeBufferPointer { $0.baseAddress }
    }

    /// Allocates exactly what is needed: `replaceSubrange` could double the capacity.
    fileprivate func replacing(_ range: Range<Int>, with new: some Collection<Element>) -> ContiguousArray {
        var changed = ContiguousArray()
        changed.reserveCapacity(count - range.count + new.count)
        changed.append(contentsOf: self[..<range.lowerBound])
        changed.append(contentsOf: new)
        changed.append(contentsOf: self[range.upperBound...])
        return changed
    }

    fileprivate mutating func append<Listed>(_ node: PersistentList<Listed>.Node)
    where Element == PersistentList<Listed>.Child {
        append(PersistentList<Listed>.Child(node: node, end: (last?.end ?? 0) + node.count))
    }
}

/// An ordered list as a tree of chunks (a B+ tree), a value: a copy is O(1), and changing one element of a shared list
/// copies the chunk that holds it and the nodes above, never the rest. So the table before an edit and the one after it
/// share all but a few hundred elements, and the cost of an edit does not grow with the table.
///
/// Access by index, insert, remove and replace: O(log count).
public struct ChunkedList<Element: Sendable>: Sendable {
    /// One run of elements; shared between lists by reference, so that equal chunks are recognised at a glance.
    final class Chunk: Sendable {
        let elements: ContiguousArray<Element>
        init(_ elements: ContiguousArray<Element>) { self.elements = elements }
    }

    final class Inner: Sendable {
        let children: ContiguousArray<Node>
        /// `ends[c]` is the number of elements in `children[0...c]`.
        let ends: ContiguousArray<Int>
        var count: Int { ends[ends.count - 1] }

        init(_ children: ContiguousArray<Node>) {
            self.children = children
            var total = 0
            ends = ContiguousArray(children.map { child in
                total += child.count
                return total
            })
        }
    }

    /// All leaves have the same depth.
    enum Node: Sendable {
        case leaf(Chunk)
        case inner(Inner)

        /// Elements below it.
        var count: Int {
            switch self {
            case .leaf(let chunk): chunk.elements.count
            case .inner(let inner): inner.count
            }
        }

        /// The first element below it.
        var first: Element {
            switch self {
            case .leaf(let chunk): chunk.elements[0]
            case .inner(let inner): inner.children[0].first
            }
        }

        @inline(__always)
        func isShared(with other: Node) -> Bool {
            switch (self, other) {
            case (.leaf(let mine), .leaf(let others)): mine === others
            case (.inner(let mine), .inner(let others)): mine === others
            default: false
            }
        }

        /// Elements of a leaf, children of an inner node.
        var width: Int {
            switch self {
            case .leaf(let chunk): chunk.elements.count
            case .inner(let inner): inner.children.count
            }
        }
    }

    /// A node is split over this width, and joined with a neighbour under a quarter of it.
    private static var widest: Int { 64 }

    /// Nil when empty. No node is empty.
    private(set) var root: Node?

    public init() {}

    public init(_ elements: some Sequence<Element>) {
        var level: ContiguousArray<Node> = []
        var run = ContiguousArray<Element>()
        for element in elements {
            if run.count == Self.widest * 3 / 4 {
                level.append(.leaf(Chunk(run)))
                run = []
            }
            if run.isEmpty { run.reserveCapacity(Self.widest * 3 / 4) }
            run.append(element)
        }
        if !run.isEmpty { level.append(.leaf(Chunk(run))) }
        while level.count > 1 {
            level = ContiguousArray(stride(from: 0, to: level.count, by: Self.widest / 2).map { start in
                .inner(Inner(ContiguousArray(level[start..<Swift.min(start + Self.widest / 2, level.count)])))
            })
        }
        root = level.first
    }

    public var count: Int { root?.count ?? 0 }

    /// Whether both lists are one tree, or empty: their elements are the same. O(1); false says nothing.
    func isShared(with other: ChunkedList) -> Bool {
        switch (root, other.root) {
        case (nil, nil): true
        case (let mine?, let others?): mine.isShared(with: others)
        default: false
        }
    }

    /// The chunks, in order. O(count / chunk).
    var chunks: ContiguousArray<Chunk> {
        var chunks: ContiguousArray<Chunk> = []
        func collect(_ node: Node) {
            switch node {
            case .leaf(let chunk): chunks.append(chunk)
            case .inner(let inner): for child in inner.children { collect(child) }
            }
        }
        if let root { collect(root) }
        return chunks
    }

    /// The chunk that holds the element at an index, and where it stands there. O(log count).
    func chunk(at index: Int) -> (chunk: Chunk, offset: Int) {
        guard var node = root, index >= 0, index < node.count else { preconditionFailure("ChunkedList: index out of bounds") }
        var index = index
        while true {
            switch node {
            case .leaf(let chunk): return (chunk, index)
            case .inner(let inner):
                let (child, offset) = Self.locate(index, in: inner.ends)
                (node, index) = (inner.children[child], offset)
            }
        }
    }

    /// The first index at which the condition holds, or the count; it must hold from there on. O(log count).
    func firstPosition(where holds: (Element) -> Bool) -> Int {
        guard var node = root else { return 0 }
        var before = 0
        while case .inner(let inner) = node {
            // The last child that begins before that index.
            var low = 0, high = inner.children.count - 1
            while low < high {
                let middle = (low + high + 1) / 2
                if holds(inner.children[middle].first) { high = middle - 1 } else { low = middle }
            }
            if low > 0 { before += inner.ends[low - 1] }
            node = inner.children[low]
        }
        guard case .leaf(let chunk) = node else { return before }
        return before + chunk.elements.firstPosition(where: holds)
    }

    public mutating func append(_ element: Element) { insert(element, at: count) }

    /// `index` in 0...count.
    public mutating func insert(_ element: Element, at index: Int) {
        precondition(index >= 0 && index <= count, "ChunkedList: index out of bounds")
        guard let old = root else { return root = .leaf(Chunk([element])) }
        let nodes = Self.inserting(element, at: index, in: old)
        root = nodes.count == 1 ? nodes[0] : .inner(Inner(nodes))
    }

    @discardableResult
    public mutating func remove(at index: Int) -> Element {
        precondition(index >= 0 && index < count, "ChunkedList: index out of bounds")
        let removed = self[index]
        guard let old = root else { return removed }
        var node = Self.removing(at: index, from: old)
        // A root with one child is one level too many.
        while case .inner(let inner) = node, inner.children.count == 1 { node = inner.children[0] }
        root = node.width == 0 ? nil : node
        return removed
    }
}

// The tree.
extension ChunkedList {
    /// The child that holds `index`, and the index within it; for an index at the very end the last child.
    static func locate(_ index: Int, in ends: ContiguousArray<Int>) -> (child: Int, offset: Int) {
        var low = 0, high = ends.count - 1
        while low < high {
            let middle = (low + high) / 2
            if ends[middle] <= index { low = middle + 1 } else { high = middle }
        }
        return (low, index - (low == 0 ? 0 : ends[low - 1]))
    }

    /// One node, or two where it had to be split.
    private static func inserting(_ element: Element, at index: Int, in node: Node) -> ContiguousArray<Node> {
        switch node {
        case .leaf(let chunk):
            var elements = chunk.elements
            elements.insert(element, at: index)
            return leaves(elements)
        case .inner(let inner):
            let (child, offset) = locate(index, in: inner.ends)
            var children = inner.children
            children.replaceSubrange(child...child, with: inserting(element, at: offset, in: children[child]))
            return inners(children)
        }
    }

    private static func removing(at index: Int, from node: Node) -> Node {
        switch node {
        case .leaf(let chunk):
            var elements = chunk.elements
            elements.remove(at: index)
            return .leaf(Chunk(elements))
        case .inner(let inner):
            let (child, offset) = locate(index, in: inner.ends)
            var children = inner.children
            let smaller = removing(at: offset, from: children[child])
            if smaller.width >= widest / 4 {
                children[child] = smaller
            } else if children.count > 1 {
                let other = child > 0 ? child - 1 : 1
                let pair = child > 0 ? joined(children[other], smaller) : joined(smaller, children[other])
                children.replaceSubrange(Swift.min(child, other)...Swift.max(child, other), with: pair)
            } else {
                children[child] = smaller
            }
            return .inner(Inner(children))
        }
    }

    /// Two neighbours' content, in one node or in two.
    private static func joined(_ left: Node, _ right: Node) -> ContiguousArray<Node> {
        switch (left, right) {
        case (.leaf(let left), .leaf(let right)): leaves(left.elements + right.elements)
        case (.inner(let left), .inner(let right)): inners(left.children + right.children)
        // Neighbours are of one level.
        default: [left, right]
        }
    }

    private static func leaves(_ elements: ContiguousArray<Element>) -> ContiguousArray<Node> {
        if elements.count <= widest { return [.leaf(Chunk(elements))] }
        let half = elements.count / 2
        return [.leaf(Chunk(ContiguousArray(elements[..<half]))), .leaf(Chunk(ContiguousArray(elements[half...])))]
    }

    private static func inners(_ children: ContiguousArray<Node>) -> ContiguousArray<Node> {
        if children.count <= widest { return [.inner(Inner(children))] }
        let half = children.count / 2
        return [.inner(Inner(ContiguousArray(children[..<half]))), .inner(Inner(ContiguousArray(children[half...])))]
    }

    private static func replacing(at index: Int, in node: Node, with element: Element) -> Node {
        switch node {
        case .leaf(let chunk):
            var elements = chunk.elements
            elements[index] = element
            return .leaf(Chunk(elements))
        case .inner(let inner):
            let (child, offset) = locate(index, in: inner.ends)
            var children = inner.children
            children[child] = replacing(at: offset, in: children[child], with: element)
            return .inner(Inner(children))
        }
    }
}

extension ChunkedList: RandomAccessCollection, MutableCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { count }

    public subscript(index: Int) -> Element {
        get {
            let (chunk, offset) = chunk(at: index)
            return chunk.elements[offset]
        }
        set {
            precondition(index >= 0 && index < count, "ChunkedList: index out of bounds")
            if let old = root { root = Self.replacing(at: index, in: old, with: newValue) }
        }
    }

    public struct Iterator: IteratorProtocol {
        let chunks: ContiguousArray<Chunk>
        var chunk = 0
        var offset = 0

        public mutating func next() -> Element? {
            guard chunk < chunks.count else { return nil }
            let elements = chunks[chunk].elements
            defer {
                offset += 1
                if offset == elements.count { (chunk, offset) = (chunk + 1, 0) }
            }
            return elements[offset]
        }
    }

    public func makeIterator() -> Iterator { Iterator(chunks: chunks) }
}

extension ChunkedList: ExpressibleByArrayLiteral {
    public init(arrayLiteral elements: Element...) { self.init(elements) }
}

/// A list whose copies share memory: a B+ tree of chunks of at most 64 elements. Copies cost O(1); reading, inserting,
/// removing and replacing O(log count), as they copy one chunk and the nodes above it.
///
/// ```swift
/// let before: PersistentList = [1, 2, 3]
/// var after = before
/// after.insert(4, at: 1)  // `before` is still [1, 2, 3]
/// ```
public struct PersistentList<Element: Sendable>: Sendable {
    /// `nil` if empty. No node is.
    var root: Node?

    /// An empty list.
    public init() {}

    /// The elements in order. O(count).
    public init(_ elements: some Sequence<Element>) {
        var level: ContiguousArray<Node> = []
        var run = Chunk()
        let full = Self.widest * 3 / 4
        var left = elements.underestimatedCount
        run.reserveCapacity(Swift.min(left, full))
        for element in elements {
            if run.count == full {
                level.append(.leaf(run))
                left -= full
                run = []
                run.reserveCapacity(left > 0 ? Swift.min(left, full) : full)
            }
            run.append(element)
        }
        if !run.isEmpty { level.append(.leaf(run)) }
        root = Self.root(over: level)
    }

    /// O(1).
    public var count: Int {
        // `root?.count` would copy the node.
        switch root {
        case nil: 0
        case .leaf(let chunk)?: chunk.count
        case .inner(let inner)?: inner.count
        }
    }

    /// Both have one tree, or are empty. Equal lists need not share. O(1).
    func isShared(with other: PersistentList) -> Bool {
        switch (root, other.root) {
        case (nil, nil): true
        case (let mine?, let others?): mine.isShared(with: others)
        default: false
        }
    }

    var chunks: ContiguousArray<Chunk> {
        var chunks: ContiguousArray<Chunk> = []
        func collect(_ node: Node) {
            switch node {
            case .leaf(let chunk): chunks.append(chunk)
            case .inner(let inner): for child in inner.children { collect(child.node) }
            }
        }
        if let root { collect(root) }
        return chunks
    }

    /// The chunk that contains the element, and the element's offset there. O(log count).
    func chunk(at index: Int) -> (chunk: Chunk, offset: Int) {
        // Small lists: counts one reference, for the chunk.
        if case .leaf(let chunk)? = root, chunk.indices.contains(index) { return (chunk, index) }
        guard var node = root, index >= 0, index < node.count else {
            preconditionFailure("PersistentList: index out of bounds")
        }
        var index = index
        while true {
            switch node {
            case .leaf(let chunk): return (chunk, index)
            case .inner(let inner):
                let (child, offset) = inner.locate(index)
                (node, index) = (inner.children[child].node, offset)
            }
        }
    }

    /// The first index from which on all elements satisfy a condition, or the count. If it holds for one element, it
    /// must hold for all later ones. O(log count).
    func firstPosition(where holds: (Element) -> Bool) -> Int {
        guard var node = root else { return 0 }
        var before = 0
        while case .inner(let inner) = node {
            var low = 0, high = inner.children.count - 1
            while low < high {
                let middle = (low + high + 1) / 2
                if holds(inner.children[middle].node.first) { high = middle - 1 } else { low = middle }
            }
            if low > 0 { before += inner.children[low - 1].end }
            node = inner.children[low].node
        }
        guard case .leaf(let chunk) = node else { return before }
        return before + chunk.firstPosition(where: holds)
    }

    /// Adds an element at the end.
    public mutating func append(_ element: Element) { insert(element, at: count) }

    /// Inserts before the element at an index in `0...count`.
    public mutating func insert(_ element: Element, at index: Int) {
        precondition(index >= 0 && index <= count, "PersistentList: index out of bounds")
        guard let old = root else { return root = .leaf([element]) }
        let (first, second) = Self.inserting(element, at: index, in: old)
        root = second.map { .inner(Inner([first, $0])) } ?? first
    }

    /// Removes and returns the element at an index in `0..<count`.
    @discardableResult
    public mutating func remove(at index: Int) -> Element {
        precondition(index >= 0 && index < count, "PersistentList: index out of bounds")
        let removed = self[index]
        guard let old = root else { return removed }
        var node = Self.removing(at: index, from: old)
        while case .inner(let inner)? = node, inner.children.count == 1 { node = inner.children[0].node }
        root = node
        return removed
    }
}

extension PersistentList: RandomAccessCollection, MutableCollection {
    /// 0.
    public var startIndex: Int { 0 }
    /// The count.
    public var endIndex: Int { count }

    /// The element at an index in `0..<count`. O(log count).
    public subscript(index: Int) -> Element {
        // A copy would retain each reference in the element.
        _read {
            let (chunk, offset) = chunk(at: index)
            yield chunk[offset]
        }
        set {
            precondition(index >= 0 && index < count, "PersistentList: index out of bounds")
            guard var node = root else { return }
            // With a second reference to the root, the path to the element would be copied.
            root = nil
            Self.replace(at: index, in: &node, with: newValue)
            root = node
        }
    }

    /// Iterates over the list as it was.
    public struct Iterator: IteratorProtocol {
        let chunks: ContiguousArray<Chunk>
        var chunk = 0
        var offset = 0

        /// O(1).
        public mutating func next() -> Element? {
            guard chunk < chunks.count else { return nil }
            let elements = chunks[chunk]
            defer {
                offset += 1
                if offset == elements.count { (chunk, offset) = (chunk + 1, 0) }
            }
            return elements[offset]
        }
    }

    /// O(count / 64).
    public func makeIterator() -> Iterator { Iterator(chunks: chunks) }
}

extension PersistentList: ExpressibleByArrayLiteral {
    public init(arrayLiteral elements: Element...) { self.init(elements) }
}

extension PersistentList {
    /// Shares the chunks that lie wholly in the range, so it needs a few kilobytes, however long it is. O(log count).
    func slice(_ range: Range<Int>) -> PersistentList {
        precondition(
            range.lowerBound >= 0 && range.upperBound <= count, "PersistentList: range out of bounds")
        guard !range.isEmpty, var node = root else { return PersistentList() }
        var range = range
        while range.count < node.count, case .inner(let inner) = node {
            let (child, start) = inner.locate(range.lowerBound)
            guard child == inner.locate(range.upperBound - 1).child else { break }
            node = inner.children[child].node
            range = start..<start + range.count
        }
        var result = PersistentList()
        result.root = Self.slice(range, of: node)
        return result
    }

    private static func slice(_ range: Range<Int>, of node: Node) -> Node {
        if range.count == node.count { return node }
        switch node {
        case .leaf(let chunk): return .leaf(Chunk(chunk[range]))
        case .inner(let inner):
            let (first, start) = inner.locate(range.lowerBound), (last, end) = inner.locate(range.upperBound - 1)
            var nodes = inner.children[first...last].map { $0.node }
            if first == last { return .inner(Inner([slice(start..<end + 1, of: nodes[0])])) }
            nodes[0] = slice(start..<nodes[0].count, of: nodes[0])
            nodes[nodes.count - 1] = slice(0..<end + 1, of: nodes[nodes.count - 1])
            return .inner(Inner(nodes))
        }
    }
}

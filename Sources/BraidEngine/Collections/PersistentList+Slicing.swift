extension PersistentList {
    /// The elements of a range. Shares the chunks that lie wholly in it, so the result needs a few kilobytes of its
    /// own, however long it is. O(log count).
    func slice(_ range: Range<Int>) -> PersistentList {
        precondition(
            range.lowerBound >= 0 && range.upperBound <= count, "PersistentList: range out of bounds")
        guard !range.isEmpty, var node = root else { return PersistentList() }
        var range = range
        // A child that contains the whole range becomes the root.
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

    /// A node of the same depth with the elements of a range, which is not empty.
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

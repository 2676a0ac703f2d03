/// A section's rows as pieces of the rows before any edit and rows that came since: a list of unknown length that can
/// be edited by index, O(log edits) each.
///
/// A treap whose order is implicit; its priorities are a fixed sequence, so that equal edits take equal steps.
/// Source: Seidel and Aragon, "Randomized search trees", 1996.
struct RowPieces {
    struct Piece {
        /// Where the piece's rows stood before all edits; nil for rows that came since.
        var start: Int?
        var count: Int
        var isReplaced = false
    }

    private struct Node {
        var piece: Piece
        /// Rows in the node and below it.
        var total: Int
        var priority: UInt32
        var left = -1
        var right = -1
    }

    /// Rows of a list whose length is not known.
    static let endless = Int.max / 4

    private var nodes: [Node] = []
    private var root = -1
    private var priority: UInt32 = 2_463_534_242

    init() {
        root = add(Piece(start: 0, count: Self.endless))
    }

    mutating func insert(at index: Int) {
        let (left, right) = split(root, at: index)
        root = joined(joined(left, add(Piece(start: nil, count: 1))), right)
    }

    mutating func remove(at index: Int) {
        let (left, rest) = split(root, at: index)
        let (_, right) = split(rest, at: 1)
        root = joined(left, right)
    }

    mutating func replace(at index: Int) {
        let (left, rest) = split(root, at: index)
        let (middle, right) = split(rest, at: 1)
        if nodes[middle].piece.start != nil { nodes[middle].piece.isReplaced = true }
        root = joined(joined(left, middle), right)
    }

    /// All pieces, in order.
    func inOrder() -> [Piece] {
        var pieces: [Piece] = [], open: [Int] = []
        var node = root
        while node >= 0 || !open.isEmpty {
            while node >= 0 {
                open.append(node)
                node = nodes[node].left
            }
            let next = open.removeLast()
            pieces.append(nodes[next].piece)
            node = nodes[next].right
        }
        return pieces
    }

    private mutating func add(_ piece: Piece) -> Int {
        // Marsaglia's xorshift.
        priority ^= priority << 13
        priority ^= priority >> 17
        priority ^= priority << 5
        nodes.append(Node(piece: piece, total: piece.count, priority: priority))
        return nodes.count - 1
    }

    private func total(_ node: Int) -> Int { node < 0 ? 0 : nodes[node].total }

    private mutating func recount(_ node: Int) {
        nodes[node].total = total(nodes[node].left) + nodes[node].piece.count + total(nodes[node].right)
    }

    /// The first `index` rows, and the rest.
    private mutating func split(_ node: Int, at index: Int) -> (left: Int, right: Int) {
        if node < 0 { return (-1, -1) }
        let before = total(nodes[node].left), count = nodes[node].piece.count
        if index <= before {
            let (left, right) = split(nodes[node].left, at: index)
            nodes[node].left = right
            recount(node)
            return (left, node)
        }
        if index >= before + count {
            let (left, right) = split(nodes[node].right, at: index - before - count)
            nodes[node].right = left
            recount(node)
            return (node, right)
        }
        // Inside this piece: it is cut in two. A piece of several rows was never replaced.
        let kept = index - before
        let start = nodes[node].piece.start
        nodes[node].piece.count = kept
        let cut = add(Piece(start: start.map { $0 + kept }, count: count - kept))
        let right = joined(cut, nodes[node].right)
        nodes[node].right = -1
        recount(node)
        return (node, right)
    }

    private mutating func joined(_ left: Int, _ right: Int) -> Int {
        if left < 0 { return right }
        if right < 0 { return left }
        if nodes[left].priority > nodes[right].priority {
            nodes[left].right = joined(nodes[left].right, right)
            recount(left)
            return left
        }
        nodes[right].left = joined(left, nodes[right].left)
        recount(right)
        return right
    }
}

protocol RopePiece {
    /// At least 1.
    var count: Int { get }
    /// In `1..<count`.
    func cut(at offset: Int) -> (Self, Self)
}

/// A list of pieces, edited by element index in expected O(log pieces), however long they are.
///
/// A treap with implicit keys. Priorities are seeded for each process, so that no chosen edits can unbalance it; they
/// do not change results. Source: Seidel and Aragon, "Randomized search trees", 1996.
struct Rope<Piece: RopePiece> {
    private struct Node {
        var piece: Piece
        /// Elements here and below.
        var total: Int
        var priority: UInt32
        var left = -1
        var right = -1
    }

    private var nodes: [Node] = []
    private var root = -1
    private var priority = ropeSeed

    init() {}

    init(_ piece: Piece) { root = add(piece) }

    var count: Int { total(root) }

    /// `index` is in `0...count`.
    mutating func insert(_ piece: Piece, at index: Int) {
        let (left, right) = split(root, at: index)
        root = joined(joined(left, add(piece)), right)
    }

    /// Removes one element. `nil` if the index is out of bounds.
    @discardableResult
    mutating func remove(at index: Int) -> Piece? {
        guard index >= 0, index < count else { return nil }
        let (left, rest) = split(root, at: index)
        let (middle, right) = split(rest, at: 1)
        root = joined(left, right)
        return nodes[middle].piece
    }

    /// Changes one element, which must stay one. False if the index is out of bounds.
    @discardableResult
    mutating func change<Failure: Error>(at index: Int, _ body: (inout Piece) throws(Failure) -> Void) throws(Failure)
        -> Bool
    {
        guard index >= 0, index < count else { return false }
        let (left, rest) = split(root, at: index)
        let (middle, right) = split(rest, at: 1)
        // Joined first, as `body` may throw.
        root = joined(joined(left, middle), right)
        try body(&nodes[middle].piece)
        return true
    }

    func piece(at index: Int) -> Piece? {
        guard index >= 0, index < count else { return nil }
        var node = root, index = index
        while node >= 0 {
            let before = total(nodes[node].left), end = before + nodes[node].piece.count
            if index < before {
                node = nodes[node].left
            } else if index < end {
                return nodes[node].piece
            } else {
                (node, index) = (nodes[node].right, index - end)
            }
        }
        return nil
    }

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

    private mutating func split(_ node: Int, at index: Int) -> (left: Int, right: Int) {
        var cutOff: Piece?
        let (left, right) = split(node, at: index, &cutOff)
        // Joined from the root, the new node comes to the depth that its priority requires.
        return (left, cutOff.map { joined(add($0), right) } ?? right)
    }

    /// The second part of a piece that is cut goes to `cutOff`, and begins the right result.
    private mutating func split(_ node: Int, at index: Int, _ cutOff: inout Piece?) -> (left: Int, right: Int) {
        if node < 0 { return (-1, -1) }
        let before = total(nodes[node].left), count = nodes[node].piece.count
        if index <= before {
            let (left, right) = split(nodes[node].left, at: index, &cutOff)
            nodes[node].left = right
            recount(node)
            return (left, node)
        }
        var (left, right) = (-1, nodes[node].right)
        if index >= before + count {
            (left, right) = split(right, at: index - before - count, &cutOff)
        } else {
            (nodes[node].piece, cutOff) = nodes[node].piece.cut(at: index - before)
        }
        nodes[node].right = left
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

private let ropeSeed = UInt32.random(in: 1...UInt32.max)

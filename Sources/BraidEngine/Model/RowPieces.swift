/// A section's rows as pieces of the rows before any edit and rows that came since: a list of unknown length that can
/// be edited by index, O(log edits) each.
struct RowPieces {
    struct Piece: RopePiece {
        /// Where the piece's rows stood before all edits; nil for rows that came since.
        var start: Int?
        var count: Int
        /// A piece of several rows was never replaced.
        var isReplaced = false

        func cut(at offset: Int) -> (Piece, Piece) {
            (Piece(start: start, count: offset), Piece(start: start.map { $0 + offset }, count: count - offset))
        }
    }

    /// Rows of a list whose length is not known: more than a table can have.
    static let endless = 1 << 31

    private var rope = Rope(Piece(start: 0, count: endless))

    mutating func insert(at index: Int) { rope.insert(Piece(start: nil, count: 1), at: index) }

    mutating func remove(at index: Int) { rope.remove(at: index) }

    mutating func replace(at index: Int) {
        rope.change(at: index) { if $0.start != nil { $0.isReplaced = true } }
    }

    /// All pieces, in order.
    func inOrder() -> [Piece] { rope.inOrder() }
}

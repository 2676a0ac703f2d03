/// A section's rows as a list of pieces: runs of rows from before all edits, and rows that edits inserted. The number
/// of rows is unknown. An edit by index costs O(log edits).
struct RowPieces {
    struct Piece: RopePiece {
        /// The index of the piece's first row before all edits. `nil` for inserted rows.
        var start: Int?
        var count: Int
        /// Whether the row was replaced. Only a piece of one row can be replaced.
        var isReplaced = false

        func cut(at offset: Int) -> (Piece, Piece) {
            (Piece(start: start, count: offset), Piece(start: start.map { $0 + offset }, count: count - offset))
        }
    }

    /// The length of a list whose end is unknown: more rows than a table can contain.
    static let endless = 1 << 31

    private var rope = Rope(Piece(start: 0, count: endless))

    mutating func insert(at index: Int) { rope.insert(Piece(start: nil, count: 1), at: index) }

    mutating func remove(at index: Int) { rope.remove(at: index) }

    mutating func replace(at index: Int) {
        rope.change(at: index) { if $0.start != nil { $0.isReplaced = true } }
    }

    /// All pieces of the rows, in order.
    func inOrder() -> [Piece] { rope.inOrder() }
}

/// A section's rows as a list of pieces. A piece is a run of rows that existed before all edits, or rows that edits
/// inserted. The section's number of rows need not be known. An edit at an index costs expected O(log edits).
struct RowPieces {
    struct Piece: RopePiece {
        /// The index, before all edits, of the piece's first row. `nil` for inserted rows.
        var start: Int?
        var count: Int
        /// Whether an edit replaced the piece's row. Only a piece of one row can be replaced.
        var isReplaced = false

        func cut(at offset: Int) -> (Piece, Piece) {
            (Piece(start: start, count: offset), Piece(start: start.map { $0 + offset }, count: count - offset))
        }
    }

    /// The assumed number of rows before all edits, since the real number is unknown: more rows than a table can
    /// contain.
    static let endless = 1 << 31

    private var rope = Rope(Piece(start: 0, count: endless))

    mutating func insert(at index: Int) { rope.insert(Piece(start: nil, count: 1), at: index) }

    mutating func remove(at index: Int) { rope.remove(at: index) }

    mutating func replace(at index: Int) {
        rope.change(at: index) { if $0.start != nil { $0.isReplaced = true } }
    }

    /// Returns all pieces, in the order of the rows after the edits.
    func inOrder() -> [Piece] { rope.inOrder() }
}

/// A section's rows as pieces: runs of rows from before all edits, and inserted rows. Their number need not be known.
/// Expected O(log edits) for each edit.
struct RowPieces {
    struct Piece: RopePiece {
        /// Of the first row, before all edits. `nil` for inserted rows.
        var start: Int?
        var count: Int
        /// Only a piece of one row can be replaced.
        var isReplaced = false

        func cut(at offset: Int) -> (Piece, Piece) {
            (Piece(start: start, count: offset), Piece(start: start.map { $0 + offset }, count: count - offset))
        }
    }

    /// More rows than a table can contain, as the real number is unknown.
    static let endless = 1 << 31

    private var rope = Rope(Piece(start: 0, count: endless))

    mutating func insert(at index: Int) { rope.insert(Piece(start: nil, count: 1), at: index) }

    mutating func remove(at index: Int) { rope.remove(at: index) }

    mutating func replace(at index: Int) {
        rope.change(at: index) { if $0.start != nil { $0.isReplaced = true } }
    }

    /// After the edits.
    func inOrder() -> [Piece] { rope.inOrder() }
}

/// A section's rows during edits, however many: runs of old rows, and inserted ones. Expected O(log edits) for each
/// edit.
struct RowPieces {
    struct Piece: RopePiece {
        /// Old index of the first row; `nil` for inserted ones.
        var start: Int?
        var count: Int
        /// Only in pieces of one row.
        var isReplaced = false

        func cut(at offset: Int) -> (Piece, Piece) {
            (Piece(start: start, count: offset), Piece(start: start.map { $0 + offset }, count: count - offset))
        }
    }

    /// Stands for an unknown length, beyond any table's; not `.max`, so that lengths can be added.
    static let endless = 1 << 31

    private var rope = Rope(Piece(start: 0, count: endless))

    mutating func insert(at index: Int) { rope.insert(Piece(start: nil, count: 1), at: index) }

    mutating func remove(at index: Int) { rope.remove(at: index) }

    mutating func replace(at index: Int) {
        rope.change(at: index) { if $0.start != nil { $0.isReplaced = true } }
    }

    func inOrder() -> [Piece] { rope.inOrder() }
}

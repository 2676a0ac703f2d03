import Testing

@testable import BraidEngine

@Suite struct RopeTests {
    /// Counts how often its length is read.
    private struct Piece: RopePiece {
        final class Looks { var count = 0 }
        let looks: Looks
        var length: Int
        var isNew = false

        var count: Int {
            looks.count += 1
            return length
        }

        func cut(at offset: Int) -> (Piece, Piece) {
            (Piece(looks: looks, length: offset), Piece(looks: looks, length: length - offset))
        }
    }

    enum Order: CaseIterable { case rising, falling, fromBothEnds, removedFallingThenRising }

    /// Cuts one long piece again and again; the tree must not degenerate into a list.
    @Test(
        "An edit of a rope reads few lengths, in any order of edits", arguments: Order.allCases)
    func editsAreCheap(order: Order) {
        let looks = Piece.Looks(), edits = 10_000
        var rope = Rope(Piece(looks: looks, length: 40 * edits))
        looks.count = 0
        if order == .removedFallingThenRising { for number in (0..<edits).reversed() { rope.remove(at: 10 * number) } }
        for number in 0..<edits {
            let index =
                switch order {
                case .rising: 10 * number
                case .falling: 10 * (edits - number)
                case .fromBothEnds: 10 * (number.isMultiple(of: 2) ? number : 2 * edits - number)
                case .removedFallingThenRising: 9 * number
                }
            rope.change(at: index) { $0.isNew = true }
        }
        // About 100 in a balanced tree, thousands in a list.
        #expect(looks.count / edits < 400)
        #expect(rope.inOrder().count { $0.isNew } == edits)
    }
}

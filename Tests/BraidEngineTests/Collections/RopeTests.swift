import Testing

@testable import BraidEngine

@Suite struct RopeTests {
    /// A piece of a rope that counts how often its length is read.
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

    /// The edits cut one long piece of the rope again and again. In no order of edits may the rope's tree degenerate
    /// into a list.
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
        // Each edit reads about 100 lengths in a balanced tree. In a tree that degenerated into a list, an edit would
        // read thousands.
        #expect(looks.count / edits < 400)
        #expect(rope.inOrder().count { $0.isNew } == edits)
    }
}

import BraidEngine
import Foundation
import Testing

@Suite struct FoundationTests {
    @Test("Foundation's `IndexPath` and the engine's `RowPath` can be converted into each other")
    func indexPathsAreConverted() {
        let path = RowPath(section: 1, row: 2), indexPath = IndexPath(indexes: [1, 2])
        #expect(IndexPath(indexes: path.indexes) == indexPath)
        #expect(RowPath(indexPath) == path)
        #expect(RowPath(IndexPath(index: 1)) == nil && RowPath(indexPath.appending(3)) == nil)
    }
}

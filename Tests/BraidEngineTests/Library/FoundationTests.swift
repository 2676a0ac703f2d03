import BraidEngine
import Foundation
import Testing

/// A program that imports Foundation and the engine.
@Suite struct FoundationTests {
    @Test("Foundation's index paths and row paths are distinguished and converted")
    func indexPathsAreConverted() {
        let path = RowPath(section: 1, row: 2), indexPath = IndexPath(indexes: [1, 2])
        #expect(IndexPath(indexes: path.indexes) == indexPath)
        #expect(RowPath(indexPath) == path)
        #expect(RowPath(IndexPath(index: 1)) == nil && RowPath(indexPath.appending(3)) == nil)
    }
}

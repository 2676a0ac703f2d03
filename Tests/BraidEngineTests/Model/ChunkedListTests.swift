import Testing

@testable import BraidEngine

@Suite struct ChunkedListTests {
    /// Any edits, on lists of all sizes around the places where nodes split and join, give what an array gives; and
    /// the list of before stays as it was.
    @Test(arguments: [0, 1, 47, 48, 49, 64, 65, 1_500, 3_100, 10_000])
    func aListIsAnArray(count: Int) {
        var random = SeededGenerator(seed: UInt64(count))
        var array = Array(0..<count)
        var list = ChunkedList(array)
        for step in 0..<2_000 {
            let before = list
            let oldArray = step % 100 == 0 ? array : []
            // Phases of growing and of shrinking, so that the tree gains and loses levels.
            let shrinks = (step / 500) % 2 == 1
            switch Int.random(in: 0..<10, using: &random) {
            case (shrinks ? 8 : 3)...9 where !shrinks, 8...9:
                let index = Int.random(in: 0...array.count, using: &random)
                array.insert(step, at: index)
                list.insert(step, at: index)
            case 0..<2 where !array.isEmpty:
                let index = Int.random(in: 0..<array.count, using: &random)
                array[index] = -step
                list[index] = -step
            default:
                guard !array.isEmpty else { continue }
                let index = Int.random(in: 0..<array.count, using: &random)
                #expect(array.remove(at: index) == list.remove(at: index))
            }
            if step % 100 == 0 {
                #expect(Array(list) == array)
                #expect(list.indices.map { list[$0] } == array)
                #expect(Array(before) == oldArray)
            }
        }
        while !array.isEmpty {
            let index = Int.random(in: 0..<array.count, using: &random)
            #expect(array.remove(at: index) == list.remove(at: index))
        }
        #expect(list.isEmpty && Array(list).isEmpty)
        list.append(7)
        #expect(Array(list) == [7])
    }

    @Test func aShardedIndexIsADictionary() {
        var random = SeededGenerator(seed: 1)
        var dictionary: [Int: Int] = [:]
        var index = ShardedIndex<Int, Int>()
        for step in 0..<20_000 {
            let key = Int.random(in: 0..<5_000, using: &random)
            let value = step % 3 == 0 ? nil : step
            dictionary[key] = value
            index[key] = value
        }
        #expect(index.count == dictionary.count)
        #expect((0..<5_000).allSatisfy { index[$0] == dictionary[$0] })
        let built = ShardedIndex(dictionary.map { (key: $0.key, value: $0.value) })
        #expect(built.count == dictionary.count)
        #expect((0..<5_000).allSatisfy { built[$0] == dictionary[$0] })
    }
}

import TestSupport
import Testing

@testable import BraidEngine

@Suite struct PersistentListTests {
    /// Sizes are around those at which nodes split and join. Earlier copies must not change.
    @Test(
        "A list contains what an array contains after the same edits",
        arguments: [0, 1, 47, 48, 49, 64, 65, 1_500, 3_100, 10_000])
    func aListIsAnArray(count: Int) {
        var random = SeededGenerator(seed: UInt64(count))
        var array = Array(0..<count)
        var list = PersistentList(array)
        for step in 0..<2_000 {
            let before = list
            let oldArray = step % 100 == 0 ? array : []
            // Grows and shrinks the list twice, so that the tree gains and loses levels.
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

    @Test("A slice contains what an array's slice contains, and copies at most its first and its last chunk")
    func slices() {
        func check(_ list: PersistentList<Int>, _ array: [Int], _ range: Range<Int>) {
            let slice = list.slice(range)
            #expect(slice.count == range.count && Array(slice) == Array(array[range]))
            let copied = slice.chunks.filter { chunk in !list.chunks.contains { $0.hasSameStorage(as: chunk) } }
            #expect(copied.count <= 2)
        }
        for count in [0, 1, 48, 49, 100, 145] {
            let array = Array(0..<count), list = PersistentList(array)
            for start in 0...count { for end in start...count { check(list, array, start..<end) } }
        }
        var random = SeededGenerator(seed: 7)
        for count in [1_537, 5_000, 100_000] {
            var array = Array(0..<count), list = PersistentList(array)
            for step in 0..<60 {
                let start = Int.random(in: 0...array.count, using: &random)
                check(list, array, start..<Int.random(in: start...array.count, using: &random))
                list.remove(at: step)
                array.remove(at: step)
            }
        }
    }

    @Test("An edited slice contains what an edited array contains, and leaves the list as it was")
    func editedSlices() {
        var random = SeededGenerator(seed: 8)
        let list = PersistentList(0..<20_000)
        for _ in 0..<20 {
            let start = Int.random(in: 0..<10_000, using: &random),
                range = start..<start + 200 * start.leadingZeroBitCount
            var slice = list.slice(range), array = Array(range)
            for step in 0..<300 {
                if step % 3 == 0 {
                    let index = Int.random(in: 0...array.count, using: &random)
                    slice.insert(-step, at: index)
                    array.insert(-step, at: index)
                } else if let index = array.indices.randomElement(using: &random) {
                    #expect(slice.remove(at: index) == array.remove(at: index))
                }
            }
            #expect(Array(slice) == array)
        }
        #expect(Array(list) == Array(0..<20_000))
    }

    /// New leaves have 48 elements, new inner nodes 32 children: with 1,537 elements, the last node has one leaf with
    /// one.
    @Test("Removing elements at either end or in the middle of a list has the same result as in an array")
    func removals() {
        let sizes = [0...130, 1_530...1_540, 1_584...1_586, 3_071...3_074, 49_151...49_154].joined()
        for count in sizes {
            for place in [0.0, 0.5, 1.0] {
                var array = Array(0..<count), list = PersistentList(array)
                for _ in 0..<min(count, 130) {
                    let index = Int(Double(array.count - 1) * place)
                    #expect(list.remove(at: index) == array.remove(at: index))
                    #expect(list.chunks.allSatisfy { !$0.isEmpty }, "\(count) elements at first")
                    #expect(list.count == array.count)
                }
                #expect(list.chunks.joined().elementsEqual(array) && Array(list) == array)
                #expect(list.firstPosition { $0 >= count } == array.count)
            }
        }
    }

    /// Few or many ranges, narrow or wide, also at the ends and at chunks' borders.
    @Test(
        "Replacing many ranges of a list at once has the same result as in an array",
        arguments: [0, 1, 48, 64, 500, 5_000])
    func manyReplacements(count: Int) {
        var random = SeededGenerator(seed: UInt64(count))
        var array = Array(0..<count), list = PersistentList(array)
        for step in 0..<300 {
            var replacements: [PersistentList<Int>.Replacement] = [], index = 0
            let widest = [1, 5, 200, 2_000].randomElement(using: &random) ?? 1
            while index <= array.count, replacements.count < 1 << Int.random(in: 0...8, using: &random) {
                let start = min(
                    array.count,
                    index + Int.random(in: 0...widest, using: &random) * Int.random(in: 0...1, using: &random))
                let end = min(array.count, start + Int.random(in: 0...widest, using: &random))
                replacements.append(
                    (start..<end, ContiguousArray((0..<Int.random(in: 0...widest, using: &random)).map { -step - $0 })))
                index = end + Int.random(in: 0...3, using: &random)
            }
            let before = list, oldArray = array
            for (range, elements) in replacements.reversed() { array.replaceSubrange(range, with: elements) }
            list.replace(replacements)
            #expect(Array(list) == array && list.count == array.count)
            #expect(list.indices.allSatisfy { list[$0] == array[$0] })
            #expect(Array(before) == oldArray)
            // Only the first and last chunk may be smaller.
            #expect(list.chunks.allSatisfy { (1...64).contains($0.count) })
            #expect(list.chunks.dropFirst().dropLast().allSatisfy { $0.count >= 16 })
            // The list has become too long for a fast test.
            if array.count > 2 * count + 100 { (array, list) = (Array(0..<count), PersistentList(0..<count)) }
        }
    }

    @Test("After replacements, a list shares nearly all its unchanged chunks with its earlier copy")
    func sharedChunks() {
        let before = PersistentList(0..<10_000)
        var list = before
        list.replace(stride(from: 0, to: 1_000, by: 10).map { ($0..<$0 + 1, [-1]) } + [(9_000..<9_000, [5])])
        let old = before.chunks, new = list.chunks
        #expect(
            old.filter { chunk in new.contains { $0.hasSameStorage(as: chunk) } }.count >= old.count - 1_000 / 48 - 3)
    }

    @Test("A search finds the first element that satisfies the condition", arguments: [0, 1, 48, 49, 3_100, 5_000])
    func search(count: Int) {
        let list = PersistentList((0..<count).map { $0 / 3 * 2 })
        for value in -1...count {
            #expect(list.firstPosition { $0 >= value } == Array(list).firstIndex { $0 >= value } ?? count)
        }
    }

    /// 97 hashes for more than 1,000 ranks.
    @Test("An index from hashes to ranks finds each rank under its own hash only")
    func equalHashes() throws {
        func hash(_ rank: Int) -> UInt64 { UInt64(rank % 97) << 32 }
        func ranks(_ index: RankIndex, _ hash: UInt64) -> Set<Int> {
            var found: Set<Int> = []
            _ = index.first(of: hash) { rank -> Never? in
                found.insert(rank)
                return nil
            }
            return found
        }
        var random = SeededGenerator(seed: 1)
        var known: Set<Int> = []
        var index = RankIndex()
        for _ in 0..<20_000 {
            let rank = Int.random(in: 0..<1_000, using: &random)
            if known.remove(rank) == nil {
                known.insert(rank)
                index.insert(hash(rank), rank: rank)
            } else if Bool.random(using: &random), known.insert(rank + 9_700).inserted {
                index.change(hash(rank), rank: rank, to: rank + 9_700)
            } else {
                index.remove(hash(rank), rank: rank)
            }
        }
        let built = try #require(RankIndex(known.map { (hash($0), $0) }, areSame: { $0 == $1 }))
        #expect(index.count == known.count && built.count == known.count)
        for number in 0..<97 {
            let expected = known.filter { $0 % 97 == number }
            #expect(ranks(index, hash(number)) == expected)
            #expect(ranks(built, hash(number)) == expected)
        }
        #expect(index.first(of: hash(5)) { $0 > 5 ? $0 : nil } ?? 0 > 5)
    }

    /// 97 hashes for 3,000 ranks, so that many share one; replaced one by one, and in one pass.
    @Test("Rows come and go together in an index from hashes to ranks", arguments: [1, 10, 500, 2_900])
    func replacedRanks(count: Int) throws {
        func row(_ rank: Int) -> RankIndex.Row { (UInt64(rank % 97) << 32, rank) }
        func ranks(_ index: RankIndex) -> [Set<Int>] {
            (0..<97).map { hash in
                var found: Set<Int> = []
                _ = index.first(of: UInt64(hash) << 32) { rank -> Never? in
                    found.insert(rank)
                    return nil
                }
                return found
            }
        }
        var random = SeededGenerator(seed: UInt64(count))
        var known = Set(0..<3_000)
        var index = try #require(RankIndex(known.map(row), areSame: { $0 == $1 }))
        for round in 1...5 {
            let gone = Array(known.shuffled(using: &random).prefix(count))
            let come = (0..<count).map { round * 10_000 + $0 }.shuffled(using: &random)
            known = known.subtracting(gone)
            var twins = index
            let twin = known.min().map { $0 % 97 } ?? 0
            let first = come.firstIndex { $0 % 97 == twin }
            let place = twins.replace(gone.map(row), with: come.map(row)) {
                known.contains($0) && come[$1] % 97 == twin
            }
            #expect(place == first)
            #expect(
                index.replace(gone.map(row), with: come.map(row), isTwin: { rank, _ in !known.contains(rank) }) == nil)
            known.formUnion(come)
            #expect(index.count == known.count)
            #expect(ranks(index) == (0..<97).map { hash in known.filter { $0 % 97 == hash } })
        }
    }

    @Test("An index from hashes to ranks cannot be built from two equal rows")
    func equalRows() {
        let ids = ["a", "b", "c", "b"]
        for isSameHash in [true, false] {
            let rows = ids.enumerated().map { (hash: isSameHash ? 1 : RowHash.hash(RowID($1)), rank: $0) }
            #expect(RankIndex(rows, areSame: { ids[$0] == ids[$1] }) == nil)
            #expect(RankIndex(rows.dropLast(), areSame: { ids[$0] == ids[$1] })?.count == 3)
        }
    }
}

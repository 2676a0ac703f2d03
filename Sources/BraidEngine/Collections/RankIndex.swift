/// From ids to the ranks that order a section's rows. A value: a change copies a chunk of at most 64 entries and the
/// nodes above it.
///
/// An entry has 16 bytes: half of the id's hash, and the rank. Two ids can have the same half, so the caller compares
/// ids.
struct RankIndex: Sendable {
    private struct Entry {
        var hash: UInt32
        var rank: Int
    }

    private var entries = PersistentList<Entry>()

    var count: Int { entries.count }

    init() {}

    /// `nil` if two rows have the same id, as `areSame` says of their positions. Expected O(rows).
    init?(_ rows: some RandomAccessCollection<(hash: UInt64, rank: Int)>, areSame: (Int, Int) -> Bool) {
        var ordered = ContiguousArray(
            rows.lazy.enumerated().map { (hash: Self.half($1.hash), place: $0, rank: $1.rank) })
        ordered.sortAscending { UInt64($0.hash) }
        var first = 0
        for position in ordered.indices.dropFirst() {
            if ordered[position].hash != ordered[first].hash {
                first = position
            } else if (first..<position).contains(where: { areSame(ordered[$0].place, ordered[position].place) }) {
                return nil
            }
        }
        entries = PersistentList(ordered.lazy.map { Entry(hash: $0.hash, rank: $0.rank) })
    }

    private static func half(_ hash: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: hash >> 32) }

    /// Passes ranks of the half hash until `find` returns something.
    func first<Result>(of hash: UInt64, _ find: (_ rank: Int) -> Result?) -> Result? {
        let half = Self.half(hash)
        var position = entries.firstPosition { $0.hash >= half }
        while position < entries.count {
            let entry = entries[position]
            guard entry.hash == half else { return nil }
            if let found = find(entry.rank) { return found }
            position += 1
        }
        return nil
    }

    mutating func insert(_ hash: UInt64, rank: Int) {
        let half = Self.half(hash)
        entries.insert(Entry(hash: half, rank: rank), at: entries.firstPosition { $0.hash >= half })
    }

    mutating func remove(_ hash: UInt64, rank: Int) {
        if let position = position(of: hash, rank: rank) { entries.remove(at: position) }
    }

    typealias Row = (hash: UInt64, rank: Int)

    /// `isTwin` says whether a row that stays, by its rank, has the id of one that comes, by its place; returns the
    /// first such place: the index is then invalid. O(log count) for each row if they are few, else one pass over all:
    /// O(count).
    mutating func replace(_ gone: [Row], with come: [Row], isTwin: (_ rank: Int, _ place: Int) -> Bool) -> Int? {
        if gone.count + come.count > entries.count / Self.fewOf { return merge(gone, come, isTwin) }
        for row in gone { remove(row.hash, rank: row.rank) }
        for (place, row) in come.enumerated() where first(of: row.hash, { isTwin($0, place) ? $0 : nil }) != nil {
            return place
        }
        for row in come { insert(row.hash, rank: row.rank) }
        return nil
    }

    /// One change takes about as long as passing so many entries.
    private static var fewOf: Int { 256 }

    private mutating func merge(_ gone: [Row], _ come: [Row], _ isTwin: (_ rank: Int, _ place: Int) -> Bool) -> Int? {
        func ascending(_ rows: [Row]) -> ContiguousArray<(half: UInt32, place: Int)> {
            var ordered = ContiguousArray(rows.lazy.enumerated().map { (half: Self.half($1.hash), place: $0) })
            ordered.sortAscending { UInt64($0.half) }
            return ordered
        }
        var leaving = ascending(gone), nextLeaving = 0, nextComing = 0, twin: Int?
        let coming = ascending(come)
        var merged = ContiguousArray<Entry>()
        merged.reserveCapacity(entries.count + come.count)
        func add(_ row: (half: UInt32, place: Int)) { merged.append(Entry(hash: row.half, rank: come[row.place].rank)) }
        entries.forEach(in: 0..<entries.count) { _, entry in
            while nextComing < coming.count, coming[nextComing].half < entry.hash {
                add(coming[nextComing])
                nextComing += 1
            }
            while nextLeaving < leaving.count, leaving[nextLeaving].half < entry.hash { nextLeaving += 1 }
            var position = nextLeaving
            while position < leaving.count, leaving[position].half == entry.hash {
                if gone[leaving[position].place].rank == entry.rank {
                    leaving.swapAt(position, nextLeaving)
                    nextLeaving += 1
                    return
                }
                position += 1
            }
            position = nextComing
            while position < coming.count, coming[position].half == entry.hash {
                let place = coming[position].place
                if place < twin ?? .max, isTwin(entry.rank, place) { twin = place }
                position += 1
            }
            merged.append(entry)
        }
        while nextComing < coming.count {
            add(coming[nextComing])
            nextComing += 1
        }
        entries = PersistentList(merged)
        return twin
    }

    mutating func change(_ hash: UInt64, rank: Int, to new: Int) {
        if let position = position(of: hash, rank: rank) { entries[position].rank = new }
    }

    private func position(of hash: UInt64, rank: Int) -> Int? {
        let half = Self.half(hash)
        var position = entries.firstPosition { $0.hash >= half }
        while position < entries.count, entries[position].hash == half {
            if entries[position].rank == rank { return position }
            position += 1
        }
        return nil
    }
}

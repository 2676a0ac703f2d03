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

    mutating func remove(_ rows: [(hash: UInt64, rank: Int)]) {
        let positions = rows.compactMap { position(of: $0.hash, rank: $0.rank) }.sorted()
        entries.replace(positions.map { ($0..<$0 + 1, []) })
    }

    mutating func insert(_ rows: [(hash: UInt64, rank: Int)]) {
        let added = rows.map { Entry(hash: Self.half($0.hash), rank: $0.rank) }.sorted { $0.hash < $1.hash }
        entries.replace(
            added.map { entry in
                let position = entries.firstPosition { $0.hash >= entry.hash }
                return (position..<position, [entry])
            })
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

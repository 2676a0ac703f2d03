/// A dictionary in shards, a value: changing one entry of a shared index copies one shard of about a hundred entries,
/// where a plain `Dictionary` would copy every entry.
struct ShardedIndex<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// As many as a power of two.
    private var shards: ChunkedList<[Key: Value]> = [[:]]
    private(set) var count = 0
    /// Entries per shard, on average, at which there are made four times as many shards.
    private static var fullShard: Int { 128 }

    init() {}

    init(_ entries: [(key: Key, value: Value)]) {
        var size = 1
        while size * Self.fullShard / 2 < entries.count { size *= 2 }
        fill(size, entries)
    }

    private mutating func fill(_ size: Int, _ entries: some Sequence<(key: Key, value: Value)>) {
        var filled = [[Key: Value]](repeating: [:], count: size)
        for (key, value) in entries { filled[Self.shard(of: key, size)][key] = value }
        count = filled.reduce(0) { $0 + $1.count }
        shards = ChunkedList(filled)
    }

    private static func shard(of key: Key, _ size: Int) -> Int {
        // The high bits: a shard's own dictionary uses the low ones.
        Int(truncatingIfNeeded: UInt(bitPattern: key.hashValue) >> 32) & (size - 1)
    }

    subscript(key: Key) -> Value? {
        get { shards[Self.shard(of: key, shards.count)][key] }
        set {
            let place = Self.shard(of: key, shards.count)
            var shard = shards[place]
            let before = shard.count
            shard[key] = newValue
            count += shard.count - before
            shards[place] = shard
            if count > shards.count * Self.fullShard { fill(shards.count * 4, shards.lazy.flatMap { $0.map { ($0.key, $0.value) } }) }
        }
    }
}

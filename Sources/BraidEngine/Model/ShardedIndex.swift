/// A dictionary in shards, a value: changing one entry of a shared index copies one shard of about a hundred entries
/// and the list of shards, where a plain `Dictionary` would copy every entry.
struct ShardedIndex<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private var shards: [[Key: Value]] = [[:]]
    private(set) var count = 0
    /// Entries per shard at which the number of shards is doubled twice.
    private static var fullShard: Int { 256 }

    init() {}

    init(minimumCapacity: Int) {
        var size = 1
        while size * Self.fullShard / 2 < minimumCapacity { size *= 2 }
        shards = Array(repeating: [:], count: size)
    }

    private func shard(of key: Key) -> Int {
        // The high bits: a shard's own dictionary uses the low ones.
        Int(truncatingIfNeeded: UInt(bitPattern: key.hashValue) >> 32) & (shards.count - 1)
    }

    subscript(key: Key) -> Value? {
        get { shards[shard(of: key)][key] }
        set {
            let shard = shard(of: key)
            let before = shards[shard].count
            shards[shard][key] = newValue
            count += shards[shard].count - before
            if count > shards.count * Self.fullShard { grow() }
        }
    }

    private mutating func grow() {
        let old = shards
        shards = Array(repeating: [:], count: old.count * 4)
        for entries in old {
            for (key, value) in entries { shards[shard(of: key)][key] = value }
        }
    }
}

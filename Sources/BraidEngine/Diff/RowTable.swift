/// Finds the entries that have a given id: open addressing with linear probing, at most half full.
///
/// A slot holds 32 bits of the hash and 32 bits of the entry's position plus one, so that probing touches no row
/// before the hashes agree; what is found is verified by the caller with `==`. The hash is seeded anew in each
/// process: chosen ids cannot be made to collide.
struct RowTable {
    private var slots: [UInt64]
    private let mask: Int
    private var isEmpty = true

    /// For at most `capacity` entries.
    init(capacity: Int) {
        precondition(capacity < 1 << 31, "RowTable: more rows than a table can have")
        var size = 8
        while size < 2 * capacity { size *= 2 }
        slots = Array(repeating: 0, count: size)
        mask = size - 1
    }

    /// The position for which `isSame` holds, among those with this hash; nil when there is none.
    @inline(__always)
    func find(_ hash: UInt64, _ isSame: (Int) -> Bool) -> Int? {
        if isEmpty { return nil }
        return slots.withUnsafeBufferPointer { slots in
            var slot = Int(truncatingIfNeeded: hash) & mask
            while slots[slot] != 0 {
                if slots[slot] >> 32 == hash >> 32 {
                    let position = Int(slots[slot] & 0xFFFF_FFFF) - 1
                    if isSame(position) { return position }
                }
                slot = (slot + 1) & mask
            }
            return nil
        }
    }

    /// The position for which `isSame` holds; when there is none, `position` is put in and nil returned.
    @inline(__always)
    mutating func findOrInsert(_ position: Int, _ hash: UInt64, _ isSame: (Int) -> Bool) -> Int? {
        let mask = mask
        isEmpty = false
        return slots.withUnsafeMutableBufferPointer { slots in
            var slot = Int(truncatingIfNeeded: hash) & mask
            while slots[slot] != 0 {
                if slots[slot] >> 32 == hash >> 32 {
                    let found = Int(slots[slot] & 0xFFFF_FFFF) - 1
                    if isSame(found) { return found }
                }
                slot = (slot + 1) & mask
            }
            slots[slot] = (hash & 0xFFFF_FFFF_0000_0000) | UInt64(position + 1)
            return nil
        }
    }
}

/// A seeded hash of bytes: each eight are multiplied into the state and the product folded.
/// Source: the fallback of aHash (github.com/tkaitchuck/aHash), after wyhash.
enum RowHash {
    private static let seeds: (UInt64, UInt64) = {
        var generator = SystemRandomNumberGenerator()
        return (generator.next(), generator.next() | 1)
    }()

    static func hash(_ id: RowID) -> UInt64 {
        let seeds = seeds
        var text = id.text
        return text.withUTF8 { bytes in
            let bytes = UnsafeRawBufferPointer(bytes)
            var state = seeds.0 ^ UInt64(bytes.count)
            var offset = 0
            while offset + 8 <= bytes.count {
                state = folded(state ^ bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self), seeds.1)
                offset += 8
            }
            if offset < bytes.count {
                var rest: UInt64 = 0
                if bytes.count >= 8 {
                    rest = bytes.loadUnaligned(fromByteOffset: bytes.count - 8, as: UInt64.self)
                } else {
                    while offset < bytes.count {
                        rest = rest << 8 | UInt64(bytes[offset])
                        offset += 1
                    }
                }
                state = folded(state ^ rest, seeds.1)
            }
            return folded(state, 0x9E37_79B9_7F4A_7C15)
        }
    }

    /// The hash of an id within a section.
    @inline(__always)
    static func hash(_ hash: UInt64, in section: Int) -> UInt64 {
        folded(hash ^ UInt64(section), seeds.1)
    }

    @inline(__always)
    private static func folded(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}

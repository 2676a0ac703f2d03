/// From ids to positions: open addressing, linear probing, at most half full.
///
/// A slot has 32 bits of the hash and the position plus one, so that a row is read only if those bits agree; the caller
/// compares ids. Seeds are random, so nobody can choose ids that collide. An id's hash has no lower 16 bits.
struct RowTable {
    private var slots: ContiguousArray<UInt64> = []
    private var mask = 0

    /// Without slots: nothing can be inserted.
    init() {}

    init(capacity: Int) {
        precondition(capacity < 1 << 31, "RowTable: a table cannot contain more than 2,147,483,647 rows")
        guard capacity > 0 else { return }
        var size = 8
        while size < 2 * capacity { size *= 2 }
        slots = ContiguousArray(repeating: 0, count: size)
        mask = size - 1
    }

    @inline(__always)
    func find(_ hash: UInt64, _ isSame: (Int) -> Bool) -> Int? {
        if slots.isEmpty { return nil }
        return slots.withUnsafeBufferPointer { slots in
            var slot = Int(truncatingIfNeeded: hash >> 16) & mask
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

    /// Returns the position found, or inserts this one and returns `nil`. There must be room.
    @inline(__always)
    mutating func findOrInsert(_ position: Int, _ hash: UInt64, _ isSame: (Int) -> Bool) -> Int? {
        let mask = mask
        return slots.withUnsafeMutableBufferPointer { slots in
            var slot = Int(truncatingIfNeeded: hash >> 16) & mask
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

/// Finds the entries that have a given id: open addressing with linear probing, at most half full.
///
/// A slot holds 32 bits of the hash and 32 bits of the entry's position plus one, so that probing touches no row
/// before the hashes agree; what is found is verified by the caller with `==`. The hash is seeded anew in each
/// process: chosen ids cannot be made to collide. Its lowest bit is none of the hash (`RowMarks`).
struct RowTable {
    private var slots: ContiguousArray<UInt64> = []
    private var mask = 0

    /// For none.
    init() {}

    /// For at most `capacity` entries.
    init(capacity: Int) {
        precondition(capacity < 1 << 31, "RowTable: more rows than a table can have")
        guard capacity > 0 else { return }
        var size = 8
        while size < 2 * capacity { size *= 2 }
        slots = ContiguousArray(repeating: 0, count: size)
        mask = size - 1
    }

    /// The position for which `isSame` holds, among those with this hash; nil when there is none.
    @inline(__always)
    func find(_ hash: UInt64, _ isSame: (Int) -> Bool) -> Int? {
        if slots.isEmpty { return nil }
        return slots.withUnsafeBufferPointer { slots in
            var slot = Int(truncatingIfNeeded: hash >> 1) & mask
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
        return slots.withUnsafeMutableBufferPointer { slots in
            var slot = Int(truncatingIfNeeded: hash >> 1) & mask
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

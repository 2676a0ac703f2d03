/// A hash table from ids to the positions of entries, with open addressing and linear probing, at most half full.
///
/// A slot contains 32 bits of an id's hash and the entry's position plus one, also in 32 bits. Probing therefore reads
/// an entry's row only if those hash bits agree. The caller compares the ids of such rows.
///
/// The hash has a random seed in each process, so an attacker cannot choose ids that collide. The table ignores the
/// hash's lowest bit, in which `RowMarks` stores a flag.
struct RowTable {
    private var slots: ContiguousArray<UInt64> = []
    private var mask = 0

    /// Creates an empty hash table without slots, into which nothing can be inserted.
    init() {}

    /// Creates a hash table for at most `capacity` entries.
    init(capacity: Int) {
        precondition(capacity < 1 << 31, "RowTable: a table cannot contain more than 2,147,483,647 rows")
        guard capacity > 0 else { return }
        var size = 8
        while size < 2 * capacity { size *= 2 }
        slots = ContiguousArray(repeating: 0, count: size)
        mask = size - 1
    }

    /// Returns the position of the entry that has this hash and for which `isSame` returns true. `nil` if no entry
    /// matches.
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

    /// Returns the position of the entry that has this hash and for which `isSame` returns true. If no entry matches,
    /// inserts `position` and returns `nil`.
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

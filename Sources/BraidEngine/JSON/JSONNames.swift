/// The names of all open objects, to find duplicates (RFC 7493, section 2.3).
///
/// A stack: an object's names lie above those of the objects around it. Up to 16 are compared one by one, first by
/// length and eight bytes; beyond, a hash table helps, seeded per process against hostile names. The name that came
/// last leaves the table first, so linear probing needs no tombstones.
struct JSONNames {
    private struct Name {
        /// The first eight bytes, zero-padded.
        var word: UInt64
        /// Offset in `unescaped` if `wasEscaped`, else in the input.
        var start: Int
        var length: Int32
        var wasEscaped: Bool
        /// Position in `slots`; -1 while the table does not have the name.
        var slot: Int32 = -1
        var hash = 0
    }

    private static let linearLimit = 16

    private let input: UnsafeRawBufferPointer
    private var stack: [Name] = []
    private var unescaped: [UInt8] = []
    /// Positions in `stack` plus one, or 0. A power of two long.
    private var slots: [Int32] = []
    private var slotsUsed = 0

    init(_ input: UnsafeRawBufferPointer) {
        self.input = input
        stack.reserveCapacity(8)
    }

    @inline(__always) var count: Int { stack.count }

    /// `range` is between the quotes, `base` the position of the object's first name. False for a duplicate.
    @inline(__always)
    mutating func insert(_ range: Range<Int>, escaped: Bool, base: Int) -> Bool {
        if escaped { return insertEscaped(range, base) }
        return insert(
            Name(word: input.prefixWord(range), start: range.lowerBound, length: Int32(range.count), wasEscaped: false),
            base)
    }

    /// Forgets the names of an object that ends.
    @inline(__always)
    mutating func close(_ base: Int) {
        if slotsUsed > 0 || !unescaped.isEmpty { tidy(base) }
        stack.removeLast(stack.count - base)
    }

    subscript(position: Int) -> String {
        withBytes(of: stack[position]) { String(decoding: $0, as: UTF8.self) }
    }

    @inline(__always)
    private mutating func insert(_ name: Name, _ base: Int) -> Bool {
        if stack.count - base >= Self.linearLimit { return insertWide(name, base) }
        for index in base..<stack.count where stack[index].word == name.word && stack[index].length == name.length {
            if name.length <= 8 || isSame(stack[index], name) { return false }
        }
        stack.append(name)
        return true
    }

    @inline(never)
    private mutating func insertEscaped(_ range: Range<Int>, _ base: Int) -> Bool {
        let start = unescaped.count
        var cursor = JSONCursor(input, at: range.lowerBound - 1)
        unescaped.append(contentsOf: cursor.string().utf8)
        let word = unescaped.withUnsafeBytes { $0.prefixWord(start..<$0.count) }
        return insert(Name(word: word, start: start, length: Int32(unescaped.count - start), wasEscaped: true), base)
    }

    @inline(never)
    private mutating func insertWide(_ name: Name, _ base: Int) -> Bool {
        if stack[base].slot < 0 {
            for index in base..<stack.count { place(index, base) }
        }
        var name = name
        name.hash = hash(of: name, base)
        var slot = name.hash & (slots.count - 1)
        while slots[slot] != 0 {
            let other = stack[Int(slots[slot]) - 1]
            // Above `base` are this object's names.
            if other.hash == name.hash, Int(slots[slot]) > base, isSame(other, name) { return false }
            slot = (slot + 1) & (slots.count - 1)
        }
        stack.append(name)
        place(stack.count - 1, base)
        return true
    }

    /// Puts a name into the table, which stays at most half full.
    private mutating func place(_ index: Int, _ base: Int) {
        stack[index].hash = hash(of: stack[index], base)
        if 2 * (slotsUsed + 1) > slots.count {
            slots = Array(repeating: 0, count: max(128, 2 * slots.count))
            for index in stack.indices where stack[index].slot >= 0 { occupy(index) }
        }
        occupy(index)
        slotsUsed += 1
    }

    private mutating func occupy(_ index: Int) {
        var slot = stack[index].hash & (slots.count - 1)
        while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
        slots[slot] = Int32(index + 1)
        stack[index].slot = Int32(slot)
    }

    @inline(never)
    private mutating func tidy(_ base: Int) {
        for index in stride(from: stack.count - 1, through: base, by: -1) {
            if stack[index].slot >= 0 {
                slots[Int(stack[index].slot)] = 0
                slotsUsed -= 1
            }
            if stack[index].wasEscaped { unescaped.removeLast(unescaped.count - stack[index].start) }
        }
    }

    /// With `base`, so that equal names in two open objects rarely collide.
    private func hash(of name: Name, _ base: Int) -> Int {
        var hasher = Hasher()
        hasher.combine(base)
        withBytes(of: name) { hasher.combine(bytes: $0) }
        return hasher.finalize()
    }

    private func isSame(_ left: Name, _ right: Name) -> Bool {
        withBytes(of: left) { left in withBytes(of: right) { left.hasSameBytes(as: $0) } }
    }

    @inline(__always)
    private func withBytes<R>(of name: Name, _ body: (UnsafeRawBufferPointer) -> R) -> R {
        let range = name.start..<name.start + Int(name.length)
        return name.wasEscaped ? unescaped.withUnsafeBytes { body($0[part: range]) } : body(input[part: range])
    }
}

extension UnsafeRawBufferPointer {
    /// Little-endian, zero-padded.
    @inline(__always)
    fileprivate func prefixWord(_ range: Range<Int>) -> UInt64 {
        if range.count >= 8 { return word(at: range.lowerBound) }
        if range.lowerBound + 8 <= count { return word(at: range.lowerBound) & ((1 << (8 * UInt64(range.count))) &- 1) }
        return range.reversed().reduce(0) { $0 << 8 | UInt64(self[$1]) }
    }
}

/// Seeded hashes of rows and their ids. The seeds are drawn anew in each process: nobody can choose ids or rows that
/// collide, and no hash may leave the process.
///
/// Each sixteen bytes are two factors, and their product is folded into the next state.
/// Source: wyhash (github.com/wangyi-fudan/wyhash) and the fallback of aHash (github.com/tkaitchuck/aHash).
enum RowHash {
    /// Of all that a row shows, and of its content alone. They are independent: together 128 bits.
    struct Pair: Sendable, Equatable {
        let whole: UInt64
        let content: UInt64
    }

    private static let seeds: (id: UInt64, whole: UInt64, content: UInt64) = {
        var generator = SystemRandomNumberGenerator()
        return (generator.next() | 1, generator.next() | 1, generator.next() | 1)
    }()

    /// Even, and never 0.
    static func hash(_ id: RowID) -> UInt64 {
        var text = id.text
        return text.withUTF8 { hash(ofID: UnsafeRawBufferPointer($0)) }
    }

    /// The same, of the id's bytes.
    static func hash(ofID bytes: UnsafeRawBufferPointer) -> UInt64 {
        let seed = seeds.id
        var state = seed ^ UInt64(bytes.count)
        bytes.forEachPair { state = folded($0 ^ seed, $1 ^ state) }
        return max(folded(state, end) & ~1, 2)
    }

    /// A row's content comes first.
    static func hash(_ row: UnsafeRawBufferPointer, contentLength: Int) -> Pair {
        let (_, wholeSeed, contentSeed) = seeds
        var whole = wholeSeed ^ UInt64(row.count), content = contentSeed ^ UInt64(contentLength)
        row[part: 0..<contentLength].forEachPair {
            whole = folded($0 ^ wholeSeed, $1 ^ whole)
            content = folded($0 ^ contentSeed, $1 ^ content)
        }
        row[part: contentLength..<row.count].forEachPair { whole = folded($0 ^ wholeSeed, $1 ^ whole) }
        return Pair(whole: folded(whole, end), content: folded(content, end))
    }

    /// The hash of an id within a section.
    @inline(__always)
    static func hash(_ hash: UInt64, in section: Int32) -> UInt64 {
        section == 0 ? hash : folded(hash ^ UInt64(UInt32(bitPattern: section)), end)
    }

    /// The golden ratio's bits, an odd number without a pattern.
    private static var end: UInt64 { 0x9E37_79B9_7F4A_7C15 }

    @inline(__always)
    private static func folded(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}

extension UnsafeRawBufferPointer {
    /// All bytes as pairs of words; the last pair may repeat some, or, of fewer than 16 bytes, end in zeros.
    @inline(__always)
    fileprivate func forEachPair(_ body: (UInt64, UInt64) -> Void) {
        var offset = 0
        while offset + 16 <= count {
            body(word(at: offset), word(at: offset + 8))
            offset += 16
        }
        guard offset < count else { return }
        if count >= 16 {
            body(word(at: count - 16), word(at: count - 8))
        } else if count >= 8 {
            body(word(at: 0), word(at: count - 8))
        } else {
            var rest: UInt64 = 0
            for byte in self { rest = rest << 8 | UInt64(byte) }
            body(rest, 0)
        }
    }
}

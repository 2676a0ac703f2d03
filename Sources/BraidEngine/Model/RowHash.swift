/// Hashes of rows and ids. Seeds are random, so that nobody can choose collisions; no hash may leave the process.
///
/// Multiplies sixteen bytes as two factors and folds the product into the next state. Source: wyhash
/// (github.com/wangyi-fudan/wyhash) and aHash's fallback (github.com/tkaitchuck/aHash).
enum RowHash {
    /// Hashes of all the JSON, and of what the cell shows; independent.
    struct Pair: Sendable, Equatable {
        let whole: UInt64
        let content: UInt64

        func mixed(with mark: UInt64) -> Pair { Pair(whole: whole ^ mark, content: content ^ mark) }
    }

    private static let seeds: (id: UInt64, whole: UInt64, content: UInt64) = {
        var generator = SystemRandomNumberGenerator()
        return (generator.next() | 1, generator.next() | 1, generator.next() | 1)
    }()

    /// Of 48 bits: the lowest 16 are free for `RowMarks`. 0 means no id.
    static func hash(_ id: RowID) -> UInt64 {
        var text = id.text
        return text.withUTF8 { hash(ofID: UnsafeRawBufferPointer($0)) }
    }

    static func hash(ofID bytes: UnsafeRawBufferPointer) -> UInt64 {
        let seed = seeds.id
        var state = seed ^ UInt64(bytes.count)
        bytes.forEachPair { state = folded($0 ^ seed, $1 ^ state) }
        return max(folded(state, end) & ~0xFFFF, 1 << 16)
    }

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

    /// Mixes in the section, so that equal ids in two sections almost always differ. Section 0 keeps the hash.
    @inline(__always)
    static func hash(_ hash: UInt64, in section: Int32) -> UInt64 {
        section == 0 ? hash : folded(hash ^ UInt64(UInt32(bitPattern: section)), end)
    }

    /// The golden ratio's bits: odd, without a pattern.
    private static var end: UInt64 { 0x9E37_79B9_7F4A_7C15 }

    @inline(__always)
    private static func folded(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}

extension UnsafeRawBufferPointer {
    /// In 8-byte words. The last pair may repeat bytes or, below 16 bytes, be padded with zeros.
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

// RFC 8259, sections 2 and 7.
extension UInt8 {
    @inline(__always) static var quote: UInt8 { 0x22 }
    @inline(__always) static var backslash: UInt8 { 0x5C }
    @inline(__always) static var comma: UInt8 { 0x2C }
    @inline(__always) static var colon: UInt8 { 0x3A }
    @inline(__always) static var openBrace: UInt8 { 0x7B }
    @inline(__always) static var closeBrace: UInt8 { 0x7D }
    @inline(__always) static var openBracket: UInt8 { 0x5B }
    @inline(__always) static var closeBracket: UInt8 { 0x5D }

    @inline(__always) var isDigit: Bool { self &- 0x30 < 10 }
    @inline(__always) var isJSONSpace: Bool { self == 0x20 || self == 0x0A || self == 0x0D || self == 0x09 }

    var hexadecimalValue: UInt32? {
        switch self {
        case 0x30...0x39: UInt32(self) - 0x30
        case 0x41...0x46: UInt32(self) - 0x41 + 10
        case 0x61...0x66: UInt32(self) - 0x61 + 10
        default: nil
        }
    }
}

extension Int {
    /// One or more ASCII digits and nothing else; `nil` if too large.
    init?(digits: some Collection<UInt8>) {
        guard !digits.isEmpty else { return nil }
        var number = 0
        for byte in digits {
            let (product, overflows) = number.multipliedReportingOverflow(by: 10)
            let (sum, overflowsToo) = product.addingReportingOverflow(Int(byte &- UInt8(ascii: "0")))
            guard byte &- UInt8(ascii: "0") < 10, !overflows, !overflowsToo else { return nil }
            number = sum
        }
        self = number
    }
}

// Tests of all eight bytes of a word, which mark those that pass by their highest bit. Trust the lowest mark only: a
// subtraction can borrow from a higher byte.
extension UInt64 {
    @inline(__always) static func each(_ byte: UInt8) -> UInt64 { 0x0101_0101_0101_0101 &* UInt64(byte) }

    /// `"`, `\`, control characters and non-ASCII bytes.
    @inline(__always) var notPlain: UInt64 {
        (((self ^ .each(.quote)) &- .each(1)) | ((self ^ .each(.backslash)) &- .each(1)) | (self &- .each(0x20)) | self)
            & .each(0x80)
    }

    /// `"`, `\` and control characters.
    @inline(__always) var needsEscape: UInt64 {
        (((self ^ .each(.quote)) &- .each(1)) | ((self ^ .each(.backslash)) &- .each(1)) | (self &- .each(0x20)))
            & ~self & .each(0x80)
    }

    /// `"` and `\`.
    @inline(__always) var quoteOrBackslash: UInt64 {
        (((self ^ .each(.quote)) &- .each(1)) | ((self ^ .each(.backslash)) &- .each(1))) & ~self & .each(0x80)
    }

    /// Index of the lowest marked byte.
    @inline(__always) var firstMark: Int { trailingZeroBitCount >> 3 }
}

extension UnsafeRawBufferPointer {
    /// Little-endian. `offset + 8` must not exceed `count`.
    @inline(__always) func word(at offset: Int) -> UInt64 {
        UInt64(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    @inline(__always) subscript(part range: Range<Int>) -> UnsafeRawBufferPointer { .init(rebasing: self[range]) }

    /// Eight bytes at a time.
    @inline(__always) func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        var offset = 0
        if count >= 8 {
            let last = count - 8
            while offset < last {
                if word(at: offset) != other.word(at: offset) { return false }
                offset += 8
            }
            return word(at: last) == other.word(at: last)
        }
        while offset < count {
            if self[offset] != other[offset] { return false }
            offset += 1
        }
        return true
    }
}

/// Characters that JSON gives a meaning (RFC 8259, section 2).
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

    /// The value of a hexadecimal digit, or nil.
    var hexadecimalValue: UInt32? {
        switch self {
        case 0x30...0x39: UInt32(self) - 0x30
        case 0x41...0x46: UInt32(self) - 0x41 + 10
        case 0x61...0x66: UInt32(self) - 0x61 + 10
        default: nil
        }
    }
}

/// Eight bytes at a time: each test below marks bytes by their highest bit, and the lowest mark is exact
/// (a borrow can only blur marks above a true one).
extension UInt64 {
    @inline(__always) static func each(_ byte: UInt8) -> UInt64 { 0x0101_0101_0101_0101 &* UInt64(byte) }

    /// Bytes that end a run of plain characters inside a string: `"`, `\`, control characters, beyond ASCII.
    @inline(__always) var notPlain: UInt64 {
        (((self ^ .each(.quote)) &- .each(1)) | ((self ^ .each(.backslash)) &- .each(1)) | (self &- .each(0x20)) | self)
            & .each(0x80)
    }

    /// Bytes that end a run which a string may hold as it is: `"`, `\`, control characters.
    @inline(__always) var needsEscape: UInt64 {
        (((self ^ .each(.quote)) &- .each(1)) | ((self ^ .each(.backslash)) &- .each(1)) | (self &- .each(0x20)))
            & ~self & .each(0x80)
    }

    /// `"` and `\`.
    @inline(__always) var quoteOrBackslash: UInt64 {
        (((self ^ .each(.quote)) &- .each(1)) | ((self ^ .each(.backslash)) &- .each(1))) & ~self & .each(0x80)
    }

    /// Position of the lowest marked byte.
    @inline(__always) var firstMark: Int { trailingZeroBitCount >> 3 }
}

extension UnsafeRawBufferPointer {
    /// Eight bytes from `offset`, the first one lowest. `offset + 8` must not pass the end.
    @inline(__always) func word(at offset: Int) -> UInt64 {
        UInt64(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    @inline(__always) subscript(part range: Range<Int>) -> UnsafeRawBufferPointer { .init(rebasing: self[range]) }

    /// Equality of all bytes, eight at a time.
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

/// Writes compact JSON with its commas and colons; checks nothing.
///
/// Prefer ``object(_:)`` and `member`; `name`, `begin…` and `end…` are for what does not fit, such as a document in
/// pieces.
public struct JSONWriter: Sendable {
    /// UTF-8. Between two values, you may take them out, to send a document in pieces.
    public var bytes: [UInt8] = []
    private var depth = 0
    private var needsComma = false

    /// `capacity`: expected bytes.
    public init(capacity: Int = 0) { bytes.reserveCapacity(capacity) }

    /// What was written, which must be one complete value.
    public var text: JSONText { JSONText(valid: bytes) }

    /// Writes `{`.
    @inline(__always) public mutating func beginObject() { begin(.openBrace) }
    /// Writes `}`.
    @inline(__always) public mutating func endObject() { end(.closeBrace) }
    /// Writes `[`.
    @inline(__always) public mutating func beginArray() { begin(.openBracket) }
    /// Writes `]`.
    @inline(__always) public mutating func endArray() { end(.closeBracket) }

    /// A literal name.
    public mutating func name(_ name: StaticString) {
        separate()
        if name.hasPointerRepresentation {
            name.withUTF8Buffer { quote(UnsafeRawBufferPointer($0)) }
        } else {
            quote("\(name)")
        }
        endName()
    }

    /// A name, escaped.
    @_disfavoredOverload
    public mutating func name(_ name: String) {
        separate()
        quote(name)
        endName()
    }

    /// Byte for byte.
    @inline(__always)
    public mutating func value(_ text: JSONText) {
        separate()
        text.withBytes { bytes.append(contentsOf: $0) }
        endValue()
    }

    /// A string, escaped.
    public mutating func value(_ string: String) {
        separate()
        quote(string)
        endValue()
    }

    /// A string's UTF-8, escaped.
    mutating func value(string utf8: UnsafeRawBufferPointer) {
        separate()
        quote(utf8)
        endValue()
    }

    /// An integer.
    public mutating func value(_ number: Int) {
        separate()
        var digits = String(number)
        digits.withUTF8 { bytes.append(contentsOf: $0) }
        endValue()
    }

    /// `true` or `false`.
    public mutating func value(_ bool: Bool) {
        separate()
        bytes.append(contentsOf: (bool ? "true" : "false").utf8)
        endValue()
    }

    /// `null`.
    public mutating func null() {
        separate()
        bytes.append(contentsOf: "null".utf8)
        endValue()
    }

    /// Recursive, as deep as the tree.
    public mutating func value(_ value: JSONValue) {
        switch value {
        case .null: null()
        case .bool(let bool): self.value(bool)
        case .string(let string): self.value(string)
        case .number(let number):
            separate()
            bytes.append(contentsOf: number.lexeme.utf8)
            endValue()
        case .array(let elements): array(of: elements) { $0.value($1) }
        case .object(let object):
            self.object {
                for (name, value) in object.members { $0.member(name, value) }
            }
        }
    }

    /// As they are; the commas around are the caller's.
    public mutating func raw(_ bytes: [UInt8]) { self.bytes.append(contentsOf: bytes) }
    /// As it is; the commas around are the caller's.
    public mutating func raw(_ text: StaticString) { text.withUTF8Buffer { bytes.append(contentsOf: $0) } }

    // MARK: Commas

    @inline(__always)
    private mutating func separate() {
        if needsComma { bytes.append(.comma) }
    }

    @inline(__always) private mutating func endValue() { needsComma = depth > 0 }

    @inline(__always)
    private mutating func endName() {
        bytes.append(.colon)
        needsComma = false
    }

    @inline(__always)
    private mutating func begin(_ bracket: UInt8) {
        separate()
        bytes.append(bracket)
        depth += 1
        needsComma = false
    }

    @inline(__always)
    private mutating func end(_ bracket: UInt8) {
        bytes.append(bracket)
        depth -= 1
        endValue()
    }

    // MARK: Strings

    @inline(__always)
    private mutating func quote(_ string: String) {
        var string = string
        string.withUTF8 { quote(UnsafeRawBufferPointer($0)) }
    }

    /// Escapes what RFC 8259, section 7 requires.
    private mutating func quote(_ utf8: UnsafeRawBufferPointer) {
        bytes.append(.quote)
        var runStart = 0, at = 0
        while at < utf8.count {
            if at + 8 <= utf8.count {
                let marks = utf8.word(at: at).needsEscape
                if marks == 0 {
                    at += 8
                    continue
                }
                at += marks.firstMark
            }
            let byte = utf8[at]
            if byte < 0x20 || byte == .quote || byte == .backslash {
                bytes.append(contentsOf: utf8[part: runStart..<at])
                escape(byte)
                runStart = at + 1
            }
            at += 1
        }
        bytes.append(contentsOf: utf8[part: runStart..<utf8.count])
        bytes.append(.quote)
    }

    private mutating func escape(_ byte: UInt8) {
        let letter: UInt8? =
            switch byte {
            case .quote, .backslash: byte
            case 0x08: UInt8(ascii: "b")
            case 0x09: UInt8(ascii: "t")
            case 0x0A: UInt8(ascii: "n")
            case 0x0C: UInt8(ascii: "f")
            case 0x0D: UInt8(ascii: "r")
            default: nil
            }
        if let letter {
            bytes.append(contentsOf: [.backslash, letter])
        } else {
            bytes.append(contentsOf: "\\u00".utf8)
            bytes.append(contentsOf: [0x30 + byte >> 4, Array("0123456789abcdef".utf8)[Int(byte & 15)]])
        }
    }
}

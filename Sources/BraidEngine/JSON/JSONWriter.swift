/// A writer of compact JSON into an array of bytes. The writer inserts the commas and colons.
///
/// The caller is responsible for the structure: inside an object, every value follows a name, and every `begin…` has
/// its `end…`. The writer does not check that names are unique.
public struct JSONWriter: Sendable {
    /// The UTF-8 bytes written so far. A caller may move the bytes out between two values.
    public var bytes: [UInt8] = []
    private var depth = 0
    private var needsComma = false

    /// Creates a writer without any bytes.
    public init() {}
    /// Creates a writer with memory reserved for a number of bytes.
    public init(capacity: Int) { bytes.reserveCapacity(capacity) }

    /// The written bytes as a ``JSONText``. The bytes must be one complete JSON value.
    public var text: JSONText { JSONText(valid: bytes) }

    /// Writes `{`. The next call is `name(_:)` or ``endObject()``.
    @inline(__always) public mutating func beginObject() { begin(.openBrace) }
    /// Writes `}`.
    @inline(__always) public mutating func endObject() { end(.closeBrace) }
    /// Writes `[`. Every value up to ``endArray()`` is an element.
    @inline(__always) public mutating func beginArray() { begin(.openBracket) }
    /// Writes `]`.
    @inline(__always) public mutating func endArray() { end(.closeBracket) }

    /// Writes the name of an object member whose name is a string literal in the source code.
    public mutating func name(_ name: StaticString) {
        separate()
        if name.hasPointerRepresentation {
            name.withUTF8Buffer { quote(UnsafeRawBufferPointer($0)) }
        } else {
            quote("\(name)")
        }
        endName()
    }

    /// Writes the name of an object member, escaped as JSON requires.
    @_disfavoredOverload
    public mutating func name(_ name: String) {
        separate()
        quote(name)
        endName()
    }

    /// Writes a ``JSONText`` as the next value, byte for byte.
    @inline(__always)
    public mutating func value(_ text: JSONText) {
        separate()
        text.withBytes { bytes.append(contentsOf: $0) }
        endValue()
    }

    /// Writes a string, escaped as JSON requires (RFC 8259, section 7).
    public mutating func value(_ string: String) {
        separate()
        quote(string)
        endValue()
    }

    /// Writes an integer.
    public mutating func value(_ number: Int) {
        separate()
        var digits = String(number)
        digits.withUTF8 { bytes.append(contentsOf: $0) }
        endValue()
    }

    /// Writes `true` or `false`.
    public mutating func value(_ bool: Bool) {
        separate()
        bytes.append(contentsOf: (bool ? "true" : "false").utf8)
        endValue()
    }

    /// Writes `null`.
    public mutating func null() {
        separate()
        bytes.append(contentsOf: "null".utf8)
        endValue()
    }

    /// Writes a ``JSONValue`` tree as the next value. The recursion is as deep as the tree.
    public mutating func value(_ value: JSONValue) {
        switch value {
        case .null: null()
        case .bool(let bool): self.value(bool)
        case .string(let string): self.value(string)
        case .number(let number):
            separate()
            bytes.append(contentsOf: number.lexeme.utf8)
            endValue()
        case .array(let elements):
            beginArray()
            for element in elements { self.value(element) }
            endArray()
        case .object(let object):
            beginObject()
            for (name, value) in object.members {
                self.name(name)
                self.value(value)
            }
            endObject()
        }
    }

    /// Appends bytes as they are, without a comma before them. These bytes do not change whether the writer puts a
    /// comma before the next value.
    public mutating func raw(_ bytes: [UInt8]) { self.bytes.append(contentsOf: bytes) }
    /// Appends a literal's bytes as they are, without a comma before them. These bytes do not change whether the writer
    /// puts a comma before the next value.
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

    /// Writes a string in quotes. Escapes only what RFC 8259, section 7 requires.
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

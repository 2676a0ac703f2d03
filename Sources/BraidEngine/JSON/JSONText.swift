/// One valid JSON value as compact text: bytes without white space between tokens.
///
/// A slice of a shared buffer: copies cost O(1), and the elements of a large body share its bytes (see ``detached``).
/// Equality and hash compare bytes, so `1.0` and `1.00` differ, and `"A"` and `"\u0041"` do too.
public struct JSONText: Sendable, Hashable, CustomStringConvertible {
    private let buffer: [UInt8]
    private let start: UInt32
    private let end: UInt32

    /// The bytes must be compact, valid JSON.
    init(valid buffer: [UInt8]) { self.init(valid: buffer, 0..<buffer.count) }

    @inline(__always)
    init(valid buffer: [UInt8], _ range: Range<Int>) {
        self.buffer = buffer
        start = UInt32(range.lowerBound)
        end = UInt32(range.upperBound)
    }

    /// Checks that at most 2^31 - 1 bytes are one JSON value, and removes the white space between tokens. Compact input
    /// is not copied. O(bytes), in one pass. Throws a ``JSONError`` with the position of the first fault.
    ///
    /// The grammar is RFC 8259 with three rules of I-JSON (RFC 7493): UTF-8, no lone surrogates, and no name twice in
    /// an object. Arrays and objects may be nested as deep as `depthLimit`, at most 1,000.
    public init(parsing bytes: [UInt8], depthLimit: Int = 128) throws(JSONError) {
        guard bytes.count <= Int32.max else {
            throw JSONError(
                offset: Int(Int32.max), line: 1, column: 1, message: "the text is longer than 2,147,483,647 bytes")
        }
        switch bytes.withUnsafeBytes({ JSONScanner.scan($0, depthLimit: min(depthLimit, 1000)) }) {
        case .part(let range): self.init(valid: bytes, range)
        case .compacted(let compact): self.init(valid: compact)
        case .failure(let error): throw error
        }
    }

    /// Parses a string as ``init(parsing:depthLimit:)-([UInt8],_)`` parses its UTF-8.
    public init(parsing text: String, depthLimit: Int = 128) throws(JSONError) {
        try self.init(parsing: Array(text.utf8), depthLimit: depthLimit)
    }

    /// Writes a ``JSONValue`` in the order of its members and with the digits of its numbers.
    public init(_ value: JSONValue) {
        var writer = JSONWriter()
        writer.value(value)
        self.init(valid: writer.bytes)
    }

    /// `null`.
    public static let null = JSONText(valid: Array("null".utf8))
    /// `true`.
    public static let `true` = JSONText(valid: Array("true".utf8))
    /// `false`.
    public static let `false` = JSONText(valid: Array("false".utf8))
    /// `{}`.
    public static let emptyObject = JSONText(valid: Array("{}".utf8))
    /// `[]`.
    public static let emptyArray = JSONText(valid: Array("[]".utf8))

    /// `true` or `false`.
    public static func bool(_ value: Bool) -> JSONText { value ? .true : .false }

    /// In quotes, with escapes only where JSON requires them.
    public static func string(_ string: String) -> JSONText {
        var writer = JSONWriter(capacity: string.utf8.count + 2)
        writer.value(string)
        return writer.text
    }

    /// Such as `42`.
    public static func number(_ number: Int) -> JSONText { JSONText(valid: Array(String(number).utf8)) }

    // MARK: Bytes

    /// The length in bytes. O(1).
    @inline(__always) public var count: Int { Int(end &- start) }

    /// The UTF-8 bytes, uncopied. The buffer must not leave the closure.
    @inline(__always)
    public func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try buffer.withUnsafeBytes { try body($0[part: Int(start)..<Int(end)]) }
    }

    /// UTF-8. A copy, unless the text is the whole of its buffer.
    public var bytes: [UInt8] { count == buffer.count ? buffer : Array(buffer[Int(start)..<Int(end)]) }

    /// The same text in a buffer of its own. A small part of a large body would keep the whole body in memory.
    public var detached: JSONText {
        if count == buffer.count, buffer.capacity <= 2 * count + 32 { return self }
        return withBytes { JSONText(valid: Array($0)) }
    }

    /// The text as a `String`. ``withBytes(_:)`` costs less.
    public var text: String { withBytes { String(decoding: $0, as: UTF8.self) } }

    /// The byte offsets must be those of exactly one value.
    @inline(__always)
    func part(_ range: Range<Int>) -> JSONText {
        JSONText(valid: buffer, Int(start) + range.lowerBound..<Int(start) + range.upperBound)
    }

    // MARK: Equality

    public static func == (left: JSONText, right: JSONText) -> Bool {
        left.withBytes { left in
            right.withBytes {
                left.baseAddress == $0.baseAddress && left.count == $0.count || left.hasSameBytes(as: $0)
            }
        }
    }

    public func hash(into hasher: inout Hasher) {
        withBytes { hasher.combine(bytes: $0) }
    }

    public var description: String { text }
}

extension JSONText {
    /// On several lines, indented by two spaces, without a line feed at the end. O(bytes).
    public func pretty() -> [UInt8] { pretty(limit: .max) ?? [] }

    /// `nil` above `limit` bytes: the indentation of a deeply nested text can be a hundred times as long as the text.
    package func pretty(limit: Int) -> [UInt8]? {
        var output: [UInt8] = []
        withBytes { bytes in
            output.reserveCapacity(min(2 * bytes.count, limit))
            var cursor = JSONCursor(bytes), depth = 0
            func breakLine() {
                output.append(0x0A)
                output.append(contentsOf: repeatElement(0x20, count: 2 * depth))
            }
            while cursor.at < bytes.count, output.count <= limit {
                let start = cursor.at, byte = bytes[start]
                cursor.at += 1
                switch byte {
                case .openBrace, .openBracket:
                    output.append(byte)
                    if cursor.peek == .closeBrace || cursor.peek == .closeBracket {
                        output.append(cursor.peek)
                        cursor.at += 1
                    } else {
                        depth += 1
                        breakLine()
                    }
                case .closeBrace, .closeBracket:
                    depth -= 1
                    breakLine()
                    output.append(byte)
                case .comma:
                    output.append(byte)
                    breakLine()
                case .colon: output.append(contentsOf: [byte, 0x20])
                default:
                    cursor.at = start
                    if byte == .quote { _ = cursor.skipString() } else { cursor.skipScalar() }
                    output.append(contentsOf: bytes[part: start..<cursor.at])
                }
            }
        }
        return output.count <= limit ? output : nil
    }
}

/// One valid JSON value as compact text.
///
/// ```swift
/// let body = try JSONText(parsing: #"{ "rows": [{"id": "kim"}] }"#)
/// body["rows"]?.elements()?.first?["id"]?.stringValue  // "kim"
/// ```
/// A slice of a shared buffer: copies cost O(1), and parts share the bytes (see ``detached``). Equality compares bytes:
/// `1.0` and `1.00` differ, `"A"` and `"\u0041"`, too.
public struct JSONText: Sendable, Hashable, CustomStringConvertible {
    private let buffer: [UInt8]
    private let start: UInt32
    private let end: UInt32

    /// Compact, valid JSON.
    init(valid buffer: [UInt8]) { self.init(valid: buffer, 0..<buffer.count) }

    @inline(__always)
    init(valid buffer: [UInt8], _ range: Range<Int>) {
        self.buffer = buffer
        start = UInt32(range.lowerBound)
        end = UInt32(range.upperBound)
    }

    /// Checks at most 2^31 - 1 bytes and removes white space. O(bytes), one pass; compact input is not copied. Throws
    /// ``JSONError`` at the first fault.
    ///
    /// RFC 8259 with three rules of I-JSON (RFC 7493): UTF-8, no lone surrogates, no duplicate names. `depthLimit`: at
    /// most 1,000.
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

    /// Whether ``init(parsing:depthLimit:)-([UInt8],_)`` accepts all the bytes as they are.
    static func isCompact(_ bytes: UnsafeRawBufferPointer, depthLimit: Int) -> Bool {
        guard bytes.count <= Int32.max, case .part(let range) = JSONScanner.scan(bytes, depthLimit: depthLimit) else {
            return false
        }
        return range == 0..<bytes.count
    }

    /// The string's UTF-8, as ``init(parsing:depthLimit:)-([UInt8],_)``.
    public init(parsing text: String, depthLimit: Int = 128) throws(JSONError) {
        try self.init(parsing: Array(text.utf8), depthLimit: depthLimit)
    }

    /// Keeps the members' order and the numbers' digits.
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

    /// Escapes only what JSON requires.
    public static func string(_ string: String) -> JSONText {
        var writer = JSONWriter(capacity: string.utf8.count + 2)
        writer.value(string)
        return writer.text
    }

    /// Such as `42`.
    public static func number(_ number: Int) -> JSONText { JSONText(valid: Array(String(number).utf8)) }

    // MARK: Bytes

    /// Bytes. O(1).
    @inline(__always) public var count: Int { Int(end &- start) }

    /// UTF-8, uncopied. The buffer must not leave the closure.
    @inline(__always)
    public func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try buffer.withUnsafeBytes { try body($0[part: Int(start)..<Int(end)]) }
    }

    /// A copy, unless the text is its whole buffer.
    public var bytes: [UInt8] { count == buffer.count ? buffer : Array(buffer[Int(start)..<Int(end)]) }

    /// The text in a buffer of its own: a small part would keep a large body in memory.
    public var detached: JSONText {
        if count == buffer.count, buffer.capacity <= 2 * count + 32 { return self }
        return withBytes { JSONText(valid: Array($0)) }
    }

    /// A copy; ``withBytes(_:)`` costs less.
    public var text: String { withBytes { String(decoding: $0, as: UTF8.self) } }

    /// `range` must be exactly one value.
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
    /// Several lines, indented by two spaces, no final line feed. O(bytes).
    public func pretty() -> [UInt8] { pretty(limit: .max) ?? [] }

    /// `nil` above `limit` bytes: indentation can make a deep text a hundred times as long.
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

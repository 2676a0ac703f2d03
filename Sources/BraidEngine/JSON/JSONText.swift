/// One valid JSON value as compact text: the client's bytes without the white space between tokens.
///
/// A slice of a shared buffer in 16 bytes: copying is cheap, and the elements of a large body share its bytes (see
/// `detached`). Equality and hash go byte by byte: `1.0` and `1.00` differ, as do `"A"` and `"\u0041"`.
public struct JSONText: Sendable, Hashable {
    private let buffer: [UInt8]
    private let start: UInt32
    private let end: UInt32

    /// For bytes that are known to be compact, valid JSON.
    init(valid buffer: [UInt8]) { self.init(valid: buffer, 0..<buffer.count) }

    @inline(__always)
    init(valid buffer: [UInt8], _ range: Range<Int>) {
        self.buffer = buffer
        start = UInt32(range.lowerBound)
        end = UInt32(range.upperBound)
    }

    /// Checks the whole and leaves out white space, in one pass; bytes that are compact already are not copied.
    ///
    /// RFC 8259 in the form of RFC 7493 (I-JSON): UTF-8, no lone surrogates, no name twice in an object.
    /// `depthLimit`: how many arrays and objects may be nested, at most 1,000.
    public init(parsing bytes: [UInt8], depthLimit: Int = 128) throws(JSONError) {
        guard bytes.count <= Int32.max else {
            throw JSONError(offset: Int(Int32.max), line: 1, column: 1, message: "the text is longer than 2,147,483,647 bytes")
        }
        switch bytes.withUnsafeBytes({ JSONScanner.scan($0, depthLimit: min(depthLimit, 1000)) }) {
        case .part(let range): self.init(valid: bytes, range)
        case .compacted(let compact): self.init(valid: compact)
        case .failure(let error): throw error
        }
    }

    public init(parsing text: String, depthLimit: Int = 128) throws(JSONError) {
        try self.init(parsing: Array(text.utf8), depthLimit: depthLimit)
    }

    /// Writes a tree.
    public init(_ value: JSONValue) {
        var writer = JSONWriter()
        writer.value(value)
        self.init(valid: writer.bytes)
    }

    public static let null = JSONText(valid: Array("null".utf8))
    public static let `true` = JSONText(valid: Array("true".utf8))
    public static let `false` = JSONText(valid: Array("false".utf8))
    public static let emptyObject = JSONText(valid: Array("{}".utf8))
    public static let emptyArray = JSONText(valid: Array("[]".utf8))

    public static func bool(_ value: Bool) -> JSONText { value ? .true : .false }

    public static func string(_ string: String) -> JSONText {
        var writer = JSONWriter(capacity: string.utf8.count + 2)
        writer.value(string)
        return writer.text
    }

    public static func number(_ number: Int) -> JSONText { JSONText(valid: Array(String(number).utf8)) }

    // MARK: Bytes

    /// Length in bytes.
    @inline(__always) public var count: Int { Int(end &- start) }

    @inline(__always)
    public func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try buffer.withUnsafeBytes { try body($0[part: Int(start)..<Int(end)]) }
    }

    /// A copy, or the buffer itself when the text is all of it.
    public var bytes: [UInt8] { count == buffer.count ? buffer : Array(buffer[Int(start)..<Int(end)]) }

    /// The same text in a buffer of its own, so that a small part does not keep a large body alive.
    public var detached: JSONText {
        if count == buffer.count, buffer.capacity <= 2 * count + 32 { return self }
        return withBytes { JSONText(valid: Array($0)) }
    }

    /// For messages and tests.
    public var text: String { withBytes { String(decoding: $0, as: UTF8.self) } }

    /// A part of this text, by its offsets in it.
    @inline(__always)
    func part(_ range: Range<Int>) -> JSONText {
        JSONText(valid: buffer, Int(start) + range.lowerBound..<Int(start) + range.upperBound)
    }

    // MARK: Equality

    public static func == (left: JSONText, right: JSONText) -> Bool {
        left.withBytes { left in right.withBytes { left.baseAddress == $0.baseAddress && left.count == $0.count || left.hasSameBytes(as: $0) } }
    }

    public func hash(into hasher: inout Hasher) {
        withBytes { hasher.combine(bytes: $0) }
    }
}

extension JSONText: CustomStringConvertible {
    public var description: String { text }
}

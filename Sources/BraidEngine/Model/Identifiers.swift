/// Which row it is (Braid's `collectionId`), not whether it has changed.
///
/// Equal if the UTF-8 bytes are: JSON's rule, and faster than `String`'s canonical equivalence.
public struct RowID: Hashable, Sendable, CustomStringConvertible {
    /// The id; an integer is in decimal, such as `42`.
    public let text: String

    /// From text.
    public init(_ text: String) { self.text = text }

    @inline(__always)
    public static func == (left: RowID, right: RowID) -> Bool {
        left.text.isIdentical(to: right.text) || left.text.hasSameBytes(as: right.text)
    }

    public func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }

    public var description: String { text }
}

extension RowID: JSONWritable {
    public func write(to writer: inout JSONWriter) { writer.value(text) }

    /// A string, or a number of any size without fraction and exponent.
    init?(json: JSONText) {
        if let text = json.stringValue {
            self.init(text)
            return
        }
        let digits = json.text
        guard json.kind == .number,
            !digits.utf8.contains(where: { $0 == UInt8(ascii: ".") || $0 | 0x20 == UInt8(ascii: "e") })
        else { return nil }
        self.init(digits == "-0" ? "0" : digits)
    }
}

/// Ids that every request can name. A target of at most 8 KiB may name section and row twice: in its window,
/// percent-encoded (three bytes for one), and in that of `from`, encoded twice (five for one). Clients remove "." and
/// ".." from paths (RFC 3986, section 5.2.4); an empty segment names nothing.
enum IDRule {
    static let mostBytes = 400
    static let text = "1 to \(mostBytes) bytes of UTF-8 without NUL, and is not \".\" or \"..\""

    static func admits(_ id: String) -> Bool {
        (1...mostBytes).contains(id.utf8.count) && id != "." && id != ".." && !id.utf8.contains(0)
    }

    static func shown(_ id: String) -> String {
        id.utf8.count > mostBytes ? "of \(id.utf8.count) bytes" : "\"\(id)\""
    }
}

/// Equal if the UTF-8 bytes are.
public struct SectionID: Hashable, Sendable, Comparable, CustomStringConvertible, ExpressibleByStringLiteral,
    JSONWritable
{
    /// The id.
    public let text: String

    /// From text.
    public init(_ text: String) { self.text = text }
    public init(stringLiteral text: String) { self.text = text }

    @inline(__always)
    public static func == (left: SectionID, right: SectionID) -> Bool {
        left.text.isIdentical(to: right.text) || left.text.hasSameBytes(as: right.text)
    }

    /// By UTF-8 bytes, the order of code points.
    public static func < (left: SectionID, right: SectionID) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    public func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }

    public var description: String { text }

    public func write(to writer: inout JSONWriter) { writer.value(text) }
}

/// An index path among what is displayed, `[section, row]` on the wire. Convert with Foundation's `IndexPath(indexes:
/// path.indexes)` and `RowPath(indexPath)`.
public struct RowPath: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// From 0.
    public var section: Int
    /// From 0.
    public var row: Int

    /// From 0, both.
    public init(section: Int, row: Int) {
        self.section = section
        self.row = row
    }

    /// `nil` unless there are two, the section's first.
    public init?(_ indexes: some Collection<Int>) {
        guard indexes.count == 2 else { return nil }
        self.init(section: indexes[indexes.startIndex], row: indexes[indexes.index(after: indexes.startIndex)])
    }

    /// For Foundation's `IndexPath(indexes:)`.
    public var indexes: [Int] { [section, row] }

    public static func < (left: RowPath, right: RowPath) -> Bool {
        (left.section, left.row) < (right.section, right.row)
    }

    public var description: String { "[\(section),\(row)]" }
}

extension String {
    /// Compares the two values' own bits, without following references. If false, the text may still be the same.
    @inline(__always)
    fileprivate func isIdentical(to other: String) -> Bool {
        withUnsafeBytes(of: self) { mine in withUnsafeBytes(of: other) { mine.hasSameBytes(as: $0) } }
    }
}

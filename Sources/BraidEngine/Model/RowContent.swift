/// JSON and the places of its parts in one block, which a stored row and its displayed row can share: less memory than
/// an object for each part.
struct RowContent: Sendable {
    /// The JSON, then three integers of `width` bytes (the content's length, the model's start and end), then `width`.
    private let bytes: [UInt8]

    /// The writer contains only the row, its id first, so that equal ids have equal bytes; reserve `room(behind:)` to
    /// avoid a copy. Content is what the cell shows, all before `movable` and the like.
    init(_ writer: inout JSONWriter, contentLength: Int, model: Range<Int>) {
        let width = Self.width(for: writer.bytes.count)
        func note(_ place: Int) {
            for byte in 0..<width { writer.bytes.append(UInt8(truncatingIfNeeded: place >> (8 * byte))) }
        }
        note(contentLength)
        note(model.lowerBound)
        note(model.upperBound)
        writer.bytes.append(UInt8(width))
        bytes = writer.bytes
    }

    init(id: RowID?, model: JSONText) {
        if var text = id?.text {
            self = text.withUTF8 { id in model.withBytes { Self(id: UnsafeRawBufferPointer(id), model: $0) } }
        } else {
            self = model.withBytes { Self(id: nil, model: $0) }
        }
    }

    /// Of UTF-8 and compact JSON.
    init(id: UnsafeRawBufferPointer?, model: UnsafeRawBufferPointer) {
        let size = model.count + (id?.count ?? 0) + #"{"id":"","model":}"#.utf8.count
        var writer = JSONWriter(capacity: size + Self.room(behind: size))
        if let id {
            writer.raw("{\"id\":")
            writer.value(string: id)
            writer.raw(",\"model\":")
        } else {
            writer.raw("{\"model\":")
        }
        let start = writer.bytes.count
        writer.bytes.append(contentsOf: model)
        writer.raw("}")
        self.init(&writer, contentLength: writer.bytes.count, model: start..<start + model.count)
    }

    /// Bytes that follow JSON of this length.
    static func room(behind length: Int) -> Int { 3 * width(for: length) + 1 }

    private static func width(for length: Int) -> Int { length <= 0xFF ? 1 : length <= 0xFFFF ? 2 : 4 }

    var length: Int { bytes.count - 3 * Int(bytes[bytes.count - 1]) - 1 }
    private var contentLength: Int { place(0) }
    /// False for a stored row that has its own bytes: all of them are content.
    var isDisplayed: Bool { contentLength < length }

    private func place(_ index: Int) -> Int {
        let width = Int(bytes[bytes.count - 1]), start = bytes.count - 1 - (3 - index) * width
        return (0..<width).reduce(0) { $0 | Int(bytes[start + $1]) << (8 * $1) }
    }

    var json: JSONText { JSONText(valid: bytes, 0..<length) }

    var model: JSONText? {
        let range = place(1)..<place(2)
        return range.isEmpty ? nil : JSONText(valid: bytes, range)
    }

    var hash: RowHash.Pair {
        bytes.withUnsafeBytes { RowHash.hash($0[part: 0..<length], contentLength: contentLength) }
    }

    func looksSame(as other: RowContent) -> Bool {
        let length = contentLength
        guard length == other.contentLength else { return false }
        return bytes.withUnsafeBytes { mine in
            other.bytes.withUnsafeBytes { mine[part: 0..<length].hasSameBytes(as: $0[part: 0..<length]) }
        }
    }
}

extension RowContent {
    private static var idStart: Int { #"{"id":"#.utf8.count }

    /// Otherwise the first member is `cell` or `model`.
    var hasID: Bool { bytes[2] == UInt8(ascii: "i") }

    /// The id's bytes as JSON, with quotes; 0 without one.
    var idSize: Int {
        guard hasID else { return 0 }
        return bytes.withUnsafeBytes {
            var cursor = JSONCursor($0, at: Self.idStart)
            _ = cursor.skipString()
            return cursor.at - Self.idStart
        }
    }

    var storedSize: Int { idSize + place(2) - place(1) }

    var id: RowID? {
        guard hasID else { return nil }
        return bytes.withUnsafeBytes {
            var cursor = JSONCursor($0, at: Self.idStart)
            return RowID(cursor.string())
        }
    }

    /// False if either has none.
    func hasSameID(as other: RowContent) -> Bool {
        guard hasID else { return false }
        return bytes.withUnsafeBytes { mine in
            var cursor = JSONCursor(mine, at: Self.idStart)
            _ = cursor.skipString()
            // With the closing quote, so that no id equals a longer one.
            let end = cursor.at
            return other.bytes.withUnsafeBytes {
                end <= $0.count && mine[part: 0..<end].hasSameBytes(as: $0[part: 0..<end])
            }
        }
    }

    /// Whether this displayed row is of the stored one: the same id and model.
    func holds(_ stored: RowContent) -> Bool {
        (hasID ? hasSameID(as: stored) : !stored.hasID) && model == stored.model
    }

    /// Decodes the id only if it has escapes.
    func has(_ id: RowID?) -> Bool {
        guard hasID else { return id == nil }
        guard let id else { return false }
        return withID {
            $0.map { bytes in
                var text = id.text
                return text.withUTF8 { bytes.hasSameBytes(as: UnsafeRawBufferPointer($0)) }
            }
        } ?? (self.id == id)
    }

    /// As `RowHash.hash(id)`; 0 without one.
    var idHash: UInt64 {
        guard hasID else { return 0 }
        return withID { $0.map { RowHash.hash(ofID: $0) } } ?? id.map { RowHash.hash($0) } ?? 0
    }

    /// `body` gets the id's bytes, or `nil` if it has escapes.
    private func withID<Result>(_ body: (UnsafeRawBufferPointer?) -> Result) -> Result {
        bytes.withUnsafeBytes { bytes in
            var cursor = JSONCursor(bytes, at: Self.idStart)
            return body(cursor.skipString() ? nil : bytes[part: Self.idStart + 1..<cursor.at - 1])
        }
    }
}

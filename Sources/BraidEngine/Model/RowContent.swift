/// A row's JSON and the positions of its parts, in one block of memory. A stored row and the displayed row that shows
/// its model can share one block.
///
/// A session can contain hundreds of thousands of rows. One block for a row needs less memory than a separate object
/// for each part of the row.
struct RowContent: Sendable {
    /// The JSON, followed by three integers of `width` bytes each: the length of the content, the model's start and the
    /// model's end. The last byte is `width`.
    private let bytes: [UInt8]

    /// Creates the content from a row's object, which must be everything that the writer contains. If the object
    /// contains an id, the id is the first member, so that equal ids have equal bytes. The writer's bytes are not
    /// copied if the writer has reserved space for the number of bytes that `room(behind:)` returns.
    ///
    /// - Parameters:
    ///   - contentLength: the length of the part that the cell shows: everything before properties such as `movable`.
    ///   - model: the range of the model in the object, empty if there is no model.
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

    /// Creates the content of a stored row: a JSON object of the row's id, if it has one, and its model.
    init(id: RowID?, model: JSONText) {
        let size = model.count + (id?.text.utf8.count ?? 0) + #"{"id":"","model":}"#.utf8.count
        var writer = JSONWriter(capacity: size + Self.room(behind: size))
        if let id {
            writer.raw("{\"id\":")
            writer.value(id.text)
            writer.raw(",\"model\":")
        } else {
            writer.raw("{\"model\":")
        }
        let start = writer.bytes.count
        writer.value(model)
        writer.raw("}")
        self.init(&writer, contentLength: writer.bytes.count, model: start..<start + model.count)
    }

    /// Returns the number of bytes that a `RowContent` stores after the row's JSON. `length` is the JSON's length in
    /// bytes.
    static func room(behind length: Int) -> Int { 3 * width(for: length) + 1 }

    private static func width(for length: Int) -> Int { length <= 0xFF ? 1 : length <= 0xFFFF ? 2 : 4 }

    private var length: Int { bytes.count - 3 * Int(bytes[bytes.count - 1]) - 1 }
    private var contentLength: Int { place(0) }

    private func place(_ index: Int) -> Int {
        let width = Int(bytes[bytes.count - 1]), start = bytes.count - 1 - (3 - index) * width
        return (0..<width).reduce(0) { $0 | Int(bytes[start + $1]) << (8 * $1) }
    }

    var json: JSONText { JSONText(valid: bytes, 0..<length) }

    /// The row's model. `nil` if the row has none. The model shares the memory of the row's JSON.
    var model: JSONText? {
        let range = place(1)..<place(2)
        return range.isEmpty ? nil : JSONText(valid: bytes, range)
    }

    /// The two hashes of the row's JSON that a diff compares, computed at each call.
    var hash: RowHash.Pair {
        bytes.withUnsafeBytes { RowHash.hash($0[part: 0..<length], contentLength: contentLength) }
    }

    /// Returns whether both rows have the same content: the bytes of the JSON that the cell shows, without properties
    /// such as `movable`.
    func looksSame(as other: RowContent) -> Bool {
        let length = contentLength
        guard length == other.contentLength else { return false }
        return bytes.withUnsafeBytes { mine in
            other.bytes.withUnsafeBytes { mine[part: 0..<length].hasSameBytes(as: $0[part: 0..<length]) }
        }
    }
}

// The part of `RowContent` that reads the row's id.
extension RowContent {
    private static var idStart: Int { #"{"id":"#.utf8.count }

    /// Whether the row has an id. The first member of a row without an id is `cell` or `model`, so the third byte
    /// decides.
    var hasID: Bool { bytes[2] == UInt8(ascii: "i") }

    /// The length of the row's id as a JSON string, in bytes. 0 if the row has no id.
    var idSize: Int {
        guard hasID else { return 0 }
        return bytes.withUnsafeBytes {
            var cursor = JSONCursor($0, at: Self.idStart)
            _ = cursor.skipString()
            return cursor.at - Self.idStart
        }
    }

    /// The length of the row's id and model as JSON, in bytes.
    var storedSize: Int { idSize + place(2) - place(1) }

    var id: RowID? {
        guard hasID else { return nil }
        return bytes.withUnsafeBytes {
            var cursor = JSONCursor($0, at: Self.idStart)
            return RowID(cursor.string())
        }
    }

    /// Returns whether both rows have the same id. False if either row has no id.
    func hasSameID(as other: RowContent) -> Bool {
        guard hasID else { return false }
        return bytes.withUnsafeBytes { mine in
            var cursor = JSONCursor(mine, at: Self.idStart)
            _ = cursor.skipString()
            // The closing quote is part of the comparison, so an id never equals a longer id that begins with it.
            let end = cursor.at
            return other.bytes.withUnsafeBytes {
                end <= $0.count && mine[part: 0..<end].hasSameBytes(as: $0[part: 0..<end])
            }
        }
    }

    /// Returns whether a stored row's id and model equal the id and model of this content.
    func holds(_ stored: RowContent) -> Bool {
        (hasID ? hasSameID(as: stored) : !stored.hasID) && model == stored.model
    }

    /// Returns whether the row's id equals `id`. If `id` is `nil`, returns whether the row has no id. Decodes the row's
    /// id only if it contains escapes.
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

    /// The hash of the row's id, equal to `RowHash.hash(id)`. 0 if the row has no id.
    var idHash: UInt64 {
        guard hasID else { return 0 }
        return withID { $0.map { RowHash.hash(ofID: $0) } } ?? id.map { RowHash.hash($0) } ?? 0
    }

    /// Calls a closure with the UTF-8 bytes of the row's id, or with `nil` if the id contains JSON escapes.
    private func withID<Result>(_ body: (UnsafeRawBufferPointer?) -> Result) -> Result {
        bytes.withUnsafeBytes { bytes in
            var cursor = JSONCursor(bytes, at: Self.idStart)
            return body(cursor.skipString() ? nil : bytes[part: Self.idStart + 1..<cursor.at - 1])
        }
    }
}

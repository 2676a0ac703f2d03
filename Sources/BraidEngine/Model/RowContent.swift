/// A row's JSON and where its parts stand in it, in one block of memory: what a row is beside what is compared of it,
/// and what a stored row has its id and its model in. Where both have the same model, it is one block for both.
///
/// There may be hundreds of thousands. An object for each beside the JSON, and the ids once more, took a fifth of a
/// session.
struct RowContent: Sendable {
    /// The JSON; behind it, of `width` bytes each, the length of what the cell shows, and where the model begins and
    /// ends; then a byte that says `width`.
    private let bytes: [UInt8]

    /// `writer` has written the row's object, nothing else: its id is the first member, so that equal ids are equal
    /// bytes.
    ///
    /// `contentLength`: of the part that says what the cell shows, all before the properties. `model`: where the model
    /// stands; empty when there is none. With `room(behind:)` to spare, the writer's bytes are not copied.
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

    /// Of a row that is stored.
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

    /// Bytes that stand behind so many bytes of JSON.
    static func room(behind length: Int) -> Int { 3 * width(for: length) + 1 }

    private static func width(for length: Int) -> Int { length <= 0xFF ? 1 : length <= 0xFFFF ? 2 : 4 }

    private var length: Int { bytes.count - 3 * Int(bytes[bytes.count - 1]) - 1 }
    private var contentLength: Int { place(0) }

    private func place(_ index: Int) -> Int {
        let width = Int(bytes[bytes.count - 1]), start = bytes.count - 1 - (3 - index) * width
        return (0..<width).reduce(0) { $0 | Int(bytes[start + $1]) << (8 * $1) }
    }

    var json: JSONText { JSONText(valid: bytes, 0..<length) }

    /// A part of the JSON, whose bytes it shares.
    var model: JSONText? {
        let range = place(1)..<place(2)
        return range.isEmpty ? nil : JSONText(valid: bytes, range)
    }

    /// What a diff compares.
    var hash: RowHash.Pair {
        bytes.withUnsafeBytes { RowHash.hash($0[part: 0..<length], contentLength: contentLength) }
    }

    /// What the cells show is byte for byte the same.
    func looksSame(as other: RowContent) -> Bool {
        let length = contentLength
        guard length == other.contentLength else { return false }
        return bytes.withUnsafeBytes { mine in
            other.bytes.withUnsafeBytes { mine[part: 0..<length].hasSameBytes(as: $0[part: 0..<length]) }
        }
    }
}

// The id.
extension RowContent {
    private static var idStart: Int { #"{"id":"#.utf8.count }

    /// A row's other first members are `cell` and `model`.
    var hasID: Bool { bytes[2] == UInt8(ascii: "i") }

    var id: RowID? {
        guard hasID else { return nil }
        return bytes.withUnsafeBytes {
            var cursor = JSONCursor($0, at: Self.idStart)
            return RowID(cursor.string())
        }
    }

    /// False where there is none.
    func hasSameID(as other: RowContent) -> Bool {
        guard hasID else { return false }
        return bytes.withUnsafeBytes { mine in
            var cursor = JSONCursor(mine, at: Self.idStart)
            _ = cursor.skipString()
            // With the quotes around it, and all before: no id begins with another one.
            let end = cursor.at
            return other.bytes.withUnsafeBytes {
                end <= $0.count && mine[part: 0..<end].hasSameBytes(as: $0[part: 0..<end])
            }
        }
    }

    /// Id and model are the same.
    func holds(_ stored: RowContent) -> Bool {
        (hasID ? hasSameID(as: stored) : !stored.hasID) && model == stored.model
    }

    /// As `self.id == id`, without making the id.
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

    /// As `RowHash.hash(id)`; 0: there is none.
    var idHash: UInt64 {
        guard hasID else { return 0 }
        return withID { $0.map { RowHash.hash(ofID: $0) } } ?? id.map { RowHash.hash($0) } ?? 0
    }

    /// The id's bytes, if they stand there without escapes.
    private func withID<Result>(_ body: (UnsafeRawBufferPointer?) -> Result) -> Result {
        bytes.withUnsafeBytes { bytes in
            var cursor = JSONCursor(bytes, at: Self.idStart)
            return body(cursor.skipString() ? nil : bytes[part: Self.idStart + 1..<cursor.at - 1])
        }
    }
}

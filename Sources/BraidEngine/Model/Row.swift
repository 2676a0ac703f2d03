/// One displayed row: what stands in the snapshot for it. Immutable, and its content is shared by every snapshot that shows it.
///
/// Two rows are compared by hashes that were taken when they were made, and stand in the lists of rows themselves: a diff
/// that finds nothing changed reads these lists from one end to the other, and nothing of what they refer to. The hashes
/// have 128 bits and a seed of the process, see `RowHash`.
public struct Row: Sendable {
    let marks: RowMarks
    let content: RowContent

    init(id: RowID?, json: [UInt8], contentLength: Int, updatesManually: Bool = false, modelRange: Range<Int> = 0..<0) {
        content = RowContent(
            id: id, json: json, contentLength: UInt32(contentLength), modelStart: UInt32(modelRange.lowerBound),
            modelEnd: UInt32(modelRange.upperBound))
        marks = RowMarks(id: id, json: json, contentLength: contentLength, updatesManually: updatesManually)
    }

    init(marks: RowMarks, content: RowContent) {
        self.marks = marks
        self.content = content
    }

    /// Nil for models without identity.
    public var id: RowID? { content.id }

    /// The row's object as the snapshot has it, members in this order:
    /// `id`, `cell`, `model`, `viewModel`, then the properties `editing`, `movable`, `height`, `estimatedHeight`.
    public var json: JSONText { JSONText(valid: content.json) }

    /// The model as the snapshot shows it, a part of `json`; nil for view-model and number bindings. O(1).
    public var model: JSONText? { content.model }

    /// The binding says `updates: manually`: changed rows appear as `updateRows`, never as `reloadRows`.
    public var updatesManually: Bool { marks.updatesManually }

    /// The row after this one differs in nothing that a snapshot shows. O(1).
    @inline(__always)
    public func isSame(as other: Row) -> Bool { marks.shown == other.marks.shown }

    /// The cell shows the same (its properties, such as `movable`, may differ).
    @inline(__always)
    public func looksSame(as other: Row) -> Bool { RowView(self).looksSame(as: RowView(other)) }
}

/// What is compared of a row; it stands where the row does.
struct RowMarks: Sendable {
    let shown: RowHash.Pair
    /// The lowest bit: whether it updates manually.
    private let idAndUpdates: UInt64

    init(id: RowID?, json: [UInt8], contentLength: Int, updatesManually: Bool) {
        shown = json.withUnsafeBytes { RowHash.hash($0, contentLength: contentLength) }
        idAndUpdates = (id.map { RowHash.hash($0) } ?? 0) | (updatesManually ? 1 : 0)
    }

    /// 0: the row has no id.
    @inline(__always) var idHash: UInt64 { idAndUpdates & ~1 }
    @inline(__always) var updatesManually: Bool { idAndUpdates & 1 != 0 }
}

/// What a row is, beside what is compared.
final class RowContent: Sendable {
    let id: RowID?
    let json: [UInt8]
    /// Length of the part of `json` that says what the cell shows: all before the properties.
    private let contentLength: UInt32
    /// Where `json` has the model; empty when it has none.
    private let modelStart: UInt32
    private let modelEnd: UInt32

    init(id: RowID?, json: [UInt8], contentLength: UInt32, modelStart: UInt32, modelEnd: UInt32) {
        self.id = id
        self.json = json
        self.contentLength = contentLength
        self.modelStart = modelStart
        self.modelEnd = modelEnd
    }

    var model: JSONText? { modelStart == modelEnd ? nil : JSONText(valid: json, Int(modelStart)..<Int(modelEnd)) }

    func looksSame(as other: RowContent) -> Bool {
        guard contentLength == other.contentLength else { return false }
        return json.withUnsafeBytes { mine in
            other.json.withUnsafeBytes { others in
                mine[part: 0..<Int(contentLength)].hasSameBytes(as: others[part: 0..<Int(contentLength)])
            }
        }
    }
}

/// One displayed row: what stands in the snapshot for it. Immutable, and its content is shared by every snapshot that shows it.
///
/// Two rows are compared by hashes that were taken when they were made, and stand in the lists of rows themselves: a diff
/// that finds nothing changed reads these lists from one end to the other, and nothing of what they refer to. The hashes
/// have 128 bits and a seed of the process, see `RowHash`.
public struct Row: Sendable {
    let marks: RowMarks
    let content: RowContent

    /// `id` is the one in the content.
    init(id: RowID?, content: RowContent, updatesManually: Bool = false) {
        self.content = content
        marks = RowMarks(id: id, content: content, updatesManually: updatesManually)
    }

    /// Nil for models without identity. Read from `json` each time.
    public var id: RowID? { content.id }

    /// The row's object as the snapshot has it, members in this order:
    /// `id`, `cell`, `model`, `viewModel`, then the properties `editing`, `movable`, `height`, `estimatedHeight`.
    public var json: JSONText { content.json }

    /// The model as the snapshot shows it, a part of `json`; nil for view-model and number bindings. O(1).
    public var model: JSONText? { content.model }

    /// The binding says `updates: manually`: changed rows appear as `updateRows`, never as `reloadRows`.
    public var updatesManually: Bool { marks.updatesManually }

    /// The row after this one differs in nothing that a snapshot shows. O(1).
    @inline(__always)
    public func isSame(as other: Row) -> Bool { marks.shown == other.marks.shown }

    /// The cell shows the same (its properties, such as `movable`, may differ).
    @inline(__always)
    public func looksSame(as other: Row) -> Bool {
        marks.shown.content == other.marks.shown.content && content.looksSame(as: other.content)
    }
}

extension ChunkedList<Row> {
    /// Where rows of an id stand, ascending. O(rows), but of most only the hash is looked at, which stands in the list.
    func indexes(of id: RowID) -> [Int] {
        let hash = RowHash.hash(id)
        var indexes: [Int] = []
        forEachBuffer(in: 0..<count) { start, rows in
            for offset in rows.indices where rows[offset].marks.idHash == hash && rows[offset].content.has(id) { indexes.append(start + offset) }
        }
        return indexes
    }
}

/// What is compared of a row; it stands where the row does.
struct RowMarks: Sendable {
    let shown: RowHash.Pair
    /// The lowest bit: whether it updates manually.
    private let idAndUpdates: UInt64

    init(id: RowID?, content: RowContent, updatesManually: Bool) {
        shown = content.hash
        idAndUpdates = (id.map { RowHash.hash($0) } ?? 0) | (updatesManually ? 1 : 0)
    }

    /// 0: the row has no id.
    @inline(__always) var idHash: UInt64 { idAndUpdates & ~1 }
    @inline(__always) var updatesManually: Bool { idAndUpdates & 1 != 0 }
}

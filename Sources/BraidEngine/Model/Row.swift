/// One displayed row, as the snapshot contains it. Immutable; snapshots that reuse a row share its content.
///
/// Its hashes, with random seeds in each process, are in the list of rows itself, so that a diff finds unchanged rows
/// without following a reference.
public struct Row: Sendable {
    let marks: RowMarks
    let content: RowContent

    /// `id` must be that in `content`.
    init(id: RowID?, content: RowContent, updatesManually: Bool = false) {
        self.content = content
        marks = RowMarks(id: id, content: content, updatesManually: updatesManually)
    }

    /// Unique in its section. `nil` without an id. Each call parses it from ``json``.
    public var id: RowID? { content.id }

    /// The row's object in the snapshot: `id`, `cell`, `model` and `viewModel`, then `editing`, `movable`, `height` and
    /// `estimatedHeight`, where they apply.
    public var json: JSONText { content.json }

    /// A part of ``json``. O(1). `nil` if the section binds view models or only a number of rows.
    public var model: JSONText? { content.model }

    /// Whether the section's binding sets `updates` to `manually`: updates then have `updateRows` for this row.
    public var updatesManually: Bool { marks.updatesManually }

    /// Whether both are the same in everything that a snapshot shows. O(1).
    @inline(__always)
    public func isSame(as other: Row) -> Bool { marks.shown == other.marks.shown }

    /// Whether the cell shows the same in both rows; `movable` and the like may differ.
    @inline(__always)
    public func looksSame(as other: Row) -> Bool {
        marks.shown.content == other.marks.shown.content && content.looksSame(as: other.content)
    }
}

extension PersistentList<Row> {
    /// Ascending. O(rows), but mostly reads only the hashes in the list.
    func indexes(of id: RowID) -> [Int] {
        let hash = RowHash.hash(id)
        var indexes: [Int] = []
        forEachBuffer(in: 0..<count) { start, rows in
            for offset in rows.indices where rows[offset].marks.idHash == hash && rows[offset].content.has(id) {
                indexes.append(start + offset)
            }
        }
        return indexes
    }
}

/// What a diff compares, stored in the list of rows.
struct RowMarks: Sendable {
    let shown: RowHash.Pair
    /// The lowest bit, which no hash uses, is set if `updates` is `manually`.
    private let idAndUpdates: UInt64

    init(id: RowID?, content: RowContent, updatesManually: Bool) {
        shown = content.hash
        idAndUpdates = (id.map { RowHash.hash($0) } ?? 0) | (updatesManually ? 1 : 0)
    }

    /// 0 without an id.
    @inline(__always) var idHash: UInt64 { idAndUpdates & ~1 }
    @inline(__always) var updatesManually: Bool { idAndUpdates & 1 != 0 }
}

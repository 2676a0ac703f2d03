/// One displayed row, as the snapshot contains it. Rows are immutable, and the snapshots that reuse a row share its
/// content.
///
/// A row stores 64-bit hashes, with random seeds in each process. The hashes are computed when the row is created. The
/// list of rows itself stores the hashes, so a diff finds unchanged rows without following a reference.
public struct Row: Sendable {
    let marks: RowMarks
    let content: RowContent

    /// Creates a displayed row. `id` must equal the id that `content` contains.
    init(id: RowID?, content: RowContent, updatesManually: Bool = false) {
        self.content = content
        marks = RowMarks(id: id, content: content, updatesManually: updatesManually)
    }

    /// The row's identity, unique in its section. `nil` if the row has no id. Each call parses the id from ``json``.
    public var id: RowID? { content.id }

    /// The row's object in the snapshot. The object's members are `id`, `cell`, `model` and `viewModel`, then
    /// `editing`, `movable`, `height` and `estimatedHeight`, in this order, where they apply.
    public var json: JSONText { content.json }

    /// The row's model in the snapshot, a part of ``json``. O(1).
    ///
    /// `nil` if the section binds view models instead of models, or only a number of rows (`numberOfCells`).
    public var model: JSONText? { content.model }

    /// Whether the binding of the row's section sets `updates` to `manually`. If so, updates contain `updateRows`
    /// instead of `reloadRows` for this row.
    public var updatesManually: Bool { marks.updatesManually }

    /// Returns whether both rows are the same in everything that a snapshot shows. O(1).
    @inline(__always)
    public func isSame(as other: Row) -> Bool { marks.shown == other.marks.shown }

    /// Returns whether the cell shows the same content in both rows. Properties such as `movable` may differ.
    @inline(__always)
    public func looksSame(as other: Row) -> Bool {
        marks.shown.content == other.marks.shown.content && content.looksSame(as: other.content)
    }
}

extension PersistentList<Row> {
    /// Returns the indexes of the rows whose id equals `id`, ascending. O(rows), but for most rows the method reads
    /// only the id's hash, which the list stores inline.
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

/// The hashes of a displayed row that a diff compares. The list of rows stores them inline.
struct RowMarks: Sendable {
    let shown: RowHash.Pair
    /// The hash of the row's id. The lowest bit, which no hash uses, is set if the binding of the row's section sets
    /// `updates` to `manually`.
    private let idAndUpdates: UInt64

    init(id: RowID?, content: RowContent, updatesManually: Bool) {
        shown = content.hash
        idAndUpdates = (id.map { RowHash.hash($0) } ?? 0) | (updatesManually ? 1 : 0)
    }

    /// The hash of the row's id, or 0 if the row has no id.
    @inline(__always) var idHash: UInt64 { idAndUpdates & ~1 }
    @inline(__always) var updatesManually: Bool { idAndUpdates & 1 != 0 }
}

/// One displayed row. Snapshots that reuse it share its content.
///
/// Its hashes are in the list of rows itself, so that a diff finds unchanged rows without following a reference.
public struct Row: Sendable {
    let marks: RowMarks
    let content: RowContent

    init(id: RowID?, content: RowContent, updatesManually: Bool = false) {
        self.content = content
        marks = RowMarks(id: id, content: content, updatesManually: updatesManually)
    }

    /// Unique in its section. Parsed at each call.
    public var id: RowID? { content.id }

    /// `id`, `cell`, `model`, `viewModel`, `editing`, `movable`, `height`, `estimatedHeight`, in this order, where they
    /// apply.
    public var json: JSONText { content.json }

    /// Part of ``json``, O(1). `nil` if the section binds view models or a number of rows.
    public var model: JSONText? { content.model }

    /// By `updates: "manually"`: updates then have `updateRows` for it.
    public var updatesManually: Bool { marks.updatesManually }

    /// Whether everything that a snapshot shows is the same. Compares hashes, O(1).
    @inline(__always)
    public func isSame(as other: Row) -> Bool { marks.shown == other.marks.shown }

    /// The cells show the same; `movable` and the like may differ.
    @inline(__always)
    public func looksSame(as other: Row) -> Bool {
        marks.shown.content == other.marks.shown.content && content.looksSame(as: other.content)
    }
}

extension PersistentList<Row> {
    /// O(rows), but mostly reads only hashes.
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

struct RowMarks: Sendable {
    let shown: RowHash.Pair
    /// The lowest bit, which no hash uses, is `updatesManually`.
    private let idAndUpdates: UInt64

    init(id: RowID?, content: RowContent, updatesManually: Bool) {
        shown = content.hash
        idAndUpdates = (id.map { RowHash.hash($0) } ?? 0) | (updatesManually ? 1 : 0)
    }

    @inline(__always) var idHash: UInt64 { idAndUpdates & ~1 }
    @inline(__always) var updatesManually: Bool { idAndUpdates & 1 != 0 }
}

/// A row that stayed the same row and differs in what the snapshot has of it.
struct ChangedRow {
    let oldPlace: UInt64
    let newPlace: UInt64
    private let reference: RowView
    /// The cell shows something else, and the client is meant to load it anew.
    var needsReload: Bool

    @inline(__always) var old: RowPath { RowPath(place: oldPlace) }
    @inline(__always) var new: RowPath { RowPath(place: newPlace) }
    var row: Row { reference.row }

    init(_ row: Row, needsReload: Bool, old: RowPath, new: RowPath) {
        reference = RowView(row)
        oldPlace = old.place
        newPlace = new.place
        self.needsReload = needsReload
    }

    /// Nil when nothing changed.
    @inline(__always)
    init?(_ before: RowView, _ after: RowView, old: RowPath, new: RowPath) {
        if before.isSame(as: after) { return nil }
        oldPlace = old.place
        newPlace = new.place
        reference = after
        needsReload = !after.marks.updatesManually && !before.looksSame(as: after)
    }
}

/// A row that something else keeps alive for as long as the diff takes: its snapshot, or the updates that are folded.
/// Counting references to the rows would take longer than comparing them. In memory it is what a `Row` is.
struct RowView {
    let marks: RowMarks
    /// The bits of the row's reference to its content, which is not counted.
    private let content: UInt

    @inline(__always)
    init(_ row: Row) { self = withUnsafeBytes(of: row) { $0.load(as: RowView.self) } }

    var row: Row { withRow { $0 } }
    var id: RowID? { withRow { $0.id } }

    @inline(__always)
    private func withRow<Result>(_ body: (Row) -> Result) -> Result {
        withUnsafePointer(to: self) { $0.withMemoryRebound(to: Row.self, capacity: 1) { body($0.pointee) } }
    }

    @inline(__always)
    func isSame(as other: RowView) -> Bool { marks.shown == other.marks.shown }

    /// Both are the same row, whatever they show. False for rows without ids.
    @inline(__always)
    func hasSameID(as other: RowView) -> Bool {
        marks.idHash == other.marks.idHash && marks.idHash != 0
            && (isSame(as: other) || withRow { mine in other.withRow { mine.content.hasSameID(as: $0.content) } })
    }

    /// The cell shows the same (its properties, such as `movable`, may differ).
    @inline(__always)
    func looksSame(as other: RowView) -> Bool {
        marks.shown.content == other.marks.shown.content
            && withRow { mine in other.withRow { mine.content.looksSame(as: $0.content) } }
    }
}

extension UnsafeBufferPointer<Row> {
    /// The rows without counting references to them.
    @inline(__always)
    func withReferences<Result>(_ body: (UnsafeBufferPointer<RowView>) -> Result) -> Result {
        withMemoryRebound(to: RowView.self, body)
    }
}

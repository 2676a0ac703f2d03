/// A row that is in both tables, with other content.
struct ChangedRow {
    let oldPlace: UInt64
    let newPlace: UInt64
    private let reference: RowView
    /// The cell shows something else, and `updates` is not `manually`.
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

    @inline(__always)
    init?(_ before: RowView, _ after: RowView, old: RowPath, new: RowPath) {
        if before.isSame(as: after) { return nil }
        oldPlace = old.place
        newPlace = new.place
        reference = after
        needsReload = !after.marks.updatesManually && !before.looksSame(as: after)
    }
}

/// An unowned row, with the memory layout of `Row`, so change both together: counting references would take longer than
/// comparing rows. Snapshots or folded updates must keep the row alive.
struct RowView {
    let marks: RowMarks
    /// The reference's bits, uncounted.
    private let content: UInt
    /// Likewise, 0 for none.
    private let renderer: UInt

    @inline(__always)
    init(_ row: Row) { self = withUnsafeBytes(of: row) { $0.load(as: RowView.self) } }

    var row: Row { withRow { $0 } }
    var id: RowID? { withRow { $0.id } }

    @inline(__always)
    private func withRow<Result>(_ body: (Row) -> Result) -> Result {
        withUnsafePointer(to: self) { $0.withMemoryRebound(to: Row.self, capacity: 1) { body($0.pointee) } }
    }

    @inline(__always)
    func isSame(as other: RowView) -> Bool {
        marks.areSame(as: other.marks) || renderer != other.renderer && hasSameJSON(as: other)
    }

    // Calls: inlined into a diff's loops, the two would slow down tables that need neither.
    @inline(never)
    private func hasSameJSON(as other: RowView) -> Bool {
        withRow { mine in other.withRow { mine.hasSameJSON(as: $0) } }
    }

    @inline(never)
    private func rendersSameContent(as other: RowView) -> Bool {
        withRow { mine in other.withRow { mine.rendersSameContent(as: $0) } }
    }

    /// False without ids.
    @inline(__always)
    func hasSameID(as other: RowView) -> Bool {
        marks.idHash == other.marks.idHash && marks.idHash != 0
            && (marks.areSame(as: other.marks)
                || withRow { mine in other.withRow { mine.content.hasSameID(as: $0.content) } })
    }

    @inline(__always)
    func looksSame(as other: RowView) -> Bool {
        if renderer != other.renderer { return rendersSameContent(as: other) }
        return marks.mayLookSame(as: other.marks)
            && withRow { mine in other.withRow { mine.content.looksSame(as: $0.content) } }
    }
}

extension UnsafeBufferPointer<Row> {
    /// Counts no references.
    @inline(__always)
    func withReferences<Result>(_ body: (UnsafeBufferPointer<RowView>) -> Result) -> Result {
        withMemoryRebound(to: RowView.self, body)
    }
}

/// Rows that stand side by side both before and after. Starts count in the old and in the new snapshot.
struct MatchedRun {
    var oldSection: Int
    var oldStart: Int
    var newSection: Int
    var newStart: Int
    var count: Int
    /// The rows go together, and everything else stays around them. Settled last.
    var isMoved = false

    var oldEnd: Int { oldStart + count }
    var newEnd: Int { newStart + count }
    var oldPlace: UInt64 { IndexPath(section: oldSection, row: oldStart).place }
    var newPlace: UInt64 { IndexPath(section: newSection, row: newStart).place }

    /// The other run's rows stand right behind this one's, both before and after.
    @inline(__always)
    func isFollowed(by run: MatchedRun) -> Bool {
        newEnd == run.newStart && oldEnd == run.oldStart && newSection == run.newSection && oldSection == run.oldSection
    }

    /// With neighbours on both sides taken for one. The runs stand in order of their new places.
    static func joined(_ runs: ContiguousArray<MatchedRun>) -> ContiguousArray<MatchedRun> {
        var result = ContiguousArray<MatchedRun>()
        result.reserveCapacity(runs.count)
        var open: MatchedRun?
        for run in runs {
            if let last = open, last.isFollowed(by: run) {
                open?.count += run.count
            } else {
                if let open { result.append(open) }
                open = run
            }
        }
        if let open { result.append(open) }
        return result
    }
}

extension IndexPath {
    /// Orders as index paths do.
    @inline(__always)
    var place: UInt64 { UInt64(truncatingIfNeeded: section) << 32 | UInt64(truncatingIfNeeded: row) }
}

/// A row that stayed the same row and differs in what the snapshot has of it.
struct ChangedRow {
    var old: IndexPath
    var new: IndexPath
    private let reference: RowView
    /// The cell shows something else, and the client is meant to load it anew.
    var needsReload: Bool

    var row: Row { reference.row }

    init(_ row: Row, needsReload: Bool, old: IndexPath, new: IndexPath) {
        reference = RowView(row)
        self.old = old
        self.new = new
        self.needsReload = needsReload
    }

    /// Nil when nothing changed.
    @inline(__always)
    init?(_ before: RowView, _ after: RowView, old: IndexPath, new: IndexPath) {
        if before.isSame(as: after) { return nil }
        self.old = old
        self.new = new
        reference = after
        needsReload = after.needsReload(after: before)
    }
}

/// A row that something else keeps alive for as long as the diff takes: its snapshot, or the updates that are folded.
/// Counting references to the rows would take longer than comparing them.
struct RowView {
    private let reference: Unmanaged<Row>

    @inline(__always)
    init(_ row: Row) { reference = .passUnretained(row) }

    var row: Row { reference.takeUnretainedValue() }
    @inline(__always) var idHash: UInt64 { reference._withUnsafeGuaranteedRef { $0.idHash } }
    @inline(__always) var shownHash: RowHash.Pair { reference._withUnsafeGuaranteedRef { $0.shownHash } }

    @inline(__always)
    static func === (left: RowView, right: RowView) -> Bool { left.reference.toOpaque() == right.reference.toOpaque() }

    @inline(__always)
    func isSame(as other: RowView) -> Bool {
        reference._withUnsafeGuaranteedRef { row in other.reference._withUnsafeGuaranteedRef { row.isSame(as: $0) } }
    }

    @inline(__always)
    func hasSameID(as other: RowView) -> Bool {
        reference._withUnsafeGuaranteedRef { row in other.reference._withUnsafeGuaranteedRef { row.hasSameID(as: $0) } }
    }

    @inline(__always)
    func needsReload(after before: RowView) -> Bool {
        reference._withUnsafeGuaranteedRef { row in
            before.reference._withUnsafeGuaranteedRef { !row.updatesManually && !$0.looksSame(as: row) }
        }
    }
}

extension UnsafeBufferPointer<Row> {
    /// The rows without counting references to them.
    @inline(__always)
    func withReferences<Result>(_ body: (UnsafeBufferPointer<RowView>) -> Result) -> Result {
        withMemoryRebound(to: RowView.self, body)
    }
}

/// Two lists of rows compared side by side, from their starts or from their ends. What both share by reference is
/// passed without a look at its rows: after an edit of one row, comparing all costs O(log rows).
struct RowComparison {
    enum Rule { case sameID, samePlace }

    let oldSection: Int
    let old: ChunkedList<Row>
    let newSection: Int
    let new: ChunkedList<Row>
    var rule = Rule.sameID

    /// How many rows from `oldStart` and `newStart` on are the same rows, at most `limit`; those whose content
    /// changed are added to `changes`. By place, it ends with the first one that needs a reload.
    func matchingPrefix(oldStart: Int = 0, newStart: Int = 0, limit: Int, changes: inout ContiguousArray<ChangedRow>) -> Int {
        ChunkedList.walk(old, oldStart, new, newStart, limit: limit, .forward) { left, right, count, passed in
            withRows(left.chunk, right.chunk) { oldRows, newRows in
                for step in 0..<count {
                    guard matches(
                        oldRows[left.offset + step], newRows[right.offset + step],
                        oldStart + passed + step, newStart + passed + step, &changes)
                    else { return step }
                }
                return count
            }
        }
    }

    /// As `matchingPrefix`, backward from the lists' ends.
    func matchingSuffix(limit: Int, changes: inout ContiguousArray<ChangedRow>) -> Int {
        ChunkedList.walk(old, old.count, new, new.count, limit: limit, .backward) { left, right, count, passed in
            withRows(left.chunk, right.chunk) { oldRows, newRows in
                for step in 1...count {
                    guard matches(
                        oldRows[left.offset - step], newRows[right.offset - step],
                        old.count - passed - step, new.count - passed - step, &changes)
                    else { return step - 1 }
                }
                return count
            }
        }
    }

    @inline(__always)
    private func withRows(
        _ left: ChunkedList<Row>.Chunk, _ right: ChunkedList<Row>.Chunk,
        _ body: (UnsafeBufferPointer<RowView>, UnsafeBufferPointer<RowView>) -> Int
    ) -> Int {
        left.elements.withUnsafeBufferPointer { oldRows in
            right.elements.withUnsafeBufferPointer { newRows in
                oldRows.withReferences { oldRows in newRows.withReferences { body(oldRows, $0) } }
            }
        }
    }

    @inline(__always)
    private func matches(
        _ oldRow: RowView, _ newRow: RowView, _ oldIndex: Int, _ newIndex: Int, _ changes: inout ContiguousArray<ChangedRow>
    ) -> Bool {
        if oldRow.isSame(as: newRow) { return rule == .samePlace || newRow.idHash != 0 }
        return matchesChanged(oldRow, newRow, oldIndex, newIndex, &changes)
    }

    private func matchesChanged(
        _ oldRow: RowView, _ newRow: RowView, _ oldIndex: Int, _ newIndex: Int, _ changes: inout ContiguousArray<ChangedRow>
    ) -> Bool {
        if rule == .sameID, !oldRow.hasSameID(as: newRow) { return false }
        let change = ChangedRow(
            oldRow, newRow, old: IndexPath(section: oldSection, row: oldIndex), new: IndexPath(section: newSection, row: newIndex))
        if let change {
            changes.append(change)
            // One is enough to reload the section, and a shift would make a change of every row behind it.
            if rule == .samePlace, change.needsReload { return false }
        }
        return true
    }
}

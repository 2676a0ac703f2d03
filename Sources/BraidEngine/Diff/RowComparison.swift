/// Rows that stand side by side both before and after. Starts count in the old and in the new snapshot.
struct MatchedRun {
    var oldSection: Int
    var oldStart: Int
    var newSection: Int
    var newStart: Int
    var count: Int

    var oldEnd: Int { oldStart + count }
    var newEnd: Int { newStart + count }
}

/// A row that stayed the same row and differs in what the snapshot has of it.
struct ChangedRow {
    var old: IndexPath
    var new: IndexPath
    var row: Row
    /// The cell shows something else, and the client is meant to load it anew.
    var needsReload: Bool

    init(_ row: Row, needsReload: Bool, old: IndexPath, new: IndexPath) {
        self.old = old
        self.new = new
        self.row = row
        self.needsReload = needsReload
    }

    /// Nil when nothing changed.
    @inline(__always)
    init?(_ oldRow: Row, _ newRow: Row, old: IndexPath, new: IndexPath) {
        if oldRow.isSame(as: newRow) { return nil }
        self.old = old
        self.new = new
        row = newRow
        needsReload = !newRow.updatesManually && !oldRow.looksSame(as: newRow)
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
    func matchingPrefix(oldStart: Int = 0, newStart: Int = 0, limit: Int, changes: inout [ChangedRow]) -> Int {
        ChunkedList.walk(old, oldStart, new, newStart, limit: limit, .forward) { left, right, count, passed in
            left.chunk.elements.withUnsafeBufferPointer { oldRows in
                right.chunk.elements.withUnsafeBufferPointer { newRows in
                    for step in 0..<count where oldRows[left.offset + step] !== newRows[right.offset + step] {
                        guard matches(
                            oldRows[left.offset + step], newRows[right.offset + step],
                            oldStart + passed + step, newStart + passed + step, &changes)
                        else { return step }
                    }
                    return count
                }
            }
        }
    }

    /// As `matchingPrefix`, backward from the lists' ends.
    func matchingSuffix(limit: Int, changes: inout [ChangedRow]) -> Int {
        ChunkedList.walk(old, old.count, new, new.count, limit: limit, .backward) { left, right, count, passed in
            left.chunk.elements.withUnsafeBufferPointer { oldRows in
                right.chunk.elements.withUnsafeBufferPointer { newRows in
                    for step in 1...count where oldRows[left.offset - step] !== newRows[right.offset - step] {
                        guard matches(
                            oldRows[left.offset - step], newRows[right.offset - step],
                            old.count - passed - step, new.count - passed - step, &changes)
                        else { return step - 1 }
                    }
                    return count
                }
            }
        }
    }

    @inline(__always)
    private func matches(_ oldRow: Row, _ newRow: Row, _ oldIndex: Int, _ newIndex: Int, _ changes: inout [ChangedRow]) -> Bool {
        if rule == .sameID {
            guard let oldID = oldRow.id, let newID = newRow.id, oldID == newID else { return false }
        }
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

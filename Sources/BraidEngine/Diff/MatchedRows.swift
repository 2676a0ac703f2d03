/// Neighbours, in the same order, in both snapshots.
struct MatchedRun {
    /// Of the first row (`RowPath.place`).
    let oldPlace: UInt64
    let newPlace: UInt64
    private var rowCount: UInt32
    var isMoved = false

    @inline(__always)
    init(oldSection: Int, oldStart: Int, newSection: Int, newStart: Int, count: Int) {
        oldPlace = RowPath(section: oldSection, row: oldStart).place
        newPlace = RowPath(section: newSection, row: newStart).place
        rowCount = UInt32(truncatingIfNeeded: count)
    }

    @inline(__always) var count: Int { Int(rowCount) }
    @inline(__always) var oldSection: Int { RowPath(place: oldPlace).section }
    @inline(__always) var oldStart: Int { RowPath(place: oldPlace).row }
    @inline(__always) var oldEnd: Int { oldStart + count }
    @inline(__always) var newSection: Int { RowPath(place: newPlace).section }
    @inline(__always) var newStart: Int { RowPath(place: newPlace).row }
    @inline(__always) var newEnd: Int { newStart + count }

    @inline(__always)
    func isFollowed(by run: MatchedRun) -> Bool {
        newPlace + UInt64(count) == run.newPlace && oldPlace + UInt64(count) == run.oldPlace
    }

    /// Joins neighbouring runs, which are in the new snapshot's order.
    static func join(_ runs: inout ContiguousArray<MatchedRun>) {
        var last = 0
        for position in runs.indices.dropFirst() {
            if runs[last].isFollowed(by: runs[position]) {
                runs[last].rowCount += runs[position].rowCount
            } else {
                last += 1
                if last < position { runs[last] = runs[position] }
            }
        }
        if last + 1 < runs.count { runs.removeLast(runs.count - last - 1) }
    }

    @inline(__always)
    mutating func extend() { rowCount += 1 }
}

extension RowPath {
    /// Ordered as paths are: the section is in the upper 32 bits.
    @inline(__always)
    var place: UInt64 { UInt64(truncatingIfNeeded: section) << 32 | UInt64(truncatingIfNeeded: row) }

    @inline(__always)
    init(place: UInt64) { self.init(section: Int(place >> 32), row: Int(place & 0xFFFF_FFFF)) }
}

struct MatchedRows {
    var runs: ContiguousArray<MatchedRun> = []
    var changes: ContiguousArray<ChangedRow> = []
    /// How many runs were found before `RowMatching.match` added more.
    var stayingCount = 0
    /// By new section; -1 for an inserted one.
    let oldSections: [Int]

    init(oldSections: [Int]) {
        self.oldSections = oldSections
        // Saves reallocations for the first few.
        runs.reserveCapacity(8)
    }

    var staying: ArraySlice<MatchedRun> { runs[..<stayingCount] }

    /// A neighbour extends the last run, but never one of `staying`.
    @inline(__always)
    mutating func add(_ before: RowEntry, _ after: RowEntry) {
        let old = RowPath(section: oldSections[Int(before.section)], row: before.index)
        let new = RowPath(section: Int(after.section), row: after.index)
        RowEntry.compare(before, after, old, new, &changes)
        let run = MatchedRun(
            oldSection: old.section, oldStart: old.row, newSection: new.section, newStart: new.row, count: 1)
        if runs.count > stayingCount, runs[runs.count - 1].isFollowed(by: run) {
            runs[runs.count - 1].extend()
        } else {
            runs.append(run)
        }
    }
}

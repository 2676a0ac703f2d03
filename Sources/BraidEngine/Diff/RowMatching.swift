/// A section that is displayed before and after.
struct SectionPair {
    /// Index before.
    var old: Int
    /// Index after.
    var new: Int
}

/// What became of the rows of the sections that are displayed before and after: which stayed, moved, came, went.
///
/// Rows are matched by id, in their own section first; what is left over is matched across sections where an id is
/// left over once before and once after. Of the rows matched in their own section, those of a heaviest increasing
/// subsequence stay, so the number of deletes, inserts and moves is the least there is.
struct RowMatching {
    var deletes: [IndexPath] = []
    /// After.
    var inserts: [IndexPath] = []
    var moves: [(from: IndexPath, to: IndexPath)] = []
    /// Rows that stayed and are not the same any more: where they stood, where they stand.
    var changes: [(from: IndexPath, to: IndexPath)] = []
    /// Sections (pairs) that have to be reloaded: their rows have no ids.
    var reloads: [SectionPair] = []

    private let old: [Section]
    private let new: [Section]
    /// Rows that found no partner in their own section.
    private var leftOld: [IndexPath] = []
    private var leftNew: [IndexPath] = []

    /// Throws `duplicateRowID` when a section has an id twice.
    init(_ old: [Section], _ new: [Section], pairs: [SectionPair], touched: TouchedRows?) throws(Refusal) {
        self.old = old
        self.new = new
        for pair in pairs {
            let before = old[pair.old], after = new[pair.new]
            guard before.isDiffable, after.isDiffable else {
                matchWithoutIDs(pair)
                continue
            }
            switch touched?.rows(in: before.id) ?? .whole {
            case .untouched: break
            case .edits(let edits): try match(pair, edits)
            case .whole: try match(pair)
            }
        }
        try matchLeftOvers()
    }

    private func oldRow(_ path: IndexPath) -> Row { old[path.section].rows[path.row] }
    private func newRow(_ path: IndexPath) -> Row { new[path.section].rows[path.row] }

    /// Braid's tiers: without identity, rows come and go at the end by count, and the section is reloaded if a row may
    /// show something else.
    private mutating func matchWithoutIDs(_ pair: SectionPair) {
        let before = old[pair.old], after = new[pair.new]
        let common = min(before.rows.count, after.rows.count)
        let firstChange = changes.count
        for (row, (mine, others)) in zip(before.rows.prefix(common), after.rows.prefix(common)).enumerated() {
            guard before.isDiffable == after.isDiffable, others.updatesManually || mine.looksSame(as: others) else {
                changes.removeLast(changes.count - firstChange)
                return reloads.append(pair)
            }
            note(pair, row, row, mine, others)
        }
        guard before.isDiffable == after.isDiffable else { return reloads.append(pair) }
        for row in common..<before.rows.count { deletes.append(IndexPath(section: pair.old, row: row)) }
        for row in common..<after.rows.count { inserts.append(IndexPath(section: pair.new, row: row)) }
    }

    /// Runs of rows that stand in the same order before and after.
    private struct Run {
        var old: Int
        var new: Int
        var count: Int
        /// Nobody touched it: its rows need not be compared.
        var isUntouched = true
    }

    /// Looks at every row of the pair once. O(rows), and O(m log m) for the m rows between the common ends.
    private mutating func match(_ pair: SectionPair) throws(Refusal) {
        let before = old[pair.old].rows, after = new[pair.new].rows
        let common = min(before.count, after.count)
        var prefix = 0
        // Lists that are copies of each other share their chunks.
        for (mine, others) in zip(before.chunks, after.chunks) {
            guard mine === others else { break }
            prefix += mine.elements.count
        }
        while prefix < common, before[prefix].id == after[prefix].id {
            note(pair, prefix, prefix, before[prefix], after[prefix])
            prefix += 1
        }
        var suffix = 0
        for (mine, others) in zip(before.chunks.reversed(), after.chunks.reversed()) {
            guard mine === others, suffix + mine.elements.count <= common - prefix else { break }
            suffix += mine.elements.count
        }
        while suffix < common - prefix {
            let mine = before.count - 1 - suffix, others = after.count - 1 - suffix
            guard before[mine].id == after[others].id else { break }
            note(pair, mine, others, before[mine], after[others])
            suffix += 1
        }
        let oldMiddle = prefix..<before.count - suffix, newMiddle = prefix..<after.count - suffix
        if oldMiddle.isEmpty {
            for row in newMiddle { leftNew.append(IndexPath(section: pair.new, row: row)) }
        } else if newMiddle.isEmpty {
            for row in oldMiddle { leftOld.append(IndexPath(section: pair.old, row: row)) }
        } else {
            try match(pair, Array(oldMiddle), Array(newMiddle), runs: [])
        }
    }

    /// Looks only at the rows that were touched. O(k log k) for k of them.
    private mutating func match(_ pair: SectionPair, _ edits: TouchedRows.Edits) throws(Refusal) {
        let before = old[pair.old].rows, after = new[pair.new].rows
        var edits = edits
        var runs = Self.runs(between: edits, of: before.count)
        // What was put in a row's place may be another row: that one went, and this one came.
        var others: [(old: Int, new: Int)] = []
        var next = 0
        for row in edits.replaced {
            while next < runs.count, runs[next].new + runs[next].count <= row { next += 1 }
            guard next < runs.count, runs[next].new <= row else { continue }
            let oldRow = runs[next].old + row - runs[next].new
            if before[oldRow].id != after[row].id { others.append((oldRow, row)) }
        }
        if !others.isEmpty {
            let changed = Set(others.map(\.new))
            edits.replaced.removeAll { changed.contains($0) }
            edits.removed = (edits.removed + others.map(\.old)).sorted()
            edits.inserted = (edits.inserted + others.map(\.new)).sorted()
            runs = Self.runs(between: edits, of: before.count)
        }
        try match(pair, edits.removed, edits.inserted, runs: runs, replaced: edits.replaced)
    }

    /// The runs that lie between the rows that went and came.
    private static func runs(between edits: TouchedRows.Edits, of oldCount: Int) -> [Run] {
        var runs: [Run] = []
        var oldIndex = 0, newIndex = 0, removed = 0, inserted = 0
        while true {
            if removed < edits.removed.count, edits.removed[removed] == oldIndex {
                oldIndex += 1
                removed += 1
            } else if inserted < edits.inserted.count, edits.inserted[inserted] == newIndex {
                newIndex += 1
                inserted += 1
            } else {
                let untilRemoved = (removed < edits.removed.count ? edits.removed[removed] : oldCount) - oldIndex
                let untilInserted = inserted < edits.inserted.count ? edits.inserted[inserted] - newIndex : Int.max
                let count = min(untilRemoved, untilInserted)
                guard count > 0 else { return runs }
                runs.append(Run(old: oldIndex, new: newIndex, count: count))
                oldIndex += count
                newIndex += count
            }
        }
    }

    /// Matches the named rows of the pair by id; `runs` lie between them, in order.
    private mutating func match(_ pair: SectionPair, _ oldRows: [Int], _ newRows: [Int], runs: [Run], replaced: [Int] = []) throws(Refusal) {
        let before = old[pair.old].rows, after = new[pair.new].rows
        var places: [RowID: Int] = [:]
        if !oldRows.isEmpty, !newRows.isEmpty {
            places.reserveCapacity(oldRows.count)
            for row in oldRows {
                guard let id = before[row].id else { continue }
                if places.updateValue(row, forKey: id) != nil { throw .duplicateRow(id, in: old[pair.old].id) }
            }
        }
        var segments = runs
        for row in newRows {
            if let id = after[row].id, let place = places.removeValue(forKey: id) {
                segments.append(Run(old: place, new: row, count: 1, isUntouched: false))
            } else {
                leftNew.append(IndexPath(section: pair.new, row: row))
            }
        }
        if newRows.isEmpty {
            for row in oldRows { leftOld.append(IndexPath(section: pair.old, row: row)) }
        } else {
            let left = Set(places.values)
            for row in oldRows where left.contains(row) || before[row].id == nil { leftOld.append(IndexPath(section: pair.old, row: row)) }
        }
        if !runs.isEmpty { segments.sort { $0.new < $1.new } }
        let kept = IncreasingSubsequence.heaviest(segments.map(\.old), weights: segments.map(\.count))
        var next = 0, nextReplaced = 0
        for (position, segment) in segments.enumerated() {
            let stays = next < kept.count && kept[next] == position
            if stays { next += 1 }
            let end = segment.new + segment.count
            if !stays {
                for offset in 0..<segment.count {
                    moves.append((IndexPath(section: pair.old, row: segment.old + offset), IndexPath(section: pair.new, row: segment.new + offset)))
                }
            } else if !segment.isUntouched {
                note(pair, segment.old, segment.new, before[segment.old], after[segment.new])
            }
            while nextReplaced < replaced.count, replaced[nextReplaced] < end {
                let row = replaced[nextReplaced]
                if stays, segment.isUntouched, row >= segment.new {
                    let oldRow = segment.old + row - segment.new
                    note(pair, oldRow, row, before[oldRow], after[row])
                }
                nextReplaced += 1
            }
        }
    }

    private mutating func note(_ pair: SectionPair, _ from: Int, _ to: Int, _ before: Row, _ after: Row) {
        if !before.isSame(as: after) {
            changes.append((IndexPath(section: pair.old, row: from), IndexPath(section: pair.new, row: to)))
        }
    }

    /// A row that went from one section and came to another is one move.
    private mutating func matchLeftOvers() throws(Refusal) {
        try checkDuplicates()
        guard !leftOld.isEmpty, !leftNew.isEmpty else {
            deletes += leftOld
            inserts += leftNew
            return
        }
        // Places by id; nil where an id is left over more than once.
        var sources: [RowID: IndexPath?] = [:]
        for path in leftOld {
            guard let id = oldRow(path).id else { continue }
            sources[id] = .some(sources[id] == nil ? path : nil)
        }
        var targets: [RowID: Int] = [:]
        for path in leftNew { if let id = newRow(path).id { targets[id, default: 0] += 1 } }
        var moved: Set<IndexPath> = []
        for path in leftNew {
            if let id = newRow(path).id, targets[id] == 1, let source = sources[id] ?? nil {
                moves.append((source, path))
                moved.insert(source)
            } else {
                inserts.append(path)
            }
        }
        deletes += leftOld.filter { !moved.contains($0) }
    }

    /// An id that comes to a section twice.
    private func checkDuplicates() throws(Refusal) {
        var seen: Set<RowID> = []
        var section = -1
        for path in leftNew {
            if path.section != section {
                section = path.section
                seen.removeAll(keepingCapacity: true)
            }
            if let id = newRow(path).id, !seen.insert(id).inserted { throw .duplicateRow(id, in: new[path.section].id) }
        }
    }
}

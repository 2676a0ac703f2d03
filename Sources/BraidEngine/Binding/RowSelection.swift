/// Which stored rows a section displays, in which order.
struct RowSelection: Sendable {
    /// `where`: for who looks, rows for which it is not true do not exist.
    var exists: Computed<RowInput>?
    var shown: Computed<RowInput>?
    /// `sortedBy`.
    var order: Computed<SectionInput>?

    var reads: Reads { [exists?.reads, shown?.reads, order?.reads].compactMap { $0 }.reduce([]) { $0.union($1) } }

    /// `nil`: the stored order.
    func order(of section: SectionInput, _ evaluation: Evaluation) throws -> SortOrder? {
        guard let order else { return nil }
        if let constant = order.constant { return SortOrder(constant) }
        guard let keys = try order.value(for: section, evaluation), !keys.isNull else { return nil }
        if let order = SortOrder(keys) { return order }
        if evaluation.isLenient(order.reads) { return nil }
        throw Refusal(
            templateFailed: "`sortedBy` of the section \"\(section.id)\" gave \(keys.text): \(SortOrder.rule).")
    }
}

/// Rows of the session's own table, for somebody's that shows the same.
struct LentRows {
    let section: Section
    let stored: StoredSection
    private var next = 0
    private var ranks: PersistentList<Int>.Window

    init(_ section: Section, of stored: StoredSection) {
        self.section = section
        self.stored = stored
        ranks = .init(section.places?.ranks ?? [])
    }

    mutating func row(of row: StoredRow, at index: Int) -> Row? {
        guard let places = section.places else {
            return index < section.rows.count ? section.rows[index] : nil
        }
        // Mostly asked for in the same order.
        if next >= section.rows.count || ranks[next] != row.rank {
            guard let found = places.index(of: row, in: stored) else { return nil }
            next = found
        }
        defer { next += 1 }
        return section.rows[next]
    }
}

extension RowMaker {
    /// Those that exist for who looks, in display order, with their stored indexes.
    func candidates(of stored: StoredSection, _ selection: RowSelection, _ order: SortOrder?) throws -> [(
        index: Int, row: StoredRow
    )] {
        var found: [(index: Int, row: StoredRow)] = []
        var failures = TemplateFailures(evaluation.meter)
        if selection.exists == nil { found.reserveCapacity(stored.rows.count) }
        try stored.rows.forEach(in: 0..<stored.rows.count) { index, row in
            try evaluation.meter.checkTime(at: index)
            do {
                if try exists(row, selection) { found.append((index, row)) }
            } catch {
                try failures.add(error, in: .init(section: section, row: index, id: row.id))
            }
        }
        try failures.check()
        guard let order else { return found }
        let places = found.map { order.place(of: $0.row) }
        return found.indices.sorted { order.precedes(places[$0], places[$1]) }.map { found[$0] }
    }

    private func exists(_ row: StoredRow, _ selection: RowSelection) throws -> Bool {
        guard let exists = selection.exists else { return true }
        let input = RowInput(section: section, row: 0, count: 0, model: row.model)
        return try exists.value(for: input, evaluation.ofStored)?.boolValue ?? false
    }

    func selectedRows(of stored: StoredSection, _ selection: RowSelection, _ lent: LentRows?) throws -> SectionRows {
        let order = try selection.order(of: input, evaluation)
        let candidates = try candidates(of: stored, selection, order)
        if order == nil, let lent, let places = lent.section.places, places.order == nil {
            return try selectedRows(from: candidates, selection, lent, places)
        }
        var rows: [Row] = [], ranks: [Int] = [], failures = TemplateFailures(evaluation.meter), lent = lent
        for (position, (index, row)) in candidates.enumerated() {
            try evaluation.meter.checkTime(at: position)
            do {
                let made = try selected(row, at: position, of: candidates.count, selection) {
                    lent?.row(of: row, at: index)
                }
                if let made {
                    rows.append(made)
                    ranks.append(row.rank)
                }
            } catch {
                try failures.add(error, in: .init(section: section, row: index, id: row.id))
            }
        }
        try failures.check()
        return SectionRows(
            rows: PersistentList(rows),
            places: RowPlaces(ranks: PersistentList(ranks), count: candidates.count, order: order))
    }

    /// In stored order, as `lent`: shares its chunks where both show the same.
    private func selectedRows(
        from candidates: [(index: Int, row: StoredRow)], _ selection: RowSelection, _ lent: LentRows,
        _ places: RowPlaces
    ) throws -> SectionRows {
        var rows = lent.section.rows, ranks = places.ranks, failures = TemplateFailures(evaluation.meter)
        var known = PersistentList.Window(rows), knownRanks = PersistentList.Window(ranks)
        var newRows: [PersistentList<Row>.Replacement] = [], newRanks: [PersistentList<Int>.Replacement] = []
        func replace(_ range: Range<Int>, _ row: (Row, rank: Int)?) {
            if newRows.last?.range.upperBound != range.lowerBound {
                newRows.append((range.lowerBound..<range.lowerBound, []))
                newRanks.append((range.lowerBound..<range.lowerBound, []))
            }
            let last = newRows.count - 1, whole = newRows[last].range.lowerBound..<range.upperBound
            (newRows[last].range, newRanks[last].range) = (whole, whole)
            if let row {
                newRows[last].elements.append(row.0)
                newRanks[last].elements.append(row.rank)
            }
        }
        var next = 0
        for (position, (index, row)) in candidates.enumerated() {
            try evaluation.meter.checkTime(at: position)
            while next < rows.count, knownRanks[next] < row.rank {
                replace(next..<next + 1, nil)
                next += 1
            }
            let isLent = next < rows.count && knownRanks[next] == row.rank
            do {
                let made = try selected(row, at: position, of: candidates.count, selection) {
                    isLent ? known[next] : nil
                }
                if let made, !isLent { replace(next..<next, (made, row.rank)) }
                if made == nil, isLent { replace(next..<next + 1, nil) }
            } catch {
                try failures.add(error, in: .init(section: section, row: index, id: row.id))
            }
            if isLent { next += 1 }
        }
        try failures.check()
        if next < rows.count { replace(next..<rows.count, nil) }
        rows.replace(newRows)
        ranks.replace(newRanks)
        return SectionRows(rows: rows, places: RowPlaces(ranks: ranks, count: candidates.count, order: nil))
    }

    /// `nil` if the row is not shown.
    private func selected(
        _ row: StoredRow, at position: Int, of count: Int, _ selection: RowSelection, lent: () -> Row?
    ) throws -> Row? {
        if let shown = selection.shown {
            let input = RowInput(section: section, row: position, count: count, model: row.model)
            guard try shown.value(for: input, evaluation)?.boolValue ?? false else { return nil }
        }
        if let lent = lent() { return lent }
        try chargeConstants(of: 1)
        return try self.row(for: row, at: position, of: count)
    }

    /// Reuses the rows that did not change, so none may read its index or the count.
    ///
    /// - Complexity: O(log² rows) for each touched row.
    func selectedRows(
        of stored: StoredSection, after old: StoredSection, shown: SectionRows, _ places: RowPlaces,
        touched: TouchedRows, _ selection: RowSelection, _ lent: LentRows?
    ) throws -> SectionRows {
        guard case .edits(let edits) = touched.rows(in: section) else {
            if case .untouched = touched.rows(in: section) { return shown }
            return try selectedRows(of: stored, selection, lent)
        }
        var removed: [Int] = [], rowsByKey: [Int: (row: Row, model: JSONText)] = [:]
        var arriving: [(position: Int, place: SortOrder.Place?, rank: Int, row: Row)] = []
        var count = places.count, failures = TemplateFailures(evaluation.meter), lent = lent
        for change in edits.changes {
            try old.rows.forEach(in: change.old.clamped(to: 0..<old.rows.count)) { index, row in
                try evaluation.meter.checkTime(at: removed.count)
                if try exists(row, selection) { count -= 1 }
                guard let position = places.index(of: row, in: old) else { return }
                removed.append(position)
                rowsByKey[row.key] = (shown.rows[position], row.model)
            }
        }
        for change in edits.changes {
            try stored.rows.forEach(in: change.new.clamped(to: 0..<stored.rows.count)) { index, row in
                try evaluation.meter.checkTime(at: arriving.count)
                do {
                    guard try exists(row, selection) else { return }
                    count += 1
                    let made = try selected(row, at: 0, of: 0, selection) {
                        if let old = rowsByKey[row.key], old.model == row.model { return old.row }
                        return lent?.row(of: row, at: index)
                    }
                    guard let made else { return }
                    arriving.append(
                        (places.position(for: row, in: old), places.order?.place(of: row), row.rank, made))
                } catch {
                    try failures.add(error, in: .init(section: section, row: index, id: row.id))
                }
            }
        }
        try failures.check()
        if let order = places.order {
            arriving.sort { one, other in
                guard let mine = one.place, let others = other.place else { return false }
                return order.precedes(mine, others)
            }
        } else {
            arriving.sort { $0.rank < $1.rank }
        }
        var rows = shown.rows, ranks = places.ranks
        var newRows: [PersistentList<Row>.Replacement] = [], newRanks: [PersistentList<Int>.Replacement] = []
        removed.sort()
        var nextRemoved = 0, nextArriving = 0
        while nextRemoved < removed.count || nextArriving < arriving.count {
            let position = min(
                nextRemoved < removed.count ? removed[nextRemoved] : .max,
                nextArriving < arriving.count ? arriving[nextArriving].position : .max)
            var end = position, made = ContiguousArray<Row>(), madeRanks = ContiguousArray<Int>()
            while nextArriving < arriving.count, arriving[nextArriving].position == position {
                made.append(arriving[nextArriving].row)
                madeRanks.append(arriving[nextArriving].rank)
                nextArriving += 1
            }
            if nextRemoved < removed.count, removed[nextRemoved] == position {
                end += 1
                nextRemoved += 1
            }
            newRows.append((position..<end, made))
            if end == position || madeRanks.count != 1 || ranks[position] != madeRanks[0] {
                newRanks.append((position..<end, madeRanks))
            }
        }
        rows.replace(newRows)
        ranks.replace(newRanks)
        if let lent, places.order == nil, let others = lent.section.places, others.order == nil {
            var shift = 0
            for (range, made) in newRows {
                let place = min(range.lowerBound + shift, rows.count - 1)
                shift += made.count - range.count
                guard place >= 0 else { break }
                let other = others.ranks.firstPosition { $0 >= ranks[place] }
                rows.adopt(chunkAt: place, of: lent.section.rows, at: other) { $0.isSame(as: $1) }
                ranks.adopt(chunkAt: place, of: others.ranks, at: other, where: ==)
            }
        }
        return SectionRows(rows: rows, places: RowPlaces(ranks: ranks, count: count, order: places.order))
    }
}

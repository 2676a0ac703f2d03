/// The snapshot of a whole table, prepared so that windows can be cut out of it. Several windows of one table can share
/// a `WindowSource`.
public struct WindowSource: Sendable {
    /// The whole displayed table.
    public let snapshot: Snapshot
    /// For each displayed section, the number of displayed rows in the sections before it. The last element is the
    /// number of all displayed rows.
    let starts: [Int]

    /// Prepares a snapshot for cutting windows. O(sections).
    public init(_ snapshot: Snapshot) {
        self.snapshot = snapshot
        var starts = [0]
        starts.reserveCapacity(snapshot.sections.count + 1)
        for section in snapshot.sections { starts.append(starts[starts.count - 1] + section.rows.count) }
        self.starts = starts
    }

    /// Cuts a run of rows out of the snapshot.
    ///
    /// - Parameters:
    ///   - section: the section whose rows the window shows, or `nil` for a window across all sections. A section that
    ///     is not displayed has no rows.
    ///   - offset: the index of the window's first row, in the section or in display order. A negative offset counts
    ///     from the end.
    ///   - limit: the most rows of the window.
    /// - Complexity: O(rows and sections of the window + log rows), and O(sections) if `section` is given.
    public func cut(section: SectionID? = nil, offset: Int, limit: Int) -> WindowedSnapshot {
        cut(TableWindow(section: section, .rows(offset: offset, limit: limit)), anchorAt: nil)
    }

    /// Cuts the rows around an anchor out of the snapshot.
    ///
    /// - Parameters:
    ///   - section: the section whose rows the window shows, or `nil` for a window across all sections.
    ///   - anchor: the row that the window surrounds.
    ///   - before: the most rows of the window before the anchor.
    ///   - after: the most rows of the window after the anchor.
    ///   - index: returns the index of the anchor among the displayed rows of its section, if the caller knows it at no
    ///     cost. `cut` checks the index, and searches the section if the index is wrong.
    /// - Returns: the window. `nil` if no displayed row is the anchor, or if the anchor is in another section than
    ///   `section`.
    /// - Complexity: O(rows of the window + sections), and O(rows of the anchor's section) without a known index.
    public func cut(
        section: SectionID? = nil, around anchor: TableWindow.Anchor, before: Int, after: Int,
        index: (TableWindow.Anchor) -> Int? = { _ in nil }
    ) -> WindowedSnapshot? {
        cut(TableWindow(section: section, .around(anchor, before: before, after: after)), index)
    }

    private func cut(_ window: TableWindow, _ index: (TableWindow.Anchor) -> Int?) -> WindowedSnapshot? {
        guard case .around(let anchor?, _, _) = window.run else { return cut(window, anchorAt: nil) }
        guard window.section == nil || window.section == anchor.section,
            let section = snapshot.sections.firstIndex(where: { $0.id == anchor.section })
        else { return nil }
        let rows = snapshot.sections[section].rows
        let known = index(anchor).flatMap { rows.indices.contains($0) && rows[$0].content.has(anchor.id) ? $0 : nil }
        guard let row = known ?? rows.indexes(of: anchor.id).first else { return nil }
        return cut(window, anchorAt: RowPath(section: section, row: row))
    }

    /// Returns the window `old`, which was cut at an earlier revision, at this revision. Use this method if the updates
    /// between the two revisions are not known. A window with a fixed offset keeps its offset. A window with an anchor
    /// keeps it if the anchor's section still displays a row with the anchor's id. Otherwise the row that is now at the
    /// old anchor's index becomes the anchor, or the last row if the index is too high. If the chosen row has no id,
    /// the first row becomes the anchor if it has an id.
    public func cut(following old: WindowedSnapshot, index: (TableWindow.Anchor) -> Int? = { _ in nil })
        -> WindowedSnapshot
    {
        if let known = cut(old.window, index) { return known }
        return cut(old.window, anchorAt: path(near: old.anchorIndex ?? 0, old.window))
    }

    /// Returns the ids of all sections that display a row with the row id `id`. O(rows).
    public func sections(with id: RowID) -> [SectionID] {
        snapshot.sections.filter { !$0.rows.indexes(of: id).isEmpty }.map(\.id)
    }

    /// Cuts a window out of the snapshot. `path` is the index path of the window's anchor. If the window needs an
    /// anchor, and `path` is `nil` or its row has no id, the first row becomes the anchor if it has an id.
    ///
    /// - Parameter old: the same window at an earlier revision. The result shares the lists of unchanged rows with
    ///   `old`.
    func cut(_ window: TableWindow, anchorAt path: RowPath?, sharing old: WindowedSnapshot? = nil) -> WindowedSnapshot {
        let bounds = self.bounds(of: window, near: path ?? old?.anchorPath)
        var window = window, path = path
        let run: Range<Int>
        switch window.run {
        case .rows(let offset, let limit):
            let start = offset < 0 ? max(0, bounds.count + max(offset, -bounds.count)) : min(offset, bounds.count)
            run = bounds.lowerBound + start..<bounds.lowerBound + start + min(limit, bounds.count - start)
        case .around(_, let before, let after):
            var anchor = path.flatMap { self.anchor(at: $0) }
            if anchor == nil, !bounds.isEmpty {
                let first = self.path(at: bounds.lowerBound)
                path = first
                anchor = self.anchor(at: first)
            }
            window.run = .around(anchor, before: before, after: after)
            if let place = path {
                let index = starts[place.section] + place.row
                run =
                    index - min(before, index - bounds.lowerBound)..<index + 1
                    + min(after, bounds.upperBound - index - 1)
            } else {
                run = bounds
            }
            if anchor == nil { path = nil }
        }
        return WindowedSnapshot(
            window: window, snapshot: slice(run, window, sharing: old), offset: run.lowerBound - bounds.lowerBound,
            anchorPath: path, starts: starts)
    }

    /// Returns the index path of the row at an index in display order, which must be in bounds. O(log sections).
    func path(at index: Int) -> RowPath {
        let section = starts.partitionIndex { $0 > index } - 1
        return RowPath(section: section, row: index - starts[section])
    }

    /// Returns the range of rows from which a window is cut: the rows of the table or of the window's section. The
    /// range consists of row indexes in display order, counted across all sections.
    func bounds(of window: TableWindow, near path: RowPath?) -> Range<Int> {
        guard let id = window.section else { return 0..<starts[starts.count - 1] }
        guard let section = index(of: id, near: path?.section) else { return 0..<0 }
        return starts[section]..<starts[section + 1]
    }

    private func index(of section: SectionID, near hint: Int?) -> Int? {
        if let hint, snapshot.sections.indices.contains(hint), snapshot.sections[hint].id == section { return hint }
        return snapshot.sections.firstIndex { $0.id == section }
    }

    private func anchor(at path: RowPath) -> TableWindow.Anchor? {
        let section = snapshot.sections[path.section]
        return section.rows[path.row].id.map { TableWindow.Anchor(section: section.id, id: $0) }
    }

    /// Returns the snapshot with only the sections and rows of a window. `run` contains the window's rows as indexes in
    /// display order, counted across all sections.
    private func slice(_ run: Range<Int>, _ window: TableWindow, sharing old: WindowedSnapshot?) -> Snapshot {
        var sections: [Section] = []
        for index in sectionIndexes(of: run, window) {
            var section = snapshot.sections[index]
            let all = starts[index]..<starts[index + 1], shown = run.clamped(to: all)
            let rows = shown.lowerBound - all.lowerBound..<shown.upperBound - all.lowerBound
            let place = sections.count
            let known = old.flatMap { old in
                old.snapshot.sections.indices.contains(place) && old.snapshot.sections[place].id == section.id
                    ? old.snapshot.sections[place].rows : nil
            }
            if rows.count < all.count || known != nil {
                let checked = section.idsWereChecked
                section.rows = section.rows.slice(rows, sharing: known)
                section.idsWereChecked = checked
            }
            section.extent = Section.Extent(offset: rows.lowerBound, rowCount: all.count)
            sections.append(section)
        }
        var result = Snapshot(
            revision: snapshot.revision, sections: sections, state: snapshot.state, empty: snapshot.empty)
        result.totalRowCount = snapshot.totalRowCount
        return result
    }

    /// Returns the indexes of the sections that a window touches: the window's section, or the sections with rows in
    /// the run. An empty section belongs to the run that contains the next row after the section. An empty section at
    /// the end of the table belongs to the run that contains the last row.
    private func sectionIndexes(of run: Range<Int>, _ window: TableWindow) -> Range<Int> {
        if let id = window.section {
            guard let section = index(of: id, near: nil) else { return 0..<0 }
            return section..<section + 1
        }
        let count = snapshot.sections.count, total = starts[count]
        guard !run.isEmpty || total == 0 else { return 0..<0 }
        let first = starts.partitionIndex { $0 >= run.lowerBound }
        let end = run.upperBound == total ? count : starts.partitionIndex { $0 >= run.upperBound }
        return (starts[first] > run.lowerBound ? first - 1 : first)..<end
    }
}

extension PersistentList<Row> {
    /// Returns the rows of a range. Returns `known` itself if `known` consists of the same rows as the range.
    fileprivate func slice(_ range: Range<Int>, sharing known: PersistentList<Row>?) -> PersistentList<Row> {
        if let known, known.count == range.count, hasSameRows(range, as: known) { return known }
        if range.count == count { return self }
        var rows: [Row] = []
        rows.reserveCapacity(range.count)
        forEachBuffer(in: range) { rows.append(contentsOf: $1) }
        return PersistentList(rows)
    }

    private func hasSameRows(_ range: Range<Int>, as known: PersistentList<Row>) -> Bool {
        let count = Self.walk(known, 0, self, range.lowerBound, limit: range.count, .forward) {
            left, right, count, _ in
            left.chunk.withUnsafeBufferPointer { old in
                right.chunk.withUnsafeBufferPointer { new in
                    for step in 0..<count
                    where old[left.offset + step].marks.shown != new[right.offset + step].marks.shown { return step }
                    return count
                }
            }
        }
        return count == range.count
    }
}

/// The snapshot of a whole table, prepared so that windows can be cut out of it. Several windows of one table can share
/// a `WindowSource`.
public struct WindowSource: Sendable {
    /// The whole displayed table.
    public let snapshot: Snapshot
    /// For each displayed section, the number of displayed rows in the sections before it. The last element is the
    /// number of all displayed rows.
    let starts: [Int]
    /// The stored table that the snapshot shows and its binder, which find rows by their ids.
    private let stored: (table: TableModel, binder: Binder)?

    /// Prepares a snapshot for cutting windows. Without the stored table, an anchor is found by examining each row.
    /// O(sections).
    public init(_ snapshot: Snapshot) { self.init(snapshot, stored: nil) }

    /// Prepares the snapshot that `binder` has made of `table` for cutting windows. O(sections).
    public init(_ snapshot: Snapshot, of table: TableModel, by binder: Binder) {
        self.init(snapshot, stored: (table, binder))
    }

    private init(_ snapshot: Snapshot, stored: (table: TableModel, binder: Binder)?) {
        self.snapshot = snapshot
        self.stored = stored
        var starts = [0]
        starts.reserveCapacity(snapshot.sections.count + 1)
        // Iterating over the sections would copy each section.
        snapshot.sections.forEachBuffer(in: 0..<snapshot.sections.count) { _, sections in
            for index in sections.indices { starts.append(starts[starts.count - 1] + sections[index].rows.count) }
        }
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
    /// - Complexity: O(sections of the window + log rows), and O(sections) if `section` is given.
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
    /// - Returns: the window. `nil` if no displayed row is the anchor, or if the anchor is in another section than
    ///   `section`.
    /// - Complexity: O(log² rows + sections). O(rows of the anchor's section) without the stored table, and in a
    ///   section whose rows are made by `modelsFrom`.
    public func cut(
        section: SectionID? = nil, around anchor: TableWindow.Anchor, before: Int, after: Int
    ) -> WindowedSnapshot? {
        guard section == nil || section == anchor.section, let path = path(of: anchor.id, in: anchor.section) else {
            return nil
        }
        return cut(TableWindow(section: section, .around(anchor, before: before, after: after)), anchorAt: path)
    }

    /// Cuts the same window again out of the same table.
    public func cut(_ place: WindowPlace) -> WindowedSnapshot {
        cut(place.window, anchorAt: place.anchorPath.flatMap { contains($0) ? $0 : nil })
    }

    /// Returns a window, which was cut at an earlier revision, at this revision. Use this method if the updates between
    /// the two revisions are not known. A window with a fixed offset keeps its offset. A window with an anchor keeps it
    /// if its row is still displayed. Otherwise the row that is now at the old anchor's index becomes the anchor, or
    /// the last row if the index is too high. If the chosen row has no id, the first row becomes the anchor if it has
    /// an id.
    public func cut(following old: WindowPlace) -> WindowedSnapshot {
        cut(old.window, anchorAt: displayedAnchor(of: old.window) ?? path(near: old.anchorIndex ?? 0, old.window))
    }

    /// Returns the index path of a window's anchor: in the anchor's section or, if the window is not limited to it, in
    /// the only section that now displays a row with the anchor's id.
    func displayedAnchor(of window: TableWindow) -> RowPath? {
        guard case .around(let anchor?, _, _) = window.run else { return nil }
        if let path = path(of: anchor.id, in: anchor.section) { return path }
        guard window.section == nil else { return nil }
        let sections = sections(with: anchor.id)
        return sections.count == 1 ? path(of: anchor.id, in: sections[0]) : nil
    }

    /// Returns the ids of all sections that display a row with the row id `id`. O(sections · log² rows), and O(rows)
    /// without the stored table.
    public func sections(with id: RowID) -> [SectionID] {
        places(thatMayShow: id).filter { index(of: id, in: snapshot.sections[$0]) != nil }
            .map { snapshot.sections[$0].id }
    }

    /// Returns the number of rows that must be examined one by one to find the row with an id, in one section or in all
    /// sections. 0 where the index of the stored table finds the row.
    package func examinedRows(for id: RowID, in section: SectionID?) -> Int {
        let places = section.map { [place(of: $0)].compactMap(\.self) } ?? places(thatMayShow: id)
        return places.reduce(0) { count, place in
            let section = snapshot.sections[place]
            let isExamined = stored.map { $0.binder.examinesRows(for: id, in: section, of: $0.table) } ?? true
            return count + (isExamined ? section.rows.count : 0)
        }
    }

    private func path(of id: RowID, in section: SectionID) -> RowPath? {
        guard let place = place(of: section), let row = index(of: id, in: snapshot.sections[place]) else { return nil }
        return RowPath(section: place, row: row)
    }

    private func place(of section: SectionID) -> Int? {
        guard let (table, binder) = stored else { return snapshot.sections.firstIndex { $0.id == section } }
        return binder.displayedPlace(of: section, in: snapshot, of: table)
    }

    private func places(thatMayShow id: RowID) -> [Int] {
        guard let (table, binder) = stored else { return Array(snapshot.sections.indices) }
        return binder.displayedPlaces(ofSectionsThatMayShow: id, in: snapshot, of: table)
    }

    private func index(of id: RowID, in section: Section) -> Int? {
        guard let (table, binder) = stored else { return section.rows.indexes(of: id).first }
        let index = binder.displayedIndex(of: id, in: section, of: table)
        return index.flatMap { section.rows.indices.contains($0) ? $0 : nil }
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
        return place(of: section)
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
        return slice(range)
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

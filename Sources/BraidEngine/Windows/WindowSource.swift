/// Cuts windows out of a whole table's snapshot.
///
/// ```swift
/// let source = WindowSource(snapshot, of: table, by: binder)
/// let window = source.cut(offset: 0, limit: 50)
/// let next = window.following(RowFollower(update), to: laterSource)
/// ```
public struct WindowSource: Sendable {
    /// The whole table.
    public let snapshot: Snapshot
    /// Displayed rows before each section; at the end, all.
    let starts: [Int]
    private let stored: (table: TableModel, binder: Binder)?

    /// Without the stored table, an anchor is found by examining each row. O(sections).
    public init(_ snapshot: Snapshot) { self.init(snapshot, stored: nil) }

    /// `binder` made the snapshot of `table`. O(sections).
    public init(_ snapshot: Snapshot, of table: TableModel, by binder: Binder) {
        self.init(snapshot, stored: (table, binder))
    }

    private init(_ snapshot: Snapshot, stored: (table: TableModel, binder: Binder)?) {
        self.snapshot = snapshot
        self.stored = stored
        var starts = [0]
        starts.reserveCapacity(snapshot.sections.count + 1)
        // By buffer: an iterator copies each section.
        snapshot.sections.forEachBuffer(in: 0..<snapshot.sections.count) { _, sections in
            for index in sections.indices { starts.append(starts[starts.count - 1] + sections[index].rows.count) }
        }
        self.starts = starts
    }

    /// The window at an offset. Hidden sections have no rows. O(sections of the window + log rows); O(sections) for one
    /// section.
    public func cut(section: SectionID? = nil, offset: Int, limit: Int) -> WindowedSnapshot {
        cut(TableWindow(section: section, .rows(offset: offset, limit: limit)), anchorAt: nil)
    }

    /// The window around a row. `nil` if no displayed row is the anchor, or it is in another section. O(log² rows +
    /// sections), or O(rows of the section) without the stored table and for `modelsFrom`.
    public func cut(
        section: SectionID? = nil, around anchor: TableWindow.Anchor, before: Int, after: Int
    ) -> WindowedSnapshot? {
        guard section == nil || section == anchor.section, let path = path(of: anchor.id, in: anchor.section) else {
            return nil
        }
        return cut(TableWindow(section: section, .around(anchor, before: before, after: after)), anchorAt: path)
    }

    /// The same window again, out of the same table.
    public func cut(_ place: WindowPlace) -> WindowedSnapshot {
        cut(place.window, anchorAt: place.anchorPath.flatMap { contains($0) ? $0 : nil })
    }

    /// The window at a later revision, if the updates between are unknown. An offset stays. So does an anchor that is
    /// displayed; otherwise the row at its index, or the last, becomes the anchor, or else the first one with an id.
    public func cut(following old: WindowPlace) -> WindowedSnapshot {
        cut(old.window, anchorAt: displayedAnchor(of: old.window) ?? path(near: old.anchorIndex ?? 0, old.window))
    }

    /// Where the anchor is. In another section only if no other displays the id, and the window is not of one section.
    func displayedAnchor(of window: TableWindow) -> RowPath? {
        guard case .around(let anchor?, _, _) = window.run else { return nil }
        if let path = path(of: anchor.id, in: anchor.section) { return path }
        guard window.section == nil else { return nil }
        let sections = sections(with: anchor.id)
        return sections.count == 1 ? path(of: anchor.id, in: sections[0]) : nil
    }

    /// The sections that display a row with the id. O(sections · log² rows), or O(rows) without the stored table.
    public func sections(with id: RowID) -> [SectionID] {
        places(thatMayShow: id).filter { index(of: id, in: snapshot.sections[$0]) != nil }
            .map { snapshot.sections[$0].id }
    }

    /// Rows to look at one by one; 0 where the stored table's index finds the id.
    package func examinedRows(for id: RowID, in section: SectionID?) -> Int {
        let places = section.map { [place(of: $0)].compactMap(\.self) } ?? places(thatMayShow: id)
        return places.reduce(0) { count, place in
            let section = snapshot.sections[place]
            let isExamined = stored.map { $0.binder.examinesRows(in: section) } ?? true
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

    /// `path` is the anchor's; without one, the first row becomes it, if it has an id. Shares unchanged lists with
    /// `old`, the window at an earlier revision.
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

    /// `index` must be in bounds. O(log sections).
    func path(at index: Int) -> RowPath {
        let section = starts.firstPosition { $0 > index } - 1
        return RowPath(section: section, row: index - starts[section])
    }

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
                // Setting the rows resets it, but a part's ids differ if all do.
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

    /// An empty section belongs to the run with the row after it or, at the table's end, with the last row.
    private func sectionIndexes(of run: Range<Int>, _ window: TableWindow) -> Range<Int> {
        if let id = window.section {
            guard let section = index(of: id, near: nil) else { return 0..<0 }
            return section..<section + 1
        }
        let count = snapshot.sections.count, total = starts[count]
        guard !run.isEmpty || total == 0 else { return 0..<0 }
        let first = starts.firstPosition { $0 >= run.lowerBound }
        let end = run.upperBound == total ? count : starts.firstPosition { $0 >= run.upperBound }
        return (starts[first] > run.lowerBound ? first - 1 : first)..<end
    }
}

extension PersistentList<Row> {
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
                    where !old[left.offset + step].isSame(as: new[right.offset + step]) { return step }
                    return count
                }
            }
        }
        return count == range.count
    }
}

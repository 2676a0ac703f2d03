// Where a row, or a section, that was displayed before an update is displayed after it.
extension BatchUpdate {
    /// The place after the update of the row that was at `path` before it; nil when it is gone. A place behind a
    /// section's last row is followed as if a row were there.
    ///
    /// `id`: the row's, where it is known. It finds a row again that an update took away and brought in one: out of a
    /// section that went, or within one that was reloaded. O(operations).
    public func following(_ path: IndexPath, id: RowID? = nil) -> IndexPath? {
        var path: IndexPath? = path
        for stage in stages { path = path.flatMap { stage.following($0) } ?? id.flatMap { stage.arrival(of: $0) } }
        return path
    }

    /// The displayed index after the update of the section that was at `index` before it; nil when it is gone.
    public func following(section index: Int) -> Int? {
        stages.reduce(index) { index, stage in index.flatMap { stage.following(section: $0) } }
    }
}

extension BatchUpdate.Stage {
    func following(section index: Int) -> Int? {
        if deleteSections.contains(index) { return nil }
        if let move = moveSections.first(where: { $0.from == index }) { return move.to }
        let left = deleteSections.count { $0 < index } + moveSections.count { $0.from < index }
        return Self.place(index - left, beside: insertSections.map(\.at) + moveSections.map(\.to))
    }

    func following(_ path: IndexPath) -> IndexPath? {
        if let move = moveRows.first(where: { $0.from == path }) { return move.to }
        if deleteRows.contains(path) || reloadSections.contains(where: { $0.at == path.section }) { return nil }
        guard let section = following(section: path.section) else { return nil }
        let left = deleteRows.count { $0.section == path.section && $0.row < path.row }
            + moveRows.count { $0.from.section == path.section && $0.from.row < path.row }
        let arrivals = insertRows.lazy.map(\.at).filter { $0.section == section }.map(\.row)
            + moveRows.lazy.map(\.to).filter { $0.section == section }.map(\.row)
        return IndexPath(section: section, row: Self.place(path.row - left, beside: Array(arrivals)))
    }

    /// Those that stay keep their order, and take the places that those who come leave free.
    private static func place(_ index: Int, beside arrivals: [Int]) -> Int {
        var place = index
        for arrival in arrivals.sorted() where arrival <= place { place += 1 }
        return place
    }

    /// Where a row with this id comes in, if one does.
    func arrival(of id: RowID) -> IndexPath? {
        var places = insertRows.filter { $0.row.id == id }.map(\.at)
        for (section, rows) in insertSections.map({ ($0.at, $0.section.rows) }) + reloadSections.map({ ($0.at, $0.section.rows) }) {
            if let row = rows.firstIndex(where: { $0.id == id }) { places.append(IndexPath(section: section, row: row)) }
        }
        return places.count == 1 ? places[0] : nil
    }
}

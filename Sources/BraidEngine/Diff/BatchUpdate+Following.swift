extension BatchUpdate {
    /// Returns the index path that a displayed row has after this update.
    ///
    /// - Parameter path: the row's index path before the update. If the table had no such row, the result is
    ///   meaningless.
    /// - Returns: the row's index path after the update. `nil` if the update deletes the row, or deletes or reloads its
    ///   section, and for a negative path.
    /// - Complexity: O(n log n) for n operations.
    public func following(_ path: RowPath) -> RowPath? {
        let path = stages.reduce(Optional(path)) { path, stage in path.flatMap { stage.following($0) } }
        return path.flatMap { $0.section >= 0 && $0.row >= 0 ? $0 : nil }
    }

    /// Where the row stood before this update that stands at `path` after it: `following` backwards. Nil if the update
    /// brought it. O(n log n).
    func preceding(_ path: RowPath) -> RowPath? {
        stages.reversed().reduce(path) { path, stage in path.flatMap { stage.preceding($0) } }
    }

    /// Returns the index that a displayed section has after this update.
    ///
    /// - Parameter index: the section's index before the update.
    /// - Returns: `nil` if the update deletes the section, even if it inserts a section with the same id.
    /// - Complexity: O(n log n) for n operations.
    public func followingSection(_ index: Int) -> Int? {
        var index: Int? = index
        for stage in stages { index = index.flatMap { stage.following(section: $0) } }
        return index.flatMap { $0 >= 0 ? $0 : nil }
    }

    /// Where the rows of this id that the update inserts, by themselves or with their section, are displayed after it.
    /// O(operations, and rows of inserted and reloaded sections).
    func arrivals(of id: RowID) -> [RowPath] {
        var paths: [RowPath] = []
        for stage in stages { paths = paths.compactMap { stage.following($0) } + stage.arrivals(of: id) }
        return paths
    }
}

extension BatchUpdate.Stage {
    /// `nil` if the stage deletes the row, or deletes or reloads its section.
    fileprivate func following(_ path: RowPath) -> RowPath? {
        guard path.row >= 0, path.row < RowPieces.endless, let section = following(section: path.section),
            !reloadSections.contains(where: { $0.at == path.section })
        else { return nil }
        if let move = moveRows.first(where: { $0.from == path }) { return move.to }
        if deleteRows.contains(path) { return nil }
        let leaving = (deleteRows + moveRows.map(\.from)).filter { $0.section == path.section }
        let arriving = (insertRows.map(\.at) + moveRows.map(\.to)).filter { $0.section == section }
        let row = Self.following(path.row, leaving: leaving.map(\.row), arriving: arriving.map(\.row))
        return RowPath(section: section, row: row)
    }

    /// Nil if the stage brings the row, or its section, or reloads that.
    fileprivate func preceding(_ path: RowPath) -> RowPath? {
        guard let section = preceding(section: path.section), !reloadSections.contains(where: { $0.at == section })
        else { return nil }
        if let move = moveRows.first(where: { $0.to == path }) { return move.from }
        if insertRows.contains(where: { $0.at == path }) { return nil }
        let arriving = (insertRows.map(\.at) + moveRows.map(\.to)).filter { $0.section == path.section }
        let leaving = (deleteRows + moveRows.map(\.from)).filter { $0.section == section }
        return RowPath(
            section: section, row: Self.following(path.row, leaving: arriving.map(\.row), arriving: leaving.map(\.row)))
    }

    /// Nil if the stage brings the section.
    private func preceding(section: Int) -> Int? {
        guard !insertSections.contains(where: { $0.at == section }) else { return nil }
        if let move = moveSections.first(where: { $0.to == section }) { return move.from }
        return Self.following(
            section, leaving: insertSections.map(\.at) + moveSections.map(\.to),
            arriving: deleteSections + moveSections.map(\.from))
    }

    /// Nil if the section goes.
    fileprivate func following(section: Int) -> Int? {
        guard section >= 0, section < RowPieces.endless, !deleteSections.contains(section) else { return nil }
        if let move = moveSections.first(where: { $0.from == section }) { return move.to }
        return Self.following(
            section, leaving: deleteSections + moveSections.map(\.from),
            arriving: insertSections.map(\.at) + moveSections.map(\.to))
    }

    /// Where what stays in a list comes to stand, by the indexes of those that leave and, after the stage, arrive.
    private static func following(_ index: Int, leaving: [Int], arriving: [Int]) -> Int {
        var place = index - Set(leaving).count { $0 >= 0 && $0 < index }
        for arrival in arriving.sorted() where arrival <= place { place += 1 }
        return place
    }

    /// Rows of an id that are inserted, or come with a section, by their places after the stage.
    fileprivate func arrivals(of id: RowID) -> [RowPath] {
        var paths = insertRows.filter { $0.row.content.has(id) }.map(\.at)
        for (at, section) in insertSections {
            paths += section.rows.indexes(of: id).map { RowPath(section: at, row: $0) }
        }
        for (at, section) in reloadSections {
            guard let place = following(section: at) else { continue }
            paths += section.rows.indexes(of: id).map { RowPath(section: place, row: $0) }
        }
        return paths
    }
}

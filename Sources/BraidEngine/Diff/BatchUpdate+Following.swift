extension BatchUpdate {
    /// Follows a displayed row through this update: through deletes, inserts and moves, and sections that come, go and
    /// move. `path` counts in the table before the update, the answer in the one after it; nil: the row is gone.
    ///
    /// With its `id`, a row that went, or whose section went or was reloaded, is found where it came again: in its own
    /// section if that was reloaded, or else wherever the update brings a row of that id, if it brings only one.
    /// Without, it is gone.
    ///
    /// Whether there was such a row is not known here: of a path that led nowhere the answer means nothing. A negative
    /// path is gone. O(n log n) for n operations, and rows of sections that came if the row has to be looked for.
    public func following(_ path: IndexPath, id: RowID? = nil) -> IndexPath? {
        var path = path, next = 0, hasComeAgain = false
        while next < stages.count {
            if let after = stages[next].following(path, id: id) {
                (path, next) = (after, next + 1)
            } else if !hasComeAgain, let id, let arrival = onlyArrival(of: id) {
                (path, next, hasComeAgain) = (arrival.path, arrival.stage + 1, true)
            } else {
                return nil
            }
        }
        return path.section >= 0 && path.row >= 0 ? path : nil
    }

    /// Where the row stood before this update that stands at `path` after it: `following` backwards. Nil if the update brought it. O(n log n).
    func preceding(_ path: IndexPath) -> IndexPath? {
        stages.reversed().reduce(path) { path, stage in path.flatMap { stage.preceding($0) } }
    }

    /// Follows a displayed section: nil if it goes, also if one with its id comes again in another place. O(n log n).
    public func followingSection(_ index: Int) -> Int? {
        var index: Int? = index
        for stage in stages { index = index.flatMap { stage.following(section: $0) } }
        return index.flatMap { $0 >= 0 ? $0 : nil }
    }

    /// Where the row of this id, which was not displayed before the update, is displayed after it; nil if it brings
    /// several, or none.
    public func arrival(of id: RowID) -> IndexPath? {
        guard let arrival = onlyArrival(of: id) else { return nil }
        return stages[(arrival.stage + 1)...].reduce(arrival.path) { path, stage in path.flatMap { stage.following($0, id: id) } }
    }

    /// Where the only row of an id that is brought along stands after the stage that brings it; nil if there are
    /// several, or none.
    private func onlyArrival(of id: RowID) -> (stage: Int, path: IndexPath)? {
        var found: (stage: Int, path: IndexPath)?
        for (number, stage) in stages.enumerated() {
            for path in stage.arrivals(of: id) {
                if found != nil { return nil }
                found = (number, path)
            }
        }
        return found
    }
}

extension BatchUpdate.Stage {
    /// Nil if the row goes, or its section does, or the section is reloaded and has not one row of that id.
    fileprivate func following(_ path: IndexPath, id: RowID?) -> IndexPath? {
        guard path.row >= 0, path.row < RowPieces.endless, let section = following(section: path.section) else { return nil }
        if let reloaded = reloadSections.first(where: { $0.at == path.section })?.section {
            let places = id.map { reloaded.rows.indexes(of: $0) } ?? []
            return places.count == 1 ? IndexPath(section: section, row: places[0]) : nil
        }
        if let move = moveRows.first(where: { $0.from == path }) { return move.to }
        if deleteRows.contains(path) { return nil }
        let leaving = (deleteRows + moveRows.map(\.from)).filter { $0.section == path.section }
        let arriving = (insertRows.map(\.at) + moveRows.map(\.to)).filter { $0.section == section }
        let row = Self.following(path.row, leaving: leaving.map(\.row), arriving: arriving.map(\.row))
        return IndexPath(section: section, row: row)
    }

    /// Nil if the stage brings the row, or its section, or reloads that.
    fileprivate func preceding(_ path: IndexPath) -> IndexPath? {
        guard let section = preceding(section: path.section), !reloadSections.contains(where: { $0.at == section }) else { return nil }
        if let move = moveRows.first(where: { $0.to == path }) { return move.from }
        if insertRows.contains(where: { $0.at == path }) { return nil }
        let arriving = (insertRows.map(\.at) + moveRows.map(\.to)).filter { $0.section == path.section }
        let leaving = (deleteRows + moveRows.map(\.from)).filter { $0.section == section }
        return IndexPath(section: section, row: Self.following(path.row, leaving: arriving.map(\.row), arriving: leaving.map(\.row)))
    }

    /// Nil if the stage brings the section.
    private func preceding(section: Int) -> Int? {
        guard !insertSections.contains(where: { $0.at == section }) else { return nil }
        if let move = moveSections.first(where: { $0.to == section }) { return move.from }
        return Self.following(
            section, leaving: insertSections.map(\.at) + moveSections.map(\.to), arriving: deleteSections + moveSections.map(\.from))
    }

    /// Nil if the section goes.
    fileprivate func following(section: Int) -> Int? {
        guard section >= 0, section < RowPieces.endless, !deleteSections.contains(section) else { return nil }
        if let move = moveSections.first(where: { $0.from == section }) { return move.to }
        return Self.following(
            section, leaving: deleteSections + moveSections.map(\.from), arriving: insertSections.map(\.at) + moveSections.map(\.to))
    }

    /// Where what stays in a list comes to stand, by the indexes of those that leave and, after the stage, arrive.
    private static func following(_ index: Int, leaving: [Int], arriving: [Int]) -> Int {
        var place = index - Set(leaving).count { $0 >= 0 && $0 < index }
        for arrival in arriving.sorted() where arrival <= place { place += 1 }
        return place
    }

    /// Rows of an id that are inserted, or come with a section, by their places after the stage.
    fileprivate func arrivals(of id: RowID) -> [IndexPath] {
        var paths = insertRows.filter { $0.row.content.has(id) }.map(\.at)
        for (at, section) in insertSections { paths += section.rows.indexes(of: id).map { IndexPath(section: at, row: $0) } }
        for (at, section) in reloadSections {
            guard let place = following(section: at) else { continue }
            paths += section.rows.indexes(of: id).map { IndexPath(section: place, row: $0) }
        }
        return paths
    }
}

// While stages are computed, adjacent sections that an update does not touch can count as one.
extension BatchUpdate.Stage {
    /// - Parameter counts: how many sections each folded one is, before the stage; on return, after it.
    func countingOut(_ counts: inout [Int]) -> BatchUpdate.Stage {
        let sizes = counts, before = Self.starts(counts)
        arrange(&counts)
        let after = Self.starts(counts)
        func counted(_ path: RowPath, _ starts: [Int]) -> RowPath {
            RowPath(section: starts[path.section], row: path.row)
        }

        var stage = self
        stage.deleteSections = deleteSections.map { before[$0] }
        stage.insertSections = insertSections.map { (after[$0.at], $0.section) }
        stage.moveSections = moveSections.flatMap { move in
            (0..<sizes[move.from]).map { (before[move.from] + $0, after[move.to] + $0) }
        }
        stage.reloadSections = reloadSections.map { (before[$0.at], $0.section) }
        for index in updateSections.indices { stage.updateSections[index].at = before[updateSections[index].at] }
        stage.deleteRows = deleteRows.map { counted($0, before) }
        stage.insertRows = insertRows.map { .init(at: counted($0.at, after), row: $0.row) }
        stage.moveRows = moveRows.map { .init(from: counted($0.from, before), to: counted($0.to, after), row: $0.row) }
        stage.reloadRows = reloadRows.map { .init(at: counted($0.at, before), row: $0.row) }
        stage.updateRows = updateRows.map { .init(at: counted($0.at, before), row: $0.row) }
        return stage
    }

    private func arrange(_ counts: inout [Int]) {
        guard !deleteSections.isEmpty || !insertSections.isEmpty || !moveSections.isEmpty else { return }
        let leaving = Set(deleteSections).union(moveSections.map(\.from))
        var arriving: [Int: Int] = [:]
        for (at, _) in insertSections { arriving[at] = 1 }
        for move in moveSections { arriving[move.to] = counts[move.from] }
        var staying = counts.indices.filter { !leaving.contains($0) }.map { counts[$0] }.makeIterator()
        counts = (0..<counts.count - leaving.count + arriving.count).compactMap { arriving[$0] ?? staying.next() }
    }

    private static func starts(_ counts: [Int]) -> [Int] {
        var end = 0
        return counts.map { count in
            defer { end += count }
            return end
        }
    }
}

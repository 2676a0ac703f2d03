extension BatchUpdate {
    /// The update that leads from one snapshot to another: sections first, by id, then rows by id, changes by equality.
    /// With `touched`, only those rows are looked at.
    ///
    /// Row deletes + inserts + moves are the fewest possible, and so are the stages. Rows of a section that goes go
    /// with it, and rows of one that comes come with it. Throws `duplicateRowID`. O(rows) and O(m log m) for the m rows
    /// that changed places; with `touched` O(sections + k log k) for k touched rows.
    public init(from old: Snapshot, to new: Snapshot, touched: TouchedRows? = nil) throws(Refusal) {
        self.init(from: old.revision, to: new.revision, totalRowCount: new.totalRowCount)
        if old.state != new.state { state = new.state }
        if old.empty != new.empty { empty = new.empty ?? .null }
        let places = try SnapshotDiff.places(of: old.sections)
        _ = try SnapshotDiff.places(of: new.sections)
        let pairs = new.sections.enumerated().compactMap { index, section in places[section.id].map { SectionPair(old: $0, new: index) } }
        let rows = try RowMatching(old.sections, new.sections, pairs: pairs, touched: touched)
        stages = SnapshotDiff(old: old.sections, new: new.sections, pairs: pairs, rows: rows).stages()
    }
}

/// What it is worth that sections stay where they are, the weightiest reason first.
private struct SectionWeight: AdditiveArithmetic, Comparable {
    /// Sections; sections in which rows move; in which they come and go; with other changes.
    var tiers: SIMD4<Int>

    static let zero = SectionWeight(tiers: .zero)
    static func + (left: SectionWeight, right: SectionWeight) -> SectionWeight { SectionWeight(tiers: left.tiers &+ right.tiers) }
    static func - (left: SectionWeight, right: SectionWeight) -> SectionWeight { SectionWeight(tiers: left.tiers &- right.tiers) }
    static func < (left: SectionWeight, right: SectionWeight) -> Bool {
        for tier in 0..<4 where left.tiers[tier] != right.tiers[tier] { return left.tiers[tier] < right.tiers[tier] }
        return false
    }
}

/// Lays the changes out in stages.
///
/// Three things must not share a stage: what moves a section and what touches its rows; what moves and what reloads;
/// an update of a section and its move. So there is one stage where that is possible, else structure and then content;
/// and where rows move in or out of a section that moves, the sections go first, in a stage of their own.
private struct SnapshotDiff {
    let old: [Section]
    let new: [Section]
    let pairs: [SectionPair]
    let rows: RowMatching

    static func places(of sections: [Section]) throws(Refusal) -> [SectionID: Int] {
        var places: [SectionID: Int] = [:]
        places.reserveCapacity(sections.count)
        for (index, section) in sections.enumerated() where places.updateValue(index, forKey: section.id) != nil {
            throw Refusal(.badRequest, "The section id \"\(section.id)\" stands twice in one snapshot.")
        }
        return places
    }

    /// Changes of content, each with where its row or section stands before and after.
    private struct Content {
        var reloadRows: [(from: IndexPath, to: IndexPath)] = []
        var updateRows: [(from: IndexPath, to: IndexPath)] = []
        var reloadSections: [SectionPair] = []
        var updateSections: [(pair: SectionPair, update: BatchUpdate.SectionUpdate)] = []

        var reloads: Bool { !reloadRows.isEmpty || !reloadSections.isEmpty }
        var isEmpty: Bool { !reloads && updateRows.isEmpty && updateSections.isEmpty }
    }

    func stages() -> [BatchUpdate.Stage] {
        var content = Content()
        for change in rows.changes {
            let before = old[change.from.section].rows[change.from.row], after = new[change.to.section].rows[change.to.row]
            if after.updatesManually || before.looksSame(as: after) { content.updateRows.append(change) } else { content.reloadRows.append(change) }
        }
        for move in rows.moves where movedRow(move) == .needsReload { content.reloadRows.append(move) }
        content.reloadSections = rows.reloads
        let reloaded = Set(rows.reloads.map(\.new))
        for pair in pairs where !reloaded.contains(pair.new) {
            if let update = sectionUpdate(pair) { content.updateSections.append((pair, update)) }
        }

        let moved = movedSections(content)
        let movedOld = Set(moved.map(\.old)), movedNew = Set(moved.map(\.new))
        let hasMoves = !moved.isEmpty || !rows.moves.isEmpty
        let movesTouchMoved = rows.moves.contains { movedOld.contains($0.from.section) || movedNew.contains($0.to.section) }
        let editsTouchMoved = rows.deletes.contains { movedOld.contains($0.section) } || rows.inserts.contains { movedNew.contains($0.section) }

        var structure = sectionStage(moved)
        if !hasMoves {
            addRows(to: &structure, deletes: rows.deletes, inserts: rows.inserts, moves: [])
            add(content, to: &structure, section: { $0.old }, row: { $0.from })
            return [structure].filter { !$0.isEmpty }
        }
        if !movesTouchMoved && !editsTouchMoved {
            addRows(to: &structure, deletes: rows.deletes, inserts: rows.inserts, moves: rows.moves)
            let canWait = content.reloads || content.updateRows.contains { movedOld.contains($0.from.section) }
                || content.updateSections.contains { movedOld.contains($0.pair.old) }
            if !canWait {
                add(content, to: &structure, section: { $0.old }, row: { $0.from })
                return [structure]
            }
            var second = BatchUpdate.Stage()
            add(content, to: &second, section: { $0.new }, row: { $0.to })
            return [structure, second]
        }

        // Sections that move and rows of theirs that do: the sections' stage comes first. In the stage after it, a
        // section that was in `old` is found where it is in `new`, with its old rows.
        let newIndex = Dictionary(uniqueKeysWithValues: pairs.map { ($0.old, $0.new) })
        func settled(_ path: IndexPath) -> IndexPath { IndexPath(section: newIndex[path.section] ?? path.section, row: path.row) }
        var second = BatchUpdate.Stage()
        if !movesTouchMoved {
            // Only deletes and inserts there: all other rows can go with the sections, and content with the rest.
            addRows(
                to: &structure, deletes: rows.deletes.filter { !movedOld.contains($0.section) },
                inserts: rows.inserts.filter { !movedNew.contains($0.section) }, moves: rows.moves)
            addRows(
                to: &second, deletes: rows.deletes.filter { movedOld.contains($0.section) }.map(settled),
                inserts: rows.inserts.filter { movedNew.contains($0.section) }, moves: [])
            add(content, to: &second, section: { $0.new }) { movedOld.contains($0.from.section) ? settled($0.from) : $0.to }
            return [structure, second]
        }
        addRows(
            to: &second, deletes: rows.deletes.map(settled), inserts: rows.inserts,
            moves: rows.moves.map { (settled($0.from), $0.to) })
        if !content.reloads {
            add(content, to: &second, section: { $0.new }) { settled($0.from) }
            return [structure, second]
        }
        var third = BatchUpdate.Stage()
        add(content, to: &third, section: { $0.new }, row: { $0.to })
        return [structure, second, third]
    }

    // MARK: Sections

    /// Sections that come, go and move.
    private func sectionStage(_ moved: [SectionPair]) -> BatchUpdate.Stage {
        var stage = BatchUpdate.Stage()
        let stayingOld = Set(pairs.map(\.old)), stayingNew = Set(pairs.map(\.new))
        stage.deleteSections = old.indices.filter { !stayingOld.contains($0) }
        stage.insertSections = new.indices.filter { !stayingNew.contains($0) }.map { ($0, new[$0]) }
        stage.moveSections = moved.map { ($0.old, $0.new) }
        return stage
    }

    /// The fewest sections that have to move. Of the choices there are, one that leaves sections in their place in
    /// which rows move, then such in which rows come and go, then such with other changes: that takes fewer stages.
    private func movedSections(_ content: Content) -> [SectionPair] {
        if IncreasingSubsequence.isIncreasing(pairs.map(\.old)) { return [] }
        var weights = [SectionWeight](repeating: SectionWeight(tiers: SIMD4(1, 0, 0, 0)), count: new.count)
        let newIndex = Dictionary(uniqueKeysWithValues: pairs.map { ($0.old, $0.new) })
        func mark(_ sections: Set<Int>, tier: Int) { for section in sections where section >= 0 { weights[section].tiers[tier] = 1 } }
        mark(Set(rows.moves.flatMap { [newIndex[$0.from.section] ?? -1, $0.to.section] }), tier: 1)
        mark(Set(rows.deletes.map { newIndex[$0.section] ?? -1 } + rows.inserts.map(\.section)), tier: 2)
        mark(Set(content.updateRows.map(\.to.section) + content.updateSections.map(\.pair.new)), tier: 3)
        let kept = IncreasingSubsequence.heaviest(pairs.map(\.old), weights: pairs.map { weights[$0.new] })
        let staying = Set(kept)
        return pairs.enumerated().filter { !staying.contains($0.offset) }.map(\.element)
    }

    private func sectionUpdate(_ pair: SectionPair) -> BatchUpdate.SectionUpdate? {
        let before = old[pair.old], after = new[pair.new]
        var update = BatchUpdate.SectionUpdate(at: 0)
        if before.header != after.header { update.header = after.header }
        if before.footer != after.footer { update.footer = after.footer }
        if before.movesTo != after.movesTo { update.movesTo = after.movesTo ?? .null }
        return update.header == nil && update.footer == nil && update.movesTo == nil ? nil : update
    }

    // MARK: Rows

    private enum MovedRow { case same, brings, needsReload }

    /// What a moved row's change asks for.
    private func movedRow(_ move: (from: IndexPath, to: IndexPath)) -> MovedRow {
        let before = old[move.from.section].rows[move.from.row], after = new[move.to.section].rows[move.to.row]
        if before.isSame(as: after) { return .same }
        return after.updatesManually || before.looksSame(as: after) ? .brings : .needsReload
    }

    /// `moves` and `deletes` in the index space before the stage; inserts and targets as in `new`.
    private func addRows(to stage: inout BatchUpdate.Stage, deletes: [IndexPath], inserts: [IndexPath], moves: [(from: IndexPath, to: IndexPath)]) {
        stage.deleteRows = deletes.sorted()
        stage.insertRows = inserts.sorted().map { ($0, new[$0.section].rows[$0.row]) }
        guard !moves.isEmpty else { return }
        // `rows.moves` has the same targets, with sources as in `old`.
        let brings = Set(rows.moves.filter { movedRow($0) == .brings }.map(\.to))
        stage.moveRows = moves.sorted { $0.to < $1.to }.map { move in
            (move.from, move.to, brings.contains(move.to) ? new[move.to.section].rows[move.to.row] : nil)
        }
    }

    /// `section` and `row` say where things stand before the stage.
    private func add(
        _ content: Content, to stage: inout BatchUpdate.Stage, section: (SectionPair) -> Int,
        row: ((from: IndexPath, to: IndexPath)) -> IndexPath
    ) {
        func placed(_ changes: [(from: IndexPath, to: IndexPath)]) -> [(at: IndexPath, row: Row)] {
            changes.map { (row($0), new[$0.to.section].rows[$0.to.row]) }.sorted { $0.0 < $1.0 }
        }
        stage.reloadRows = placed(content.reloadRows)
        stage.updateRows = placed(content.updateRows)
        stage.reloadSections = content.reloadSections.map { (section($0), new[$0.new]) }.sorted { $0.0 < $1.0 }
        stage.updateSections = content.updateSections.map { pair, update in
            var update = update
            update.at = section(pair)
            return update
        }.sorted { $0.at < $1.at }
    }
}

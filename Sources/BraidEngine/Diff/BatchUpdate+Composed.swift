extension BatchUpdate {
    /// This update and the next one as one: see `composing`.
    public func composed(with next: BatchUpdate) throws(UpdateFault) -> BatchUpdate { try .composing([self, next]) }

    /// Folds consecutive updates into one that leads from the first one's `from` to the last one's `to`, with as few
    /// row operations and stages as can be known without the table. It keeps the rules that `applied(to:)` checks.
    ///
    /// What comes and goes again vanishes; what moves several times moves once, or not at all when it is back in its
    /// place; content that changed several times changes once, to the last, with a visual reload if any of the changes
    /// had one. `state` and `empty` are the last that were set. If only one update has stages, they are left as they are.
    ///
    /// What is not known, as updates do not tell it, and how it shows:
    /// - A deleted row's id, unless an earlier one of the updates changed the row's content. If such a row is inserted
    ///   again it is the same row; any other stays a delete and an insert. So does a section.
    /// - What a row or a title was at the start: one that was changed and changed back stays changed.
    /// - What a row shows that was only ever moved. So it is moved into a section that came, after that, and out of a
    ///   section that goes, before that, where the diff of two snapshots leaves it to the section to bring its rows.
    /// - Such a row that moves into or out of a section that is reloaded: the section is deleted and inserted instead.
    ///   (Sections that are reloaded have rows without ids, which never move, or change between having ids and not.)
    ///
    /// Throws when there are no updates, when they do not follow one another, and where no table can be as they have
    /// it: an index below 0 or used twice, a row that becomes another. What depends on the table's size is not checked.
    /// O(n log n) for n operations and rows of sections that came, however large the table.
    public static func composing(_ updates: [BatchUpdate]) throws(UpdateFault) -> BatchUpdate {
        guard let first = updates.first, let last = updates.last else {
            throw UpdateFault(detail: "there are no updates to compose")
        }
        var result = BatchUpdate(from: first.from, to: first.from, totalRowCount: last.totalRowCount)
        for update in updates {
            guard update.from == result.to else {
                throw UpdateFault(detail: "no update to revision \(result.to) can be followed by one from \(update.from)")
            }
            result.to = update.to
            result.state = update.state ?? result.state
            result.empty = update.empty ?? result.empty
        }
        let changing = updates.filter { !$0.stages.isEmpty }
        if changing.count > 1 {
            var table = FoldedTable()
            for update in changing {
                for (number, stage) in update.stages.enumerated() {
                    do {
                        try table.apply(stage)
                    } catch {
                        throw UpdateFault(stage: number, detail: "of the update from revision \(update.from): \(error.detail)")
                    }
                }
            }
            result.stages = FoldedDifference(table).stages()
        } else {
            result.stages = changing.first?.stages ?? []
        }
        return result
    }
}

extension BatchUpdate {
    /// Returns one update that has the effect of this update followed by the next one. See ``composing(_:)`` for the
    /// rules.
    public func composed(with next: BatchUpdate) throws(InvalidUpdate) -> BatchUpdate { try .composing([self, next]) }

    /// Folds consecutive updates into one update, which leads from the first one's ``from`` to the last one's ``to``.
    ///
    /// The result contains as few row operations and stages as can be known without the table. The result obeys the
    /// rules that ``applied(to:)`` checks. Rows and sections that are inserted and deleted again disappear. Several
    /// moves of a row become one move, or no move if the row is back in its place. Several changes of content become
    /// one, with a visual reload if any of these changes had one. ``state`` and ``empty`` are the last ones that were
    /// set. If only one update has stages, those stages stay as they are.
    ///
    /// Updates do not contain the whole table, so the result differs from the diff of the first and last snapshots in
    /// these cases:
    /// - The id of a deleted row is unknown unless an earlier update changed the row's content. If the id is known and
    ///   a row with this id is inserted again, the diff's rules decide whether the row is the same. If the id is
    ///   unknown, the result contains a delete and an insert. If a section is deleted and inserted again, the result
    ///   always contains a delete and an insert.
    /// - The content that a row or title had at first is unknown. If the row or title was changed and then changed
    ///   back, the result still contains the change.
    /// - The content of a row that was only moved is unknown. A row with unknown content moves into an inserted section
    ///   after the insert, and out of a deleted section before the delete.
    /// - If a row with unknown content moves into or out of a reloaded section, the result deletes and inserts the
    ///   section instead.
    ///
    /// - Parameter updates: the updates, in order. Each update must begin at the revision at which the previous update
    ///   ends.
    /// - Throws: ``InvalidUpdate`` if there are no updates, if they are not consecutive, or if they contradict each other
    ///   whatever the table: a negative index, an index used twice, a row that becomes another row. An index beyond the
    ///   end of a list is detected only if the updates contain the whole list. If only one update has stages, the
    ///   stages are not checked.
    /// - Complexity: O(n log n) for n operations and rows of inserted and reloaded sections, however large the table.
    public static func composing(_ updates: [BatchUpdate]) throws(InvalidUpdate) -> BatchUpdate {
        guard let first = updates.first, let last = updates.last else {
            throw InvalidUpdate(detail: "there are no updates to compose")
        }
        var result = BatchUpdate(from: first.from, to: first.from, totalRowCount: last.totalRowCount)
        for update in updates {
            guard update.from == result.to else {
                throw InvalidUpdate(
                    detail: "no update to revision \(result.to) can be followed by one from \(update.from)")
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
                        throw InvalidUpdate(
                            stage: number, detail: "of the update from revision \(update.from): \(error.detail)")
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

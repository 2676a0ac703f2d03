// Finds, in a section that is not diffable, the rows that represent the same stored row before and after a command.
extension CommandInProgress {
    /// For a section that is not diffable, returns the rows that represent the same stored row before and after the
    /// command, and keep their order. The result is a list of ranges of displayed rows.
    ///
    /// Earlier unpublished changes count as changes of single rows, even if an earlier command replaced all rows. The
    /// section's update therefore depends only on the two tables and the command, and is the same after a restart and
    /// on every server.
    ///
    /// - Returns: the ranges, or `nil` if it is not known what happened to single rows. This is so, for example, if the
    ///   command replaced all models or the bindings, or if another change rendered the rows again.
    func stayingRows(in section: SectionID) -> [MatchedStretch]? {
        guard !isRebinding, !editor.refilledSections.contains(section),
            unpublished != nil || editor.editedSections.contains(section)
        else { return nil }
        switch binder.binding(of: section)?.cells.source {
        case .stored:
            guard let old = (unpublished?.published ?? beforeTable)[section], let new = editor.table[section] else {
                return nil
            }
            return MatchedStretch.matching(old.rows, new.rows)
        case .shown:
            guard let old = before.shownKeys[section], let new = shown.shownKeys[section] else { return nil }
            return MatchedStretch.matching(old, new)
        case .derived, .counted, nil: return nil
        }
    }
}

// The rows without ids that a command leaves unchanged.
extension CommandInProgress {
    /// Returns the displayed rows of a section without ids that represent the same stored row before and after the
    /// command, as ranges.
    ///
    /// Changes that were stored with `notify: false` count as changes of single rows. The update therefore depends only
    /// on the two tables and the command, and is the same after a restart and on every server.
    ///
    /// - Returns: `nil` if the command does not say what happened to single rows, because it replaced all models or
    ///   another change rendered the rows again.
    func stayingRows(in section: SectionID) -> [MatchedStretch]? {
        guard !editor.refilledSections.contains(section), unpublished != nil || editor.editedSections.contains(section)
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

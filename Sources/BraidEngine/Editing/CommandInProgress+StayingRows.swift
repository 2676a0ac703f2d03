// Which rows without ids are the same before and after the command.
extension CommandInProgress {
    /// The displayed rows of a section without ids that stay, as stretches: those that stand for the same stored row.
    ///
    /// `nil` where the command does not say what happened to single rows: it replaced all models, or another change
    /// made the rows look different. What was stored with `notify: false` counts as changes of single rows. So the
    /// update follows from the two tables and the command alone, and is the same after a restart and on every server.
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

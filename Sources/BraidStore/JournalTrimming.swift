/// Decides whether a commit trims its session's journal to the limit of revisions, and by how many records.
///
/// Only every *n*th commit trims, where *n* is a 64th of the limit, because a delete touches other database pages than
/// the commit itself. Between two commits that trim, the journal exceeds the limit by up to *n* − 1 revisions.
package struct JournalTrimming {
    package let isDue: Bool
    /// The number of oldest journal records that a trimming commit examines. The number is larger than needed, so that
    /// the journal also shrinks, over several commits, to a limit that was lowered.
    package let recordCount: Int

    /// Decides whether the commit that creates a revision also trims the session's journal.
    package init(with revision: Int, limit: Int) {
        let interval = max(1, limit / 64)
        isDue = revision > limit && revision % interval == 0
        recordCount = 4 * (isDue ? interval : 1)
    }
}

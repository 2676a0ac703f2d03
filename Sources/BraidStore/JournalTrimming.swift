/// Decides whether a commit trims its session's journal to the limit of revisions, and by how many records.
///
/// Only every *n*th commit trims, where *n* is a 64th of the limit, because deleted records are on other pages than
/// written ones. Between two commits that trim, the journal exceeds the limit by up to *n* − 1 revisions.
package struct JournalTrimming {
    package let isDue: Bool
    /// The number of oldest journal records to examine. The number is larger than needed, so that the journal also
    /// shrinks to a lowered limit after a while.
    package let recordCount: Int

    /// Decides whether the commit of a revision trims the journal.
    package init(with revision: Int, limit: Int) {
        let interval = max(1, limit / 64)
        isDue = revision > limit && revision % interval == 0
        recordCount = 4 * (isDue ? interval : 1)
    }
}

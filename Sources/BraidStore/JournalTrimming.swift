/// Decides whether a commit also trims its session's journal to the limit of revisions, and how many journal records
/// the trimming examines.
///
/// Only every *n*th commit trims, where *n* is a 64th of the limit (at least 1), because a delete touches other
/// database pages than the commit itself. Between two commits that trim, the journal normally exceeds the limit by up
/// to *n* − 1 revisions.
package struct JournalTrimming {
    package let isDue: Bool
    /// The number of oldest journal records that a trimming commit examines. The number is larger than one trimming
    /// needs. So if an operator has lowered the limit, the journal shrinks to the new limit over several commits.
    package let recordCount: Int

    /// Decides whether the commit that creates the given revision also trims the session's journal.
    package init(with revision: Int, limit: Int) {
        let interval = max(1, limit / 64)
        isDue = revision > limit && revision % interval == 0
        recordCount = 4 * (isDue ? interval : 1)
    }
}

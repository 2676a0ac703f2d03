/// Whether a commit cuts its session's journal to the limit of revisions, and by how much.
///
/// One commit in so many does it, a 64th of the limit: what is deleted stands in another page than what is written. So
/// many more revisions than the limit, less one, are there meanwhile.
package struct JournalTrimming {
    package let isDue: Bool
    /// How many of the oldest records to look at: enough to come down to lowered limits within a while, too.
    package let recordCount: Int

    /// `revision`: the one that is committed.
    package init(with revision: Int, limit: Int) {
        let interval = max(1, limit / 64)
        isDue = revision > limit && revision % interval == 0
        recordCount = 4 * (isDue ? interval : 1)
    }
}

/// The changes of a session's last revisions, without a gap. Subscribers that keep up receive these revisions' changes
/// without a read of the journal.
struct RecentChanges: Sendable {
    private var changes: [Change] = []
    private var bytes = 0
    private let limits: StreamLimits
    /// The last published revision, whether its change is kept or not.
    private(set) var last: Int

    init(last: Int, limits: StreamLimits) {
        self.last = last
        self.limits = limits
    }

    /// Adds the change of the revision after `last`. Drops the oldest changes over the limits, but never the newest
    /// change.
    mutating func append(_ change: Change) {
        last = change.revision
        changes.append(change)
        bytes += change.size
        var excess = 0
        while changes.count - excess > 1, changes.count - excess > limits.recentChanges || bytes > limits.recentBytes {
            bytes -= changes[excess].size
            excess += 1
        }
        changes.removeFirst(excess)
    }

    /// Notes a revision without keeping its change, for a session without followers.
    mutating func skip(to revision: Int) {
        forget()
        last = revision
    }

    mutating func forget() {
        changes = []
        bytes = 0
    }

    /// Returns the changes after a revision, or `nil` if some of these changes are not kept.
    ///
    /// A reader may be ahead of these changes for a moment: it can read a snapshot before the snapshot's revision is
    /// published.
    /// - Complexity: O(1).
    func after(_ revision: Int) -> ArraySlice<Change>? {
        guard revision < last else { return [] }
        let index = changes.count - (last - revision)
        return index >= 0 ? changes[index...] : nil
    }
}

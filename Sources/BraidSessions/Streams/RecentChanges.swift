/// The changes of a session's latest revisions that are in memory, without a gap between the revisions. Subscribers
/// that are not too slow receive these changes without a read of the journal.
struct RecentChanges: Sendable {
    private var changes: [Change] = []
    private var bytes = 0
    /// The session's last published revision, even if the change of this revision is not in memory.
    private(set) var last: Int

    init(last: Int) { self.last = last }

    /// Adds the change of the revision after `last`. Then removes the oldest changes until the limits are met, but
    /// never the newest change.
    mutating func append(_ change: Change, limits: StreamLimits) {
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

    /// Records that a revision was published, and removes all changes from memory. The session has neither followers
    /// nor recent readers of windows, so nobody needs the changes.
    mutating func skip(to revision: Int) {
        forget()
        last = revision
    }

    mutating func forget() {
        changes = []
        bytes = 0
    }

    /// Returns the session's changes after a revision. Returns `nil` if some of these changes are not in memory, but
    /// only in the journal.
    ///
    /// A reader can have a later revision than these changes for a moment, because the reader can get a snapshot before
    /// the snapshot's revision is published.
    /// - Complexity: O(1).
    func after(_ revision: Int) -> ArraySlice<Change>? {
        guard revision < last else { return [] }
        let index = changes.count - (last - revision)
        return index >= 0 ? changes[index...] : nil
    }
}

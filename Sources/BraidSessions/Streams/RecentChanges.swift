/// A session's last revisions, without a gap: what subscribers that keep up are told from.
struct RecentChanges: Sendable {
    private var changes: [Change] = []
    private var bytes = 0
    private let limits: StreamLimits
    /// The revision that was published last, whether it is kept or not.
    private(set) var last: Int

    init(last: Int, limits: StreamLimits) {
        self.last = last
        self.limits = limits
    }

    /// The change of the revision after `last`. Forgets the oldest over the limits, never the newest.
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

    /// A revision that nobody follows.
    mutating func skip(to revision: Int) {
        forget()
        last = revision
    }

    mutating func forget() {
        changes = []
        bytes = 0
    }

    /// The changes after a revision; nil where they are not all kept. O(1).
    ///
    /// A reader may be ahead, for a moment: a snapshot can be read before its revision is published.
    func after(_ revision: Int) -> ArraySlice<Change>? {
        guard revision < last else { return [] }
        let index = changes.count - (last - revision)
        return index >= 0 ? changes[index...] : nil
    }
}

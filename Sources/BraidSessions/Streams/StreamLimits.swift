import BraidRuntime

/// What following a session may cost.
package struct StreamLimits: Sendable {
    /// How often a stream gets a comment, so that nobody on the way takes it for dead.
    var commentInterval: Duration
    /// How long a reader is told to wait before it connects again.
    var retryTime: Duration
    /// What may wait for one subscriber; as many bytes again may be on their way into its socket.
    var queueBytes: Int
    /// What a session keeps of its last revisions while it is followed, for all its subscribers together.
    var recentChanges: Int
    var recentBytes: Int
    /// Revisions that are read from the journal at a time, and after how many bytes a page ends.
    var historyPage: Int
    var historyBytes: Int
    /// Histories that are longer are read one at a time.
    var longHistoryBytes: Int
    /// Memory for events that are larger than this, until they are sent: the same bytes once, however many streams they
    /// wait for.
    var largeBytes: Int
    package var buffers: Budget

    package init(
        commentInterval: Duration = .seconds(15), retryTime: Duration = .seconds(2), queueBytes: Int = 256 * 1024,
        recentChanges: Int = 1_024, recentBytes: Int = 1 << 20, historyPage: Int = 64,
        historyBytes: Int = 256 * 1024, longHistoryBytes: Int = 1 << 20, largeBytes: Int = 1 << 20,
        buffers: Budget = Budget(256 << 20)
    ) {
        self.commentInterval = commentInterval
        self.retryTime = retryTime
        self.queueBytes = queueBytes
        self.recentChanges = recentChanges
        self.recentBytes = recentBytes
        self.historyPage = historyPage
        self.historyBytes = historyBytes
        self.longHistoryBytes = longHistoryBytes
        self.largeBytes = largeBytes
        self.buffers = buffers
    }
}

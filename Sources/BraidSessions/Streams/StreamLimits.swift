import BraidRuntime

/// The limits of event streams and of reading history.
package struct StreamLimits: Sendable {
    /// The interval at which streams send comments. Comments keep proxies from closing an idle stream.
    var commentInterval: Duration
    /// The time that a stream's reader must wait before it reconnects.
    var retryTime: Duration
    /// The size of one subscriber's queue, in bytes. The subscriber's socket can hold as much again.
    var queueBytes: Int
    /// The most revisions that a followed session keeps in memory for its subscribers. `recentBytes` limits the size of
    /// these revisions.
    var recentChanges: Int
    var recentBytes: Int
    /// The most revisions in one page of the journal for a stream. `historyBytes` limits the size of a page.
    var historyPage: Int
    var historyBytes: Int
    /// The page size when a request reads history, in bytes. A history of more than one page needs a lease of memory
    /// from `buffers`.
    var longHistoryBytes: Int
    /// The size in bytes above which events need a lease of memory from `buffers` until they are sent. All streams that
    /// send the same events share one lease.
    var largeBytes: Int
    /// The quota of memory for large events and long histories.
    package var buffers: Quota

    package init(
        commentInterval: Duration = .seconds(15), retryTime: Duration = .seconds(2), queueBytes: Int = 256 * 1024,
        recentChanges: Int = 1_024, recentBytes: Int = 1 << 20, historyPage: Int = 64,
        historyBytes: Int = 256 * 1024, longHistoryBytes: Int = 1 << 20, largeBytes: Int = 1 << 20,
        buffers: Quota = Quota(256 << 20)
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

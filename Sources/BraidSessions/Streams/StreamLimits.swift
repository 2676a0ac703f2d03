import BraidRuntime

/// The limits of event streams, and of requests that read a session's history.
package struct StreamLimits: Sendable {
    /// The interval at which the server sends a comment on every event stream that is not catching up. Comments keep
    /// proxies from closing an idle stream.
    var commentInterval: Duration
    /// The time that an event stream's reader should wait before it reconnects.
    var retryTime: Duration
    /// The size of the queue of one event stream, in bytes. The connection's output queue can hold the same number of
    /// the stream's bytes in addition.
    var queueBytes: Int
    /// The most changes that a session keeps in memory for event streams, long polls and readers of windows, one for
    /// each revision. `recentBytes` limits the size of these changes.
    var recentChanges: Int
    var recentBytes: Int
    /// The most revisions that are read from the journal at once, for an event stream or to catch up with other
    /// servers. For an event stream, `historyBytes` limits their size.
    var historyPage: Int
    var historyBytes: Int
    /// The number of bytes that a request for history reads from the journal at once (a page). A history of more than
    /// one page needs a lease of memory from `buffers`.
    var longHistoryBytes: Int
    /// The size in bytes above which encoded events and answers need a lease of memory from `buffers` until they are
    /// sent. All event streams that send the same events share one lease.
    var largeBytes: Int
    /// The quota of memory for the large answers of all sessions, which include large events and long histories.
    package var buffers: Quota
    /// Each token has one piece of long work for windows, or for the compression of a large answer, under way.
    package let turns = Turns()

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

    /// Leases memory for an answer before the answer is built. Returns `nil` for a small answer, which needs no lease.
    /// The method never waits for memory.
    ///
    /// - Parameters:
    ///   - bytes: the approximate size of the answer, in bytes.
    ///   - copies: how many times the answer is in memory while it is built.
    /// - Throws: `unavailable` or `quotaExceeded` if there is no memory for the answer.
    package func lease(
        _ bytes: Int, copies: Int = 1, for account: Quota.Account
    ) throws(SessionError) -> Quota.Lease? {
        guard bytes > largeBytes else { return nil }
        do {
            return try buffers.lease(copies * bytes, to: account)
        } catch {
            throw SessionError(noRoomForAnswer: error)
        }
    }
}

import BraidRuntime

/// The limits of event streams, and of requests that read a session's history.
package struct StreamLimits: Sendable {
    var commentInterval: Duration
    /// The time that a stream's reader should wait before it reconnects.
    var retryTime: Duration
    /// The queue of one stream. The connection's output queue can hold as much again.
    var queueBytes: Int
    /// The most changes that a session keeps in memory, in number and in bytes.
    var recentChanges: Int
    var recentBytes: Int
    /// The most journal records that are read at once for a stream, or to catch up with other servers; for a stream,
    /// also in bytes.
    var historyPage: Int
    var historyBytes: Int
    /// What a request for history reads from the journal at once (a page). More than one page needs a lease.
    var longHistoryBytes: Int
    /// The size above which encoded events and answers need a lease of memory until they are sent.
    var largeBytes: Int
    /// The memory for large answers, large events and long histories of all sessions.
    package var buffers: Quota
    /// Each token has one long piece of work for windows, or for compressing a large answer, under way.
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

    /// Leases memory for what is about to be encoded, of which `copies` are in memory at the same time. Never waits.
    /// Returns `nil` if it is small.
    ///
    /// - Throws: `unavailable` or `quotaExceeded` if there is no memory.
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

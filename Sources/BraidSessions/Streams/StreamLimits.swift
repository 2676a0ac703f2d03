import BraidRuntime

/// Tests set them; a server only `buffers` and `views`.
package struct StreamLimits: Sendable {
    /// Proxies close idle streams.
    var commentInterval: Duration
    /// Before a reader reconnects.
    let retryTime = Duration.seconds(2)
    /// For readers that are slow for a moment. The connection's own queue holds as much again.
    var queueBytes: Int
    /// Per session, for those who are behind: streams, long polls, readers of windows.
    var recentChanges: Int
    var recentBytes: Int
    /// Records read at once, by a stream that catches up or for those of another server.
    let historyPage = 64
    let historyBytes = 256 * 1024
    /// Larger events and answers need a lease from `buffers` until they are sent.
    var largeBytes: Int
    /// For all sessions' large answers, large events and long histories.
    package var buffers: Quota
    /// For people's own tables, while they are in memory.
    let views: Quota
    /// Per token, one piece of long work for windows or one compression of a large answer at a time.
    package let turns = Turns()

    package init(
        commentInterval: Duration = .seconds(15), queueBytes: Int = 256 * 1024, recentChanges: Int = 1_024,
        recentBytes: Int = Memory.largeBytes, largeBytes: Int = Memory.largeBytes, buffers: Quota = Quota(256 << 20),
        views: Quota = Quota(1 << 30)
    ) {
        self.commentInterval = commentInterval
        self.queueBytes = queueBytes
        self.recentChanges = recentChanges
        self.recentBytes = recentBytes
        self.largeBytes = largeBytes
        self.buffers = buffers
        self.views = views
    }

    /// `copies` are in memory while the answer is built. `nil` for a small one. Does not wait: throws `unavailable` or
    /// `quotaExceeded`.
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

import BraidRuntime

/// The limits of event streams, and of requests that read a session's history. Tests set them; a server sets only
/// `buffers`.
package struct StreamLimits: Sendable {
    /// A comment on every stream that is not catching up keeps proxies from closing it while it is idle.
    var commentInterval: Duration
    /// How long a stream's reader should wait before it reconnects.
    let retryTime = Duration.seconds(2)
    /// The queue of one stream, for readers that are slow for a moment. The connection's own queue can hold as much again.
    var queueBytes: Int
    /// The changes that a session keeps in memory for streams, long polls and readers of windows that are behind.
    var recentChanges: Int
    var recentBytes: Int
    /// What a stream that catches up, or another server, reads from the journal at once.
    let historyPage = 64
    let historyBytes = 256 * 1024
    /// Encoded events and answers above this size need a lease from `buffers` until they are sent.
    var largeBytes: Int
    /// The memory for the large answers of all sessions, large events and long histories included.
    package var buffers: Quota
    /// Each token does one piece of long work for windows, or compresses one large answer, at a time.
    package let turns = Turns()

    package init(
        commentInterval: Duration = .seconds(15), queueBytes: Int = 256 * 1024, recentChanges: Int = 1_024,
        recentBytes: Int = Memory.largeBytes, largeBytes: Int = Memory.largeBytes, buffers: Quota = Quota(256 << 20)
    ) {
        self.commentInterval = commentInterval
        self.queueBytes = queueBytes
        self.recentChanges = recentChanges
        self.recentBytes = recentBytes
        self.largeBytes = largeBytes
        self.buffers = buffers
    }

    /// Leases memory for an answer before it is built, without waiting. Returns `nil` for a small answer.
    ///
    /// - Parameter copies: how many times the answer is in memory while it is built.
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

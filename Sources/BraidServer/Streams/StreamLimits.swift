import BraidRuntime

/// What following a session may cost.
struct StreamLimits: Sendable {
    /// How often a stream gets a comment, so that nobody on the way takes it for dead.
    var commentInterval = Duration.seconds(15)
    /// How long a reader is told to wait before it connects again.
    var retryTime = Duration.seconds(2)
    /// What may wait for one subscriber; as many bytes again may be on their way into its socket.
    var queueBytes = 256 * 1024
    /// What a session keeps of its last revisions while it is followed, for all its subscribers together.
    var recentChanges = 1_024
    var recentBytes = 1 << 20
    /// Revisions that are read from the journal at a time, and after how many bytes a page ends.
    var historyPage = 64
    var historyBytes = 256 * 1024
    /// Histories that are longer are read one at a time.
    var longHistoryBytes = 1 << 20
    /// Memory for events that are larger than this, until they are sent: the same bytes once, however many streams they wait for.
    var largeBytes = 1 << 20
    var buffers = Budget(256 << 20)
}

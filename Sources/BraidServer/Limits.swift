import BraidEngine

/// How much of everything there may be. What each of them is answered with: docs/http-api.md, "Limits".
struct Limits: Sendable {
    /// Of one request's body, or of one line of a streamed one.
    var bodyBytes = 16 << 20
    /// Of the JSON that comes in.
    var jsonDepth = 128
    var sessions = 100_000
    /// Streams of events and long polls that wait, of all sessions together.
    var subscribers = 9_000
    /// Requests that are being worked on at the same time, beside the subscribers.
    var requests = 2_048
    var table: TableLimits = {
        var table = TableLimits()
        table.rows = 1_000_000
        table.sections = 10_000
        table.renderedBytes = 256 << 20
        return table
    }()
}

extension Budget {
    /// Throws `unavailable`.
    func required(_ what: String, retryAfter seconds: Int = 1) throws -> Share {
        guard let share = share() else {
            throw ProblemError(unavailable: "The server has as many \(what) as it takes; try again.", retryAfter: seconds)
        }
        return share
    }
}

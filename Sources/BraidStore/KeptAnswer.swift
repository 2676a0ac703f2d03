import BraidEngine

/// A stored answer, which is returned again if the client repeats a request with the same `Idempotency-Key`.
///
/// Source: draft-ietf-httpapi-idempotency-key-header.
public struct KeptAnswer: Sendable, Equatable {
    /// The number of the session that received the request, or 0 for a request that opens a session. Each session has
    /// its own idempotency keys.
    public var session: Int
    /// The id of the token that made the request, or empty for a controller. Each requester has its own idempotency
    /// keys.
    public var requester: String
    /// The value of the request's `Idempotency-Key`.
    public var key: String
    /// The time of the answer, in milliseconds since 1970. Answers are kept for a day.
    public var at: Int
    /// A hash of the request that the answer belongs to. A request with the same key and another hash is the client's
    /// mistake.
    public var request: Int
    /// The answer.
    public var answer: JSONText

    /// The time that answers are kept, in milliseconds.
    public static let lifetime = 24 * 60 * 60 * 1000

    /// The largest total cost of one requester's answers in one session, in bytes. If the cost is larger, the oldest
    /// answers of the requester are deleted.
    public static let quota = 16 << 20
    /// The most answers that are deleted when an answer is stored, so that no commit waits for a long delete.
    package static let mostEvicted = 64

    /// The answer's size in bytes, at least 1 KiB. The quota for answers therefore also allows at most 16,384 of them.
    package var cost: Int { max(1 << 10, answer.count + key.utf8.count) }

    /// Creates an answer.
    public init(session: Int, requester: String, key: String, at: Int, request: Int, answer: JSONText) {
        self.session = session
        self.requester = requester
        self.key = key
        self.at = at
        self.request = request
        self.answer = answer
    }
}

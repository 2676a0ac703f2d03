import BraidEngine

/// The stored answer to a request. The server returns it again if the client repeats a request with the same
/// `Idempotency-Key`.
///
/// Source: draft-ietf-httpapi-idempotency-key-header.
public struct KeptAnswer: Sendable, Equatable {
    /// The number of the session that received the request, or 0 for a request that opens a session. The same key in
    /// another session belongs to another request.
    public var session: Int
    /// The id of the token that made the request, or empty for a controller. The same key from another token belongs to
    /// another request.
    public var requester: String
    /// The value of the `Idempotency-Key` field of the answered request.
    public var key: String
    /// The time of the answer by the store's ``AnswerClock``, in milliseconds. Answers are kept for a day.
    public var at: Int
    /// A hash of the request to which this answer belongs. If a client sends the same key with a request that has
    /// another hash, that is the client's mistake.
    public var request: Int
    /// The answer.
    public var answer: JSONText

    /// The time for which the store keeps the answer to a request, in milliseconds.
    public static let lifetime = 24 * 60 * 60 * 1000

    /// The largest total cost of one requester's stored answers in one session, in bytes. If their cost is larger, the
    /// oldest answers of the requester are deleted.
    public static let quota = 16 << 20
    /// The most old answers that are deleted when a new answer is stored, so that no commit waits for a long delete.
    package static let mostEvicted = 64

    /// The stored answer's size in bytes, but at least 1 KiB. So the quota of 16 MiB also limits the number of one
    /// requester's answers, to 16,384.
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

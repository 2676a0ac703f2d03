import BraidEngine

/// The stored answer to a request with the header `Idempotency-Key`. If the client repeats the request with the same
/// key, the server normally returns this answer again.
///
/// Source: draft-ietf-httpapi-idempotency-key-header.
public struct KeptAnswer: Sendable, Equatable {
    /// The number of the session that received the request, or 0 for a request that opens a session. If the same
    /// idempotency key occurs in another session, it belongs to another request.
    public var session: Int
    /// The id of the token with which the request was made, or empty for a controller. If the same idempotency key
    /// comes with another token, it belongs to another request.
    public var requester: String
    /// The value of the `Idempotency-Key` field of the answered request, without quotes.
    public var key: String
    /// The time of the answer by the store's ``AnswerClock``, in milliseconds. The answer expires after a day.
    public var at: Int
    /// A hash of the request to which this answer belongs. A client that sends the same idempotency key with a request
    /// that has another hash has made a mistake.
    public var request: Int
    /// The answer.
    public var answer: JSONText

    /// The time after which an answer expires, in milliseconds. The store can delete an answer earlier, because of
    /// ``quota`` or because the session has ended.
    public static let lifetime = 24 * 60 * 60 * 1000

    /// The largest total cost of one requester's stored answers in one session, in bytes. If the total cost is larger,
    /// the store deletes the requester's oldest answers there.
    public static let quota = 16 << 20
    /// The most old answers that the store deletes when it stores a new one, so that no commit waits for a long delete.
    package static let mostEvicted = 64

    /// An SQL condition: the costs of a stored answer are in their range.
    package static let hasSoundCost =
        "\(StoredNumber.bytes.condition("cost_before")) AND \(StoredNumber.bytes.condition("cost"))"

    /// The cost of this answer for the requester's quota: the size of the answer and its key in bytes, but at least 1
    /// KiB. So the quota of 16 MiB also limits the number of one requester's answers in a session, to 16,384.
    package var cost: Int { max(1 << 10, answer.count + key.utf8.count) }

    /// Creates an answer to be stored.
    public init(session: Int, requester: String, key: String, at: Int, request: Int, answer: JSONText) {
        self.session = session
        self.requester = requester
        self.key = key
        self.at = at
        self.request = request
        self.answer = answer
    }
}

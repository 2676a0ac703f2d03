import BraidEngine

/// An answer that is given again when the client asks the same again with the same Idempotency-Key.
/// Source: draft-ietf-httpapi-idempotency-key-header.
public struct KeptAnswer: Sendable, Equatable {
    /// The session that was asked; 0 for the opening of one. Each session has its own keys.
    public var session: Int
    /// The id of the token that asked; empty for a controller. Each requester has its own keys.
    public var requester: String
    public var key: String
    /// Milliseconds since 1970. Kept for a day.
    public var at: Int
    /// A hash of what was asked: the same key with another one is a mistake of the client.
    public var request: Int
    public var answer: JSONText

    /// How long answers are kept, in milliseconds.
    public static let lifetime = 24 * 60 * 60 * 1000

    /// How much the answers of one requester to one session may cost together. Once they cost more, the oldest are
    /// deleted.
    public static let quota = 16 << 20
    /// The most answers that are deleted when one is stored, so that no commit waits for a long delete.
    package static let mostEvicted = 64

    /// Its bytes, but 1 KiB at least: so the quota is also one of 16,384 answers.
    package var cost: Int { max(1 << 10, answer.count + key.utf8.count) }

    public init(session: Int, requester: String, key: String, at: Int, request: Int, answer: JSONText) {
        self.session = session
        self.requester = requester
        self.key = key
        self.at = at
        self.request = request
        self.answer = answer
    }
}

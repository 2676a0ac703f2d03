import BraidEngine

/// An answer that is given again when the client asks the same again with the same Idempotency-Key.
/// Source: draft-ietf-httpapi-idempotency-key-header.
public struct KeptAnswer: Sendable, Equatable {
    /// The session that was asked; 0 for the opening of one. Keys of different sessions have nothing to do with each other.
    public var session: Int
    public var key: String
    /// Milliseconds since 1970. Kept for a day.
    public var at: Int
    /// A hash of what was asked: the same key with another one is a mistake of the client.
    public var request: Int
    public var answer: JSONText

    /// How long answers are kept, in milliseconds.
    public static let lifetime = 24 * 60 * 60 * 1000

    public init(session: Int, key: String, at: Int, request: Int, answer: JSONText) {
        self.session = session
        self.key = key
        self.at = at
        self.request = request
        self.answer = answer
    }
}

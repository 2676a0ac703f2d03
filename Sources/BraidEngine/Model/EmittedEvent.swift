/// Emitted by a handler's action `emit`. Does not change the table.
public struct EmittedEvent: Sendable {
    /// The event's name.
    public var name: String
    /// `nil` if the action has none, or its template gave nothing.
    public var payload: JSONText?

    /// `{"name", "payload"?, "by"?}`.
    func json(by author: JSONText?) -> JSONText {
        .object(capacity: 64 + (payload?.count ?? 0) + (author?.count ?? 0)) {
            $0.member("name", name)
            $0.member("payload", payload)
            $0.member("by", author)
        }
    }
}

/// An event that a handler emitted with the action `emit`. It does not change the table.
public struct EmittedEvent: Sendable {
    /// The event's name.
    public var name: String
    /// `nil` if the action has none, or its template gave no value.
    public var payload: JSONText?

    /// The event as JSON: `{"name", "payload"?}`.
    public var json: JSONText {
        .object(capacity: 64 + (payload?.count ?? 0)) {
            $0.member("name", name)
            $0.member("payload", payload)
        }
    }
}

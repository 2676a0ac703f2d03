/// An event that a handler of a table description emitted with the action `emit`. The event does not change the table.
public struct EmittedEvent: Sendable {
    /// The event's name, which a template of the table description gave.
    public var name: String
    /// The event's payload. `nil` if the action has no payload, or if its template gave no value.
    public var payload: JSONText?

    /// The event as JSON: `{"name", "payload"?}`.
    public var json: JSONText {
        .object(capacity: 64 + (payload?.count ?? 0)) {
            $0.member("name", name)
            $0.member("payload", payload)
        }
    }
}

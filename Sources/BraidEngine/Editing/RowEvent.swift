/// A tap on a row or an event of a row's cell, as the controllers of the session receive it.
public struct RowEvent: Sendable {
    /// Whether the row was tapped, or its cell sent an event.
    public enum Kind: Sendable {
        /// The row was tapped.
        case tap
        /// The row's cell sent an event, with the name that the cell declares and with the event's parameters.
        case cellEvent(name: String, parameters: JSONText)
    }

    /// The row's index path in the stored table's snapshot before the event's handler ran.
    public var at: RowPath
    /// The displayed row as it was before the event's handler ran.
    public var row: Row
    /// Whether the row was tapped, or its cell sent an event.
    public var kind: Kind

    /// The event as JSON: `{"at", "id"?, "cell", "event"?, "model"?}`. A tap has no `event`. As in the snapshot,
    /// members that the row does not have are absent.
    public var json: JSONText {
        .object(capacity: 64 + row.json.count) {
            $0.member("at", at)
            $0.member("id", row.id)
            $0.member("cell", row.json["cell"])
            if case .cellEvent(let name, let parameters) = kind {
                $0.object("event") { $0.member(name, parameters) }
            }
            $0.member("model", row.model)
        }
    }
}

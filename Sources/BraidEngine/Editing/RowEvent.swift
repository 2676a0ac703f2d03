/// A tap or a cell's event, for the session's controllers.
public struct RowEvent: Sendable {
    /// What happened to the row.
    public enum Kind: Sendable {
        /// The row was tapped; runs `onTap`.
        case tap
        /// Its cell emitted an event that it declares.
        case cellEvent(name: String, parameters: JSONText)
    }

    /// In the stored table's snapshot, before the handler ran. `nil` if only the sender's own table shows the row.
    public var at: RowPath?
    /// As the sender saw it, before the handler ran.
    public var row: Row
    /// A tap, or the event with its parameters.
    public var kind: Kind

    /// `{"at"?, "id"?, "cell", "event"?, "model"?, "by"?}`; a tap has no `event`.
    func json(by author: JSONText?) -> JSONText {
        .object(capacity: 64 + row.json.count + (author?.count ?? 0)) {
            $0.member("at", at)
            $0.member("id", row.id)
            $0.member("cell", row.json["cell"])
            if case .cellEvent(let name, let parameters) = kind {
                $0.object("event") { $0.member(name, parameters) }
            }
            $0.member("model", row.model)
            $0.member("by", author)
        }
    }
}

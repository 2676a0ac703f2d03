/// What the session's controllers receive.
public enum ControllerEvent: Sendable {
    /// A tap, or a cell's event.
    case row(RowEvent)
    /// What a handler's step `emit` sends.
    case emitted(EmittedEvent)

    /// Only emitted events have `name`, only cell events `event`.
    public var json: JSONText {
        switch self {
        case .row(let event): event.json
        case .emitted(let event): event.json
        }
    }
}

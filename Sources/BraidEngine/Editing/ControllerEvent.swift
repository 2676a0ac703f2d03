/// For the session's controllers.
public enum ControllerEvent: Sendable {
    /// A tap, or a cell's event.
    case row(RowEvent)
    /// By a handler.
    case emitted(EmittedEvent)

    /// Only emitted events have `name`, only cell events `event`.
    public var json: JSONText {
        switch self {
        case .row(let event): event.json
        case .emitted(let event): event.json
        }
    }
}

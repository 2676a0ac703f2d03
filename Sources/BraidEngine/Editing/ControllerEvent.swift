/// What happened in a command, for the session's controllers: a tap, a cell event, or an event that a handler emitted.
public enum ControllerEvent: Sendable {
    /// A row was tapped, or the cell of a row sent an event.
    case row(RowEvent)
    /// A handler emitted an event.
    case emitted(EmittedEvent)

    /// Only an emitted event has `name`, and only a cell event `event`.
    public var json: JSONText {
        switch self {
        case .row(let event): event.json
        case .emitted(let event): event.json
        }
    }
}

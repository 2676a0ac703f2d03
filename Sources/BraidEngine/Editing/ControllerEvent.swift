/// What happened in a command, for the session's controllers: a tap, a cell event, or an event that a handler emitted.
public enum ControllerEvent: Sendable {
    /// A row was tapped, or the cell of a row sent an event.
    case row(RowEvent)
    /// A handler emitted an event.
    case emitted(EmittedEvent)

    /// The event as JSON. Only an emitted event has the member `name`, and only a cell event has the member `event`.
    public var json: JSONText {
        switch self {
        case .row(let event): event.json
        case .emitted(let event): event.json
        }
    }
}

/// An event that happened in a command and that the session's controllers receive. The event is a tap, a cell event, or
/// an event that a handler of the table description emitted.
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

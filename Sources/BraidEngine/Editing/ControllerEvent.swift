/// What the session's controllers receive.
public enum ControllerEvent: Sendable {
    /// A tap, or a cell's event.
    case row(RowEvent)
    /// What a handler's step `emit` sends.
    case emitted(EmittedEvent)

    /// Only emitted events have `name`, only cell events `event`. `user` sent the command.
    public func json(by user: User = .controller) -> JSONText {
        switch self {
        case .row(let event): event.json(by: user.author)
        case .emitted(let event): event.json(by: user.author)
        }
    }
}

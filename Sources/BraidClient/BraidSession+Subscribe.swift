/// What a subscriber of a session receives.
public enum SessionEvent: Sendable {
    /// Replaces the displayed content, without animation. It comes first unless the subscriber passed its own, and in
    /// place of updates that the server no longer has.
    case snapshot(Snapshot)
    /// Leads from the snapshot `before` to the snapshot `after`.
    case update(Update, before: Snapshot, after: Snapshot)
    /// For controllers, before the update that it caused. It comes again if the connection was lost between the two.
    case cellEvent(CellEvent)
    /// For controllers, before the update that it caused. It comes again if the connection was lost between the two.
    case tap(Tap)
    /// For controllers: an event of a handler in the description, before the update of its command. It comes again if
    /// the connection was lost between the two.
    case emitted(EmittedEvent)
    /// The snapshot is up to date: events now come as they happen. Again after each reconnection and each move of the
    /// window.
    case live
    /// The client connects again: the connection was lost or not possible, the server refused it for now, or an update
    /// did not fit.
    case interrupted(any Error)
}

/// A tap on a row.
public struct Tap: Decodable, Sendable, Hashable {
    /// Before the tap was handled.
    public var at: RowPath
    /// `nil` if the row has none.
    public var id: String?
    /// The cell's reuse identifier.
    public var cell: String
    /// Before the tap was handled. `nil` if the row has no model, or `null`.
    public var model: JSON?
}

/// An event that a row's cell emitted.
public struct CellEvent: Decodable, Sendable, Hashable {
    /// Before the event was handled.
    public var at: RowPath
    /// `nil` if the row has none.
    public var id: String?
    /// The cell's reuse identifier.
    public var cell: String
    /// An object with one member: the event's name and its parameters.
    public var event: JSON
    /// Before the event was handled. `nil` if the row has no model, or `null`.
    public var model: JSON?
}

/// An event that a handler of the table description emitted.
public struct EmittedEvent: Decodable, Sendable, Hashable {
    /// From the table description.
    public var name: String
    /// `nil` if there is none, or `null`.
    public var payload: JSON?
}

extension BraidSession {
    /// Follows the session. Even if connections are lost, each update comes once, or a snapshot in place of missed
    /// ones.
    ///
    /// The stream finishes when the session ends. Unread events wait in memory. To stop, leave the loop or cancel the
    /// task.
    ///
    /// - Parameter snapshot: what the program shows; `nil` to get a new one first.
    /// - Throws: ``Problem``, through the stream, if the server refuses for good: the session does not exist, or the
    ///   token is not valid and the provider has no other.
    public func subscribe(from snapshot: Snapshot? = nil) -> AsyncThrowingStream<SessionEvent, any Error> {
        AsyncThrowingStream { continuation in
            let task = Task {
                let follower = Follower(session: self, snapshot: snapshot)
                do {
                    try await follower.run { event, _ in continuation.yield(event) }
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    /// Follows a window, which can be moved meanwhile.
    ///
    /// - Parameters:
    ///   - snapshot: what the program shows of the window; `nil` to get a new one first.
    ///   - overscan: the rows that ``WindowSubscription/show(_:)`` asks for before and after the visible ones.
    public func subscribe(window: TableWindow, from snapshot: Snapshot? = nil, overscan: Int = 50)
        -> WindowSubscription
    {
        WindowSubscription(self, window, snapshot, overscan: overscan)
    }
}

/// An event that a subscriber of a session receives.
public enum SessionEvent: Sendable {
    /// A snapshot that replaces the displayed content, without animation. Unless the subscriber passed its own
    /// snapshot, a snapshot is the first event that the server sends. The server also sends a snapshot in place of
    /// updates that it cannot send, for example if the session's journal does not reach back far enough.
    case snapshot(Snapshot)
    /// An update of the displayed table, or of the followed window. Applying the update to the snapshot `before` gives
    /// the snapshot `after`.
    case update(Update, before: Snapshot, after: Snapshot)
    /// A cell event, which only controllers receive. The cell event comes before the update that the cell event caused.
    /// If the connection was lost between the two, the cell event comes again.
    case cellEvent(CellEvent)
    /// A tap on a row, which only controllers receive. The tap comes before the update that the tap caused. If the
    /// connection was lost between the two, the tap comes again.
    case tap(Tap)
    /// An event that a handler of the table description emitted, which only controllers receive. If the connection was
    /// lost between this event and the update that follows, the event comes again.
    case emitted(EmittedEvent)
    /// The subscriber's snapshot is now up to date. After this event, the subscriber receives events as they happen.
    /// This event comes again after each reconnection and after each move of the window.
    case live
    /// The client connects again. For example, the connection was lost or not possible, the server refused it for now,
    /// or an update did not fit the snapshot.
    case interrupted(any Error)
}

/// A tap on a row.
public struct Tap: Decodable, Sendable, Hashable {
    /// The row's index path in the displayed table, before the tap was handled.
    public var at: RowPath
    /// The row's id. `nil` if the row has no id.
    public var id: String?
    /// The name of the cell that shows the row: its reuse identifier.
    public var cell: String
    /// The row's model before the tap was handled. `nil` if the row has no model, or if its model is `null`.
    public var model: JSON?
}

/// An event that a row's cell emitted and that a client sent to the server in a command.
public struct CellEvent: Decodable, Sendable, Hashable {
    /// The row's index path in the displayed table, before the event was handled.
    public var at: RowPath
    /// The row's id. `nil` if the row has no id.
    public var id: String?
    /// The name of the cell that shows the row: its reuse identifier.
    public var cell: String
    /// A JSON object with one member: its name is the event's name, and its value is the event's parameters.
    public var event: JSON
    /// The row's model before the event was handled. `nil` if the row has no model, or if its model is `null`.
    public var model: JSON?
}

/// An event that a handler of the table description emitted.
public struct EmittedEvent: Decodable, Sendable, Hashable {
    /// The event's name, from the table description.
    public var name: String
    /// The event's payload. `nil` if the event has none, or if the payload is `null`.
    public var payload: JSON?
}

extension BraidSession {
    /// Returns a stream of the session's events, which starts from the given snapshot or from a new one. Even if
    /// connections are lost, the stream contains each update once, or a snapshot in place of missed updates.
    ///
    /// The stream finishes when the session ends. Unread events wait in memory. To stop following, leave the loop over
    /// the stream or cancel the task.
    ///
    /// - Parameter snapshot: the snapshot that the program shows. If it is `nil`, the server first sends a new
    ///   snapshot.
    /// - Throws: ``Problem``, through the stream, if the server refuses the subscription: for example, if the session
    ///   no longer exists, or if the token is not valid and the token provider has no other token.
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

    /// Returns a subscription of a window of the table. The window can be moved while the program follows it. See
    /// ``WindowSubscription``.
    ///
    /// - Parameters:
    ///   - window: the window to follow, in place of the whole table.
    ///   - snapshot: the snapshot of the same window that the program shows. If it is `nil`, the server first sends a
    ///     new snapshot.
    ///   - overscan: the number of rows that ``WindowSubscription/show(_:)`` requests before and after the visible
    ///     rows.
    public func subscribe(window: TableWindow, from snapshot: Snapshot? = nil, overscan: Int = 50)
        -> WindowSubscription
    {
        WindowSubscription(self, window, snapshot, overscan: overscan)
    }
}

/// An event that a subscriber of a session receives.
public enum SessionEvent: Sendable {
    /// A snapshot that replaces the displayed content, without animation. A snapshot is the first event unless the
    /// subscriber passed one. A snapshot also comes when the server's history does not reach back far enough.
    case snapshot(Snapshot)
    /// An update of the displayed table, or of the followed window. `after` is the snapshot `before` with the update
    /// applied.
    case update(Update, before: Snapshot, after: Snapshot)
    /// A cell event, which only controllers receive. The cell event precedes the update that it led to, and is repeated
    /// if the connection was lost between the cell event and the update.
    case cellEvent(CellEvent)
    /// A tap on a row, which only controllers receive. The tap precedes the update that it led to. Like a cell event, a
    /// tap can be repeated.
    case tap(Tap)
    /// An event that a handler of the table description emitted, which only controllers receive. Like a cell event, an
    /// emitted event can be repeated.
    case emitted(EmittedEvent)
    /// The subscriber has received everything that happened before it connected. From now on it receives events as they
    /// happen. Comes again after a reconnection, and after a move of the window.
    case live
    /// The connection was lost. The client reconnects.
    case interrupted(any Error)
}

/// A tap on a row.
public struct Tap: Decodable, Sendable, Hashable {
    /// The row's index path in the displayed table, before the tap was handled.
    public var at: RowPath
    /// The row's id. `nil` if the section's rows have no ids.
    public var id: String?
    /// The name of the cell that shows the row: its reuse identifier.
    public var cell: String
    /// The row's model before the tap was handled. `nil` if the row has no model.
    public var model: JSON?
}

/// An event that a row's cell emitted and that a client sent to the server in a command.
public struct CellEvent: Decodable, Sendable, Hashable {
    /// The row's index path in the displayed table, before the event was handled.
    public var at: RowPath
    /// The row's id. `nil` if the section's rows have no ids.
    public var id: String?
    /// The name of the cell that shows the row: its reuse identifier.
    public var cell: String
    /// A JSON object with one member: its name is the event's name, and its value is the event's parameters.
    public var event: JSON
    /// The row's model before the event was handled. `nil` if the row has no model.
    public var model: JSON?
}

/// An event that a handler of the table description emitted.
public struct EmittedEvent: Decodable, Sendable, Hashable {
    /// The event's name, from the table description.
    public var name: String
    /// The event's payload. `nil` if the event has none.
    public var payload: JSON?
}

extension BraidSession {
    /// Returns a stream of the session's events, which starts from the given snapshot or from a new one. Across lost
    /// connections, the stream misses no update and contains no update twice.
    ///
    /// The stream finishes when the session ends. Unread events wait in memory. To stop following, leave the loop over
    /// the stream or cancel the task.
    ///
    /// - Parameter snapshot: the snapshot that the program shows. If it is `nil`, the first event is a new snapshot.
    /// - Throws: ``Problem``, through the stream, if the session no longer exists, or if the server refuses the token
    ///   and the token provider has no other token.
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

    /// Returns a subscription of a window of the table, which can be moved while it is followed. See
    /// ``WindowSubscription``.
    ///
    /// - Parameters:
    ///   - window: the window to follow, in place of the whole table.
    ///   - snapshot: the snapshot of the same window that the program shows. If it is `nil`, the first event is a new
    ///     snapshot.
    ///   - overscan: how many rows before and after the visible ones ``WindowSubscription/show(_:)`` requests.
    public func subscribe(window: TableWindow, from snapshot: Snapshot? = nil, overscan: Int = 50)
        -> WindowSubscription
    {
        WindowSubscription(self, window, snapshot, overscan: overscan)
    }
}

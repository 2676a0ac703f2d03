/// What a subscriber receives.
public enum SessionEvent: Sendable {
    /// First, unless you passed your own, and when updates are no longer to be had. Show it without animation.
    case snapshot(Snapshot)
    /// Leads from `before` to `after`.
    case update(Update, before: Snapshot, after: Snapshot)
    /// For controllers, before its update; again if the connection is lost in between.
    case cellEvent(CellEvent)
    /// As ``cellEvent(_:)``.
    case tap(Tap)
    /// From a handler of the description; as ``cellEvent(_:)``.
    case emitted(EmittedEvent)
    /// Everybody present, after each change; only with `presence`.
    case presence([BraidSession.PresentClient])
    /// Up to date: events now come as they happen. Again after reconnections and moves of the window.
    case live
    /// Connecting again: no connection, refused for now, or an update that did not fit.
    case interrupted(any Error)
}

/// A tap on a row.
public struct Tap: Decodable, Sendable, Hashable {
    /// Before the tap.
    public var at: RowPath
    /// `nil` if the row has none.
    public var id: String?
    /// Its reuse identifier.
    public var cell: String
    /// Before the tap; `nil` if none or `null`.
    public var model: JSON?
    /// `nil` for a controller without a user.
    public var by: BraidSession.User?
}

/// An event of a row's cell.
public struct CellEvent: Decodable, Sendable, Hashable {
    /// Before the event.
    public var at: RowPath
    /// `nil` if the row has none.
    public var id: String?
    /// Its reuse identifier.
    public var cell: String
    /// `{name: parameters}`.
    public var event: JSON
    /// Before the event; `nil` if none or `null`.
    public var model: JSON?
    /// `nil` for a controller without a user.
    public var by: BraidSession.User?
}

/// An event that a handler of the description emitted.
public struct EmittedEvent: Decodable, Sendable, Hashable {
    /// Its name.
    public var name: String
    /// `nil` if none or `null`.
    public var payload: JSON?
    /// Who sent the command; `nil` for a controller without a user.
    public var by: BraidSession.User?
}

extension BraidSession {
    /// Follows the session across lost connections: each update once, or a snapshot instead of missed ones.
    ///
    /// ```swift
    /// for try await event in session.subscribe() {
    ///     switch event {
    ///     case .snapshot(let snapshot): show(snapshot)
    ///     case .update(let update, _, let after): animate(update, to: after)
    ///     default: break
    ///     }
    /// }
    /// ```
    /// Finishes when the session ends; leave the loop or cancel the task to stop. Unread events wait in memory. Pass
    /// the `snapshot` that you show already. With `presence`, it also tells who is present, and keeps this client
    /// present after ``setPresence(at:data:isolation:)``.
    ///
    /// - Throws: ``Problem`` in the loop if refused for good: no such session, or no valid token.
    public func subscribe(from snapshot: Snapshot? = nil, presence: Bool = false)
        -> AsyncThrowingStream<SessionEvent, any Error>
    {
        AsyncThrowingStream { continuation in
            let task = Task {
                let follower = Follower(session: self, snapshot: snapshot, withPresence: presence)
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

    /// Follows a window that can move. Pass the `snapshot` of it that you show already; `overscan` rows are loaded
    /// around the visible ones.
    public func subscribe(
        window: TableWindow, from snapshot: Snapshot? = nil, overscan: Int = 50, presence: Bool = false
    ) -> WindowSubscription {
        WindowSubscription(self, window, snapshot, overscan: overscan, withPresence: presence)
    }
}

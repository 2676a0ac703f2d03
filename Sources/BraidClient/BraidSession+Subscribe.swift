import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// An event that a subscriber of a session receives.
public enum SessionEvent: Sendable {
    /// A snapshot that replaces the displayed content, without animation. A snapshot is the first event unless the
    /// subscriber passed one. A snapshot also comes when the server's history does not reach back far enough.
    case snapshot(Snapshot)
    /// An update of the displayed table. `after` is the snapshot `before` with the update applied.
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
    /// happen.
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
                var follower = Follower(session: self, snapshot: snapshot)
                do {
                    try await follower.run { continuation.yield($0) }
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }
}

/// Reads a session's event stream, and reconnects after each lost connection.
private struct Follower {
    private let session: BraidSession
    private var snapshot: Snapshot?
    /// The position in the session's history after the last processed event. A new connection continues from this
    /// position.
    private var position: String?
    private var retryTime = Duration.seconds(1)
    private var hasEnded = false
    private var failures = 0

    init(session: BraidSession, snapshot: Snapshot?) {
        self.session = session
        self.snapshot = snapshot
        position = snapshot?.position.description
    }

    mutating func run(_ tell: (SessionEvent) -> Void) async throws {
        let client = session.client
        while true {
            var failure: any Error = ConnectionFailure(detail: "The server ended the stream")
            do {
                try await follow(tell)
                if hasEnded { return }
            } catch let problem as Problem where problem.status < 500 && problem.status != 408 && problem.status != 429
            {
                throw problem
            } catch {
                failure = error
            }
            try Task.checkCancellation()
            // If an update could not be decoded or applied, the next connection starts with a new snapshot.
            if failure is UpdateFault || failure is DecodingError { position = nil }
            failures += 1
            tell(.interrupted(failure))
            let first = min(retryTime, client.retrying.longest)
            try await Task.sleep(
                for: client.retrying.delay(tries: failures, after: (failure as? Problem)?.retryAfter, first: first))
        }
    }

    /// Reads the events of one connection until the connection ends. The server sends keep-alives, so a connection that
    /// stays silent is lost, and the client's timeout ends it.
    private mutating func follow(_ tell: (SessionEvent) -> Void) async throws {
        var request = Request(
            "GET", ["v1", "sessions", session.id, "updates"], headers: ["Accept": "text/event-stream"])
        request.headers["Last-Event-ID"] = position
        let (head, parts) = try await session.client.open(session.client.urlRequest(request))
        // The answer can come from the network's log-in page instead of the server.
        guard head.statusCode != 200 || head.mimeType?.lowercased() == "text/event-stream" else {
            throw ConnectionFailure(detail: "The answer is no stream of events")
        }
        var parser = EventParser(), refusal = Data()
        do {
            for try await case .bytes(let bytes) in parts {
                guard head.statusCode == 200 else {
                    refusal += bytes
                    continue
                }
                for event in parser.events(in: bytes) {
                    failures = 0
                    try take(event, tell)
                    if hasEnded { return }
                }
                retryTime = parser.retryTime ?? retryTime
            }
        } catch  where !(error is UpdateFault || error is DecodingError) {
            throw ConnectionFailure(underlying: error, detail: "The connection was lost")
        }
        try Task.checkCancellation()
        guard head.statusCode == 200 else {
            throw Problem(
                status: head.statusCode, body: refusal, retryAfter: head.value(forHTTPHeaderField: "Retry-After"))
        }
    }

    private mutating func take(_ event: ServerEvent, _ tell: (SessionEvent) -> Void) throws {
        func decoded<Value: Decodable>(_ type: Value.Type) throws -> Value {
            try JSONDecoder().decode(type, from: Data(event.data))
        }
        switch event.type {
        case "snapshot":
            let new = try decoded(Snapshot.self)
            snapshot = new
            position = event.id
            tell(.snapshot(new))
        case "update":
            let update = try decoded(Update.self)
            // After a reconnection the server can repeat updates. Skip updates that the snapshot contains already.
            guard let before = snapshot, update.to > before.revision else { return }
            // In the event stream, a revision without visible changes has no update. The update can therefore start at
            // a later revision than the snapshot's.
            var base = before
            base.revision = max(before.revision, update.from)
            let after = try update.applied(to: base)
            snapshot = after
            position = event.id
            tell(.update(update, before: base, after: after))
        case "cellEvent":
            if let id = event.id { position = id }
            tell(.cellEvent(try decoded(CellEvent.self)))
        case "tap":
            if let id = event.id { position = id }
            tell(.tap(try decoded(Tap.self)))
        case "emitted":
            if let id = event.id { position = id }
            tell(.emitted(try decoded(EmittedEvent.self)))
        case "caught-up":
            position = event.id
            tell(.live)
        case "ended": hasEnded = true
        default: break
        }
    }
}

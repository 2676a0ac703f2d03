import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Reads a session's event stream, and reconnects.
actor Follower {
    /// Also gets the window that the snapshot shows after the event.
    typealias Listener = @Sendable (SessionEvent, TableWindow?) -> Void

    private let session: BraidSession
    private let withPresence: Bool
    private var present: [BraidSession.PresentClient] = []
    private var snapshot: Snapshot?
    /// With its current anchor; `nil` for the whole table.
    private var shown: TableWindow?
    /// For the next connection; `nil` for the whole table.
    private var window: TableWindow?
    /// Where to continue: the last event with an id, or the given snapshot.
    private var position: String?
    private var retryTime = Duration.seconds(1)
    private var hasEnded = false
    private var failures = 0

    init(session: BraidSession, snapshot: Snapshot?, of window: TableWindow? = nil, withPresence: Bool) {
        self.session = session
        self.withPresence = withPresence
        self.snapshot = snapshot
        shown = window
        position = snapshot?.position.description
    }

    /// Follows until the session ends. Runs must not overlap; each continues where the last was cancelled.
    func run(following window: TableWindow? = nil, _ tell: Listener) async throws {
        self.window = window
        failures = 0
        let client = session.client
        while true {
            var failure: any Error = ConnectionFailure(detail: "The server ended the stream")
            do {
                try await follow(tell)
                if hasEnded { return }
            } catch {
                if let problem = error as? Problem, isFinal(problem) { throw problem }
                failure = error
            }
            try Task.checkCancellation()
            // Without a position, the next stream begins with a snapshot.
            if failure is UpdateFault || failure is DecodingError { position = nil }
            if (failure as? Problem)?.kind == Self.lostAnchor { leaveAnchor() }
            failures += 1
            tell(.interrupted(failure), shown)
            let first = min(retryTime, client.retrying.longest)
            try await Task.sleep(
                for: client.retrying.delay(tries: failures, after: (failure as? Problem)?.retryAfter, first: first))
        }
    }

    private static let lostAnchor = "row-not-found"

    private func isFinal(_ problem: Problem) -> Bool {
        if problem.kind == Self.lostAnchor, case .around? = window?.run { return false }
        return problem.status < 500 && problem.status != 408 && problem.status != 429
    }

    /// The anchor is not displayed, and the server cannot tell what was near: stay at the offset.
    private func leaveAnchor() {
        window = window?.withoutAnchor(offset: snapshot?.window?.offset ?? 0)
        position = nil
    }

    /// One connection. Because of keep-alives, the client's timeout finds a dead one.
    private func follow(_ tell: Listener) async throws {
        let followed = window
        var request = Request(
            "GET", ["v1", "sessions", session.id, "updates"], query: followed?.parameters ?? [:],
            headers: ["Accept": "text/event-stream"])
        if withPresence { request.query.merge(["presence": "true", "client": session.client.presence.name]) { $1 } }
        if let followed, let position {
            // `Last-Event-ID` counts only for the same window.
            request.query["since"] = position
            if let shown, shown.query != followed.query { request.query["from"] = shown.query }
        } else {
            request.headers["Last-Event-ID"] = position
        }
        let (head, parts) = try await session.client.open(session.client.urlRequest(request))
        // A network's log-in page, maybe.
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
                    try Task.checkCancellation()
                    try take(event, of: followed, tell)
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

    private func take(_ event: ServerEvent, of followed: TableWindow?, _ tell: Listener) throws {
        func decoded<Value: Decodable>(_ type: Value.Type) throws -> Value {
            try JSONDecoder().decode(type, from: Data(event.data))
        }
        /// The snapshot shows this connection's window, maybe with a new anchor.
        func noteWindow() {
            shown = followed?.at(snapshot?.window)
            window = shown
        }
        switch event.type {
        case "snapshot":
            let new = try decoded(Snapshot.self)
            snapshot = new
            position = event.id
            noteWindow()
            tell(.snapshot(new), shown)
        case "update":
            let update = try decoded(Update.self)
            // Updates can be repeated after a reconnection. One of a moved window may start and end at the snapshot's
            // revision.
            guard let before = snapshot,
                update.to > before.revision || before.window != nil && update.from == before.revision
            else { return }
            // Revisions without visible changes have no update.
            var base = before
            base.revision = max(before.revision, update.from)
            let after = try update.applied(to: base)
            snapshot = after
            position = event.id
            noteWindow()
            tell(.update(update, before: base, after: after), shown)
        case "cellEvent":
            if let id = event.id { position = id }
            tell(.cellEvent(try decoded(CellEvent.self)), shown)
        case "tap":
            if let id = event.id { position = id }
            tell(.tap(try decoded(Tap.self)), shown)
        case "emitted":
            if let id = event.id { position = id }
            tell(.emitted(try decoded(EmittedEvent.self)), shown)
        case "caught-up":
            position = event.id
            noteWindow()
            if withPresence { Task { [session] in await session.appearAgain() } }
            tell(.live, shown)
        case "presence":
            try decoded(PresenceEvent.self).apply(to: &present)
            tell(.presence(present), shown)
        case "ended": hasEnded = true
        default: break
        }
    }
}

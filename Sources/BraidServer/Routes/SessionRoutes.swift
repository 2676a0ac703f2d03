import BraidEngine
import BraidHTTP
import BraidRuntime
import BraidSessions
import BraidStore

/// Returns the routes that open, list, read and end sessions, and the route that returns a session's snapshot.
func sessionRoutes(_ sessions: SessionHost) -> [Route] {
    [
        Route("POST", "/v1/sessions", takesBody: true, takesKey: true) { context in
            let body = try context.json(), isMinimal = context.head.returnPreference == "minimal"
            let opening = try SessionOpening(body)
            guard let key = try IdempotencyKey(context) else {
                let session = try await sessions.open(opening, text: body.detached)
                context.logOpened(session, opening)
                return session.openedResponse(isMinimal: isMinimal)
            }
            let result = try await sessions.once(key, session: 0, refusal: context.keptRefusal) { keep in
                try await sessions.open(opening, text: body.detached) {
                    keep($0.openedHead(isMinimal: isMinimal).kept(snapshotOf: isMinimal ? nil : $0))
                }
            }
            switch result {
            case .done(let session):
                context.logOpened(session, opening)
                return session.openedResponse(isMinimal: isMinimal)
            case .replayed(let kept):
                return try await sessions.response(kept: kept)
            }
        },
        Route("GET", "/v1/sessions", query: ["limit", "after", "table"]) { context in
            let limit = try context.integer("limit", in: 1...1000) ?? 100
            let after = context.query("after")
            var page = try await sessions.summaries(of: context.query("table"), after: after, limit: limit + 1)
            let next = page.count > limit ? page[limit - 1].id : nil
            page = Array(page.prefix(limit))
            return .json { writer in
                writer.beginObject()
                writer.name("sessions")
                writer.beginArray()
                for facts in page { facts.write(to: &writer) }
                writer.endArray()
                if let next {
                    writer.name("next")
                    writer.value(next)
                }
                writer.endObject()
            }
        },
        Route("GET", "/v1/sessions/{id}", for: .role(.viewer)) { context in
            let id = context.parameter("id")
            guard let facts = try await sessions.summary(id) else { throw SessionError(noSession: id) }
            try context.requester.require(sessionNumber: facts.number, id: id)
            return .json { facts.write(to: &$0) }
        },
        Route("GET", "/v1/sessions/{id}/table") { context in
            let id = context.parameter("id")
            guard let binding = try await sessions.current(id).binding else {
                throw ProblemError(.tableNotFound, "The session \"\(id)\" was opened without a table description.")
            }
            var hash = StableHash()
            hash.combine(binding.description.bytes)
            let tag = "\"\(String(UInt(bitPattern: hash.value), radix: 36))\""
            var response =
                context.head.notModified(tag)
                ?? .json(binding.description.bytes, headers: [("ETag", tag)])
            if let version = binding.version { response.headers.append(("Table-Version", "\(version)")) }
            return response
        },
        Route("DELETE", "/v1/sessions/{id}", obeysIfMatch: true) { context in
            let id = context.parameter("id"), condition = context.head.positionCondition
            try await sessions.end(id, if: condition)
            context.logAct("session ended", ("session", id))
            return HTTPResponse(status: 204)
        },
        Route(
            "GET", "/v1/sessions/{id}/snapshot", for: .role(.viewer), query: WindowQuery.parameters.union(["at"]),
            atOnce: { context in
                let request = try SnapshotRequest(context)
                // The event loop's thread answers only with whole snapshots that are small or cached.
                guard request.window == nil, request.position == nil,
                    let session = sessions.currentInMemory(context.parameter("id")),
                    !session.isLarge
                else { return nil }
                return try session.response(to: request)
            },
            { context in
                let request = try SnapshotRequest(context)
                if let position = request.position {
                    return try await sessions.withCurrent(context.parameter("id")) {
                        try await $0.response(to: request, at: position)
                    }
                }
                let session = try await sessions.current(context.parameter("id"))
                if let window = request.window { return try await session.response(to: request, window) }
                return try await withTaskExecutorPreference(session.isLarge ? Workers.shared.long : nil) {
                    try session.response(to: request)
                }
            }),
    ]
}

extension Exchange {
    fileprivate func logOpened(_ session: Session, _ opening: SessionOpening) {
        let origin = opening.from.map { [(name: "from", value: $0.session)] } ?? []
        logAct("session opened", facts: [("session", session.id)] + origin + session.boundTableFacts)
    }
}

/// A client's request for a session's snapshot, or for a window of the snapshot. `position` is the value of `?at=`, or
/// `nil` for the current snapshot.
private struct SnapshotRequest {
    let context: Exchange
    let window: WindowQuery?
    let position: Position?

    init(_ context: Exchange) throws {
        self.context = context
        window = try WindowQuery(context)
        position = try context.query("at").map { try Position($0) }
    }
}

extension Session {
    /// The name and the version of the session's table description, if it has them, for a log line.
    var boundTableFacts: [(name: String, value: String)] {
        guard let binding else { return [] }
        return [("table", binding.table)] + (binding.version.map { [("version", "\($0)")] } ?? [])
    }

    /// Returns the status and the first header fields of the answer to a request that has opened the session. Unless
    /// the client wants a minimal answer, the caller adds the session's snapshot to the answer.
    fileprivate func openedHead(isMinimal: Bool) -> HTTPResponse {
        let location = ("Location", "/v1/sessions/\(id)")
        return HTTPResponse(
            status: 201,
            headers: isMinimal
                ? [location, ("ETag", position.entityTag), ("Preference-Applied", "return=minimal")] : [location])
    }

    fileprivate func openedResponse(isMinimal: Bool) -> HTTPResponse {
        var response = openedHead(isMinimal: isMinimal)
        if isMinimal { return response }
        // The snapshot of a new session is not cached, because a cached snapshot needs memory. Encoding the snapshot
        // again for a later request only copies the JSON of the rows.
        let snapshot = isTooLargeToCache ? streamedSnapshotResponse() : snapshotResponse(isCached: false)
        response.headers += snapshot.headers
        response.body = snapshot.body
        return response
    }

    fileprivate func response(to request: SnapshotRequest, at position: Position) async throws -> HTTPResponse {
        try request.context.require(self)
        let table = try await table(at: position), revision = table.snapshot.revision
        if let unchanged = request.context.head.notModified(self.position(at: revision).entityTag) { return unchanged }
        if let window = request.window {
            return snapshotResponse(try await encodedWindow(window, of: table, for: request.context.account))
        }
        return snapshotResponse(
            Session.isStreamed(table.snapshot) ? .stream(stream(of: table.snapshot)) : .bytes(encoded(table.snapshot)),
            at: revision)
    }

    fileprivate func response(to request: SnapshotRequest) throws -> HTTPResponse {
        try request.context.require(self)
        if let unchanged = request.context.head.notModified(position.entityTag) { return unchanged }
        return isTooLargeToCache ? streamedSnapshotResponse() : snapshotResponse()
    }

    fileprivate func response(to request: SnapshotRequest, _ window: WindowQuery) async throws -> HTTPResponse {
        try request.context.require(self)
        if let unchanged = request.context.head.notModified(position.entityTag) { return unchanged }
        return snapshotResponse(try await encodedWindow(window, for: request.context.account))
    }

    func snapshotResponse(isCached: Bool = true) -> HTTPResponse {
        let (revision, bytes) = encodedSnapshot(isCached: isCached)
        return snapshotResponse(.shared(bytes), at: revision)
    }

    func streamedSnapshotResponse() -> HTTPResponse {
        let (revision, stream) = streamedSnapshot()
        return snapshotResponse(.stream(stream), at: revision)
    }

    private func snapshotResponse(_ window: EncodedWindow) -> HTTPResponse {
        var response = snapshotResponse(.bytes(window.bytes), at: window.revision)
        response.lease = window.lease
        return response
    }

    /// Returns the answer whose body is the session's snapshot at a revision, or a window of this snapshot.
    private func snapshotResponse(_ body: HTTPBody, at revision: Int) -> HTTPResponse {
        HTTPResponse(
            status: 200,
            headers: [("Content-Type", "application/json"), ("ETag", position(at: revision).entityTag)], body: body)
    }
}

extension SessionSummary {
    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.name("id")
        writer.value(id)
        if let table {
            writer.name("table")
            writer.value(table)
        }
        if let tableVersion {
            writer.name("tableVersion")
            writer.value(tableVersion)
        }
        writer.name("epoch")
        writer.value(epoch)
        writer.name("revision")
        writer.value(revision)
        writer.name("created")
        writer.value(Instant(millisecondsSince1970: created).text)
        writer.name("updated")
        writer.value(Instant(millisecondsSince1970: updated).text)
        writer.name("totalRowCount")
        writer.value(totalRowCount)
        writer.endObject()
    }
}

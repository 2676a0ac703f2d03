import BraidEngine
import BraidStore

/// What was done to a session: its commands and updates by revision, page by page, or whole, to be replayed.
func journalRoutes(_ sessions: Sessions) -> [Route] {
    [
        Route("GET", "/v1/sessions/{id}/journal", query: ["after", "limit"], alternative: JournalFile.mediaType) { context in
            let id = context.parameter("id")
            if context.head.accepts(JournalFile.mediaType) {
                if context.query("after") != nil || context.query("limit") != nil {
                    throw ProblemError(.badRequest, "`after` and `limit` are for pages of JSON: \(JournalFile.mediaType) is the whole journal.")
                }
                return .later { try await sessions.journalFile(of: id) }
            }
            let after = try context.integer("after", in: 0...Int.max) ?? 0
            let limit = try context.integer("limit", in: 1...1000) ?? 100
            return .later {
                let session = try await sessions.current(id)
                let bytes = session.feed.limits.longHistoryBytes
                var records = try await session.history(after: after, limit: limit + 1, bytes: bytes)
                let isCut = records.count > limit || records.reduce(0) { $0 + $1.bytes } >= bytes
                if isCut, records.count > 1 { records.removeLast() }
                return .json { writer in
                    writer.beginObject()
                    writer.name("records")
                    writer.beginArray()
                    for record in records { record.write(to: &writer) }
                    writer.endArray()
                    if isCut, let last = records.last {
                        writer.name("next")
                        writer.value(last.revision)
                    }
                    writer.endObject()
                }
            }
        }
    ]
}

extension JournalRecord {
    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.name("revision")
        writer.value(revision)
        writer.name("at")
        writer.value(timestamp(at))
        writer.name("command")
        writer.value(command)
        writer.name("update")
        writer.value(update)
        writer.endObject()
    }
}

extension Sessions {
    /// The whole journal as lines of JSON, written as it is read: what the session was opened with, then its records.
    func journalFile(of id: String) async throws -> HTTPResponse {
        guard let (facts, opening) = try await store.opening(id).map({ ($0.facts, EventBytes(JournalFile.opening(of: $0))) }) else { throw ProblemError(noSession: id) }
        // What the session was opened with is held until all is read.
        let share: Budget.Share?
        do {
            share = try opening.share(streams)
        } catch {
            throw ProblemError(HTTPFailure.noRoomForAnswer)
        }
        let body = HTTPBodyStream(isEndless: false)
        Task { [store, streams] in
            defer { withExtendedLifetime(share) {} }
            do {
                var lines = opening, revision = 0
                while await body.writeWhole(lines.bytes, try lines.share(streams)) {
                    // As many as fill the stream's queue, or one that is larger.
                    let records = try await store.journal(
                        of: facts.number, after: revision, limit: facts.revision - revision, bytes: body.limit / 2)
                    guard let first = records.first, let last = records.last else {
                        // Where it has ended meanwhile, there are none.
                        return revision < facts.revision ? body.fail() : body.finish()
                    }
                    // Those between are trimmed since.
                    guard revision == 0 || first.revision == revision + 1 else { return body.fail() }
                    revision = last.revision
                    var writer = JSONWriter()
                    for record in records {
                        record.write(to: &writer)
                        writer.raw("\n")
                    }
                    lines = EventBytes(writer.bytes)
                }
            } catch {
                // The client sees that it is not whole: the store is out of order, or there is no room for a large record.
                body.fail()
            }
        }
        return HTTPResponse(status: 200, headers: [("Content-Type", JournalFile.mediaType)], body: .stream(body))
    }
}

extension HTTPBodyStream {
    /// Writes the bytes once there is room for them. False: the reader has left.
    func writeWhole(_ bytes: [UInt8], _ share: Budget.Share? = nil) async -> Bool {
        while true {
            switch write(bytes, share) {
            case .accepted: return true
            case .closed: return false
            case .full: await drained()
            }
        }
    }
}

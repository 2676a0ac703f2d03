import BraidEngine
import BraidHTTP
import BraidRuntime
import BraidStore

/// What was done to a session: its commands and updates by revision, page by page, or whole, to be replayed.
func journalRoutes(_ sessions: Sessions) -> [Route] {
    [
        Route("GET", "/v1/sessions/{id}/journal", query: ["after", "limit"], alternative: JournalFile.mediaType) {
            context in
            let id = context.parameter("id")
            if context.head.prefers(JournalFile.mediaType) {
                if context.query("after") != nil || context.query("limit") != nil {
                    throw ProblemError(
                        .badRequest,
                        "`after` and `limit` are for pages of JSON: \(JournalFile.mediaType) is the whole journal.")
                }
                return .later { try await sessions.journalFile(of: id, for: context.account) }
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
        writer.value(Instant(millisecondsSince1970: at).text)
        writer.name("command")
        writer.value(command)
        writer.name("update")
        writer.value(update)
        writer.endObject()
    }
}

extension Sessions {
    /// The whole journal as lines of JSON, written as it is read: what the session was opened with, then its records.
    func journalFile(of id: String, for account: Budget.Account) async throws -> HTTPResponse {
        let body = ByteStream(isEndless: false), pageBytes = body.limit / 2
        let (facts, start, through) = try await journalFileStart(of: id, pageBytes: pageBytes)
        // The first lines are held until all is read.
        let lease: Budget.Lease?
        do {
            lease = try start.lease(streams, for: account)
        } catch {
            throw ProblemError(HTTPFailure.noRoomForAnswer(error))
        }
        Task(executorPreference: Workers.shared.long) { [store, streams] in
            defer { withExtendedLifetime(lease) {} }
            do {
                var lines = start, revision = through
                while await body.writeWhole(lines.bytes, try lines.lease(streams, for: account)) {
                    // As many as fill the stream's queue, or one that is larger.
                    let records = try await store.journal(
                        of: facts.number, after: revision, limit: facts.revision - revision, bytes: pageBytes)
                    guard let first = records.first, let last = records.last else {
                        // Where it has ended meanwhile, there are none.
                        return revision < facts.revision ? body.fail() : body.finish()
                    }
                    // Those between are trimmed since.
                    guard first.revision == revision + 1 else { return body.fail() }
                    revision = last.revision
                    lines = EventBytes(JournalFile.lines(of: records))
                }
            } catch {
                // The client sees that it is not whole: the store is out of order, or there is no room for a large record.
                body.fail()
            }
        }
        return HTTPResponse(status: 200, headers: [("Content-Type", JournalFile.mediaType)], body: .stream(body))
    }

    /// The first line of a journal's file with the first page of records, and the revision that they reach to. The file ends with the revision in `facts`.
    private func journalFileStart(of id: String, pageBytes: Int) async throws -> (
        facts: SessionFacts, lines: EventBytes, through: Int
    ) {
        for _ in 0..<10 {
            guard let opening = try await store.opening(id) else { throw ProblemError(noSession: id) }
            let checkpoint = try await store.journalStart(of: id)
            let start = checkpoint?.facts.revision ?? 0
            var facts = opening.facts
            facts.revision = max(facts.revision, start)
            let records = try await store.journal(
                of: facts.number, after: start, limit: facts.revision - start, bytes: pageBytes)
            // Else commits have trimmed the journal between the two reads, or the session is another one by now.
            if records.first.map({ $0.revision == start + 1 }) ?? (start == facts.revision),
                checkpoint.map({ $0.facts.number == facts.number }) ?? true
            {
                return (
                    facts,
                    EventBytes(
                        JournalFile.opening(of: opening, checkpoint: checkpoint) + JournalFile.lines(of: records)),
                    records.last?.revision ?? start
                )
            }
        }
        throw ProblemError(unavailable: "The session changes faster than its journal can be read; try again.")
    }
}

extension ByteStream {
    /// Writes the bytes once there is room for them. False: the reader has left.
    func writeWhole(_ bytes: [UInt8], _ lease: Budget.Lease? = nil) async -> Bool {
        while true {
            switch write(bytes, lease) {
            case .accepted: return true
            case .closed: return false
            case .full: await drained()
            }
        }
    }
}

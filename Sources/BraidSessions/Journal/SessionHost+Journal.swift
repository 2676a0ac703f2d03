import BraidEngine
import BraidRuntime
import BraidStore

// The form of the API and of the journal file.
extension JournalRecord: JSONWritable {
    public func write(to writer: inout JSONWriter) {
        writer.object {
            $0.member("revision", revision)
            $0.member("at", Instant(millisecondsSince1970: at))
            $0.member("command", command)
            $0.member("update", update)
            $0.nonEmptyArray("emitted", of: emittedEvents) { $0.value($1) }
        }
    }
}

extension JournalRecord {
    /// The events that handlers emitted in the record's command, in order.
    fileprivate var emittedEvents: [JSONText] {
        (controllerEvents?.elements() ?? []).filter { $0["name"] != nil }
    }
}

extension Session {
    /// Returns at most `limit` records of the session's journal after a revision, and whether the journal has more
    /// records after these.
    package func journalPage(after revision: Int, limit: Int) async throws -> (records: [JournalRecord], isCut: Bool) {
        let bytes = Memory.largeBytes
        // The store has a commit shortly before requests can read its revision.
        let newest = self.revision
        guard revision < newest else { return ([], false) }
        var records = try await history(after: revision, limit: min(limit + 1, newest - revision), bytes: bytes)
        var isCut = records.count > limit || records.reduce(0) { $0 + $1.bytes } >= bytes
        if isCut, records.count > 1 {
            records.removeLast()
        } else if let last = records.last, last.revision >= newest {
            // A large record can fill a page alone, even if no record follows it.
            isCut = false
        }
        return (records, isCut)
    }
}

extension SessionHost {
    /// Returns a session's whole journal as a stream of JSON lines (see `JournalFile`). A task reads the journal from
    /// the store page by page and writes it to the stream.
    package func journalFile(of id: String, for account: Quota.Account) async throws -> ByteStream {
        let body = ByteStream(isEndless: false), pageBytes = body.limit / 2
        let (facts, start, through) = try await journalFileStart(of: id, pageBytes: pageBytes)
        // For the first lines, which the task below holds until it ends.
        let lease = try start.lease(streams, for: account)
        body.onAttach { [store, streams] in
            Task(executorPreference: Workers.shared.long) {
                defer { withExtendedLifetime(lease) {} }
                do {
                    var lines = start, revision = through
                    while await body.writeWhole(
                        lines.piece(in: body.coding), try lines.lease(streams, for: account))
                    {
                        // A page of the journal, except the last page, needs about half of the stream's queue. A large
                        // record can make a page larger than the queue.
                        let records = try await store.journal(
                            of: facts.number, after: revision, limit: facts.revision - revision, bytes: pageBytes)
                        guard let first = records.first, let last = records.last else {
                            // The store returns no records if the session has ended since the first page was read.
                            return revision < facts.revision ? body.fail() : body.finish()
                        }
                        // If commits have trimmed the next records since the last page was read, the body cannot be
                        // completed.
                        guard first.revision == revision + 1 else { return body.fail() }
                        revision = last.revision
                        lines = EventBytes(JournalFile.lines(of: records))
                    }
                } catch {
                    // The store failed, or there is no memory for a large record. `fail` shows the client that the
                    // body is incomplete.
                    body.fail()
                }
            }
        }
        return body
    }

    /// Returns the first line of a session's journal file with the first page of records, and the revision of this
    /// page's last record. The whole file must end with the record of the revision in `facts`.
    private func journalFileStart(of id: String, pageBytes: Int) async throws -> (
        facts: SessionSummary, lines: EventBytes, through: Int
    ) {
        for _ in 0..<10 {
            guard let opening = try await store.opening(id) else { throw SessionError(noSession: id) }
            let checkpoint = try await store.journalStart(of: id)
            let start = checkpoint?.summary.revision ?? 0
            var facts = readable(opening.summary)
            facts.revision = max(facts.revision, start)
            let records = try await store.journal(
                of: facts.number, after: start, limit: facts.revision - start, bytes: pageBytes)
            // This check fails if commits have trimmed the journal after its start was read. It also fails if the
            // checkpoint is of a later session with the same ID. In both cases, read everything again.
            if records.first.map({ $0.revision == start + 1 }) ?? (start == facts.revision),
                checkpoint.map({ $0.summary.number == facts.number }) ?? true
            {
                return (
                    facts,
                    EventBytes(
                        JournalFile.opening(of: opening, checkpoint: checkpoint) + JournalFile.lines(of: records)),
                    records.last?.revision ?? start
                )
            }
        }
        throw SessionError(unavailable: "The session changes faster than its journal can be read; try again.")
    }
}

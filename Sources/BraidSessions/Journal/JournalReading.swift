import BraidEngine
import BraidRuntime
import BraidStore

extension JournalRecord: JSONWritable {
    public func write(to writer: inout JSONWriter) {
        writer.object {
            $0.member("revision", revision)
            $0.member("at", Instant(millisecondsSince1970: at))
            $0.member("by", by)
            $0.member("command", command)
            $0.member("update", update)
            $0.nonEmptyArray("emitted", of: (controllerEvents?.elements() ?? []).filter { $0["name"] != nil }) {
                $0.value($1)
            }
        }
    }
}

extension Session {
    func history(after revision: Int, limit: Int, bytes: Int) async throws -> [JournalRecord] {
        try await store.journal(of: number, after: revision, limit: limit, bytes: bytes)
    }

    /// Passes `body` what the journal still has of these records. More than a page needs a lease, without waiting:
    /// throws `unavailable` or `quotaExceeded`.
    func withHistory<Value>(
        after revision: Int, count: Int, for account: Quota.Account, _ body: ([JournalRecord]) throws -> Value
    ) async throws -> Value {
        let limits = feed.limits
        let lease = Quota.Lease(of: limits.buffers, to: account)
        defer { lease.end() }
        var records: [JournalRecord] = [], bytes = 0
        while records.count < count {
            let page = try await history(
                after: revision + records.count, limit: count - records.count, bytes: Memory.largeBytes)
            guard page.first?.revision == revision + records.count + 1 else { break }
            records += page
            guard records.count < count else { break }
            // Parsed, a record needs several times the memory of its text.
            bytes += page.reduce(0) { $0 + $1.bytes }
            do {
                try lease.grow(to: 4 * bytes)
            } catch {
                throw SessionError(noRoomForAnswer: error)
            }
        }
        return try body(records)
    }

    package func journalPage(after revision: Int, limit: Int) async throws -> (records: [JournalRecord], isCut: Bool) {
        let bytes = Memory.largeBytes
        // The page ends here at the latest: the store has a commit shortly before requests can see its revision.
        let newest = self.revision
        guard revision < newest else { return ([], false) }
        var records = try await history(after: revision, limit: min(limit + 1, newest - revision), bytes: bytes)
        var isCut = records.count > limit || records.reduce(0) { $0 + $1.bytes } >= bytes
        if isCut, records.count > 1 {
            records.removeLast()
        } else if let last = records.last, last.revision >= newest {
            // One large record can fill a page.
            isCut = false
        }
        return (records, isCut)
    }
}

extension SessionHost {
    /// A session's whole journal, read page by page. `number`: the only one that the session may have.
    package func journalFile(
        of id: String, number: Int? = nil, for account: Quota.Account
    ) async throws -> ByteStream {
        let body = ByteStream(isEndless: false), pageBytes = body.limit / 2
        let (summary, start, through) = try await journalFileStart(of: id, pageBytes: pageBytes)
        if let number, number != summary.number { throw SessionError(noSession: id) }
        // The task holds the lease to its end.
        let lease = try start.lease(streams, for: account)
        body.onAttach { [store, streams] in
            Task(executorPreference: Workers.shared.long) {
                defer { withExtendedLifetime(lease) {} }
                do {
                    var lines = start, revision = through
                    while await body.writeWhole(
                        lines.piece(in: body.coding), try lines.lease(streams, for: account))
                    {
                        // A large record can exceed both `pageBytes` and the stream's queue.
                        let records = try await store.journal(
                            of: summary.number, after: revision, limit: summary.revision - revision, bytes: pageBytes)
                        guard let first = records.first, let last = records.last else {
                            // The session may have ended since the first page.
                            return revision < summary.revision ? body.fail() : body.finish()
                        }
                        // Commits may have trimmed the next records meanwhile.
                        guard first.revision == revision + 1 else { return body.fail() }
                        revision = last.revision
                        lines = EventBytes(JournalFile.lines(of: records))
                    }
                } catch {
                    // The client must see that the body is incomplete.
                    body.fail()
                }
            }
        }
        return body
    }

    /// The first line and page, and that page's last revision. The whole file must end at `summary.revision`.
    private func journalFileStart(of id: String, pageBytes: Int) async throws -> (
        summary: SessionSummary, lines: EventBytes, through: Int
    ) {
        for _ in 0..<10 {
            guard let opening = try await store.opening(id) else { throw SessionError(noSession: id) }
            let checkpoint = try await store.journalStart(of: id)
            let start = checkpoint?.summary.revision ?? 0
            var summary = readable(opening.summary)
            summary.revision = max(summary.revision, start)
            let records = try await store.journal(
                of: summary.number, after: start, limit: summary.revision - start, bytes: pageBytes)
            // If not, the journal was trimmed since, or the checkpoint is a later session's: read again.
            if records.first.map({ $0.revision == start + 1 }) ?? (start == summary.revision),
                checkpoint.map({ $0.summary.number == summary.number }) ?? true
            {
                return (
                    summary,
                    EventBytes(
                        JournalFile.opening(of: opening, checkpoint: checkpoint) + JournalFile.lines(of: records)),
                    records.last?.revision ?? start
                )
            }
        }
        throw SessionError(unavailable: "The session changes faster than its journal can be read; try again.")
    }
}

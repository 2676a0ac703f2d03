#if PostgreSQL
import BraidStore
import Synchronization

/// Looks up sessions' revisions. Requests that arrive before a query begins share it.
final class Revisions: Sendable {
    private final class Batch: Sendable {
        let asked = Mutex<[Int: [CheckedContinuation<StoredRevision?, any Error>]]>([:])

        func answer(_ result: Result<[Int: StoredRevision], any Error>) {
            for (session, continuations) in asked.withLock({ $0 }) {
                for continuation in continuations { continuation.resume(with: result.map { $0[session] }) }
            }
        }
    }

    private let readers: ReaderPool<PostgresQueries>
    /// The batch that still takes requests.
    private let open = Mutex<Batch?>(nil)

    init(readers: ReaderPool<PostgresQueries>) { self.readers = readers }

    func revision(of session: Int) async throws -> StoredRevision? {
        try await withCheckedThrowingContinuation { continuation in
            let (batch, isNew) = open.withLock { open in
                let batch = open ?? Batch()
                defer { open = batch }
                batch.asked.withLock { $0[session, default: []].append(continuation) }
                return (batch, open == nil)
            }
            if isNew { read(batch) }
        }
    }

    private func read(_ batch: Batch) {
        readers.run(
            perform: { [self] queries in
                // Before the query begins: a later request may need a commit that it does not see.
                close(batch)
                let found = try queries.revisions(of: batch.asked.withLock { Array($0.keys) })
                return { batch.answer(.success(found)) }
            },
            fail: { [self] error in
                close(batch)
                batch.answer(.failure(error))
            })
    }

    private func close(_ batch: Batch) { open.withLock { if $0 === batch { $0 = nil } } }
}

extension PostgresQueries {
    /// Ended sessions are missing in the result.
    fileprivate func revisions(of sessions: [Int]) throws -> [Int: StoredRevision] {
        let rows = try db.query("SELECT number, revision, updated FROM session WHERE number = ANY (\(sessions))")
        // One session's damaged number must not fail the query for the others. Its copy becomes stale, and reading it
        // reports the damage.
        return Dictionary(rows.map { ($0.int(0), StoredRevision(number: $0.int(1), time: $0.int(2))) }) { $1 }
    }
}
#endif

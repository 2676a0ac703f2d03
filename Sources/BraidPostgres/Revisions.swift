#if PostgreSQL
import BraidStore
import Synchronization

/// Reads the stored revisions of sessions. Requests for revisions that arrive before a database query begins share one
/// query.
final class Revisions: Sendable {
    private final class Batch: Sendable {
        let asked = Mutex<[Int: [CheckedContinuation<StoredRevision?, any Error>]]>([:])

        func answer(_ result: Result<[Int: StoredRevision], any Error>) {
            for (session, continuations) in asked.withLock({ $0 }) {
                for continuation in continuations { continuation.resume(with: result.map { $0[session] }) }
            }
        }
    }

    private let readers: Readers
    /// The batch of requests that further requests can still join. One query answers all requests of the batch.
    private let open = Mutex<Batch?>(nil)

    init(readers: Readers) { self.readers = readers }

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
            perform: { [self] connection in
                // Close the batch before its query begins: a request that arrives later may need a commit that this
                // query does not see.
                close(batch)
                let found = try connection.revisions(of: batch.asked.withLock { Array($0.keys) })
                return { batch.answer(.success(found)) }
            },
            fail: { [self] error in
                close(batch)
                batch.answer(.failure(error))
            })
    }

    private func close(_ batch: Batch) { open.withLock { if $0 === batch { $0 = nil } } }
}

extension PostgresConnection {
    /// Returns the stored revisions of the given sessions. The dictionary's keys are session numbers. Sessions that
    /// have ended are missing from the dictionary.
    fileprivate func revisions(of sessions: [Int]) throws -> [Int: StoredRevision] {
        let rows = try query("SELECT number, revision, updated FROM session WHERE number = ANY (\(sessions))")
        // One query answers for many sessions, so a damaged number must not fail it. A copy of that session in memory
        // becomes stale, and reading the session reports the damage.
        return Dictionary(rows.map { ($0.int(0), StoredRevision(number: $0.int(1), time: $0.int(2))) }) { $1 }
    }
}
#endif

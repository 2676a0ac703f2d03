import BraidEngine
import BraidHTTP
import BraidRuntime
import Synchronization

/// The record of the newest requests that a server in test mode has answered, or whose connection it has closed.
final class RequestRecord: Sendable {
    private struct State {
        /// The recorded requests, in the order in which they were answered. The elements before the index `first` are
        /// removed.
        var entries: [RecordedRequest?] = []
        var first = 0
        var bytes = 0
        var dropped = 0

        /// Removes the oldest request from the record.
        mutating func drop() {
            bytes -= entries[first]?.size ?? 0
            entries[first] = nil
            first += 1
            dropped += 1
            if first * 2 > entries.count {
                entries.removeFirst(first)
                first = 0
            }
        }
    }

    private let state = Mutex(State())
    private let mostEntries: Int
    private let mostBytes: Int

    /// - Parameters:
    ///   - mostEntries: the most requests that the record contains.
    ///   - mostBytes: the most bytes of memory that the recorded requests use, approximately.
    init(mostEntries: Int = 10_000, mostBytes: Int = 64 << 20) {
        (self.mostEntries, self.mostBytes) = (mostEntries, mostBytes)
    }

    func append(_ request: RecordedRequest) {
        state.withLock { state in
            state.entries.append(request)
            state.bytes += request.size
            while state.entries.count - state.first > mostEntries || state.bytes > mostBytes { state.drop() }
        }
    }

    func removeAll() { state.withLock { $0 = State() } }

    /// The recorded requests in the order in which they arrived, and the number of older requests that the record has
    /// dropped for lack of room.
    var content: (requests: [RecordedRequest], dropped: Int) {
        let (entries, dropped) = state.withLock { ($0.entries[$0.first...].compactMap(\.self), $0.dropped) }
        return (entries.sorted { $0.start < $1.start }, dropped)
    }
}

/// Returns the routes that show, remove and verify the recorded requests of a server in test mode.
func requestRoutes(_ record: RequestRecord) -> [Route] {
    [
        Route("GET", "/v1/test/requests", pool: Workers.shared.long) { _ in
            let (requests, dropped) = record.content
            return .object {
                $0.member("requests", requests)
                $0.member("dropped", dropped)
            }
        },
        Route("DELETE", "/v1/test/requests") { _ in
            record.removeAll()
            return HTTPResponse(status: 204)
        },
        Route("POST", "/v1/test/requests/verify", takesBody: true, pool: Workers.shared.long) { context in
            let body = try context.json()
            let verification = try RequestVerification(json: body)
            let requests = record.content.requests
            let result = verification.result(for: requests)
            guard !result.isMet else {
                return .object { result.writeMatches(to: &$0) }
            }
            var problem = ProblemError(.verificationFailed, result.detail)
            problem.writeMembers = { writer in
                writer.member("expected", body)
                result.writeMatches(to: &writer)
                result.writeNearestMisses(to: &writer)
            }
            throw problem
        },
    ]
}

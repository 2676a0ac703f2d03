import BraidEngine
import BraidHTTP
import BraidRuntime
import BraidServer
import Synchronization

/// The newest requests, answered or closed.
final class RequestRecord: Sendable {
    private struct State {
        /// In order of answers. Those before `first` are gone.
        var entries: [RecordedRequest?] = []
        var first = 0
        var bytes = 0
        var dropped = 0

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

    /// `mostBytes` of memory, approximately.
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

    /// In order of arrival.
    var content: (requests: [RecordedRequest], dropped: Int) {
        let (entries, dropped) = state.withLock { ($0.entries[$0.first...].compactMap(\.self), $0.dropped) }
        return (entries.sorted { $0.start < $1.start }, dropped)
    }
}

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

import BraidHTTP
import BraidSessions
import BraidStore
import Synchronization

/// Counters without a lock. No label is a value that clients choose: no session's id, path or unknown method.
final class Metrics: Sendable {
    /// Unknown paths and methods, `OPTIONS`, bytes that are not HTTP.
    let unrouted = RouteCounters(method: "", template: "")
    private let routed = Mutex<[RouteCounters]>([])
    let start = Double(Clock.system()) / 1000
    /// `nil` until there is an HTTP server.
    let connections = Mutex<(@Sendable () -> HTTPConnections?)?>(nil)

    /// Called once, at the start.
    func follow(_ routes: [RouteCounters]) { routed.withLock { $0 = routes } }

    var routes: [RouteCounters] { routed.withLock { $0 } + [unrouted] }
}

/// A route's answers, counted by status and by duration.
final class RouteCounters: Sendable {
    let method: String
    /// `/v1/sessions/{id}`; empty if no route matched.
    let template: String

    /// Seconds from the start of handling until the answer is ready.
    private static let bounds = [
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10,
    ]
    private static let nanoseconds = bounds.map { Int($0 * 1e9) }

    private let byStatus = Statuses.known.map { _ in Counter() }
    private let buckets = (0...bounds.count).map { _ in Counter() }
    private let sum = Counter()

    init(method: String, template: String) {
        self.method = method
        self.template = template
    }

    func count(status: Int, nanoseconds: Int) {
        byStatus[Statuses.index(status)].add()
        buckets[Self.nanoseconds.firstIndex { nanoseconds <= $0 } ?? Self.bounds.count].add()
        sum.add(nanoseconds)
    }

    /// Only statuses that have occurred.
    var answers: [(status: Int, count: Int)] {
        zip(Statuses.known, byStatus).compactMap { $1.value > 0 ? ($0, $1.value) : nil }
    }

    var seconds: Histogram {
        Histogram(bounds: Self.bounds, counts: buckets.map(\.value), sum: Double(sum.value) / 1e9)
    }

    private enum Statuses {
        /// 0 comes first: it counts any other, such as an injected fault's.
        static let known = [0, 200, 201, 204, 304] + Set(Problem.allCases.map(\.status)).sorted()

        private static let indices: [UInt8] = {
            var indices = [UInt8](repeating: 0, count: 600)
            for (index, status) in known.enumerated() { indices[status] = UInt8(index) }
            return indices
        }()

        static func index(_ status: Int) -> Int { indices.indices.contains(status) ? Int(indices[status]) : 0 }
    }
}

import BraidRuntime
import BraidStore
import Glibc
import Synchronization

/// Prometheus' text format 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats).
struct PrometheusText {
    static let mediaType = "text/plain"
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    enum Kind: String { case counter, gauge, histogram }

    private(set) var text = ""

    /// Names, labels and help are constants of this program and need no escapes.
    mutating func family(_ name: String, _ kind: Kind, _ help: String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
    }

    mutating func sample(_ name: String, _ labels: [(String, String)], _ value: Double) {
        text += name
        if !labels.isEmpty { text += "{" + labels.map { "\($0)=\"\($1)\"" }.joined(separator: ",") + "}" }
        text += " \(Self.number(value))\n"
    }

    mutating func sample(_ name: String, _ labels: [(String, String)], _ value: Int) {
        sample(name, labels, Double(value))
    }

    mutating func single(_ name: String, _ kind: Kind, _ help: String, _ value: Double) {
        family(name, kind, help)
        sample(name, [], value)
    }

    mutating func single(_ name: String, _ kind: Kind, _ help: String, _ value: Int) {
        single(name, kind, help, Double(value))
    }

    /// Buckets are cumulative.
    mutating func histogram(_ name: String, _ labels: [(String, String)], _ histogram: Histogram) {
        var total = 0
        for (bound, count) in zip(histogram.bounds.map(Self.number) + ["+Inf"], histogram.counts) {
            total += count
            sample(name + "_bucket", labels + [("le", bound)], total)
        }
        sample(name + "_sum", labels, histogram.sum)
        sample(name + "_count", labels, total)
    }

    private static func number(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e15 ? String(Int(value)) : String(value)
    }
}

/// Written once for all who ask within a moment, so that a flood of requests costs a few texts a second. Nobody gets
/// one begun before they asked.
final class SharedText: Sendable {
    private struct State {
        var next: Task<SharedBytes, Never>?
        var due = ContinuousClock.now
    }

    static let pause = Duration.milliseconds(50)
    private let state = Mutex(State())
    private let write: @Sendable () async -> [UInt8]

    init(_ write: @escaping @Sendable () async -> [UInt8]) { self.write = write }

    func bytes() async -> SharedBytes {
        let text = state.withLock { state in
            let due = state.due
            let text =
                state.next
                ?? Task(executorPreference: Workers.shared.probes) {
                    if due > .now { try? await Task.sleep(until: due) }
                    // Before writing begins: later requests get the next text.
                    self.state.withLock { $0 = State(due: .now + Self.pause) }
                    return SharedBytes(await self.write())
                }
            state.next = text
            return text
        }
        return await text.value
    }
}

/// This process, from proc(5) and getrlimit(2).
struct ProcessStatistics {
    var residentBytes: Int?
    var virtualBytes: Int?
    var cpuSeconds: Double?
    var openDescriptors: Int?
    var maxDescriptors: Int?

    init() {
        if let text = Files.bytes(of: "/proc/self/stat").map({ String(decoding: $0, as: UTF8.self) }),
            let end = text.lastIndex(of: ")")
        {
            // The second field, the process's name, can contain anything.
            let fields = text[text.index(after: end)...].split(separator: " ").map { Int(digits: $0) ?? 0 }
            if fields.count > 21 {
                cpuSeconds = Double(fields[11] + fields[12]) / Double(sysconf(Int32(_SC_CLK_TCK)))
                virtualBytes = fields[20]
                residentBytes = fields[21] * sysconf(Int32(_SC_PAGESIZE))
            }
        }
        // Without the descriptor that reads this directory.
        openDescriptors = Files.names(in: "/proc/self/fd").map { $0.count - 1 }
        var limit = rlimit()
        if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
            maxDescriptors = Int(clamping: limit.rlim_cur)
        }
    }
}

import Foundation
import Glibc

/// Measures one, two and four servers that share one PostgreSQL database. The result says which work scales with the
/// number of servers, and how much processor time the servers and the database use.
func clusterBenchmark() throws {
    guard let directory = ProcessInfo.processInfo.environment["BRAID_TEST_POSTGRES"] else {
        throw Missing("there is no PostgreSQL: Benchmarks/run makes a cluster where it is installed")
    }
    print(
        "\ncluster: servers on one PostgreSQL, synchronous_commit = on; the database, the servers and the load share these cores (medians of 3 runs of 3 s)"
    )
    for count in [1, 2, 4] {
        let cluster = try BenchmarkCluster(count, directory: directory)
        defer { cluster.stop() }
        try cluster.openSessions()
        print("  \(count) servers")
        try cluster.commands("commands, 256 sessions, each at one server", connections: 256) { connection, _ in
            "s\(connection)"
        }
        try cluster.commands("commands, 256 clients, the \(count) of each session at as many servers", connections: 256)
        { connection, _ in "s\(connection / count)" }
        try cluster.commands("commands, 16 clients on one session, at all servers", connections: 16) { _, _ in "s0" }
        try cluster.measure("snapshots of 10 rows, 256 clients, each session at one server", connections: 256) {
            connection, _ in
            Connection.request("GET", "/v1/sessions/s\(connection)/snapshot")
        }
        try cluster.followers()
    }
}

private final class BenchmarkCluster {
    private let servers: [Server]
    private let directory: String
    private let sessions = 256
    private static let table =
        #"{"table":"t","sections":["a","b"],"cells":{"C":{}},"bindings":[{"on":{"sections":["a","b"]},"cell":"C","models":{"a":[],"b":[\#(models)]}}]}"#
    private static let models = (1..<10).map { #"{"id":"\#($0)","name":"Some name"}"# }.joined(separator: ",")

    init(_ count: Int, directory: String) throws {
        self.directory = directory
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["createdb", "-h", directory, "-U", "braid", "-T", "template0", "cluster\(count)"]
        try process.run()
        process.waitUntilExit()
        servers = try (0..<count).map { _ in try Server(database: "postgres://braid@/cluster\(count)?host=\(directory)")
        }
    }

    func stop() { for server in servers { server.stop() } }

    private var ports: [Int] { servers.map(\.port) }

    func openSessions() throws {
        let connection = try Connection(port: ports[0])
        guard try connection.exchange("PUT", "/v1/tables/t", Self.table) == 201 else {
            throw Fault("the table was not registered")
        }
        for number in 0..<sessions {
            guard try connection.exchange("POST", "/v1/sessions", #"{"table":"t","id":"s\#(number)"}"#) == 201 else {
                throw Fault("a session was not opened")
            }
        }
    }

    /// Returns a request that changes one row. With a new `text`, the request really changes the row.
    private static func command(_ session: String, _ text: String) -> [UInt8] {
        Connection.request(
            "PATCH", "/v1/sessions/\(session)/models", #"{"a":[{"id":"0","name":"Some name","text":"\#(text)"}]}"#)
    }

    func commands(_ name: String, connections: Int, session: @escaping @Sendable (Int, Int) -> String) throws {
        let run = UInt32.random(in: 0 ... .max)
        try measure(name, connections: connections) { connection, round in
            Self.command(session(connection, round), "\(run)-\(connection)-\(round)")
        }
    }

    func measure(_ name: String, connections: Int, request: @escaping @Sendable (Int, Int) -> [UInt8]) throws {
        _ = try load(ports: ports, connections: connections, seconds: 0.5, request: request)
        let before = processorTimes()
        var done = 0.0
        let results = try (0..<Size.count(3, small: 1)).map { _ in
            let result = try load(ports: ports, connections: connections, seconds: 3) { request($0, $1 + 1_000_000) }
            done += Double(result.latencies.count)
            return result
        }.sorted { $0.rate < $1.rate }
        let after = processorTimes(), middle = results[results.count / 2]
        func each(_ part: KeyPath<ProcessorTimes, Double>) -> String {
            String(format: "%.0f", (after[keyPath: part] - before[keyPath: part]) / done * 1e6)
        }
        print(
            "    \(name): \(Int(middle.rate))/s, answered after \(Self.milliseconds(middle.latency(0.5))) / \(Self.milliseconds(middle.latency(0.99))) ms (p50 / p99);"
                + " processor time of each: servers \(each(\.servers)) µs, database \(each(\.database)) µs, load \(each(\.load)) µs"
        )
    }

    private static func milliseconds(_ microseconds: Double) -> String { String(format: "%.1f", microseconds / 1_000) }

    /// Measures a thousand followers of one session, distributed over all servers. All commands go to the first server.
    func followers() throws {
        let stream = Array(
            "GET /v1/sessions/s0/updates HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n".utf8)
        let readers = try StreamReaders(port: ports[0], mark: "\nevent: update")
        let count = 1_000
        for port in ports { try readers.open(count / ports.count, stream, until: "event: caught-up", at: port) }
        let run = UInt32.random(in: 0 ... .max)
        let result = try FanOut(readers, commands: Size.count(100, small: 5), readers: count) {
            Self.command("s0", "\(run)-\($0)")
        }
        let hot = try hotSession(readers, seconds: 3) { Self.command("s0", "\(run)-hot-\($0)") }
        print(
            "    1000 followers of one session, at all servers: told after \(result.receiptText), command answered after \(result.answerText) (p50 / p99);"
                + " without a pause \(Int(hot.commands)) commands/s, \(Int(hot.events)) events/s; \(readers.closed) lost"
        )
    }

    // MARK: Processor time

    private struct ProcessorTimes {
        /// The processor times in seconds: of all servers, of the database, and of this program, which makes the load.
        var servers = 0.0, database = 0.0, load = 0.0
    }

    /// The time of the database is the sum over its current processes. The servers keep their connections, so the
    /// database's processes for these connections do not end during the measurement.
    private func processorTimes() -> ProcessorTimes {
        let postmaster = (try? String(contentsOfFile: directory + "/data/postmaster.pid", encoding: .utf8))?.split(
            separator: "\n"
        ).first.flatMap { Int32($0) }
        var time = ProcessorTimes()
        for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? [] {
            guard let process = Int32(name), let (used, parent) = processorTime(of: process) else { continue }
            let seconds = used.total
            if servers.contains(where: { $0.processIdentifier == process }) { time.servers += seconds }
            if parent == postmaster { time.database += seconds }
            if process == getpid() { time.load += seconds }
        }
        return time
    }
}

import Foundation

func mebibytes(_ server: Server) -> Double { Double(residentKilobytes(server.processIdentifier)) / 1024 }

/// Measures the resident memory of the server in several situations.
func memoryBenchmark() throws {
    print("\nmemory: resident MiB")
    let directory = try scratchDirectory()
    defer { try? FileManager.default.removeItem(atPath: directory) }
    try idleMemory(directory)
    try largeMemory(directory)
    try manyMemory(directory)
}

/// Waits for some time, in which the server releases memory that it no longer needs.
func settle(_ seconds: Double) { usleep(UInt32(Size.seconds(seconds) * 1e6)) }

private func idleMemory(_ directory: String) throws {
    let server = try Server(database: directory + "/idle.sqlite")
    defer { server.stop() }
    let started = mebibytes(server)
    _ = try load(ports: [server.port], connections: 100, seconds: 1) { _, _ in Connection.request("GET", "/healthz") }
    usleep(300_000)
    print(String(format: "  idle: %.1f after the start, %.1f after a load", started, mebibytes(server)))
}

private func largeMemory(_ directory: String) throws {
    let rows = Size.count(100_000, small: 1_000), path = directory + "/large.sqlite"
    var server = try Server(database: path, arguments: LargeSession.arguments)
    defer { server.stop() }
    let idle = mebibytes(server)
    var bytes = 0.0
    func report(_ what: String) {
        let now = mebibytes(server)
        print(String(format: "    \(what): %.1f, %.2fx of the JSON over the idle server", now, (now - idle) / bytes))
    }
    let connection = try Connection(port: server.port)
    try LargeSession.open("s", rows: rows, on: connection)
    bytes = Double(try connection.get("/v1/sessions/s/snapshot").body.count) / 1_048_576
    print(String(format: "  a session of \(rows) rows, %.1f MiB of JSON (the idle server: %.1f)", bytes, idle))
    settle(2)
    report("opened, its snapshot read")
    let models = (0..<rows).map { LargeSession.model($0).replacingOccurrences(of: "Lorem", with: "Larem") }.joined(
        separator: ",")
    guard try connection.exchange("PATCH", "/v1/sessions/s/models", #"{"s0":[\#(models)]}"#) == 200 else {
        throw Fault("the models were not replaced")
    }
    settle(2)
    report("every row replaced")
    for round in 0..<1_000 {
        guard
            try connection.exchange(
                "POST", "/v1/sessions/s/moves",
                #"{"from":{"section":0,"row":\#(round * 7_919 % rows)},"to":{"section":0,"row":\#(round * 104_729 % rows)}}"#
            ) == 200
        else { throw Fault("not moved") }
    }
    settle(2)
    report("1,000 rows moved")
    server.stop()
    server = try Server(database: path, arguments: LargeSession.arguments)
    let start = monotonicNanoseconds()
    _ = try Connection(port: server.port).get("/v1/sessions/s/snapshot")
    print("    read again after a restart in \((monotonicNanoseconds() - start) / 1_000_000) ms")
    settle(2)
    report("after the restart")
}

/// Measures the memory of a server with many sessions of 20 rows each.
private func manyMemory(_ directory: String) throws {
    let path = directory + "/many.sqlite", sessions = Size.count(10_000, small: 1_000)
    var server = try Server(database: path, arguments: LargeSession.arguments + idleArguments)
    defer { server.stop() }
    let idle = mebibytes(server)
    try openMany(sessions, port: server.port)
    let opened = mebibytes(server)
    settle(6)
    print(
        String(
            format:
                "  \(sessions) sessions of 20 rows: %.1f over the idle server when opened, %.1f when idle for 6 s (idle timeout 2 s)",
            opened - idle, mebibytes(server) - idle))
    server.stop()
    server = try Server(database: path, arguments: LargeSession.arguments)
    let connection = try Connection(port: server.port)
    _ = try time(connection, Connection.request("GET", "/v1/sessions/m0/snapshot"))
    let times = try (1...500).map {
        try time(connection, Connection.request("GET", "/v1/sessions/m\($0 * 19 % sessions)/snapshot")).total
    }.sorted()
    print(String(format: "    opened again in %.2f ms (p50), %.2f ms (p99)", times[250] / 1e3, times[495] / 1e3))
}

/// The option by which an unused session leaves the server's memory after 2 seconds. The list is empty if BRAID_NO_IDLE
/// is set, for an old server that does not know this option.
let idleArguments = ProcessInfo.processInfo.environment["BRAID_NO_IDLE"] == nil ? ["--session-idle-time", "2"] : []

func openMany(_ count: Int, port: Int) throws {
    let connection = try Connection(port: port)
    let models = (0..<20).map { #"{"id":"\#($0)","name":"Some name of \#($0)"}"# }.joined(separator: ",")
    let table =
        #"{"table":"many","cells":{"C":{}},"bindings":[{"cell":"C","models":[\#(models)],"editing":"delete"}]}"#
    guard try connection.exchange("PUT", "/v1/tables/many", table) == 201 else {
        throw Fault("the table was not registered")
    }
    let clients = 32
    let connections = try (0..<clients).map { _ in try Connection(port: port) }
    for start in stride(from: 0, to: count, by: clients) {
        let numbers = start..<min(start + clients, count)
        for number in numbers {
            try connections[number - start].send(
                Connection.request("POST", "/v1/sessions", #"{"table":"many","id":"m\#(number)"}"#))
        }
        for number in numbers {
            guard try connections[number - start].receive().status == 201 else {
                throw Fault("a session was not opened")
            }
        }
    }
}

/// Measures the time from the start of the server process until the server prints that it listens.
func startBenchmark() throws {
    print("\nstart: until the server listens (medians of 9)")
    let directory = try scratchDirectory()
    defer { try? FileManager.default.removeItem(atPath: directory) }
    func start(_ path: String) throws -> Double {
        let start = monotonicNanoseconds()
        let server = try Server(database: path)
        let time = Double(monotonicNanoseconds() - start) / 1e6
        server.stop()
        return time
    }
    _ = try start(directory + "/warm.sqlite")
    let new = median(try (0..<9).map { try start(directory + "/new-\($0).sqlite") })
    let empty = median(try (0..<9).map { _ in try start(directory + "/new-0.sqlite") })
    let server = try Server(database: directory + "/many.sqlite", arguments: LargeSession.arguments)
    let sessions = Size.count(10_000, small: 1_000)
    try openMany(sessions, port: server.port)
    server.stop()
    let many = median(try (0..<9).map { _ in try start(directory + "/many.sqlite") })
    print(
        String(
            format: "  a new database %.1f ms, an empty one %.1f ms, one of \(sessions) sessions %.1f ms", new, empty,
            many))
}

import Foundation
import Synchronization

/// Clients of sessions with 20,000 rows. Each client always waits for the answer to a command.
private final class BusyClients: Sendable {
    private let isOver = Atomic(false)
    private let done = Atomic(0)
    private let running = DispatchGroup()
    private let start = monotonicNanoseconds()

    init(
        count: Int, port: Int, opening: (Int) -> String,
        command: @escaping @Sendable (_ session: Int, _ round: Int) -> [UInt8]
    ) throws {
        for session in 0..<count {
            nonisolated(unsafe) let connection = try Connection(port: port)
            guard try connection.exchange("POST", "/v1/sessions", opening(session)) == 201 else {
                throw Fault("a session was not opened")
            }
            running.enter()
            Thread.detachNewThread { [self] in
                defer { running.leave() }
                var round = 0
                while !isOver.load(ordering: .relaxed), (try? time(connection, command(session, round))) != nil {
                    round += 1
                    done.add(1, ordering: .relaxed)
                }
            }
        }
    }

    /// Stops the clients. Returns how many commands per second all clients together have performed.
    func stop() -> Double {
        let rate = Double(done.load(ordering: .relaxed)) / Double(monotonicNanoseconds() - start) * 1e9
        isOver.store(true, ordering: .relaxed)
        running.wait()
        return rate
    }
}

/// Measures how four busy sessions with many rows affect a light session and the opening of sessions.
func neighbourBenchmark() throws {
    print(
        "\nneighbours: one client beside four busy sessions of 20,000 rows (synchronous=FULL; the load runs on the same cores); ms, p50 / p99"
    )
    let written = (0..<3).map { version in
        #"{"table":[\#((0..<20_000).map { #"{"id":"\#($0)","name":"\#($0 % 3 == 0 ? version : 0) \#(String(repeating: "x", count: 60))"}"# }.joined(separator: ","))]}"#
    }
    let heavy: [(name: String, command: @Sendable (_ session: Int, _ round: Int) -> [UInt8])] = [
        (
            "drawing all rows anew",
            { Connection.request("PATCH", "/v1/sessions/heavy-\($0)/state", #"{"n":\#($1 + 1)}"#) }
        ),
        (
            "writing a third of the rows",
            { Connection.request("PATCH", "/v1/sessions/heavy-\($0)/models", written[($1 + 1) % 3]) }
        ),
    ]
    let table =
        #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[],"viewModel":{"title":"${model.id} ${state.n}","length":{"$eval":"len(str(model.id)) + row"}}}]}"#
    for (name, command) in heavy {
        let directory = try scratchDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let server = try Server(database: directory + "/braid.sqlite", arguments: LargeSession.arguments)
        defer { server.stop() }
        let busy = try BusyClients(
            count: 4, port: server.port,
            opening: { #"{"id":"heavy-\#($0)","table":\#(table),"state":{"n":0},"models":\#(written[0])}"# },
            command: command)
        let connection = try Connection(port: server.port)
        func opening(_ id: String) -> [UInt8] {
            Connection.request("POST", "/v1/sessions", #"{"id":"\#(id)","table":\#(table),"state":{"n":0}}"#)
        }
        func models(_ id: String, _ round: Int) -> [UInt8] {
            Connection.request("PATCH", "/v1/sessions/\(id)/models", #"{"table":[{"id":"\#(round)"}]}"#)
        }
        _ = try time(connection, opening("light"), expecting: 201)
        var commands: [Double] = [], openings: [Double] = [], firsts: [Double] = []
        for round in 0..<Size.count(200, small: 5) {
            commands.append(try time(connection, models("light", round)).total)
            openings.append(try time(connection, opening("new-\(round)"), expecting: 201).total)
            firsts.append(try time(connection, models("new-\(round)", round)).total)
            usleep(10_000)
        }
        let figures = [("a command", commands), ("opening a session", openings), ("its first command", firsts)].map {
            name, times in
            String(format: "\(name) %.1f / %.1f", median(times) / 1e3, times.sorted()[times.count * 99 / 100] / 1e3)
        }
        print(
            "  beside \(name) (\(String(format: "%.1f", busy.stop())) commands/s): \(figures.joined(separator: ", "))")
    }
}

/// Measures how long an open of 100,000 rows waits for other busy programs, one for each processor: with an equal
/// share, it takes about twice as long.
func busyMachineBenchmark() throws {
    let programs = ProcessInfo.processInfo.activeProcessorCount, rows = Size.count(100_000, small: 1_000)
    print("\nneighbours: opening \(rows) rows beside \(programs) busy programs; ms, medians of 5")
    let directory = try scratchDirectory()
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let server = try Server(database: directory + "/braid.sqlite", arguments: LargeSession.arguments)
    defer { server.stop() }
    let connection = try Connection(port: server.port)
    func opening(_ name: String) throws -> Double {
        try median(
            (0..<Size.count(5, small: 1)).map { round in
                let body = LongTable.opening("\(name)-\(round)", rows: rows)
                return try time(connection, Connection.request("POST", "/v1/sessions", body), expecting: 201).total
                    / 1e3
            })
    }
    let alone = try opening("alone")
    let loops = try (0..<programs).map { _ in
        try Process.run(URL(fileURLWithPath: "/bin/sh"), arguments: ["-c", "while :; do :; done"])
    }
    defer { for loop in loops { loop.terminate() } }
    let beside = try opening("beside")
    print(String(format: "  alone %.0f, beside them %.0f (%.1fx)", alone, beside, beside / alone))
}

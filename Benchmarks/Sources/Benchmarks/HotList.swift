import Foundation

/// Measures 64 writers on one session beside 64 writers on 64 sessions: commands per second, the 99th percentile, and
/// the server's processor time for each.
func hotListBenchmark() throws {
    print(
        "\nhot: durable inserts by 64 writers, on 64 sessions and on one (medians of 3 runs of 3 s, in turn): commands/s, p99, processor time of each"
    )
    for synchronous in ["full", "normal"] {
        let directory = try scratchDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let server = try Server(database: directory + "/braid.sqlite", arguments: ["--synchronous", synchronous])
        defer { server.stop() }
        let connection = try Connection(port: server.port)
        let table =
            #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[{"id":"first"}],"editing":"insert"}]}"#
        guard try connection.exchange("PUT", "/v1/tables/t", table) == 201 else {
            throw Fault("the table was not registered")
        }
        var results: [Int: [(rate: Double, p99: Double, time: Double)]] = [:]
        for run in 0..<Size.count(3, small: 1) {
            for sessions in [64, 1] {
                for number in 0..<sessions {
                    let body = #"{"table":"t","id":"s\#(sessions)-\#(run)-\#(number)"}"#
                    guard try connection.exchange("POST", "/v1/sessions", body) == 201 else {
                        throw Fault("a session was not opened")
                    }
                }
                let before = try processorSeconds(of: server.processIdentifier)
                let result = try load(ports: [server.port], connections: 64, seconds: 3) { writer, round in
                    Connection.request(
                        "POST", "/v1/sessions/s\(sessions)-\(run)-\(writer % sessions)/edits",
                        #"{"insert":{"section":0,"row":0},"model":{"id":"\#(writer)-\#(round)","name":"Some name"}}"#)
                }
                let time = try processorSeconds(of: server.processIdentifier) - before
                results[sessions, default: []].append(
                    (result.rate, result.latency(0.99), time * 1e6 / Double(result.latencies.count)))
            }
        }
        for sessions in [64, 1] {
            let runs = results[sessions]!
            print(
                "  \(synchronous), \(sessions) sessions: \(Int(median(runs.map(\.rate))))/s, p99 \(String(format: "%.1f", median(runs.map(\.p99)) / 1000)) ms, \(Int(median(runs.map(\.time)))) µs"
            )
        }
        print(
            "  \(synchronous): one session reaches \(String(format: "%.2f", median(results[1]!.map(\.rate)) / median(results[64]!.map(\.rate)))) of 64"
        )
    }
}

/// User and system time of a process.
func processorSeconds(of process: Int32) throws -> Double {
    let stat = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
    let fields = stat[stat.lastIndex(of: ")")!...].split(separator: " ")
    return Double(Int(fields[12])! + Int(fields[13])!) / 100
}

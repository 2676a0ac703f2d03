import Foundation

/// Measures durable updates per second from 32 clients, each of which changes a row of its own session. For comparison,
/// PocketBase updates one record for each client.
func recordBenchmark() throws {
    print(
        "\nrecords: 32 clients, each updating a row of its own session (PocketBase: a record of its own); medians of 5 runs of 2 s, in turn"
    )
    let directory = try scratchDirectory()
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let clients = 32
    let servers = try ["full", "normal"].map {
        (name: $0, server: try Server(database: directory + "/\($0).sqlite", arguments: ["--synchronous", $0]))
    }
    defer { for server in servers { server.server.stop() } }
    let table =
        #"{"table":"t","sections":["a","b"],"cells":{"C":{}},"bindings":[{"on":"allOtherSections","cell":"C","models":{}}]}"#
    for server in servers {
        let connection = try Connection(port: server.server.port)
        for number in 0..<clients {
            guard
                try connection.exchange(
                    "POST", "/v1/sessions", #"{"table":\#(table),"id":"s\#(number)","models":{"a":[{"id":"0"}]}}"#)
                    == 201
            else { throw Fault("a session was not opened") }
        }
    }
    let pocketBase = try PocketBase()
    defer { pocketBase?.stop() }
    let records = try pocketBase.map { pocketBase in try (0..<clients).map { _ in try pocketBase.record() } }
    var rates: [String: [Double]] = [:], latencies: [String: [Double]] = [:]
    for _ in 0..<Size.count(5, small: 1) {
        for (name, server) in servers {
            let result = try load(ports: [server.port], connections: clients, seconds: 2) { client, round in
                Connection.request(
                    "PATCH", "/v1/sessions/s\(client)/models",
                    #"{"a":[{"id":"0","name":"Some name","number":\#(round)}]}"#)
            }
            rates[name, default: []].append(result.rate)
            latencies[name, default: []].append(result.latency(0.99))
        }
        if let pocketBase, let records {
            let result = try load(ports: [pocketBase.port], connections: clients, seconds: 2) { client, round in
                Connection.request(
                    "PATCH", "/api/collections/t/records/\(records[client])",
                    #"{"name":"Some name","number":\#(round)}"#)
            }
            rates["PocketBase", default: []].append(result.rate)
            latencies["PocketBase", default: []].append(result.latency(0.99))
        }
    }
    let reference = rates["PocketBase"].map(median)
    for (name, runs) in rates.sorted(by: { $0.key < $1.key }) {
        let ratio = reference.map { String(format: " (%.1fx)", median(runs) / $0) } ?? ""
        print("  \(name): \(Int(median(runs)))/s\(ratio), p99 \(Int(median(latencies[name]!))) us")
    }
}

import Foundation

/// A session with many rows of about 250 bytes each, in one or several sections.
enum LargeSession {
    static func model(_ number: Int) -> String {
        #"{"id":"row-\#(number)","name":"Name of the row \#(number)","text":"\#(String(repeating: "Lorem ipsum dolor. ", count: 10))"}"#
    }

    static func opening(id: String, rows: Int, sections: Int = 1) -> String {
        let names = (0..<sections).map { "s\($0)" }
        let models = names.indices.map { section in
            #""\#(names[section])":[\#((section * rows / sections..<(section + 1) * rows / sections).map(model).joined(separator: ","))]"#
        }
        return #"{"table":\#(table(names)),"id":"\#(id)","models":{\#(models.joined(separator: ","))}}"#
    }

    static func table(_ names: [String]) -> String {
        let list = names.map { "\"\($0)\"" }.joined(separator: ",")
        return
            #"{"table":"t","sections":[\#(list)],"cells":{"C":{}},"bindings":[{"on":"allOtherSections","cell":"C","models":{},"editing":"delete","moving":{"to":"anySection"}}]}"#
    }

    static let arguments = [
        "--max-body-bytes", "536870912", "--max-buffered-bytes", "1073741824", "--log-level", "warning",
    ]

    static func open(_ id: String, rows: Int, sections: Int = 1, on connection: Connection) throws {
        let status = try connection.exchange("POST", "/v1/sessions", opening(id: id, rows: rows, sections: sections))
        guard status == 201 else { throw Fault("the session was not opened: \(status)") }
    }
}

/// Measures the time until the first byte of an answer, and the time until the whole answer, in microseconds.
func time(_ connection: Connection, _ request: [UInt8], expecting status: Int = 200) throws -> (
    first: Double, total: Double, bytes: Int
) {
    let start = monotonicNanoseconds()
    try connection.send(request)
    try connection.waitForBytes()
    let first = monotonicNanoseconds()
    let answer = try connection.receive()
    guard answer.status == status else { throw Fault("an answer has the status \(answer.status)") }
    return (Double(first - start) / 1e3, Double(monotonicNanoseconds() - start) / 1e3, answer.count)
}

/// Measures a snapshot of 100,000 rows after one edit. For comparison, nginx sends a file of the same size.
func largeBenchmark() throws {
    print(
        "\nlarge: a snapshot of 100,000 rows after one edit, beside nginx sending the same bytes from a file (medians of 9, in turn)"
    )
    let directory = try scratchDirectory()
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let server = try Server(database: directory + "/braid.sqlite", arguments: LargeSession.arguments)
    defer { server.stop() }
    let connection = try Connection(port: server.port)
    let rows = Size.count(100_000, small: 1_000)
    try LargeSession.open("s", rows: rows, on: connection)
    let nginxes = try [Nginx(directory: directory, sendfile: true), Nginx(directory: directory, sendfile: false)]
    defer { for nginx in nginxes { nginx.stop() } }
    try Data(connection.get("/v1/sessions/s/snapshot").body).write(
        to: URL(fileURLWithPath: directory + "/files/snapshot"))
    let others = try nginxes.map { try Connection(port: $0.port) }
    var times: [[(first: Double, total: Double, bytes: Int)]] = [[], [], []]
    for round in 0..<9 {
        guard
            try connection.exchange(
                "POST", "/v1/sessions/s/edits", #"{"delete":{"id":"row-\#(round * 7_919 % rows)"}}"#) == 200
        else { throw Fault("the row was not deleted") }
        times[0].append(try time(connection, Connection.request("GET", "/v1/sessions/s/snapshot")))
        for (index, other) in others.enumerated() {
            times[index + 1].append(try time(other, Connection.request("GET", "/snapshot")))
        }
    }
    for (name, times) in zip(["this server", "nginx, sendfile", "nginx, without"], times) {
        print(
            String(
                format: "  \(name): first byte after %.2f ms, all \(times[0].bytes) bytes after %.2f ms",
                median(times.map(\.first)) / 1e3, median(times.map(\.total)) / 1e3))
    }
}

/// Measures one edit over HTTP, from the request to the answer, with 1,000, 10,000 and 100,000 rows.
func editBenchmark() throws {
    print(
        "\nedits: one command end to end over HTTP with its commit, one client (synchronous=FULL; p50 of 1,500 each, in turn)"
    )
    let directory = try scratchDirectory()
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let server = try Server(database: directory + "/braid.sqlite", arguments: LargeSession.arguments)
    defer { server.stop() }
    let connection = try Connection(port: server.port)
    let sizes = Size.counts([1_000, 10_000, 100_000])
    for size in sizes { try LargeSession.open("s\(size)", rows: size, on: connection) }
    func move(_ round: Int, _ size: Int) -> String {
        #"{"from":{"section":0,"row":\#(round * 7_919 % size)},"to":{"section":0,"row":\#(round * 104_729 % size)}}"#
    }
    let commands: [(String, String, (Int, Int) -> String)] = [
        ("move", "moves", move),
        ("delete", "edits", { round, size in #"{"delete":{"section":0,"row":\#(round * 7_919 % (size - 500))}}"# }),
    ]
    for (name, resource, body) in commands {
        var times = sizes.map { _ in [Double]() }
        for round in 0..<Size.count(name == "delete" ? 500 : 1_500, small: 20) {
            for (index, size) in sizes.enumerated() {
                times[index].append(
                    try time(
                        connection, Connection.request("POST", "/v1/sessions/s\(size)/\(resource)", body(round, size))
                    ).total)
            }
        }
        let medians = times.map(median)
        print(
            "  \(name): \(zip(sizes, medians).map { String(format: "\($0) rows %.0f us (%.2fx)", $1, $1 / medians[0]) }.joined(separator: ", "))"
        )
    }
}

import BraidEngine
import Foundation

/// Measures a session in which each of many people sees other rows: the server's work for a revision, the time until
/// they know, a first snapshot, and memory.
func viewsBenchmark() throws {
    let rows = Size.count(100_000, small: 1_000), people = Size.count(1_000, small: 10)
    print("\nviews: \(people) people, each with another view of \(rows) rows")
    let description = #"""
        {"table":"t","cells":{"C":{}},"view":{"without":-1},"bindings":[{"cell":"C","models":[],
         "viewModel":{"title":"${model.name}"},"where":"model.group != view.without","editing":"delete"}]}
        """#
    func model(_ number: Int, _ name: String = "Name") -> String {
        #"{"id":"row-\#(number)","name":"\#(name) of \#(number)","group":\#(number % (2 * people))}"#
    }
    let models = (0..<rows).map { model($0) }
    let rendering = try timeToRender(description, models)
    let server = try Server(
        database: ":memory:",
        // The connection for commands waits until all streams are open.
        arguments: ["--max-body-bytes", "100000000", "--idle-timeout", "3600"],
        environment: ["BRAID_TOKEN": "secret"])
    defer { server.stop() }
    let connection = try Connection(port: server.port)
    let opened = try connection.post(
        "/v1/sessions",
        #"{"id":"s","table":\#(description),"models":{"table":[\#(models.joined(separator: ","))]}}"#, token: "secret")
    guard opened.head.hasPrefix("HTTP/1.1 201") else { throw Fault("the session was not opened: \(opened.head)") }
    settle(2)
    let memory = settledKilobytes(server.processIdentifier)
    let readers = try StreamReaders(port: server.port, mark: "\nevent: update")
    var first: [Int] = []
    for person in 0..<people {
        let token = try connection.token("participant", user: "\(person)", of: "s")
        let query = "view=%7B%22without%22%3A\(person)%7D", fields = ["Authorization: Bearer \(token)"]
        let start = now()
        try connection.send(Connection.request("GET", "/v1/sessions/s/snapshot?limit=1&\(query)", "", fields: fields))
        let status = try connection.receive().status
        guard status == 200 else { throw Fault("the window of person \(person) got \(status)") }
        first.append(now() - start)
        // From its revision: a snapshot of each would be sent otherwise.
        try readers.open(
            1,
            Connection.request(
                "GET", "/v1/sessions/s/updates?since=0&\(query)", "",
                fields: fields + ["Accept: text/event-stream"]), until: "event: caught-up")
    }
    first.sort()
    print(
        "  a first snapshot: \(milliseconds(first, 0.5)) / \(milliseconds(first, 0.99)) ms, rendering these rows: \(String(format: "%.1f", rendering)) ms"
    )
    let displayed = Double(people) * Double(rows)
    print(
        String(
            format: "  memory: %.1f bytes for each displayed row",
            Double(settledKilobytes(server.processIdentifier) - memory) * 1_024 / displayed))
    func command(_ number: Int) -> [UInt8] {
        // In a group that everybody sees.
        let row = number * 7_919 % (rows / people / 2) * 2 * people + people
        return Connection.request(
            "PUT", "/v1/sessions/s/sections/table/rows/row-\(row)", model(row, "Name \(number)"),
            fields: ["Authorization: Bearer secret"])
    }
    let before = processorSeconds(server.processIdentifier), commands = Size.count(100, small: 5)
    let told = try FanOut(readers, commands: commands, readers: people, pause: 0.1, command: command)
    let work = (processorSeconds(server.processIdentifier) - before) / Double(commands * people)
    print(
        String(format: "  a revision: %.1f us of the server's processors for each person", work * 1e6)
            + ", told after \(told.receiptText)")
}

private func timeToRender(_ description: String, _ models: [String]) throws -> Double {
    let description = try TableDescription(JSONText(parsing: Array(description.utf8)))
    let table = try description.openingTable(
        models: [("table", try models.map { try JSONText(parsing: Array($0.utf8)) })])
    return try (0..<5).map { _ in
        let start = now()
        _ = try description.binder.snapshot(of: table, revision: 0, now: "2000-01-01T00:00:00.000Z")
        return Double(now() - start) / 1e6
    }.sorted()[2]
}

/// User and system time of a process.
private func processorSeconds(_ process: Int32) -> Double {
    let status = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
    let fields = status.split(separator: ")").last?.split(separator: " ") ?? []
    guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return 0 }
    return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
}

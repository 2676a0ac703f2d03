import Foundation

/// Runs pgbench with the writes that the server's store makes for one command: the same rows with about the same number
/// of bytes, over one connection, in pipelines.
private struct RawPostgres {
    let directory: String

    private func run(_ command: [String]) throws -> String {
        let process = Process(), output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Fault("\(command.joined(separator: " ")) failed") }
        return text
    }

    func database(_ name: String) throws -> String {
        _ = try run(["createdb", "-h", directory, "-U", "braid", "-T", "template0", name])
        return "postgres://braid@/\(name)?host=\(directory)"
    }

    /// Returns the number of commands per second. Each transaction contains `group` commands, and the commands go to
    /// all sessions in turn.
    func rate(sessions: Int, group: Int, seconds: Int, name: String) throws -> Double {
        let database = try database(name),
            schema = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("schema-postgres.sql")
                .path
        _ = try run([
            "psql", "-q", database, "-f", schema, "-c",
            """
            INSERT INTO session (id, epoch, revision, created, updated, next_key, next_section, total_row_count)
            SELECT convert_to('s' || n, 'UTF8'), 'k3Jx9abc', 0, 1795271888000, 1795271888000, 2, 2, 1 FROM generate_series(1, \(sessions)) n
            """,
        ])
        // The space after each colon in the JSON is needed: pgbench would treat a colon before a letter or digit as the
        // start of a variable.
        let command = #"""
            \set n :n + 1
            \set s 1 + :n % :sessions
            SELECT revision FROM session WHERE number = :s;
            INSERT INTO model (session, key, section, rank, id, body) VALUES (:s, :n, 1, -(:n)::bigint, '256-1000', '{"id": "256-1000","name": "Some name"}');
            INSERT INTO journal (session, revision, at, command, changes, undo) VALUES (:s, :n, 1795271888000, '{"edits": {"insert": {"section": 0,"row": 0},"model": {"id": "256-1000","name": "Some name"}}}', '{"from": 999,"to": 1000,"stages": [{"insertRows": [{"at": [0,0],"row": {"id": "256-1000","cell": "C","model": {"id": "256-1000","name": "Some name"},"editing": "insert"}}]}],"totalRowCount": 1000}', '{"updated": 1795271888000,"nextKey": 1000,"nextSection": 2,"removedRows": [1000]}');
            UPDATE session SET revision = :n, updated = 1795271888000, next_key = :n, next_section = 2, total_row_count = :n, journal_bytes = :n * 300 WHERE number = :s;

            """#
        let script = FileManager.default.temporaryDirectory.appendingPathComponent("\(name).pgbench")
        try ("\\startpipeline\nBEGIN;\n" + String(repeating: command, count: group) + "COMMIT;\n\\endpipeline\n").write(
            to: script, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: script) }
        let report = try run([
            "pgbench", "-n", "-M", "prepared", "-c", "1", "-T", "\(seconds)", "-D", "n=1", "-D", "sessions=\(sessions)",
            "-f", script.path,
            "-h", directory, "-U", "braid", name,
        ])
        guard let line = report.split(separator: "\n").first(where: { $0.hasPrefix("tps = ") }),
            let rate = line.split(separator: " ").dropFirst(2).first.flatMap({ Double($0) })
        else { throw Fault("pgbench said: \(report)") }
        return rate * Double(group)
    }
}

/// Measures how many commands per second the server stores durably in PostgreSQL. For comparison, pgbench makes the
/// same writes in the same PostgreSQL cluster.
func durablePostgresBenchmark() throws {
    guard let directory = ProcessInfo.processInfo.environment["BRAID_TEST_POSTGRES"] else {
        throw Missing("there is no PostgreSQL: Benchmarks/run makes a cluster where it is installed")
    }
    print(
        "\npostgres: inserts/s, synchronous_commit = on, beside pgbench committing the same rows over one connection (medians of 5 runs of 2 s, in turn)"
    )
    let raw = RawPostgres(directory: directory)
    let server = try Server(database: raw.database("ours"))
    defer { server.stop() }
    let connection = try Connection(port: server.port)
    let table =
        #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[{"id":"first"}],"editing":"insert"}]}"#
    guard try connection.exchange("PUT", "/v1/tables/t", table) == 201 else {
        throw Fault("the table was not registered")
    }
    for sessions in [1, 256] {
        var ours: [Double] = [], theirs: [Int: [Double]] = [:]
        for run in 0..<Size.count(5, small: 1) {
            for number in 0..<sessions {
                guard
                    try connection.exchange(
                        "POST", "/v1/sessions", #"{"table":"t","id":"s\#(sessions)-\#(run)-\#(number)"}"#) == 201
                else { throw Fault("a session was not opened") }
            }
            ours.append(
                try load(ports: [server.port], connections: sessions, seconds: 2) { session, round in
                    Connection.request(
                        "POST", "/v1/sessions/s\(sessions)-\(run)-\(session)/edits",
                        #"{"insert":{"section":0,"row":0},"model":{"id":"\#(sessions)-\#(round)","name":"Some name"}}"#)
                }.rate)
            for group in sessions == 1 ? [1] : [64, 128] {
                theirs[group, default: []].append(
                    try raw.rate(
                        sessions: sessions, group: group, seconds: Size.count(2, small: 1),
                        name: "raw\(sessions)x\(run)x\(group)"))
            }
        }
        let peers = theirs.sorted { $0.key < $1.key }.map {
            "\(Int(median($0.value)))/s in groups of \($0.key) (\(String(format: "%.2fx", median(ours) / median($0.value))))"
        }
        print("  \(sessions) sessions: \(Int(median(ours)))/s; pgbench \(peers.joined(separator: ", "))")
    }
}

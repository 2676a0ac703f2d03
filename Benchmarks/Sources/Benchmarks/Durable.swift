import CSysSQLite
import Foundation

/// Writes through SQLite's C API what the server's store writes for one command. The rows are the same, with about the
/// same number of bytes: a model, a journal record and the session's row.
private final class RawStore {
    private var database: OpaquePointer?
    private var statements: [OpaquePointer?] = []
    private var revisions: [Int]

    init(path: String, sessions: Int, synchronous: String) throws {
        revisions = [Int](repeating: 0, count: sessions)
        guard
            sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nil)
                == SQLITE_OK
        else { throw Fault("sqlite3_open failed") }
        try execute(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = \(synchronous); PRAGMA cache_size = -4096; PRAGMA wal_autocheckpoint = 4000"
        )
        let schema = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("schema.sql")
        try execute(String(contentsOf: schema, encoding: .utf8))
        for number in 1...sessions {
            try execute(
                "INSERT INTO session (number, id, epoch, revision, created, updated, next_key, next_section, total_row_count) VALUES (\(number), 's\(number)', 'k3Jx9abc', 0, 1795271888000, 1795271888000, 2, 2, 1)"
            )
        }
        for sql in [
            "BEGIN IMMEDIATE", "COMMIT", "SELECT revision FROM session WHERE number = ?1",
            "INSERT INTO model (key, section, rank, id, body) VALUES (?1, 1, ?2, ?3, ?4)",
            "INSERT INTO journal (key, at, command, changes, undo) VALUES (?1, 1795271888000, ?2, ?3, '{\"updated\":1795271888000,\"nextKey\":1000,\"nextSection\":2,\"removedRows\":[1000]}')",
            "UPDATE session SET revision = ?2, updated = 1795271888000, next_key = ?3, next_section = 2, total_row_count = ?3, journal_bytes = ?4 WHERE number = ?1",
        ] {
            var statement: OpaquePointer?
            guard sqlite3_prepare_v3(database, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil) == SQLITE_OK
            else { throw Fault("sqlite3_prepare failed") }
            statements.append(statement)
        }
    }

    deinit {
        for statement in statements { sqlite3_finalize(statement) }
        sqlite3_close(database)
    }

    private func execute(_ sql: String) throws {
        guard sqlite3_exec(database, sql, nil, nil, nil) == SQLITE_OK else {
            throw Fault("sqlite3_exec failed: \(String(cString: sqlite3_errmsg(database)))")
        }
    }

    private func run(_ index: Int, _ values: [Any] = []) throws {
        let statement = statements[index]
        let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        for (position, value) in values.enumerated() {
            if let text = value as? String {
                sqlite3_bind_text(statement, Int32(position + 1), text, -1, transient)
            } else if let number = value as? Int {
                sqlite3_bind_int64(statement, Int32(position + 1), Int64(number))
            }
        }
        let code = sqlite3_step(statement)
        guard code == SQLITE_DONE || code == SQLITE_ROW else {
            throw Fault("sqlite3_step failed: \(String(cString: sqlite3_errmsg(database)))")
        }
        sqlite3_reset(statement)
    }

    /// Returns the number of commands per second. Each transaction contains `group` commands, and the commands go to
    /// all sessions in turn.
    func rate(group: Int, seconds: Double) throws -> Double {
        let start = monotonicNanoseconds(), end = start + Int(Size.seconds(seconds) * 1e9)
        var done = 0
        while monotonicNanoseconds() < end {
            try run(0)
            for _ in 0..<group {
                let session = done % revisions.count, number = session + 1
                revisions[session] += 1
                let revision = revisions[session]
                let id = "256-\(revision)", model = #"{"id":"\#(id)","name":"Some name"}"#
                try run(2, [number])
                try run(3, [number << 32 | (revision + 1), -revision << 24, id, model])
                try run(
                    4,
                    [
                        number << 32 | revision, #"{"edits":{"insert":{"section":0,"row":0},"model":\#(model)}}"#,
                        #"{"from":\#(revision - 1),"to":\#(revision),"stages":[{"insertRows":[{"at":[0,0],"row":{"id":"\#(id)","cell":"C","model":\#(model),"editing":"insert"}}]}],"totalRowCount":\#(revision + 1)}"#,
                    ])
                try run(5, [number, revision, revision + 1, revision * 300])
                done += 1
            }
            try run(1)
        }
        return Double(done) / (Double(monotonicNanoseconds() - start) / 1e9)
    }
}

/// One way to load a server: writers, each of which inserts rows into one of the sessions.
private struct Load: Hashable {
    var writers: Int
    var sessions: Int

    static let hot = Self(writers: 64, sessions: 1), spread = Self(writers: 64, sessions: 64)

    var name: String {
        "\(writers) \(writers == 1 ? "writer" : "writers") on \(sessions) \(sessions == 1 ? "session" : "sessions")"
    }
}

/// Of several runs of a load.
private struct Results {
    private var rates: [Double] = [], latencies: [Double] = [], users: [Double] = [], systems: [Double] = []

    mutating func add(_ result: LoadResult, _ time: ProcessorTime) {
        let count = Double(result.latencies.count)
        rates.append(result.rate)
        latencies.append(result.latency(0.99) / 1_000)
        users.append(time.user * 1e6 / count)
        systems.append(time.system * 1e6 / count)
    }

    var rate: Double { median(rates) }

    var text: String {
        String(
            format: "%.0f/s, p99 %.1f ms, %.0f µs of the server (user %.0f, system %.0f)", rate, median(latencies),
            median(users) + median(systems), median(users), median(systems))
    }
}

private func durable(
    _ loads: [Load], synchronous: String, runs: Int, environment: [String: String] = [:], in directory: String,
    besides: (_ load: Load, _ run: Int) throws -> Void = { _, _ in }
) throws -> [Load: Results] {
    let database = directory + "/\(UUID().uuidString).sqlite"
    let server = try Server(
        database: database, arguments: ["--synchronous", synchronous], environment: environment)
    defer { server.stop() }
    let connection = try Connection(port: server.port)
    let table =
        #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[{"id":"first"}],"editing":"insert"}]}"#
    guard try connection.exchange("PUT", "/v1/tables/t", table) == 201 else {
        throw Fault("the table was not registered")
    }
    var results: [Load: Results] = [:]
    for run in 0..<Size.count(runs, small: 1) {
        for kind in loads {
            let name = "s\(kind.writers)-\(kind.sessions)-\(run)"
            for number in 0..<kind.sessions {
                guard
                    try connection.exchange("POST", "/v1/sessions", #"{"table":"t","id":"\#(name)-\#(number)"}"#) == 201
                else { throw Fault("a session was not opened") }
            }
            guard let before = processorTime(of: server.processIdentifier) else { throw Fault("the server ended") }
            let result = try load(ports: [server.port], connections: kind.writers, seconds: 2) { writer, round in
                Connection.request(
                    "POST", "/v1/sessions/\(name)-\(writer % kind.sessions)/edits",
                    #"{"insert":{"section":0,"row":0},"model":{"id":"\#(writer)-\#(round)","name":"Some name"}}"#)
            }
            guard let after = processorTime(of: server.processIdentifier) else { throw Fault("the server ended") }
            results[kind, default: Results()].add(result, after.time - before.time)
            try besides(kind, run)
        }
    }
    return results
}

/// Measures how many commands per second the server stores durably, beside the same writes with SQLite's C API, and
/// whether many writers on one session are as fast as on many.
func durableBenchmark() throws {
    let directory = try scratchDirectory(), runs = 5
    defer { try? FileManager.default.removeItem(atPath: directory) }
    func show(_ results: [Load: Results], _ load: Load, _ rest: String = "") {
        if let result = results[load] { print("  \(load.name): \(result.text)\(rest)") }
    }
    func showRatio(_ results: [Load: Results]) {
        guard let hot = results[.hot], let spread = results[.spread] else { return }
        print("  64 writers, one session to 64: \(String(format: "%.2f", hot.rate / spread.rate))")
    }
    for synchronous in ["full", "normal"] {
        print(
            "\ndurable: inserts/s, synchronous=\(synchronous), beside the raw C API committing the same rows (medians of \(runs) runs of 2 s, in turn)"
        )
        let loads = [Load(writers: 1, sessions: 1), .spread, .hot, Load(writers: 256, sessions: 256)]
        var raw: [Int: [Int: [Double]]] = [:]
        let results = try durable(loads, synchronous: synchronous, runs: runs, in: directory) { load, run in
            guard load.writers != 64 else { return }
            for group in load.sessions == 1 ? [1] : [64, 128, 256] {
                let path = directory + "/raw-\(synchronous)-\(load.sessions)-\(run)-\(group).sqlite"
                raw[load.sessions, default: [:]][group, default: []].append(
                    try RawStore(path: path, sessions: load.sessions, synchronous: synchronous)
                        .rate(group: group, seconds: 2))
            }
        }
        for load in loads {
            let theirs = load.writers == 64 ? [:] : raw[load.sessions] ?? [:]
            let besides = theirs.sorted { $0.key < $1.key }.map {
                "\(Int(median($0.value)))/s in groups of \($0.key) (\(String(format: "%.2fx", (results[load]?.rate ?? 0) / median($0.value))))"
            }
            show(results, load, besides.isEmpty ? "" : "; raw \(besides.joined(separator: ", "))")
        }
        showRatio(results)
    }
    print("\ndurable: the same, synchronous=full, with a disk whose flush takes 2 ms longer")
    let results = try durable(
        [.spread, .hot], synchronous: "full", runs: runs, environment: try slowFlush(in: directory), in: directory)
    for load in [Load.spread, .hot] { show(results, load) }
    showRatio(results)
}

/// For a server: each flush takes 2 ms longer.
private func slowFlush(in directory: String) throws -> [String: String] {
    let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Tests/Shims/flush.c").path
    let compiler = Process(), library = directory + "/flush.so"
    compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    compiler.arguments = ["clang", "-shared", "-fPIC", "-o", library, source, "-ldl"]
    try compiler.run()
    compiler.waitUntilExit()
    guard compiler.terminationStatus == 0 else { throw Missing("there is no clang") }
    return ["LD_PRELOAD": library, "BRAID_TEST_FLUSH_MICROSECONDS": "2000"]
}

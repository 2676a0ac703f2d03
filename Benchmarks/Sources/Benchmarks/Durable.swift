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

/// Measures how many commands per second the server stores durably. For comparison, it measures the same writes with
/// SQLite's C API.
func durableBenchmark() throws {
    print(
        "\ndurable: inserts/s, synchronous=FULL, beside the raw C API committing the same rows (medians of 5 runs of 2 s, in turn)"
    )
    let directory = try scratchDirectory()
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let server = try Server(database: directory + "/braid.sqlite")
    defer { server.stop() }
    let connection = try Connection(port: server.port)
    let table =
        #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[{"id":"first"}],"editing":"insert"}]}"#
    guard try connection.exchange("PUT", "/v1/tables/t", table) == 201 else {
        throw Fault("the table was not registered")
    }
    for sessions in [1, 256] {
        var ours: [Double] = [], times: [Double] = [], theirs: [Int: [Double]] = [:]
        for run in 0..<Size.count(5, small: 1) {
            for number in 0..<sessions {
                guard
                    try connection.exchange(
                        "POST", "/v1/sessions", #"{"table":"t","id":"s\#(sessions)-\#(run)-\#(number)"}"#) == 201
                else { throw Fault("a session was not opened") }
            }
            let before = try processorSeconds(of: server.processIdentifier)
            let result = try load(ports: [server.port], connections: sessions, seconds: 2) { session, round in
                Connection.request(
                    "POST", "/v1/sessions/s\(sessions)-\(run)-\(session)/edits",
                    #"{"insert":{"section":0,"row":0},"model":{"id":"\#(sessions)-\#(round)","name":"Some name"}}"#)
            }
            let time = try processorSeconds(of: server.processIdentifier) - before
            ours.append(result.rate)
            times.append(time * 1e6 / Double(result.latencies.count))
            for group in sessions == 1 ? [1] : [64, 128, 256] {
                let path = directory + "/raw-\(sessions)-\(run)-\(group).sqlite"
                theirs[group, default: []].append(
                    try RawStore(path: path, sessions: sessions, synchronous: "FULL").rate(group: group, seconds: 2))
            }
        }
        let raw = theirs.sorted { $0.key < $1.key }.map {
            "\(Int(median($0.value)))/s in groups of \($0.key) (\(String(format: "%.2fx", median(ours) / median($0.value))))"
        }
        print(
            "  \(sessions) sessions: \(Int(median(ours)))/s, \(Int(median(times))) µs of processor time each; raw \(raw.joined(separator: ", "))"
        )
    }
}

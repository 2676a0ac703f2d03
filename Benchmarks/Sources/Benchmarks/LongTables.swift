import CSysSQLite
import Foundation

/// Rows whose models have 90 bytes, shown with a view model.
enum LongTable {
    static let sizes = Size.isSmall ? [1_000] : [100_000, 1_000_000]
    static let table =
        #"{"table":"long","cells":{"C":{}},"bindings":[{"cell":"C","models":[],"viewModel":{"title":"${model.name}"},"editing":"delete"}]}"#

    static func model(_ number: Int, name: String = "Name") -> String {
        let start = #"{"id":"row-\#(number)","name":"\#(name) of the row \#(number)","text":""#
        return start + String(repeating: "x", count: 88 - start.utf8.count) + #""}"#
    }

    static func models(_ rows: Int, renamed: Int? = nil) -> String {
        #"{"table":[\#((0..<rows).map { model($0, name: $0 == renamed ? "Game" : "Name") }.joined(separator: ","))]}"#
    }

    static func opening(_ id: String, rows: Int) -> String {
        #"{"table":\#(table),"id":"\#(id)","models":\#(models(rows))}"#
    }

    static func window(_ offset: Int) -> [UInt8] {
        Connection.request("GET", "/v1/sessions/s/snapshot?offset=\(offset)&limit=50")
    }

    static let snapshot = Connection.request("GET", "/v1/sessions/s/snapshot")
}

/// The limits: SQLite's C API, without a server.
private final class RawRows {
    private var database: OpaquePointer?

    init(path: String) throws {
        guard
            sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nil)
                == SQLITE_OK
        else { throw Fault("sqlite3_open failed") }
        try execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -4096")
    }

    deinit { sqlite3_close(database) }

    private func execute(_ sql: String) throws {
        guard sqlite3_exec(database, sql, nil, nil, nil) == SQLITE_OK else {
            throw Fault("sqlite3_exec failed: \(String(cString: sqlite3_errmsg(database)))")
        }
    }

    private func statement<Result>(_ sql: String, _ body: (OpaquePointer?) throws -> Result) throws -> Result {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(database, sql, -1, &statement, nil) == SQLITE_OK else {
            throw Fault("sqlite3_prepare failed")
        }
        defer { sqlite3_finalize(statement) }
        return try body(statement)
    }

    /// As the server's schema has them, in one transaction.
    func write(_ models: [[UInt8]]) throws {
        try execute(
            "CREATE TABLE model (key INTEGER PRIMARY KEY, section INTEGER NOT NULL, rank INTEGER NOT NULL, id TEXT, body TEXT NOT NULL) STRICT; BEGIN IMMEDIATE"
        )
        try statement("INSERT INTO model (key, section, rank, id, body) VALUES (?1, 1, ?2, ?3, ?4)") { statement in
            for (number, model) in models.enumerated() {
                let id = Array("row-\(number)".utf8)
                sqlite3_bind_int64(statement, 1, Int64(1 << 32 | number + 1))
                sqlite3_bind_int64(statement, 2, Int64(number) << 24)
                _ = id.withUnsafeBytes { sqlite3_bind_text64(statement, 3, $0.baseAddress, UInt64($0.count), nil, 1) }
                _ = model.withUnsafeBytes { bytes in
                    sqlite3_bind_text64(statement, 4, bytes.baseAddress, UInt64(bytes.count), nil, 1)
                    return sqlite3_step(statement)
                }
                sqlite3_reset(statement)
            }
        }
        try execute("COMMIT")
    }

    /// `body` gets the bytes of each row's id and model. Returns the number of bytes.
    func read(_ body: (UnsafeRawBufferPointer) throws -> Void) throws -> Int {
        try statement("SELECT key, section, rank, id, body FROM model") { statement in
            var bytes = 0
            while sqlite3_step(statement) == SQLITE_ROW {
                for column: Int32 in 3...4 {
                    let text = UnsafeRawBufferPointer(
                        start: sqlite3_column_blob(statement, column),
                        count: Int(sqlite3_column_bytes(statement, column)))
                    try body(text)
                    bytes += text.count
                }
            }
            return bytes
        }
    }

    /// Reads all rows, and sends them through a socket to a thread that drops them.
    func send() throws {
        var pair: [Int32] = [0, 0]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0 else { throw Fault("no sockets") }
        let reader = pair[1], drained = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            var buffer = [UInt8](repeating: 0, count: 1 << 18)
            while recv(reader, &buffer, buffer.count, 0) > 0 {}
            drained.signal()
        }
        var piece: [UInt8] = []
        piece.reserveCapacity(1 << 18)
        func flush() throws {
            var sent = 0
            while sent < piece.count {
                let count = piece[sent...].withUnsafeBytes { Glibc.send(pair[0], $0.baseAddress, $0.count, 0) }
                guard count > 0 else { throw Fault("cannot send") }
                sent += count
            }
            piece.removeAll(keepingCapacity: true)
        }
        _ = try read {
            piece.append(contentsOf: $0)
            if piece.count > 1 << 18 - 1_024 { try flush() }
        }
        try flush()
        close(pair[0])
        drained.wait()
        close(pair[1])
    }

    /// Changes one row durably.
    func change(_ key: Int) throws {
        try execute("UPDATE model SET body = replace(body, 'Name', 'Game') WHERE key = \(key)")
    }
}

private func milliseconds(_ work: () throws -> Void) rethrows -> Double {
    let start = monotonicNanoseconds()
    try work()
    return Double(monotonicNanoseconds() - start) / 1e6
}

/// Measures what grows with the length of a table, each beside the same rows in raw SQLite.
func longTableBenchmark() throws {
    print(
        "\nlong: a table of rows of 90 bytes with a view model; milliseconds (and the server's processor time), beside SQLite's C API on the same rows"
    )
    for rows in LongTable.sizes { try LongTableRun(rows: rows).measure() }
}

private final class LongTableRun {
    private let rows: Int
    private let directory: String
    private var server: Server
    private var idle = 0.0
    /// One connection for all limits: its WAL has grown, as the server's.
    private let raw: RawRows

    init(rows: Int) throws {
        self.rows = rows
        directory = try scratchDirectory()
        server = try Server(database: directory + "/braid.sqlite", arguments: LargeSession.arguments)
        raw = try RawRows(path: directory + "/raw.sqlite")
    }

    deinit {
        server.stop()
        try? FileManager.default.removeItem(atPath: directory)
    }

    func measure() throws {
        print("  \(rows) rows:")
        try writing()
        try reading()
        try using()
    }

    /// Prints medians of the times of `work`, which gets a connection and the number of the run.
    private func report(
        _ what: String, runs: Int, limit: (name: String, milliseconds: Double)?, restarting: Bool = false,
        _ work: (Connection, Int) throws -> Void
    ) throws {
        var times: [Double] = [], processor: [Double] = []
        for run in 0..<Size.count(runs, small: 1) {
            if restarting { try restart() }
            let connection = try Connection(port: server.port)
            let before = processorTime(of: server.processIdentifier)?.time.total ?? 0
            times.append(try milliseconds { try work(connection, run) })
            processor.append((processorTime(of: server.processIdentifier)?.time.total ?? 0) - before)
        }
        let beside = limit.map {
            String(format: "; \($0.name) %.1f (%.2fx)", $0.milliseconds, median(times) / $0.milliseconds)
        }
        print(
            String(format: "    \(what): %.1f (%.0f)\(beside ?? "")", median(times), median(processor) * 1e3))
    }

    private func restart() throws {
        server.stop()
        server = try Server(database: directory + "/braid.sqlite", arguments: LargeSession.arguments)
        idle = mebibytes(server)
    }

    private func reportMemory(_ what: String) {
        settle(2)
        let bytes = (mebibytes(server) - idle) * 1_048_576 / Double(rows)
        print(String(format: "    memory \(what): %.0f bytes a row (90 of them are its model)", bytes))
    }

    private func writing() throws {
        idle = mebibytes(server)
        let list = (0..<rows).map { Array(LongTable.model($0).utf8) }
        let written = try milliseconds { try raw.write(list) }
        let opening = Connection.request("POST", "/v1/sessions", LongTable.opening("s", rows: rows))
        try report("open", runs: 1, limit: ("raw write", written)) { connection, _ in
            _ = try time(connection, opening, expecting: 201)
        }
        reportMemory("after opening")
        let empty = #"{"table":\#(LongTable.table),"id":"added"}"#
        guard try Connection(port: server.port).exchange("POST", "/v1/sessions", empty) == 201 else {
            throw Fault("the session was not opened")
        }
        // One command may store 400 MiB, its update included.
        let added = min(rows, 500_000)
        let adding = Connection.request("PATCH", "/v1/sessions/added/models", LongTable.models(added))
        let limit = ("raw write", written * Double(added) / Double(rows))
        try report("add \(added) in one call", runs: 1, limit: limit) { connection, _ in
            _ = try time(connection, adding)
        }
        _ = try Connection(port: server.port).exchange("DELETE", "/v1/sessions/added")
    }

    private func reading() throws {
        let reads = try (0..<3).map { _ in try milliseconds { _ = try raw.read { _ in } } }
        let sends = try (0..<3).map { _ in try milliseconds { try raw.send() } }
        try report("first window, not in memory", runs: 5, limit: ("raw read of all", median(reads)), restarting: true)
        {
            connection, _ in _ = try time(connection, LongTable.window(0))
        }
        reportMemory("after a restart and a window")
        try report(
            "whole snapshot, not in memory", runs: 3, limit: ("raw read and sent", median(sends)), restarting: true
        ) {
            connection, _ in
            try connection.send(LongTable.snapshot)
            guard try connection.discard() == 200 else { throw Fault("no snapshot") }
        }
        reportMemory("after a restart and a snapshot")
        try report("whole snapshot, in memory", runs: 3, limit: nil) { connection, _ in
            try connection.send(LongTable.snapshot)
            guard try connection.discard() == 200 else { throw Fault("no snapshot") }
        }
    }

    private func using() throws {
        let changes = try (1...20).map { row in try milliseconds { try raw.change(1 << 32 | row) } }
        let requests = (0..<3).map { run in
            Connection.request("PUT", "/v1/sessions/s/models", LongTable.models(rows, renamed: rows / 2 + run))
        }
        let limit = ("raw change", median(changes))
        try report("PUT of all models, one changed", runs: 3, limit: nil) { connection, run in
            _ = try time(connection, requests[run])
        }
        try report("one edit", runs: 50, limit: limit) { connection, run in
            _ = try time(
                connection,
                Connection.request("POST", "/v1/sessions/s/edits", #"{"delete":{"section":0,"row":\#(run * 19)}}"#))
        }
        try report("a window", runs: 50, limit: nil) { connection, run in
            _ = try time(connection, LongTable.window(run * rows / 100))
        }
    }
}

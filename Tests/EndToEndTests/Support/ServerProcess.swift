import Foundation
import Synchronization
import TestSupport
import Testing

/// The real binary, by default on a free port with a new database.
final class ServerProcess {
    let port: Int
    private let process: Process
    private let output: Pipe
    let errors: URL

    /// `BRAID_SERVER_BINARY`, or what `swift build` has made.
    static var binary: URL {
        if let path = ProcessInfo.processInfo.environment["BRAID_SERVER_BINARY"] { return URL(fileURLWithPath: path) }
        let bundle = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        let beside = bundle.appendingPathComponent("braid-server")
        if FileManager.default.fileExists(atPath: beside.path) { return beside }
        return Self.package.appendingPathComponent(".build/debug/braid-server")
    }

    /// Without other `BRAID_…`: the server refuses those that it does not know.
    static func environment(adding added: [String: String] = [:]) -> [String: String] {
        ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("BRAID_") }.merging(added) { $1 }
    }

    /// Only the example `attendees`.
    static let attendees = ["--fixtures", package.appendingPathComponent("Examples/attendees").path]

    static var package: URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
    }

    /// `launcher` starts the server: a program and its arguments. Without `stderr`, the log goes to a file that `log`
    /// reads.
    init(
        database: String = ":memory:", _ options: [String] = [], environment: [String: String] = [:],
        launcher: [String] = [], stderr: Any? = nil
    ) throws {
        process = Process()
        process.executableURL = launcher.first.map { URL(fileURLWithPath: $0) } ?? Self.binary
        let database = try TestDatabase.address(of: database)
        process.arguments =
            (launcher.isEmpty ? [] : launcher.dropFirst() + [Self.binary.path]) + [
                "serve", "--port", "0", "--database", database, "--log-level", "warning",
            ] + options
        process.environment = Self.environment(adding: environment)
        output = Pipe()
        errors = FileManager.default.temporaryDirectory.appendingPathComponent("braid-\(UUID().uuidString).log")
        _ = FileManager.default.createFile(atPath: errors.path, contents: nil)
        process.standardOutput = output
        process.standardError = try stderr ?? FileHandle(forWritingTo: errors)
        try process.run()
        let text = try output.line()
        guard text.hasPrefix("listening on http://"), let port = text.split(separator: ":").last.flatMap({ Int($0) })
        else {
            process.waitUntilExit()
            throw StartFailure(
                output: text, errors: (try? String(contentsOf: errors, encoding: .utf8)) ?? "",
                status: process.terminationStatus)
        }
        self.port = port
    }

    struct StartFailure: Error {
        var output: String
        var errors: String
        var status: Int32
    }

    var isRunning: Bool { process.isRunning }
    var processIdentifier: Int32 { process.processIdentifier }
    var log: String { (try? String(contentsOf: errors, encoding: .utf8)) ?? "" }

    /// A thread of its own writes the log.
    func waitForLog(_ isMet: (String) -> Bool) -> Bool { eventually { isMet(log) } }

    /// Such as `braid_subscribers{by="poll"} 1`.
    func waitForMetric(_ sample: String) throws -> Bool {
        try eventually { try client().get("/metrics").text.contains("\n\(sample)\n") }
    }

    /// SIGKILL.
    func kill() {
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// SIGTERM; the exit status.
    @discardableResult
    func stop() -> Int32 {
        process.terminate()
        return ended()
    }

    /// After a signal sent before; the exit status.
    @discardableResult
    func ended() -> Int32 {
        process.waitUntilExit()
        return process.terminationStatus
    }

    /// By itself; the exit status.
    func waitForEnd() -> Int32 {
        process.waitUntilExit()
        return process.terminationStatus
    }

    func client() throws -> HTTPClient { try HTTPClient(port: port) }

    /// Of a server that should be ready. Asks again up to 15 times after a 503, which comes if the database needs more
    /// than four seconds, as on a busy machine.
    func readiness() throws -> HTTPClient.Response {
        for _ in 0..<15 {
            let answer = try client().get("/readyz")
            if answer.status != 503 { return answer }
        }
        return try client().get("/readyz")
    }

    deinit {
        if process.isRunning { kill() }
        try? FileManager.default.removeItem(at: errors)
    }
}

extension Pipe {
    /// Without its line feed.
    func line() throws -> String {
        var line = Data()
        while let byte = try fileHandleForReading.read(upToCount: 1), !byte.isEmpty, byte != Data("\n".utf8) {
            line += byte
        }
        return String(decoding: line, as: UTF8.self)
    }
}

/// SQLite or, with `BRAID_TEST_DATABASE=postgres`, the cluster of `Scripts/with-postgres`.
enum TestDatabase {
    static let isSQLite = ProcessInfo.processInfo.environment["BRAID_TEST_DATABASE"] != "postgres"
    private static let made = Mutex<Set<String>>([])

    /// In place of an SQLite database, a PostgreSQL schema: always the same for a file, a new one in memory. With
    /// SQLite, `database` itself.
    static func address(of database: String) throws -> String {
        guard !isSQLite, !database.hasPrefix("postgres://"),
            ProcessInfo.processInfo.environment["BRAID_TEST_POSTGRES"] != nil
        else { return database }
        return try schema(
            database == ":memory:" ? UUID().uuidString : database.split(separator: "/").suffix(2).joined())
    }

    /// Creates it if need be.
    static func schema(_ name: String = UUID().uuidString) throws -> String {
        let directory = ProcessInfo.processInfo.environment["BRAID_TEST_POSTGRES"] ?? ""
        let name = name.lowercased().filter { $0.isLetter || $0.isNumber }
        if made.withLock({ $0.insert(name).inserted }) {
            try run("CREATE SCHEMA \"\(name)\"", in: "postgres://braid@/postgres?host=\(directory)")
        }
        return "postgres://braid@/postgres?host=\(directory)&options=-csearch_path%3D%22\(name)%22"
    }

    /// In PostgreSQL.
    static func run(_ sql: String, in address: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["psql", "-q", address, "-c", sql]
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(sql)")
    }
}

/// Deleted with this object.
final class TemporaryDirectory {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("braid-\(UUID().uuidString)")
    init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }
    func path(_ name: String) -> String { url.appendingPathComponent(name).path }
    deinit { try? FileManager.default.removeItem(at: url) }
}

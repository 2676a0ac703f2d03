import Foundation
import Testing

/// A PostgreSQL cluster of its own, that goes with the test.
final class PostgresCluster {
    /// Of its socket.
    let directory: String
    private let process = Process(), input = Pipe(), output = Pipe()

    #if PostgreSQL
    static let hasTrait = true
    #else
    static let hasTrait = false
    #endif
    static let isPossible = hasTrait && ProcessInfo.processInfo.environment["BRAID_TEST_POSTGRES"] != nil
    static let needs: Comment = "needs PostgreSQL, and `--traits PostgreSQL`"

    init() throws {
        process.executableURL = ServerProcess.package.appendingPathComponent("Scripts/with-postgres")
        // A shell that takes commands for pg_ctl: what they start goes on, and must have nothing of this process.
        process.arguments = [
            "sh", "-c",
            "cd /; echo $BRAID_TEST_POSTGRES; while read -r command; do $BRAID_TEST_POSTGRES_CONTROL $command </dev/null >/dev/null 2>&1; echo $?; done",
        ]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        directory = try output.line()
    }

    /// Of its database `postgres`.
    var address: String { "postgres://braid@/postgres?host=\(directory)" }

    /// `restart`, `stop` (as a crash does it, unless options of pg_ctl follow) or `start`; returns when that is done.
    func control(_ command: String) throws {
        try input.fileHandleForWriting.write(
            contentsOf: Data("\(command)\(command == "start" || command.contains(" ") ? "" : " -m immediate")\n".utf8))
        #expect(try output.line() == "0", "pg_ctl \(command)")
    }

    /// Ends every connection, as a network does that fails for a moment. Returns when they have ended.
    func cutConnections() throws {
        try TestDatabase.run(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE usename = 'braid' AND pid <> pg_backend_pid()",
            in: address)
    }

    deinit {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }
}

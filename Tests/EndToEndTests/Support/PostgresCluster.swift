import Foundation
import Testing

/// For one test; deleted with this object.
final class PostgresCluster {
    /// Of the Unix socket.
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
        // A shell that reads pg_ctl commands from its input. What pg_ctl starts keeps running, so must not inherit the
        // shell's files.
        process.arguments = [
            "sh", "-c",
            "cd /; echo $BRAID_TEST_POSTGRES; while read -r command; do $BRAID_TEST_POSTGRES_CONTROL $command </dev/null >/dev/null 2>&1; echo $?; done",
        ]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        directory = try output.line()
    }

    /// Of the database `postgres`.
    var address: String { "postgres://braid@/postgres?host=\(directory)" }

    /// `restart`, `stop` or `start`, until done. Without further options, the first two are like a crash.
    func control(_ command: String) throws {
        try input.fileHandleForWriting.write(
            contentsOf: Data("\(command)\(command == "start" || command.contains(" ") ? "" : " -m immediate")\n".utf8))
        #expect(try output.line() == "0", "pg_ctl \(command)")
    }

    /// All of the user `braid`, like a short failure of the network. Waits at most a minute for their ends.
    func cutConnections() throws {
        try TestDatabase.run(
            "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE usename = 'braid' AND pid <> pg_backend_pid()",
            in: address)
    }

    deinit {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }
}

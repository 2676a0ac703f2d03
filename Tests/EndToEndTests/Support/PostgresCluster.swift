import Foundation
import Testing

/// A PostgreSQL cluster for a single test. The cluster is deleted together with this object.
final class PostgresCluster {
    /// The directory with the Unix socket of the PostgreSQL cluster.
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
        // Starts a shell that reads commands for pg_ctl from its input. The programs that pg_ctl starts continue to
        // run, so they must not inherit the shell's files.
        process.arguments = [
            "sh", "-c",
            "cd /; echo $BRAID_TEST_POSTGRES; while read -r command; do $BRAID_TEST_POSTGRES_CONTROL $command </dev/null >/dev/null 2>&1; echo $?; done",
        ]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        directory = try output.line()
    }

    /// The URL of the database `postgres` in this PostgreSQL cluster.
    var address: String { "postgres://braid@/postgres?host=\(directory)" }

    /// Runs `pg_ctl` with `restart`, `stop` or `start`, and returns when it is done. Without further options, `restart`
    /// and `stop` end the PostgreSQL cluster like a crash.
    func control(_ command: String) throws {
        try input.fileHandleForWriting.write(
            contentsOf: Data("\(command)\(command == "start" || command.contains(" ") ? "" : " -m immediate")\n".utf8))
        #expect(try output.line() == "0", "pg_ctl \(command)")
    }

    /// Ends every connection of the user `braid` to the PostgreSQL cluster, like a short failure of the network. Waits
    /// for the end of each connection, for at most one minute.
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

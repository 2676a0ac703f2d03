import ArgumentParser
import BraidPostgres
import BraidServer
import BraidStore
import Logging

/// The options of `serve`. Each option, including the options of option groups, is also an environment variable
/// (`EnvironmentOptions`).
struct ServeOptions: ParsableArguments {
    enum Synchronous: String, ExpressibleByArgument, CaseIterable { case full, normal }

    @Option(help: "The address to bind. An address other than loopback needs a token or --allow-anonymous.")
    var hostname = "127.0.0.1"
    @Option(help: "The port. With 0 the system chooses a free one.")
    var port = 8080
    @Option(help: "Listen on this Unix socket instead of a port.", completion: .file())
    var socket: String?
    @Option(
        help: "The SQLite database, :memory:, or a PostgreSQL database: postgres://USER@HOST/NAME.", completion: .file()
    )
    var database = "braid.sqlite"
    @Option(
        help: "A directory of *.table.json and *.session.json to load at start. Can be given several times.",
        completion: .directory)
    var fixtures: [String] = []
    @OptionGroup(title: "Access") var access: AccessOptions
    @Option(help: "The number of revisions that a session's journal keeps.")
    var journalLimit = 1000
    @Option(help: "The number of bytes that a session's journal keeps.")
    var journalBytes = 67_108_864
    @Option(
        help:
            "Seconds after which an unused session leaves memory. The next request reads it again. 0: never."
    )
    var sessionIdleTime = 300
    @OptionGroup(title: "Limits") var limits: LimitOptions
    @Option(help: "Durability. full survives a power loss, normal only a crash of the process.")
    var synchronous = Synchronous.full
    @Flag(
        help:
            "For tests: ids, epochs and the clock count up, so that equal requests get equal answers."
    )
    var deterministic = false
    @Option(help: "The lowest level that is logged to stderr. The lines of requests have the level info.")
    var logLevel = Logger.Level.info
    @Option(help: "The format of log lines: text, or JSON objects.")
    var logFormat = LogLines.Format.text

    func validate() throws {
        guard !hostname.isEmpty else { throw ValidationError("--hostname must not be empty") }
        guard !database.isEmpty else { throw ValidationError("--database must not be empty") }
        // SQLite would read a name with `file:` as a URI, and open another file than the one that the store locks.
        guard !database.hasPrefix("file:") else {
            throw ValidationError("--database takes a path, not a URI; a file of that name is ./\(database)")
        }
        guard (0...65_535).contains(port) else { throw ValidationError("--port must be from 0 to 65535") }
        guard journalLimit >= 1 else { throw ValidationError("--journal-limit must be 1 at least") }
        guard journalBytes >= 1 else { throw ValidationError("--journal-bytes must be 1 at least") }
        guard sessionIdleTime >= 0 else { throw ValidationError("--session-idle-time must not be negative") }
    }

    var sqlite: SQLiteStoreOptions {
        SQLiteStoreOptions(
            synchronous: synchronous == .full ? .full : .normal, journalLimit: journalLimit, journalBytes: journalBytes,
            newEpochSuffix: deterministic ? EpochSuffix.counted : EpochSuffix.random)
    }

    #if PostgreSQL
    var postgres: PostgresStoreOptions {
        PostgresStoreOptions(
            synchronous: synchronous == .full ? .full : .normal, journalLimit: journalLimit, journalBytes: journalBytes,
            newEpochSuffix: deterministic ? EpochSuffix.counted : EpochSuffix.random)
    }
    #endif
}

extension Logger.Level: @retroactive ExpressibleByArgument {}
extension LogLines.Format: ExpressibleByArgument {}

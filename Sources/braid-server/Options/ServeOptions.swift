import BraidPostgres
import BraidServer
import BraidStore
import Glibc

struct ServeOptions {
    enum Synchronous: String, CaseIterable { case full, normal }

    enum SocketAccess: String, CaseIterable {
        case owner, group, everyone

        var mode: UInt32 {
            switch self {
            case .owner: 0o600
            case .group: 0o660
            case .everyone: 0o666
            }
        }
    }

    var hostname = "127.0.0.1"
    var port = 8080
    var socket: String?
    var socketAccess = SocketAccess.owner
    var database = "braid.sqlite"
    var fixtures: [String] = []
    var watch = false
    var access = AccessOptions()
    var journalLimit = 1000
    var journalBytes = 67_108_864
    var sessionIdleTime = 300
    var limits = LimitOptions()
    var synchronous = Synchronous.full
    var deterministic = false
    var testMode = false
    var logLevel = LogLevel.info
    var logFormat = LogLines.Format.text
    var logFile: String?
    var drainTime = 0
    var exitWithStdin = false

    static let options: [CommandOption<ServeOptions>] =
        ownOptions + AccessOptions.options.map { $0.inside(\.access, heading: "Access") }
        + LimitOptions.options.map { $0.inside(\.limits, heading: "Limits") }

    private static let ownOptions: [CommandOption<ServeOptions>] = [
        // Above each option: who needs it.

        // Containers and other machines reach the server only at an address that is not loopback.
        .text(
            "hostname", \.hostname,
            help: "The address to bind. An address other than loopback needs a token or --allow-anonymous."),
        // Several servers on one machine, and 0 for tests that run side by side.
        .integer("port", \.port, in: 0...65_535, help: "The port. With 0 the system chooses a free one."),
        // A proxy on the same machine that must be the only one to connect.
        .optionalText("socket", \.socket, help: "Listen on this Unix socket instead of a port."),
        // A proxy that runs as another user, in the server's group or not.
        .choice(
            "socket-access", \.socketAccess,
            help: "The users that may connect to the Unix socket: its owner, the owner's group, or everyone."),
        // A path for a volume, :memory: for tests, a URL for several servers.
        .text(
            "database", \.database,
            help: "The SQLite database, :memory:, or a PostgreSQL database: postgres://USER@HOST/NAME.",
            check: checkDatabase),
        // Tests, demos, and deployments that keep their table descriptions in a repository.
        .repeatedText(
            "fixtures", \.fixtures,
            help: "A directory of *.table.json and *.session.json to load at start. Can be given several times."),
        // Authors who edit a description and want to see the result.
        .flag(
            "watch", \.watch,
            help: "Reload the *.table.json files of --fixtures when they change, and bind their sessions to them."),
        // Apps with offline clients or long undo need more revisions, those with huge updates fewer.
        .integer(
            "journal-limit", \.journalLimit, in: 1...Int.max,
            help: "The number of revisions that a session's journal keeps."),
        // The same as --journal-limit, where the size of an update varies.
        .integer(
            "journal-bytes", \.journalBytes, in: 1...Int.max,
            help: "The number of bytes that a session's journal keeps."),
        // Machines with little memory and many sessions, or with memory to spare for slow databases.
        .integer(
            "session-idle-time", \.sessionIdleTime, in: 0...Int.max,
            help: "Seconds after which an unused session leaves memory. The next request reads it again. 0: never."),
        // Servers that may lose their last changes in a power loss, and need not wait for the disk.
        .choice(
            "synchronous", \.synchronous,
            help: "Durability. full survives a power loss, normal only a crash of the process."),
        // Tests that compare whole answers, and the examples of the documentation.
        .flag(
            "deterministic", \.deterministic,
            help:
                "For tests: ids, epochs, tokens and the clock count up, so that equal requests get equal answers. Everyone can guess the tokens."
        ),
        // The test kits, and tests of clients against a failing server.
        .flag(
            "test-mode", \.testMode,
            help: "For tests: /v1/test injects faults, verifies requests, resets, sets the clock. Not with PostgreSQL."),
        // Busy servers that log no requests, and the search for a fault.
        .choice(
            "log-level", \.logLevel,
            help:
                "The lowest level that is logged to stderr. Requests have the level info, those of probes debug, administrative acts notice."
        ),
        // Log collectors that parse lines.
        .choice("log-format", \.logFormat, help: "The format of log lines: text, or JSON objects."),
        // Servers without a service manager that keeps their stderr, together with logrotate.
        .optionalText("log-file", \.logFile, help: "Append the log to this file instead. SIGHUP opens it again."),
        // Load balancers that notice only after some seconds that a server stops.
        .integer(
            "drain-time", \.drainTime, in: 0...3_600,
            help: "Seconds between SIGTERM and the stop, in which /readyz answers 503 and all other requests go on."),
        // Test kits, whose servers must not outlive a killed test run.
        .flag(
            "exit-with-stdin", \.exitWithStdin,
            help:
                "Stop as with SIGTERM when the standard input ends, and so when the process that started the server ends."
        ),
    ]

    /// For the log, without secrets.
    var settings: [(name: String, value: String)] {
        Self.options.compactMap { option in
            option.current(self).map { (option.name, Secrets.redacted($0)) }
        }
    }

    /// SQLite would read `file:` as a URI and open another file than the one that we lock.
    private static func checkDatabase(_ name: String) throws(WrongValue) {
        guard name.hasPrefix("file:") else { return }
        throw WrongValue("must be a path, not a URI; a file of that name is ./\(name)")
    }

    func store(logging log: LogLines) -> StoreOptions {
        StoreOptions(
            synchronous: synchronous == .full ? .full : .normal, journalLimit: journalLimit, journalBytes: journalBytes,
            newEpochSuffix: deterministic ? EpochSuffix.counted : EpochSuffix.random, onChange: log.write)
    }

    func sqliteFile(logging log: LogLines) -> SQLiteFileOptions {
        SQLiteFileOptions(onLostWrite: { explanation in
            log.write(.critical, explanation)
            log.flush()
            _exit(SQLiteFileOptions.lostWriteExitStatus)
        })
    }
}

extension LogLines {
    @Sendable
    fileprivate func write(_ change: StoreChange) {
        switch change {
        case .failing(let error):
            write(.error, "the database fails: \(error)") { $0.add("reason", error.kind ?? "") }
        case .working(let error):
            write(.warning, "the database works again") { $0.add("reason", error.kind ?? "") }
        case .newEpochs:
            write(.warning, "all sessions have new epochs: the database was restored or may have lost commits")
        }
    }
}

import BraidEngine
import BraidHTTP
import BraidRuntime
import BraidServer

struct LimitOptions {
    var maxBodyBytes = BoundedLimit(value: 16_777_216)
    var maxBufferedBytes = 268_435_456
    var maxViewBytes = 1_073_741_824
    var maxHeaderBytes = 32_768
    var maxRows = 1_000_000
    var maxSections = 10_000
    var maxRenderedBytes = 268_435_456
    var maxTemplateSteps = 5_000_000
    var commandTimeout = 30
    var participantCommandTimeout = BoundedLimit(value: 5)
    var maxTransaction = 100_000
    var participantMaxTransaction = BoundedLimit(value: 1_000)
    var maxSessions = 100_000
    var maxConnections = BoundedLimit(value: 10_000)
    var maxSubscribers = BoundedLimit(value: 9_000)
    var maxRequests = BoundedLimit(value: 2_048)
    var headerTimeout = 10
    var minBodyRate = 1_024
    var idleTimeout = 75

    /// Where only the machine's memory is a bound.
    private static let most = 1 << 40

    static let options: [CommandOption<LimitOptions>] = [
        // Above each option: who needs it.

        // Controllers that write or import a whole table in one request.
        .limit(
            "max-body-bytes", \.maxBodyBytes, in: 1_024...most,
            help: "The most bytes of a request's body, at most --max-buffered-bytes."),
        // Containers with little memory, and large tables with many readers.
        .integer(
            "max-buffered-bytes", \.maxBufferedBytes, in: 1 << 20...most,
            help:
                "Bytes of memory for the bodies of all current requests, and the same again for large answers that clients have not read. A session can use a quarter of each, a token an eighth."
        ),
        // Tables of many rows that each of many people sees otherwise.
        .integer(
            "max-view-bytes", \.maxViewBytes, in: 1 << 20...most,
            help:
                "Bytes of memory for tables that only some people see. A session can use half, a token an eighth."
        ),
        // Servers behind a log-in proxy that adds long cookies or tokens.
        .integer(
            "max-header-bytes", \.maxHeaderBytes, in: 1_024...1 << 24,
            help: "The most bytes of a request's head: its first line and its fields."),
        // Small machines, or tables with more than a million rows.
        .integer("max-rows", \.maxRows, in: 1...most, help: "The most rows of a session."),
        // Tables with a section for each day or person.
        .integer("max-sections", \.maxSections, in: 1...most, help: "The most sections of a session."),
        // Large tables whose templates build large cells.
        .integer(
            "max-rendered-bytes", \.maxRenderedBytes, in: 1...most,
            help: "The most bytes that one command may render, plus 1,000 for each row."),
        // Large tables whose rows read the state, so that one command renders all of them.
        .integer(
            "max-template-steps", \.maxTemplateSteps, in: 1...most,
            help: "The most steps of one command's templates, plus 200 for each row."),
        // Slow machines with large tables.
        .integer(
            "command-timeout", \.commandTimeout, in: 1...86_400, help: "The most seconds that one command may take."),
        // Apps whose participants may start work that takes long, or must not.
        .limit(
            "participant-command-timeout", \.participantCommandTimeout, in: 1...86_400,
            help: "The most seconds that a participant's command may take, at most --command-timeout."),
        // Controllers that import many rows with single edits.
        .integer("max-transaction", \.maxTransaction, in: 1...most, help: "The most commands in one transaction."),
        // Apps whose participants work offline and send all their edits at once.
        .limit(
            "participant-max-transaction", \.participantMaxTransaction, in: 1...most,
            help: "The most commands in one transaction of a participant, at most --max-transaction."),
        // Hosts that give each user or test a session, and disks that need a bound.
        .integer("max-sessions", \.maxSessions, in: 1...most, help: "The most sessions."),
        // Machines with many followers, or with few files.
        .limit(
            "max-connections", \.maxConnections, in: 1...most,
            help: "The most connections. The process's limit of open files can lower the default."),
        // Many followers of few sessions.
        .limit(
            "max-subscribers", \.maxSubscribers, in: 1...most,
            help: "The most event streams and long polls, fewer than --max-connections."),
        // Small machines that must refuse early, and large ones with slow databases.
        .limit(
            "max-requests", \.maxRequests, in: 1...most,
            help: "The most requests that are answered at the same time, at most --max-connections."),
        // Clients on slow networks, and servers under attack by slow ones.
        .integer(
            "header-timeout", \.headerTimeout, in: 1...3_600, help: "Seconds within which a request's head must arrive."
        ),
        // Devices whose uplink is slower than 1 KiB a second.
        .integer(
            "min-body-rate", \.minBodyRate, in: 1...1 << 30,
            help: "The lowest rate of a request's body after its first ten seconds, in bytes a second."),
        // Proxies that keep connections open: theirs must close them first.
        .integer(
            "idle-timeout", \.idleTimeout, in: 1...86_400,
            help: "Seconds after which a connection without a request is closed."),
    ]

    /// Lowers defaults that do not fit each other or the limit of open files; throws if chosen values do not fit.
    /// `otherFiles` are those besides connections.
    mutating func fit(openFiles: Int, otherFiles: Int) throws(Failure) {
        let most = openFiles - otherFiles
        guard most > 0 else {
            throw Failure(
                "The process may open \(openFiles) files. The server needs at least \(otherFiles + 1). Raise the limit of open files, for example with `ulimit -n`."
            )
        }
        // First, because it bounds others.
        try maxConnections.fit(to: most) { [maxConnections] in
            "--max-connections \(maxConnections.value) needs \(maxConnections.value + otherFiles) open files, and the process may open \(openFiles). Raise the limit of open files, or set --max-connections to at most \(most)."
        }
        let connections = maxConnections.value
        try maxSubscribers.fit(to: connections - 1, usual: max(1, connections - (connections + 9) / 10)) {
            [maxSubscribers] in
            "--max-subscribers \(maxSubscribers.value) does not fit --max-connections, which is \(connections). A subscriber uses a connection, and one connection must stay free for requests. Lower --max-subscribers, or raise --max-connections."
        }
        for (name, limit, bound, otherName) in [
            ("max-requests", \Self.maxRequests, connections, "max-connections"),
            ("max-body-bytes", \.maxBodyBytes, maxBufferedBytes, "max-buffered-bytes"),
            ("participant-command-timeout", \.participantCommandTimeout, commandTimeout, "command-timeout"),
            ("participant-max-transaction", \.participantMaxTransaction, maxTransaction, "max-transaction"),
        ] {
            let value = self[keyPath: limit].value
            try self[keyPath: limit].fit(to: bound) {
                "--\(name) \(value) is more than --\(otherName), which is \(bound). Lower --\(name), or raise --\(otherName)."
            }
        }
    }

    /// A new quota each time: one for bodies, one for answers.
    var bufferQuota: Quota { Quota(maxBufferedBytes, resourcePart: 4, clientPart: 8) }

    var viewQuota: Quota { Quota(maxViewBytes, resourcePart: 2, clientPart: 8) }

    var limits: ServerLimits {
        var limits = ServerLimits()
        limits.bodyBytes = maxBodyBytes.value
        limits.sessions = maxSessions
        limits.subscribers = maxSubscribers.value
        limits.requests = maxRequests.value
        limits.table.rows = maxRows
        limits.table.sections = maxSections
        limits.table.renderedBytes = maxRenderedBytes
        limits.table.templateSteps = maxTemplateSteps
        limits.table.commandTime = .seconds(commandTimeout)
        limits.participantCommandTime = .seconds(participantCommandTimeout.value)
        limits.transactionCommands = maxTransaction
        limits.participantTransactionCommands = participantMaxTransaction.value
        return limits
    }

    func configure(_ server: inout HTTPServer.Configuration) {
        server.maxConnections = maxConnections.value
        server.limits.parser.headBytes = maxHeaderBytes
        server.limits.parser.targetBytes = min(server.limits.parser.targetBytes, maxHeaderBytes)
        server.limits.headTime = .seconds(headerTimeout)
        server.limits.leastBodyBytesPerSecond = minBodyRate
        server.limits.idleTime = .seconds(idleTimeout)
    }
}

/// Must not exceed another limit, its bound. Only a default is lowered, never what the user chose.
struct BoundedLimit: Sendable {
    var value: Int
    var isChosen = false

    /// A default is lowered to `usual`, if given, instead of the bound.
    mutating func fit(to bound: Int, usual: Int? = nil, _ conflict: () -> String) throws(Failure) {
        if !isChosen {
            value = min(value, usual ?? bound)
        } else if value > bound {
            throw Failure(conflict())
        }
    }
}

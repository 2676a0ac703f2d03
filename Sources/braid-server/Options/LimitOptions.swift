import ArgumentParser
import BraidEngine
import BraidHTTP
import BraidRuntime
import BraidServer

/// The command-line options of `serve` for the server's limits.
struct LimitOptions: ParsableArguments {
    @Option(help: "The most bytes of a request's body.")
    var maxBodyBytes = 16_777_216
    @Option(
        help:
            "Bytes of memory for the bodies of all current requests, and the same again for large answers that clients have not read. A session can use a quarter of each, a token an eighth."
    )
    var maxBufferedBytes = 268_435_456
    @Option(help: "The most bytes of a request's head: its first line and its fields.")
    var maxHeaderBytes = 32_768
    @Option(help: "The deepest nesting of JSON, at most 128.")
    var maxJsonDepth = 128
    @Option(help: "The most rows of a session.")
    var maxRows = 1_000_000
    @Option(help: "The most sections of a session.")
    var maxSections = 10_000
    @Option(help: "The most bytes that one command's templates may build, plus 1,000 for each row.")
    var maxRenderedBytes = 268_435_456
    @Option(help: "The most steps of one command's templates, plus 200 for each row.")
    var maxTemplateSteps = 5_000_000
    @Option(help: "The most seconds that one command may take.")
    var commandTimeout = 30
    @Option(help: "The most seconds that a participant's command may take.")
    var participantCommandTimeout = 5
    @Option(help: "The most commands in one transaction.")
    var maxTransaction = 100_000
    @Option(help: "The most commands in one transaction of a participant.")
    var participantMaxTransaction = 1_000
    @Option(help: "The most sessions.")
    var maxSessions = 100_000
    @Option(help: "The most connections. The process's limit of open files can lower it.")
    var maxConnections = 10_000
    @Option(help: "The most event streams and long polls.")
    var maxSubscribers = 9_000
    @Option(help: "The most requests that are answered at the same time.")
    var maxRequests = 2_048
    @Option(help: "Seconds within which a request's head must arrive.")
    var headerTimeout = 10
    @Option(help: "The lowest rate of a request's body after its first ten seconds, in bytes a second.")
    var minBodyRate = 1_024
    @Option(help: "Seconds after which a connection without a request is closed.")
    var idleTimeout = 75

    func validate() throws {
        try check("max-body-bytes", maxBodyBytes, 1_024...1 << 40)
        try check("max-buffered-bytes", maxBufferedBytes, 1 << 20...1 << 40)
        try check("max-header-bytes", maxHeaderBytes, 1_024...1 << 24)
        try check("max-json-depth", maxJsonDepth, 8...128)
        for (name, value) in [
            ("max-rows", maxRows), ("max-sections", maxSections), ("max-rendered-bytes", maxRenderedBytes),
            ("max-template-steps", maxTemplateSteps),
            ("max-sessions", maxSessions), ("max-connections", maxConnections), ("max-subscribers", maxSubscribers),
            ("max-requests", maxRequests),
            ("max-transaction", maxTransaction), ("participant-max-transaction", participantMaxTransaction),
        ] {
            try check(name, value, 1...1 << 40)
        }
        try check("command-timeout", commandTimeout, 1...86_400)
        try check("participant-command-timeout", participantCommandTimeout, 1...86_400)
        try check("header-timeout", headerTimeout, 1...3_600)
        try check("min-body-rate", minBodyRate, 1...1 << 30)
        try check("idle-timeout", idleTimeout, 1...86_400)
    }

    private func check(_ name: String, _ value: Int, _ range: ClosedRange<Int>) throws {
        guard range.contains(value) else {
            throw ValidationError("--\(name) must be from \(range.lowerBound) to \(range.upperBound)")
        }
    }

    /// Returns a new quota of `maxBufferedBytes`. The server has one for request bodies and one for answers.
    var bufferQuota: Quota { Quota(maxBufferedBytes, resourcePart: 4, clientPart: 8) }

    var limits: ServerLimits {
        var limits = ServerLimits()
        // A longer body than `maxBufferedBytes` could never get its memory, so refuse it by its length.
        limits.bodyBytes = min(maxBodyBytes, maxBufferedBytes)
        limits.jsonDepth = maxJsonDepth
        limits.sessions = maxSessions
        limits.subscribers = maxSubscribers
        limits.requests = maxRequests
        limits.table.rows = maxRows
        limits.table.sections = maxSections
        limits.table.renderedBytes = maxRenderedBytes
        limits.table.templateSteps = maxTemplateSteps
        limits.table.commandTime = .seconds(commandTimeout)
        limits.participantCommandTime = .seconds(participantCommandTimeout)
        limits.transactionCommands = maxTransaction
        limits.participantTransactionCommands = participantMaxTransaction
        return limits
    }

    func configure(_ server: inout HTTPServer.Configuration) {
        server.maxConnections = maxConnections
        server.limits.parser.headBytes = maxHeaderBytes
        server.limits.parser.targetBytes = min(server.limits.parser.targetBytes, maxHeaderBytes)
        server.limits.headTime = .seconds(headerTimeout)
        server.limits.leastBodyBytesPerSecond = minBodyRate
        server.limits.idleTime = .seconds(idleTimeout)
    }
}

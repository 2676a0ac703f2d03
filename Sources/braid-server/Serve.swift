import BraidEngine
import BraidHTTP
import BraidRuntime
import BraidServer
import BraidSessions
import Dispatch
import Glibc

/// The command that runs the server until a signal stops it.
struct Serve: ServerCommand {
    static let name = "serve"
    static let abstract = "Run the server."
    static let discussion = """
        Prints one line to stdout when it accepts connections: listening on http://127.0.0.1:PORT. Writes logs to stderr.
        SIGTERM and SIGINT stop it. It finishes current requests within 10 seconds and exits with status 0.

        Every option is also an environment variable. The command line takes precedence. A flag is true or false. Several \
        values are separated by commas. The server does not start with any other variable BRAID_…. The variables: \
        \(variables.joined(separator: ", ")), and BRAID_TOKEN, the controller's token.
        """
    static let options: [CommandOption<Serve>] = ServeOptions.options.map { $0.inside(\.options) }
    static let readsEnvironment = true

    var options = ServeOptions()

    /// Returns whether the command line or the environment sets `--log-format json`, even if another value there is
    /// wrong. Errors before the start of the log then have this format too.
    static func isLogJSON(_ arguments: [String], _ environment: [String: String]) -> Bool {
        let name = "--log-format", options = Array(arguments.prefix { $0 != "--" })
        let given = options.indices.compactMap { index in
            options[index] == name
                ? options.dropFirst(index + 1).first
                : options[index].hasPrefix(name + "=") ? String(options[index].dropFirst(name.count + 1)) : nil
        }
        return (given.last ?? environment["BRAID_LOG_FORMAT"]) == LogLines.Format.json.rawValue
    }

    func run() async throws {
        try EnvironmentVariables.check(
            EnvironmentVariables.ofProcess(), known: Program.commands.flatMap { $0.variables })
        // The server must keep running when the readers of its stdout and stderr exit.
        signal(SIGPIPE, SIG_IGN)
        Memory.prepare()
        var log = LogLines(format: options.logFormat)
        log.logLevel = options.logLevel
        defer { log.flush() }
        let address =
            options.socket.map { HTTPAddress.unix(path: $0) } ?? .tcp(host: options.hostname, port: options.port)
        let token = try options.access.controllerToken()
        try options.access.checkAddress(address, token: token)
        if options.watch, options.fixtures.isEmpty {
            throw Failure("--watch needs the directories of --fixtures.")
        }
        log.write(.notice, "starting") { line in
            line.add("version", App.version)
            line.add("access", token == nil ? "anonymous" : "token")
            for (name, value) in options.settings { line.add(name, value) }
        }
        let database = try Database.open(options, logging: log)
        let store = database.store
        if let notice = database.schemaNotice { log.write(.notice, "database schema") { $0.add("detail", notice) } }
        let (clock, ids) = options.deterministic ? try await deterministic(after: store) : (Clock(), IDGenerator())
        let incoming = options.limits.bufferQuota, outgoing = options.limits.bufferQuota
        var limits = options.limits.limits
        limits.bodies = incoming
        let app = App(
            store: store, clock: clock, ids: ids, limits: limits, token: token,
            pages: options.access.pages(for: address, token: token),
            streams: StreamLimits(buffers: outgoing), log: log, proxies: options.access.proxies)
        try await Fixtures(directories: options.fixtures).load(into: app)

        var configuration = HTTPServer.Configuration()
        configuration.address = address
        configuration.incoming = incoming
        configuration.outgoing = outgoing
        options.limits.configure(&configuration)
        configuration.onPause = { errno in app.log.reached(errno == 0 ? "max-connections" : "open-files") }
        let server = HTTPServer(configuration: configuration, handler: app)
        app.reportConnections(of: server)
        let stop = await StopSignal()
        do {
            try server.start()
        } catch {
            throw Failure("\(error)")
        }
        Files.write("listening on \(server.address?.description ?? "")\n".utf8, to: STDOUT_FILENO)
        log.write(.notice, "serving \(Secrets.redacted(database.name))")

        app.sessions.listen()
        let unloading = Task {
            if options.sessionIdleTime > 0 {
                await IdleSessions(time: .seconds(options.sessionIdleTime)).unload(from: app.sessions)
            }
        }
        let watching =
            options.watch
            ? Task { [directories = options.fixtures] in
                var watcher = FixtureWatcher(directories: directories, app: app)
                await watcher.run()
            } : nil
        await stop.wait()
        unloading.cancel()
        watching?.cancel()
        log.write(.notice, "stopping")
        await server.stop(grace: .seconds(10))
        await store.close()
        log.write(.notice, "stopped")
    }
}

/// Waits for SIGTERM or SIGINT.
struct StopSignal {
    private let signals: AsyncStream<Void>
    private let sources: [any DispatchSourceSignal]

    /// Registers for SIGTERM and SIGINT. A process that reads the readiness line can send a signal at once, so this
    /// method returns only when the registration is complete.
    init() async {
        let (signals, continuation) = AsyncStream.makeStream(of: Void.self)
        self.signals = signals
        sources = [SIGTERM, SIGINT].map { DispatchSource.makeSignalSource(signal: $0) }
        for source in sources {
            source.setEventHandler { continuation.yield() }
            await withCheckedContinuation { registered in
                // After the registration, the source receives the signal. Signals before the registration end the
                // process.
                source.setRegistrationHandler { registered.resume() }
                source.resume()
            }
        }
    }

    func wait() async {
        for await _ in signals { break }
        for source in sources { source.cancel() }
    }
}

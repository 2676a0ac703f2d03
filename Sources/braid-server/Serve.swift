import BraidEngine
import BraidHTTP
import BraidRuntime
import BraidServer
import BraidSessions
import BraidStore
import BraidTestMode
import Glibc

/// The command that runs the server until it is stopped, for example by a signal.
struct Serve: ServerCommand {
    static let name = "serve"
    static let abstract = "Run the server."
    static let discussion = """
        Prints one line to stdout when it accepts connections: listening on http://127.0.0.1:PORT. Writes logs to stderr.
        SIGTERM and SIGINT stop it, after --drain-time. It finishes current requests within 10 seconds and exits with \
        status 0. A second SIGTERM or SIGINT ends it at once. SIGHUP reads the token file and opens the log file again.

        Every option is also an environment variable. The command line takes precedence. A flag is true or false. Several \
        values are separated by commas. The server does not start with any other variable BRAID_…. The variables: \
        \(variables.joined(separator: ", ")), and BRAID_TOKEN, the controller's token.
        """
    static let options: [CommandOption<Serve>] = ServeOptions.options.map { $0.inside(\.options) }
    static let readsEnvironment = true

    var options = ServeOptions()

    /// Returns whether the command line or the environment sets `--log-format json`, even if another option or variable
    /// is wrong. If so, the messages of errors that occur before the log exists are also JSON.
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
        Signals.ignoreOthers()
        Memory.prepare()
        if let path = options.logFile { try LogFile(path: path).open() }
        try Workers.shared.check()
        var log = try LogLines(format: options.logFormat)
        log.logLevel = options.logLevel
        defer { log.flush() }
        let address =
            options.socket.map { HTTPAddress.unix(path: $0) } ?? .tcp(host: options.hostname, port: options.port)
        let tokens = try options.access.controllerTokens()
        try options.access.checkAddress(address, tokens: tokens)
        if options.watch, options.fixtures.isEmpty {
            throw Failure("--watch needs the directories of --fixtures.")
        }
        if options.testMode {
            if options.watch {
                throw Failure(
                    "--test-mode and --watch exclude each other: a reset leads back to the files of the start.")
            }
            guard !Database.isPostgres(options.database) else {
                throw Failure("--test-mode needs a database of its own: an SQLite file or :memory:, not PostgreSQL.")
            }
            log.write(
                .warning, "test mode: controllers can make requests fail with /v1/test. Do not use it in production")
        }
        let fitted = try options.fitted(openFiles: HTTPServer.openFilesLimit(), otherFiles: HTTPServer.otherFiles)
        log.write(.notice, "starting") { line in
            line.add("version", App.version)
            line.add("access", tokens.isEmpty ? "anonymous" : "token")
            for (name, value) in fitted.settings { line.add(name, value) }
        }
        let database = try Database.open(options, logging: log)
        let store = database.store
        let reasonToWait = try await database.reasonToWaitAtStart()
        if options.deterministic, let reasonToWait { throw Failure("\(reasonToWait)") }
        let (clock, ids) = options.deterministic ? try await deterministic(after: store) : (Clock(), IDGenerator())
        let incoming = fitted.limits.bufferQuota, outgoing = fitted.limits.bufferQuota
        var limits = fitted.limits.limits
        limits.bodies = incoming
        let controllers = ControllerTokens(tokens)
        let idleSessions = IdleSessions(time: .seconds(options.sessionIdleTime))
        let testMode = (options.testMode ? store as? any TestableStore : nil).map {
            TestMode(store: $0, clock: clock, idleSessions: idleSessions)
        }
        let app = App(
            store: store, clock: clock, ids: ids, limits: limits, controllers: controllers,
            pages: options.access.pages(for: address, tokens: tokens),
            streams: StreamLimits(buffers: outgoing), log: log, proxies: options.access.proxies,
            routes: { testMode?.routes($0) ?? [] })
        if reasonToWait == nil {
            try await loadFixtures(into: app)
            try testMode?.begin(app.sessions)
        } else {
            app.phase.enter(.starting)
        }

        var configuration = HTTPServer.Configuration()
        configuration.address = address
        configuration.socketMode = options.socketAccess.mode
        configuration.incoming = incoming
        configuration.outgoing = outgoing
        fitted.limits.configure(&configuration)
        configuration.onLimit = { errno in app.log.reached(errno == 0 ? "max-connections" : "open-files") }
        let server = HTTPServer(configuration: configuration, handler: testMode?.decorating(app) ?? app)
        app.follow(server)
        testMode?.follow(server)
        let signals = await Signals { [log] number in
            log.write(.warning, "stopped at once by a second signal; requests in progress were not answered")
            log.flush()
            _exit(128 + number)
        }
        if options.exitWithStdin {
            signals.stopAtEndOfInput { [log] in log.write(.notice, "the standard input has ended") }
        }
        do {
            try server.start()
        } catch {
            throw Failure("\(error)")
        }
        let listening = server.address ?? address
        Files.write("listening on \(listening)\n".utf8, to: STDOUT_FILENO)
        if reasonToWait == nil { logReady(database, log) }
        let manager = ServiceManager()
        manager.notify("READY=1")
        manager.startWatchdog(of: listening)

        let background = Task { [log] in
            do {
                if let reasonToWait {
                    manager.notify("STATUS=Waiting for the database.")
                    try await database.becameAvailable(after: reasonToWait, log: log)
                    try await loadFixtures(into: app)
                    app.phase.enter(.running)
                    manager.notify("STATUS=")
                    logReady(database, log)
                }
                try app.sessions.listen()
                if options.watch {
                    var watcher = FixtureWatcher(directories: options.fixtures, app: app)
                    await watcher.run()
                }
            } catch {
                signals.fail(error)
            }
        }
        let unloading = Task {
            if options.sessionIdleTime > 0 {
                await idleSessions.unload(from: app.sessions)
            }
        }
        let ending = Task {
            while (try? await Task.sleep(for: SessionHost.unusedSweep)) != nil {
                // After an error of the store, the next attempt is soon enough.
                if app.phase.isRunning { try? await app.sessions.endUnused() }
            }
        }
        var hasStarted = true
        events: for await event in signals.events {
            switch event {
            case .reload: reload(controllers, log)
            case .failed(let error): throw error
            case .stop:
                manager.notify("STOPPING=1")
                hasStarted = app.phase.isRunning
                guard hasStarted, options.drainTime > 0 else { break events }
                app.phase.enter(.stopping)
                log.write(.notice, "draining for \(options.drainTime) s")
                Task {
                    try? await Task.sleep(for: .seconds(options.drainTime))
                    signals.end()
                }
            }
        }
        background.cancel()
        unloading.cancel()
        ending.cancel()
        log.write(.notice, "stopping")
        testMode?.cancelDelays()
        await server.stop(grace: .seconds(10))
        // The store is not closed while it waits for its database, because closing the store could take as long as an
        // attempt to connect.
        if hasStarted { await store.close() }
        log.write(.notice, "stopped")
    }

    private func loadFixtures(into app: App) async throws {
        try await Fixtures(directories: options.fixtures).load(into: app)
    }

    private func logReady(_ database: OpenDatabase, _ log: LogLines) {
        if let notice = database.schemaNotice() { log.write(.notice, notice) }
        log.write(.notice, "serving \(Secrets.redacted(database.name))")
    }

    /// Opens the log file again, and reads the token file again. If one of the files cannot be used, logs the reason
    /// and continues with the old log file or the old tokens.
    private func reload(_ controllers: ControllerTokens, _ log: LogLines) {
        func attempt(_ work: () throws -> Void) {
            do {
                try work()
            } catch {
                log.write(.error, "SIGHUP: \(error) The server goes on as before.")
            }
        }
        attempt {
            guard let path = options.logFile else { return }
            log.flush()  // The lines that wait to be written belong in the old log file.
            try LogFile(path: path).open()
        }
        attempt {
            guard options.access.tokenFile != nil else { return log.write(.notice, "SIGHUP: received") }
            let tokens = try options.access.controllerTokens()
            controllers.replace(with: tokens)
            log.write(.notice, "SIGHUP: the number of controller tokens is \(tokens.count)")
        }
    }
}

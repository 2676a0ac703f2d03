import BraidEngine
import BraidHTTP
import BraidRuntime
import BraidServer
import BraidSessions
import BraidStore
import BraidTestMode
import Glibc

struct Serve: ServerCommand {
    static let name = "serve"
    static let abstract = "Run the server."
    static let discussion = """
        Prints one line to stdout when it accepts connections: listening on http://127.0.0.1:PORT. Writes logs to stderr.
        SIGTERM and SIGINT stop it, after --drain-time. It finishes current requests within 10 seconds and exits with \
        status 0. A second SIGTERM or SIGINT ends it at once. SIGHUP reads the files of tokens and keys and opens the log \
        file again.

        Every option is also an environment variable. The command line takes precedence. A flag is true or false. Several \
        values are separated by commas. The server does not start with any other variable BRAID_…. The variables: \
        \(variables.joined(separator: ", ")), and BRAID_TOKEN, the controller's token.
        """
    static let options: [CommandOption<Serve>] = ServeOptions.options.map { $0.inside(\.options) }
    static let readsEnvironment = true

    var options = ServeOptions()

    /// Even if another option is wrong: errors before there is a log are JSON, too.
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
        try openLogFile()
        try Workers.shared.check()
        var log = try LogLines(format: options.logFormat)
        log.logLevel = options.logLevel
        defer { log.flush() }
        let tokens = try options.access.controllerTokens()
        try options.access.checkAddress(address, tokens: tokens)
        try checkModes()
        if options.testMode {
            log.write(
                .warning, "test mode: controllers can make requests fail with /v1/test. Do not use it in production")
        }
        var fitted = self
        try fitted.options.limits.fit(openFiles: HTTPServer.openFilesLimit(), otherFiles: HTTPServer.otherFiles)
        try await fitted.serve(tokens, log)
    }

    private var address: HTTPAddress {
        options.socket.map { .unix(path: $0) } ?? .tcp(host: options.hostname, port: options.port)
    }

    private func checkModes() throws(Failure) {
        if options.watch, options.fixtures.isEmpty {
            throw Failure("--watch needs the directories of --fixtures.")
        }
        guard options.testMode else { return }
        if options.watch {
            throw Failure("--test-mode and --watch exclude each other: a reset leads back to the files of the start.")
        }
        guard !Database.isPostgres(options.database) else {
            throw Failure("--test-mode needs a database of its own: an SQLite file or :memory:, not PostgreSQL.")
        }
    }

    private func serve(_ tokens: [String], _ log: LogLines) async throws {
        log.write(.notice, "starting") { line in
            line.add("version", App.version)
            line.add("access", options.access.isOpen(tokens) ? "anonymous" : "token")
            for (name, value) in options.settings { line.add(name, value) }
        }
        let database = try Database.open(options, logging: log)
        let outage = try await database.reasonToWaitAtStart()
        // Clock and IDs continue after what is stored, so the store must be read now.
        if options.deterministic, let outage { throw outage }
        let controllers = ControllerTokens(tokens)
        let idleSessions = IdleSessions(time: .seconds(options.sessionIdleTime))
        let bodies = options.limits.bufferQuota, answers = options.limits.bufferQuota
        let (app, testMode, keys) = try await app(
            on: database.store, controllers, idleSessions, bodies: bodies, answers: answers, log)
        if outage == nil {
            try await loadFixtures(into: app)
            try testMode?.begin(app.sessions)
        } else {
            app.phase.enter(.starting)
        }
        let server = server(for: app, testMode, bodies: bodies, answers: answers)
        let signals = await signals(log)
        try server.start()
        let listening = server.address ?? address
        Files.write("listening on \(listening)\n".utf8, to: STDOUT_FILENO)
        if outage == nil { logReady(database, log) }
        let manager = ServiceManager()
        manager.notify("READY=1")
        manager.startWatchdog(of: listening)
        var tasks = startTasks(app, database, outage, idleSessions, signals, manager, log)
        if let keys { tasks.append(Task { await keys.run() }) }
        let hasStarted = try await untilStop(app, signals, controllers, keys, manager, log)
        for task in tasks { task.cancel() }
        log.write(.notice, "stopping")
        testMode?.cancelDelays()
        await server.stop(grace: .seconds(10))
        // Closing a store that waits for its database could take as long as an attempt to connect.
        if hasStarted { await database.store.close() }
        log.write(.notice, "stopped")
    }

    // MARK: Start

    private func app(
        on store: any SessionStore, _ controllers: ControllerTokens, _ idleSessions: IdleSessions, bodies: Quota,
        answers: Quota, _ log: LogLines
    ) async throws -> (App, TestMode?, KeyWatcher?) {
        let (clock, ids) = options.deterministic ? try await deterministic(after: store) : (Clock(), IDGenerator())
        let signed = try options.access.webTokens.tokens(clock)
        var limits = options.limits.limits
        limits.bodies = bodies
        let testMode = (options.testMode ? store as? any TestableStore : nil).map {
            TestMode(store: $0, clock: clock, idleSessions: idleSessions)
        }
        let app = App(
            store: store, clock: clock, ids: ids, limits: limits, controllers: controllers, signed: signed,
            pages: options.access.pages(for: address, isOpen: controllers.isEmpty && signed == nil),
            streams: StreamLimits(buffers: answers, views: options.limits.viewQuota), log: log,
            proxies: options.access.proxies,
            routes: { testMode?.routes($0) ?? [] })
        return (app, testMode, signed.map { KeyWatcher(signed: $0, app: app) })
    }

    private func server(for app: App, _ testMode: TestMode?, bodies: Quota, answers: Quota) -> HTTPServer {
        var configuration = HTTPServer.Configuration()
        configuration.address = address
        configuration.socketMode = options.socketAccess.mode
        configuration.incoming = bodies
        configuration.outgoing = answers
        options.limits.configure(&configuration)
        configuration.onLimit = { errno in app.log.reached(errno == 0 ? "max-connections" : "open-files") }
        let server = HTTPServer(configuration: configuration, handler: testMode?.decorating(app) ?? app)
        app.follow(server)
        testMode?.follow(server)
        return server
    }

    private func signals(_ log: LogLines) async -> Signals {
        let signals = await Signals { number in
            log.write(.warning, "stopped at once by a second signal; requests in progress were not answered")
            log.flush()
            _exit(128 + number)
        }
        if options.exitWithStdin {
            signals.stopAtEndOfInput { log.write(.notice, "the standard input has ended") }
        }
        return signals
    }

    private func loadFixtures(into app: App) async throws {
        try await Fixtures(directories: options.fixtures).load(into: app)
    }

    private func logReady(_ database: Database, _ log: LogLines) {
        if let notice = database.store.schemaNotice { log.write(.notice, notice) }
        log.write(.notice, "serving \(Secrets.redacted(database.name))")
    }

    // MARK: While the server runs

    /// `outage`: why the database cannot be used yet; the first task waits for it.
    private func startTasks(
        _ app: App, _ database: Database, _ outage: StoreError?, _ idleSessions: IdleSessions, _ signals: Signals,
        _ manager: ServiceManager, _ log: LogLines
    ) -> [Task<Void, Never>] {
        let sharing = Task {
            do {
                if let outage {
                    manager.notify("STATUS=Waiting for the database.")
                    try await database.becameAvailable(after: outage, log: log)
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
            if options.sessionIdleTime > 0 { await idleSessions.unload(from: app.sessions) }
        }
        let ending = Task {
            while (try? await Task.sleep(for: SessionHost.unusedSweep)) != nil {
                // If the store fails, the next attempt is soon enough.
                if app.phase.isRunning { try? await app.sessions.endUnused() }
            }
        }
        return [sharing, unloading, ending]
    }

    /// Waits for the stop, drain time included. Returns whether the database had become available.
    private func untilStop(
        _ app: App, _ signals: Signals, _ controllers: ControllerTokens, _ keys: KeyWatcher?,
        _ manager: ServiceManager, _ log: LogLines
    ) async throws -> Bool {
        var hasStarted = true
        for await event in signals.events {
            switch event {
            case .reload:
                reload(controllers, log)
                keys?.read(because: "SIGHUP")
            case .failed(let error): throw error
            case .stop:
                manager.notify("STOPPING=1")
                hasStarted = app.phase.isRunning
                guard hasStarted, options.drainTime > 0 else { return hasStarted }
                app.phase.enter(.stopping)
                log.write(.notice, "draining for \(options.drainTime) s")
                Task {
                    try? await Task.sleep(for: .seconds(options.drainTime))
                    signals.end()
                }
            }
        }
        return hasStarted
    }

    /// A file that cannot be used is logged; the old one stays.
    private func reload(_ controllers: ControllerTokens, _ log: LogLines) {
        func attempt(_ work: () throws -> Void) {
            do {
                try work()
            } catch {
                log.write(.error, "SIGHUP: \(error) The server goes on as before.")
            }
        }
        attempt {
            guard options.logFile != nil else { return }
            log.flush()  // The lines that wait to be written belong in the old log file.
            try openLogFile()
        }
        attempt {
            guard options.access.tokenFile != nil else { return log.write(.notice, "SIGHUP: received") }
            let tokens = try options.access.controllerTokens()
            controllers.replace(with: tokens)
            log.write(.notice, "SIGHUP: the number of controller tokens is \(tokens.count)")
        }
    }

    /// stderr becomes the file, so that it gets a crash's message, too.
    private func openLogFile() throws(Failure) {
        guard let path = options.logFile else { return }
        let file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else {
            throw Failure("The log file \(path) cannot be opened: \(String(cString: strerror(errno))).")
        }
        dup2(file, STDERR_FILENO)
        close(file)
    }
}

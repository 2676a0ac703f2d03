import ArgumentParser
import BraidEngine
import BraidStore
import Foundation
import Logging

/// Runs the server until it is told to stop.
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run the server.",
        discussion: """
            Prints one line to stdout once it accepts connections: listening on http://127.0.0.1:PORT. Logs go to stderr.
            Every option is also an environment variable: --database is BRAID_DATABASE.
            SIGTERM and SIGINT stop it: what is under way is finished, 10 seconds at most.
            """)

    enum Synchronous: String, ExpressibleByArgument, CaseIterable { case full, normal }
    enum LogFormat: String, ExpressibleByArgument, CaseIterable { case text, json }

    @Option(help: "The address to bind. Other than loopback needs a token, or --allow-anonymous.")
    var hostname: String = Environment["HOSTNAME"] ?? "127.0.0.1"
    @Option(help: "The port; 0 takes a free one.")
    var port: Int = Environment.value("PORT") ?? 8080
    @Option(help: "Listen on this Unix socket instead.")
    var socket: String?
    @Option(help: "The SQLite database, or :memory:.")
    var database: String = Environment["DATABASE"] ?? "braid.sqlite"
    @Option(help: "A directory of *.table.json and *.session.json to load at start. Can be given several times.")
    var fixtures: [String] = Environment["FIXTURES"].map { [$0] } ?? []
    @OptionGroup(title: "Access") var access: AccessOptions
    @Option(help: "How many revisions of a session's journal are kept.")
    var journalLimit: Int = Environment.value("JOURNAL_LIMIT") ?? 1000
    @Option(help: "How many bytes of a session's journal are kept.")
    var journalBytes: Int = Environment.value("JOURNAL_BYTES") ?? 67_108_864
    @OptionGroup(title: "Limits") var limits: LimitOptions
    @Option(help: "SQLite's durability: full survives a power loss, normal a crash of the process.")
    var synchronous: Synchronous = Environment["SYNCHRONOUS"].flatMap { Synchronous(rawValue: $0) } ?? .full
    @Option(help: "trace, debug, info, notice, warning, error or critical.")
    var logLevel: Logger.Level = Environment["LOG_LEVEL"].flatMap { Logger.Level(rawValue: $0) } ?? .info

    func validate() throws {
        guard (0...65_535).contains(port) else { throw ValidationError("--port must be from 0 to 65535") }
        guard journalLimit >= 1 else { throw ValidationError("--journal-limit must be 1 at least") }
        guard journalBytes >= 1 else { throw ValidationError("--journal-bytes must be 1 at least") }
    }

    func run() async throws {
        let socket = socket ?? Environment["SOCKET"]
        var logger = Logger(label: "braid") { _ in LineLogHandler() }
        logger.logLevel = logLevel
        let address = socket.map { HTTPAddress.unix(path: $0) } ?? .tcp(host: hostname, port: port)
        let token = try access.controllerToken()
        try access.checkAddress(address, token: token)
        let store: SQLiteStore
        do {
            store = try SQLiteStore(path: database, options: SQLiteStoreOptions(synchronous: synchronous == .full ? .full : .normal, journalLimit: journalLimit, journalBytes: journalBytes))
        } catch {
            throw Failure("\(error)")
        }
        let app = App(store: store, source: Source(), limits: limits.limits, token: token, pages: access.pages(for: address, token: token), logger: logger)
        for directory in fixtures { try await Fixtures(directory: directory).load(into: app) }

        var configuration = HTTPServer.Configuration()
        configuration.address = address
        limits.configure(&configuration)
        let server = HTTPServer(configuration: configuration, handler: app)
        let stop = await StopSignal()
        do {
            try server.start()
        } catch {
            throw Failure("\(error)")
        }
        FileHandle.standardOutput.write(Data("listening on \(server.address?.description ?? "")\n".utf8))
        logger.info("serving \(database)")

        await stop.wait()
        logger.info("stopping")
        await server.stop(grace: .seconds(10))
        await store.close()
        logger.info("stopped")
    }
}

/// What stops the start, said in a sentence.
struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// Options as environment variables: `BRAID_` and the option's name.
enum Environment {
    static subscript(name: String) -> String? {
        ProcessInfo.processInfo.environment["BRAID_\(name)"].flatMap { $0.isEmpty ? nil : $0 }
    }

    static func value<Value: LosslessStringConvertible>(_ name: String) -> Value? { self[name].flatMap(Value.init) }
}

extension Logger.Level: @retroactive ExpressibleByArgument {}

/// SIGTERM or SIGINT, heard from `init` on.
struct StopSignal {
    private let signals: AsyncStream<Void>
    private let sources: [any DispatchSourceSignal]

    /// Returns once a signal will be heard: who reads the readiness line may send one at once.
    init() async {
        let (signals, continuation) = AsyncStream.makeStream(of: Void.self)
        self.signals = signals
        sources = [SIGTERM, SIGINT].map { DispatchSource.makeSignalSource(signal: $0) }
        for source in sources {
            source.setEventHandler { continuation.yield() }
            await withCheckedContinuation { registered in
                // From here on a signal goes to the source; one before that ends the process.
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

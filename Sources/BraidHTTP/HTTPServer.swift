import BraidRuntime
import Glibc
import Synchronization

/// An HTTP/1.1 server on a few event loops.
///
/// Each connection belongs to one loop. The server answers the requests of one connection one after the other, even if
/// the client pipelines them.
public final class HTTPServer: Sendable {
    /// The time and byte limits that apply to every connection of an HTTP server.
    public struct Limits: Sendable {
        public var parser: HTTPParser.Limits
        /// The longest time in which a request's head must arrive, from its first byte to its end.
        public var headTime: Duration
        /// The lowest average rate of a buffered body after `bodyGrace`, in bytes per second. A slower client is
        /// answered with 408. The rate is 64 times as high while more than half of `incoming` is leased, so that slow
        /// clients cannot keep the memory.
        public var leastBodyBytesPerSecond: Int
        /// The time from the start of a buffered body during which the server does not check the body's rate.
        public var bodyGrace: Duration
        /// The longest pause between two pieces of a request body that the handler reads while it arrives. The rate of
        /// such a body is not limited.
        public var streamedBodyPause: Duration
        /// The longest idle time of a connection: between two requests, and before its first request.
        public var idleTime: Duration
        /// The longest time for which a client may read nothing of its answer before the server closes the connection.
        public var writeTime: Duration
        /// The time for which the server reads and drops the client's bytes after a connection's last answer, before it
        /// closes the connection. `lingerBytes` limits the number of these bytes.
        public var lingerTime: Duration
        public var lingerBytes: Int
        /// The upper limit of `lingerTime` while the server stops. This limit is long enough for the last answer to
        /// arrive.
        public var lingerTimeAtStop: Duration
        /// The longest time that a reserved connection stays open.
        public var reservedTime: Duration
        /// The interval at which the server checks the deadlines of all connections.
        public var sweep: Duration

        public init(
            parser: HTTPParser.Limits = HTTPParser.Limits(), headTime: Duration = .seconds(10),
            leastBodyBytesPerSecond: Int = 1_024, bodyGrace: Duration = .seconds(10),
            streamedBodyPause: Duration = .seconds(300), idleTime: Duration = .seconds(75),
            writeTime: Duration = .seconds(30), lingerTime: Duration = .seconds(5), lingerBytes: Int = 64 << 20,
            lingerTimeAtStop: Duration = .seconds(1), reservedTime: Duration = .seconds(5),
            sweep: Duration = .seconds(1)
        ) {
            self.parser = parser
            self.headTime = headTime
            self.leastBodyBytesPerSecond = leastBodyBytesPerSecond
            self.bodyGrace = bodyGrace
            self.streamedBodyPause = streamedBodyPause
            self.idleTime = idleTime
            self.writeTime = writeTime
            self.lingerTime = lingerTime
            self.lingerBytes = lingerBytes
            self.lingerTimeAtStop = lingerTimeAtStop
            self.reservedTime = reservedTime
            self.sweep = sweep
        }
    }

    /// The settings of an HTTP server, which do not change while it runs.
    public struct Configuration: Sendable {
        public var address: HTTPAddress
        /// The permissions of the file of a Unix socket. A process that may write the file can connect.
        public var socketMode: mode_t
        public var limits: Limits
        /// The most connections that may be open at once, without `reservedConnections`. The process's limit of open
        /// files can lower this number.
        public var maxConnections: Int
        /// The quota of memory for request bodies. A body uses memory from its first byte until its request is
        /// answered.
        public var incoming: Quota
        /// The quota of memory for large answers, until they are sent. This quota is separate from `incoming`, so that
        /// clients that read slowly do not block new requests.
        public var outgoing: Quota
        /// The length of the kernel's queue of connections that wait to be accepted.
        public var backlog: Int
        /// Called when a new connection reaches a limit: with 0 if `maxConnections` are open, otherwise with the system's
        /// error number, for example for too many open files. Called on a loop's thread, so it must not block.
        public var onLimit: @Sendable (_ errno: CInt) -> Void = { _ in }
        /// The number of event loops. The number 0 means one loop for each core.
        public var loops: Int

        public init(
            address: HTTPAddress = .tcp(host: "127.0.0.1", port: 8080), socketMode: mode_t = 0o600,
            limits: Limits = Limits(), maxConnections: Int = 10_000, incoming: Quota = Quota(256 << 20),
            outgoing: Quota = Quota(256 << 20),
            backlog: Int = 1_024, loops: Int = 0
        ) {
            self.address = address
            self.socketMode = socketMode
            self.limits = limits
            self.maxConnections = maxConnections
            self.incoming = incoming
            self.outgoing = outgoing
            self.backlog = backlog
            self.loops = loops
        }
    }

    public let configuration: Configuration
    public let handler: any HTTPHandler
    private let running = Mutex<(loops: [EventLoop], address: HTTPAddress, load: ServerLoad)?>(nil)

    public init(configuration: Configuration, handler: any HTTPHandler) {
        self.configuration = configuration
        self.handler = handler
    }

    /// The address at which the server listens. If the configured port was 0, with the port that the system assigned.
    /// `nil` while the server does not run.
    public var address: HTTPAddress? { running.withLock { $0?.address } }

    /// The statistics of the server's connections. `nil` while the server does not run.
    public var connectionFacts: HTTPConnections? { running.withLock { $0?.load.facts } }

    /// Starts the server. When this method returns, the server accepts connections.
    public func start() throws(HTTPServerError) {
        let limits = configuration.limits
        let load = ServerLoad(
            maximum: max(1, min(configuration.maxConnections, Self.openFilesLimit() - Self.otherFiles)),
            incoming: configuration.incoming, outgoing: configuration.outgoing)
        let wanted = configuration.loops > 0 ? configuration.loops : Self.processors
        var loops: [EventLoop] = []
        for _ in 0..<wanted { loops.append(try EventLoop(handler: handler, limits: limits, load: load)) }
        let listener = try Listener(
            configuration.address, socketMode: configuration.socketMode, backlog: configuration.backlog,
            userTimeout: 2 * limits.writeTime.milliseconds)
        let first = loops[0]
        first.accept(with: Acceptor(listener, dealingTo: loops, load: load, onLimit: configuration.onLimit))
        load.onRoom { [weak first] in first?.post(.acceptAgain) }
        running.withLock { $0 = (loops, listener.address, load) }
        for loop in loops { try loop.start() }
    }

    /// Stops the server. Returns when all connections are closed and all threads have ended.
    ///
    /// - The server accepts no new connections, ends event streams, and closes idle connections at once.
    /// - Requests that are being answered may finish until the grace is over. After the grace, their connections are
    ///   closed.
    public func stop(grace: Duration = .seconds(10)) async {
        guard
            let loops = running.withLock({ running in
                defer { running = nil }
                return running?.loops[...]
            })
        else { return }
        let deadline = EventLoop.clock() + grace.milliseconds
        await Self.post(to: loops) { .stop(deadline: deadline, onExit: $0) }
    }

    /// Closes all connections and refuses new ones for a time, as clients see it when the server restarts. Returns when
    /// all connections are closed. The server then still refuses new connections.
    public func refuseConnections(for time: Duration) async {
        guard let loops = running.withLock({ $0?.loops }) else { return }
        // The first loop accepts connections. It must refuse them before a client notices that its connection is closed.
        await Self.post(to: loops.prefix(1)) { .accept(false, done: $0) }
        await Self.post(to: loops[...]) { .disconnect(done: $0) }
        // Not a task of the caller's: the caller's connection is closed, so its task may be cancelled.
        Task {
            try? await Task.sleep(for: time)
            await Self.post(to: loops.prefix(1)) { .accept(true, done: $0) }
        }
    }

    /// Sends a message to loops, and waits until each of them calls the function that the message has received.
    private static func post(
        to loops: ArraySlice<EventLoop>,
        _ mail: @escaping @Sendable (_ done: @escaping @Sendable () -> Void) -> EventLoop.Mail
    ) async {
        await withTaskGroup(of: Void.self) { group in
            for loop in loops {
                group.addTask {
                    await withCheckedContinuation { continuation in loop.post(mail { continuation.resume() }) }
                }
            }
        }
    }

    /// The number of connections beyond `maxConnections` that the server accepts for probes (`HTTPHandler.isProbe`).
    /// On such a connection, the server refuses all other requests with 503.
    public static let reservedConnections = 32

    /// The number of open files that the process needs in addition to `maxConnections`: for reserved connections, loops,
    /// database and logs.
    public static let otherFiles = reservedConnections + 64 + 2 * processors

    private static let processors = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))

    /// Raises the process's soft limit of open files to the hard limit. Returns the limit that is then in force.
    public static func openFilesLimit() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1_024 }
        limit.rlim_cur = limit.rlim_max
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        _ = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return Int(clamping: limit.rlim_cur)
    }
}

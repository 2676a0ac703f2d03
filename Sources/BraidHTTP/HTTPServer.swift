import BraidRuntime
import Glibc
import Synchronization

/// An HTTP/1.1 server on a few event loops, each with its own thread.
///
/// Each connection belongs to one event loop. The server answers the requests of one connection one after the other,
/// even if the client pipelines them.
public final class HTTPServer: Sendable {
    /// The time and byte limits that apply to every connection of an HTTP server.
    public struct Limits: Sendable {
        public var parser: HTTPParser.Limits
        /// The longest time in which a request's head must arrive, from the head's first byte to its end.
        public var headTime: Duration
        /// The lowest average rate of a buffered request body in bytes per second, checked after `bodyGrace`. A slower
        /// client gets 408. The required rate is 64 times as high while more than half of the quota `incoming` is
        /// leased, so that slow clients cannot keep the memory.
        public var leastBodyBytesPerSecond: Int
        /// The time from the start of a buffered body during which the server does not check the body's rate.
        public var bodyGrace: Duration
        /// The longest pause between two pieces of a request body that its handler reads while the body arrives. The
        /// server does not limit the rate of such a body.
        public var streamedBodyPause: Duration
        /// The longest time for which a connection may be idle: before its first request, or between two requests.
        public var idleTime: Duration
        /// The longest time for which a client may read nothing of an answer before the server closes the connection.
        public var writeTime: Duration
        /// The longest time for which the server still reads the client's bytes after a connection's last answer,
        /// before it closes the connection. The server drops these bytes, and `lingerBytes` limits their number.
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
        /// The permissions of a Unix socket's file. A process that may write to the file can connect.
        public var socketMode: mode_t
        public var limits: Limits
        /// The most ordinary connections that may be open at once. `reservedConnections` further connections are only
        /// for probes. The process's limit of open files can lower `maxConnections`.
        public var maxConnections: Int
        /// The quota of memory for request bodies of more than 16 KiB. A buffered body uses the quota from the moment
        /// when more than 16 KiB have arrived until its request is answered.
        public var incoming: Quota
        /// The quota of memory for large answers. An answer uses memory until it is sent. This quota is separate from
        /// `incoming`, so that clients that read slowly do not block new requests.
        public var outgoing: Quota
        /// The length of the kernel's queue of connections that the server has not accepted yet.
        public var backlog: Int
        /// The server calls this closure when a new connection meets a limit. The argument is 0 if `maxConnections`
        /// connections are open. Otherwise it is the system's error number, for example for too many open files. The
        /// closure runs on an event loop's thread, so it must not block.
        public var onLimit: @Sendable (_ errno: CInt) -> Void = { _ in }
        /// The number of event loops. The number 0 means one event loop for each core.
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

    /// The address at which the server listens. If the configured port was 0, the address contains the port that the
    /// system assigned. `nil` while the server does not run.
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
        do throws(HTTPServerError) {
            // The first loop accepts connections for all loops, so it starts after the others.
            for loop in loops.reversed() { try loop.start() }
        } catch {
            // If an event loop cannot be started, the first loop does not run, because it starts last. The other loops
            // may run, and have no connections.
            running.withLock { $0 = nil }
            first.stopAccepting()
            for loop in loops { loop.post(.stop(deadline: 0, onExit: {})) }
            throw error
        }
    }

    /// Stops the server. Returns when all connections are closed and all event loops have ended.
    ///
    /// - The server accepts no new connections, and closes idle connections at once. It ends event streams, long polls
    ///   and request bodies that a handler reads while they arrive.
    /// - Other requests that are being answered may finish until the grace is over. After the grace, their connections
    ///   are closed.
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

    /// Closes all connections, and refuses new connections for the given time, as a client experiences a restart of the
    /// server. Returns when all connections are closed. At that moment, the server still refuses new connections.
    public func refuseConnections(for time: Duration) async {
        guard let loops = running.withLock({ $0?.loops }) else { return }
        // The first event loop accepts new connections. It must stop accepting before any client notices that its
        // connection is closed.
        await Self.post(to: loops.prefix(1)) { .accept(false, done: $0) }
        await Self.post(to: loops[...]) { .disconnect(done: $0) }
        // Wait in a new task. The task of the caller may be cancelled, because this method has just closed the caller's
        // connection.
        Task {
            try? await Task.sleep(for: time)
            await Self.post(to: loops.prefix(1)) { .accept(true, done: $0) }
        }
    }

    /// Sends a message to each of the event loops. Waits until each loop has called the function `done` that its
    /// message contains.
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

    /// The number of connections beyond `maxConnections` that the server accepts for probes (`HTTPHandler.isProbe`). On
    /// such a connection, the server refuses all other requests with 503 while all ordinary connections are in use.
    public static let reservedConnections = 32

    /// The number of open files that the process needs besides its ordinary connections: for reserved connections,
    /// event loops, database and logs.
    public static let otherFiles = reservedConnections + 64 + 2 * processors

    private static let processors = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))

    /// Raises the process's soft limit of open files to the hard limit. Returns the soft limit that is then in force.
    public static func openFilesLimit() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1_024 }
        limit.rlim_cur = limit.rlim_max
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        _ = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return Int(clamping: limit.rlim_cur)
    }
}

import BraidRuntime
import Glibc
import Synchronization

/// HTTP/1.1 on a few event loops, each with its thread. A connection belongs to one loop; its requests are answered
/// in order, even if pipelined.
package final class HTTPServer: Sendable {
    package struct Limits: Sendable {
        package var parser: HTTPParser.Limits
        /// How long a head may take, from first byte to end.
        package var headTime: Duration
        /// The average of a buffered body, after `bodyGrace`; slower clients get 408. While more than half of
        /// `incoming` is leased, 64 times as much, so that slow clients cannot keep the memory.
        package var leastBodyBytesPerSecond: Int
        /// How long after its start a buffered body may be slower.
        package var bodyGrace: Duration
        /// The longest pause in a body that is read while it arrives.
        package var streamedBodyPause: Duration
        /// How long a connection waits for its first request, or between two.
        package var idleTime: Duration
        /// How long a client may read nothing of its answer.
        package var writeTime: Duration
        /// How long what the client sends after the last answer is read and dropped, at most `lingerBytes`.
        package var lingerTime: Duration
        package var lingerBytes: Int
        /// Limits `lingerTime` while the server stops. Long enough for the last answer to arrive.
        package var lingerTimeAtStop: Duration
        /// How long a reserved connection may stay open.
        package var reservedTime: Duration
        /// The time between checks of deadlines.
        package var sweep: Duration

        package init(
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

    package struct Configuration: Sendable {
        package var address: HTTPAddress
        /// Of a Unix socket's file. Who may write to it can connect.
        package var socketMode: mode_t
        package var limits: Limits
        /// Besides `reservedConnections` for probes. The process's limit of open files can lower it.
        package var maxConnections: Int
        /// For bodies of more than 16 KiB, from their 16th KiB until they are answered.
        package var incoming: Quota
        /// For large answers until they are sent. Separate, so that slow readers do not block new requests.
        package var outgoing: Quota
        /// Unaccepted connections in the kernel.
        package var backlog: Int
        /// Gets 0 for `maxConnections`, or the system's error, such as too many open files. On an event loop's
        /// thread, so it must not block.
        package var onLimit: @Sendable (_ errno: CInt) -> Void = { _ in }
        /// 0: one for each core.
        package var loops: Int

        package init(
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

    package let configuration: Configuration
    package let handler: any HTTPHandler
    private let running = Mutex<(loops: [EventLoop], address: HTTPAddress, load: ServerLoad)?>(nil)

    package init(configuration: Configuration, handler: any HTTPHandler) {
        self.configuration = configuration
        self.handler = handler
    }

    /// With the assigned port. `nil` while not running.
    package var address: HTTPAddress? { running.withLock { $0?.address } }

    package var connectionStatistics: HTTPConnections? { running.withLock { $0?.load.statistics } }

    /// Returns when connections are accepted.
    package func start() throws(HTTPServerError) {
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
            // The first accepts for all, so it starts last.
            for loop in loops.reversed() { try loop.start() }
        } catch {
            running.withLock { $0 = nil }
            first.stopAccepting()
            for loop in loops { loop.post(.stop(deadline: 0, onExit: {})) }
            throw error
        }
    }

    /// Stops accepting, closes idle connections, and ends event streams, long polls and streamed bodies. Other
    /// requests may finish within the grace. Returns when all connections are closed.
    package func stop(grace: Duration = .seconds(10)) async {
        guard
            let loops = running.withLock({ running in
                defer { running = nil }
                return running?.loops[...]
            })
        else { return }
        let deadline = EventLoop.clock() + grace.milliseconds
        await Self.post(to: loops) { .stop(deadline: deadline, onExit: $0) }
    }

    /// Closes all connections, and refuses new ones for a time, as in a restart. Returns when they are closed.
    package func refuseConnections(for time: Duration) async {
        guard let loops = running.withLock({ $0?.loops }) else { return }
        // First, before a client loses its connection and comes again.
        await Self.post(to: loops.prefix(1)) { .accept(false, done: $0) }
        await Self.post(to: loops[...]) { .disconnect(done: $0) }
        // The caller's task may be cancelled: its connection was just closed.
        Task {
            try? await Task.sleep(for: time)
            await Self.post(to: loops.prefix(1)) { .accept(true, done: $0) }
        }
    }

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

    /// Beyond `maxConnections`, for probes (`HTTPExchange.isProbe`). Other requests get 503 there.
    package static let reservedConnections = 32

    /// File descriptors needed besides ordinary connections: reserved ones, loops, database, logs.
    package static let otherFiles = reservedConnections + 64 + 2 * processors

    private static let processors = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))

    /// Raises the soft limit to the hard one, and returns it.
    package static func openFilesLimit() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1_024 }
        limit.rlim_cur = limit.rlim_max
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        _ = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return Int(clamping: limit.rlim_cur)
    }
}

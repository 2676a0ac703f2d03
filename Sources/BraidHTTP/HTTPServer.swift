import BraidRuntime
import Glibc
import Synchronization

/// An HTTP/1.1 server on a few event loops.
///
/// Each connection belongs to one loop for its life. Requests on a connection are answered one after the other,
/// also when they are sent together.
public final class HTTPServer: Sendable {
    public struct Limits: Sendable {
        public var parser: HTTPParser.Limits
        /// A request's head, from its first byte to its end.
        public var headTime: Duration
        /// A gathered body has to come at this rate on average, once `bodyGrace` is over; 64 times as fast while more
        /// than half of `incoming` is taken, so that nobody can hold on to it by being slow.
        public var leastBodyBytesPerSecond: Int
        public var bodyGrace: Duration
        /// A streamed body may come at any rate, but not pause longer than this.
        public var streamedBodyPause: Duration
        /// A connection between two requests, or before its first.
        public var idleTime: Duration
        /// A reader that takes nothing at all of what waits for it.
        public var writeTime: Duration
        /// How long, and how many bytes of, what the client still sends is read after the last answer.
        public var lingerTime: Duration
        public var lingerBytes: Int
        /// The same while the server stops: long enough for an answer to arrive, and no reason to wait.
        public var lingerTimeAtStop: Duration
        /// How often the times above are looked at.
        public var sweep: Duration

        public init(
            parser: HTTPParser.Limits = HTTPParser.Limits(), headTime: Duration = .seconds(10),
            leastBodyBytesPerSecond: Int = 1_024, bodyGrace: Duration = .seconds(10),
            streamedBodyPause: Duration = .seconds(300), idleTime: Duration = .seconds(75),
            writeTime: Duration = .seconds(30), lingerTime: Duration = .seconds(5), lingerBytes: Int = 64 << 20,
            lingerTimeAtStop: Duration = .seconds(1), sweep: Duration = .seconds(1)
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
            self.sweep = sweep
        }
    }

    public struct Configuration: Sendable {
        public var address: HTTPAddress
        public var limits: Limits
        /// Lowered to what the process' descriptors allow.
        public var maxConnections: Int
        /// Memory for the bodies of requests, from their first byte until they are answered.
        public var incoming: Budget
        /// Memory for large answers, until they are sent. Apart from `incoming`: readers that are slow take no memory
        /// from requests.
        public var outgoing: Budget
        public var backlog: Int
        /// Threads; 0 is one for each core.
        public var loops: Int

        public init(
            address: HTTPAddress = .tcp(host: "127.0.0.1", port: 8080), limits: Limits = Limits(),
            maxConnections: Int = 10_000, incoming: Budget = Budget(256 << 20), outgoing: Budget = Budget(256 << 20),
            backlog: Int = 1_024, loops: Int = 0
        ) {
            self.address = address
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

    /// Where the server listens, with the port that it took; nil while it does not run.
    public var address: HTTPAddress? { running.withLock { $0?.address } }

    /// What it knows of its connections; nil while it does not run.
    public var connectionFacts: HTTPConnections? { running.withLock { $0?.load.facts } }

    /// Listens and serves until `stop`. Once it returns, connections are accepted.
    public func start() throws(HTTPServerError) {
        let limits = configuration.limits
        let load = ServerLoad(
            maximum: max(1, min(configuration.maxConnections, Self.descriptors() - Self.reservedDescriptors)),
            incoming: configuration.incoming, outgoing: configuration.outgoing)
        let wanted = configuration.loops > 0 ? configuration.loops : max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        var loops: [EventLoop] = []
        for _ in 0..<wanted { loops.append(try EventLoop(handler: handler, limits: limits, load: load)) }
        let listener = try Listener(
            configuration.address, backlog: configuration.backlog, userTimeout: 2 * limits.writeTime.milliseconds)
        let first = loops[0]
        first.accept(with: Acceptor(listener, dealingTo: loops, load: load))
        load.onRoom { [weak first] in first?.post(.acceptAgain) }
        running.withLock { $0 = (loops, listener.address, load) }
        for loop in loops { try loop.start() }
    }

    /// Stops accepting, ends event streams cleanly, closes idle connections at once, and lets what is under way finish:
    /// until the grace is over, when the rest is cut. Returns when no connection and no thread is left.
    public func stop(grace: Duration = .seconds(10)) async {
        guard
            let loops = running.withLock({ running in
                defer { running = nil }
                return running?.loops
            })
        else { return }
        let deadline = EventLoop.clock() + grace.milliseconds
        await withTaskGroup(of: Void.self) { group in
            for loop in loops {
                group.addTask {
                    await withCheckedContinuation { continuation in
                        loop.post(.stop(deadline: deadline) { continuation.resume() })
                    }
                }
            }
        }
    }

    /// What the process needs for itself: the loops, the database, logs.
    private static let reservedDescriptors = 64

    /// Raises the soft limit to the hard one and gives it.
    private static func descriptors() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1_024 }
        limit.rlim_cur = limit.rlim_max
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        _ = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return Int(clamping: limit.rlim_cur)
    }
}

import BraidRuntime
import Dispatch
import Glibc
import Synchronization

/// Signals, and the failure of a background task, as one sequence of events.
struct Signals: Sendable {
    enum Event: Sendable {
        /// SIGTERM, SIGINT, or the end of the standard input with `--exit-with-stdin`.
        case stop
        /// SIGHUP: read the token file and open the log file again.
        case reload
        case failed(any Error)
    }

    let events: AsyncStream<Event>
    private let continuation: AsyncStream<Event>.Continuation
    private let stops = Stops()
    /// They must stay alive. Nothing reads the property, so `nonisolated(unsafe)` is safe.
    nonisolated(unsafe) private let sources: [any DispatchSourceSignal]

    /// Ignores the signals that would end a process without a fault, except SIGTERM, SIGINT and SIGQUIT: with the last,
    /// an operator gets the core dump of a server that hangs.
    static func ignoreOthers() {
        // SIGPIPE: the reader of stdout or stderr may exit. SIGXFSZ: a file that becomes too large fails the write.
        let named = [
            SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGPIPE, SIGXFSZ, SIGPOLL, SIGPWR, SIGSTKFLT,
        ]
        for number in named + Array(__libc_current_sigrtmin()...__libc_current_sigrtmax()) { signal(number, SIG_IGN) }
    }

    /// Returns once SIGTERM, SIGINT and SIGHUP are registered, as they may come right after the server's line on
    /// stdout.
    ///
    /// - Parameter stopAtOnce: called with the number of a SIGTERM or SIGINT after the first request to stop.
    init(stopAtOnce: @escaping @Sendable (CInt) -> Void) async {
        let (events, continuation) = AsyncStream.makeStream(of: Event.self)
        (self.events, self.continuation) = (events, continuation)
        let stops = stops
        sources = [SIGTERM, SIGINT, SIGHUP].map { DispatchSource.makeSignalSource(signal: $0) }
        for (number, source) in zip([SIGTERM, SIGINT, SIGHUP], sources) {
            source.setEventHandler {
                guard number != SIGHUP else { return _ = continuation.yield(.reload) }
                if stops.add() == 1 { continuation.yield(.stop) } else { stopAtOnce(number) }
            }
            await withCheckedContinuation { registered in
                // Until then, SIGTERM and SIGINT end the process.
                source.setRegistrationHandler { registered.resume() }
                source.resume()
            }
        }
    }

    /// From now on, the end of the standard input stops the server like SIGTERM.
    ///
    /// - Parameter hasEnded: called once, on another thread, if that stops the server.
    func stopAtEndOfInput(_ hasEnded: @escaping @Sendable () -> Void) {
        let (stops, continuation) = (stops, continuation)
        _ = startThread(named: "stdin") {
            Files.readToEnd(of: STDIN_FILENO)
            guard stops.add() == 1 else { return }
            hasEnded()
            continuation.yield(.stop)
        }
    }

    /// Counts the requests to stop.
    private final class Stops: Sendable {
        private let count = Mutex(0)

        func add() -> Int {
            count.withLock { count in
                count += 1
                return count
            }
        }
    }

    func end() { continuation.finish() }

    func fail(_ error: any Error) { continuation.yield(.failed(error)) }
}

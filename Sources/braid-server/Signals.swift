import BraidRuntime
import Dispatch
import Glibc
import Synchronization

/// The signals that a server receives, and the failure of the server's background task, as one sequence of events.
struct Signals: Sendable {
    enum Event: Sendable {
        /// The server must stop: the process has received SIGTERM or SIGINT, or its standard input has ended
        /// (`--exit-with-stdin`).
        case stop
        /// The server must read the token file and open the log file again: the process has received SIGHUP.
        case reload
        /// A task that the server needs has failed.
        case failed(any Error)
    }

    let events: AsyncStream<Event>
    private let continuation: AsyncStream<Event>.Continuation
    private let stops = Stops()
    /// The signal sources, which must stay alive. `nonisolated(unsafe)` is safe, because nothing reads this property.
    nonisolated(unsafe) private let sources: [any DispatchSourceSignal]

    /// Ignores the signals that would end the process by default although the process has no fault, except SIGTERM,
    /// SIGINT and SIGQUIT. SIGQUIT still ends the process, so that an operator can get the core dump of a server that
    /// hangs.
    static func ignoreOthers() {
        // Because SIGPIPE is ignored, the server continues after the program that reads its stdout or stderr has
        // exited. Because SIGXFSZ is ignored, a write to a file that becomes too large fails, and does not end the
        // process.
        let named = [
            SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGPIPE, SIGXFSZ, SIGPOLL, SIGPWR, SIGSTKFLT,
        ]
        for number in named + Array(__libc_current_sigrtmin()...__libc_current_sigrtmax()) { signal(number, SIG_IGN) }
    }

    /// Registers for SIGTERM, SIGINT and SIGHUP. A program that has read the server's line on stdout can send a signal
    /// at once. This method therefore returns only when the registration is complete. A SIGTERM or SIGINT after the
    /// first request to stop calls `stopAtOnce` with the signal's number.
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
                // The source receives the signal only after the registration. Before the registration, SIGTERM and
                // SIGINT end the process.
                source.setRegistrationHandler { registered.resume() }
                source.resume()
            }
        }
    }

    /// After this call, the end of the standard input stops the server like SIGTERM, unless the server is stopping
    /// already.
    ///
    /// - Parameter hasEnded: called once, on another thread, if the end of the standard input stops the server.
    func stopAtEndOfInput(_ hasEnded: @escaping @Sendable () -> Void) {
        let (stops, continuation) = (stops, continuation)
        _ = startThread(named: "stdin") {
            Files.readToEnd(of: STDIN_FILENO)
            guard stops.add() == 1 else { return }
            hasEnded()
            continuation.yield(.stop)
        }
    }

    /// Counts the requests to stop: SIGTERM, SIGINT and, with `--exit-with-stdin`, the end of the standard input.
    private final class Stops: Sendable {
        private let count = Mutex(0)

        func add() -> Int {
            count.withLock { count in
                count += 1
                return count
            }
        }
    }

    /// Ends the sequence of events.
    func end() { continuation.finish() }

    /// Reports that a task which the server needs has failed.
    func fail(_ error: any Error) { continuation.yield(.failed(error)) }
}

import BraidRuntime
import Dispatch
import Glibc
import Synchronization

/// Signals and failed background tasks, as one sequence.
final class Signals: Sendable {
    enum Event: Sendable {
        /// SIGTERM, SIGINT, or the end of stdin with `--exit-with-stdin`.
        case stop
        /// SIGHUP: files of tokens and keys, and the log file, again.
        case reload
        case failed(any Error)
    }

    let events: AsyncStream<Event>
    private let continuation: AsyncStream<Event>.Continuation
    private let stops = Atomic(0)
    /// Must stay alive. Nothing reads it, so `nonisolated(unsafe)` is safe.
    nonisolated(unsafe) private let sources: [any DispatchSourceSignal]

    /// Ignores all that would end a process without a fault, but not SIGTERM, SIGINT and SIGQUIT: the last gives
    /// operators the core dump of a server that hangs.
    static func ignoreOthers() {
        // SIGPIPE: stdout's or stderr's reader may exit. SIGXFSZ: a file that becomes too large fails the write.
        let named = [
            SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGPIPE, SIGXFSZ, SIGPOLL, SIGPWR, SIGSTKFLT,
        ]
        for number in named + Array(__libc_current_sigrtmin()...__libc_current_sigrtmax()) { signal(number, SIG_IGN) }
    }

    /// Returns when the signals are registered: they may come right after the line on stdout. `stopAtOnce` gets the
    /// number of a further SIGTERM or SIGINT.
    init(stopAtOnce: @escaping @Sendable (CInt) -> Void) async {
        let (events, continuation) = AsyncStream.makeStream(of: Event.self)
        (self.events, self.continuation) = (events, continuation)
        sources = [SIGTERM, SIGINT, SIGHUP].map { DispatchSource.makeSignalSource(signal: $0) }
        for (number, source) in zip([SIGTERM, SIGINT, SIGHUP], sources) {
            source.setEventHandler { [self] in
                guard number != SIGHUP else { return _ = continuation.yield(.reload) }
                if isFirstStop() { continuation.yield(.stop) } else { stopAtOnce(number) }
            }
            await withCheckedContinuation { registered in
                // Until then, SIGTERM and SIGINT end the process.
                source.setRegistrationHandler { registered.resume() }
                source.resume()
            }
        }
    }

    func stopAtEndOfInput(_ hasEnded: @escaping @Sendable () -> Void) {
        _ = startThread(named: "stdin") { [self] in
            Files.readToEnd(of: STDIN_FILENO)
            guard isFirstStop() else { return }
            hasEnded()
            continuation.yield(.stop)
        }
    }

    private func isFirstStop() -> Bool { stops.add(1, ordering: .relaxed).oldValue == 0 }

    func end() { continuation.finish() }

    func fail(_ error: any Error) { continuation.yield(.failed(error)) }
}

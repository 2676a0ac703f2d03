import BraidRuntime
import Synchronization

/// The clock that measures the age of kept answers, the answers that the store keeps for requests with an
/// `Idempotency-Key`. The clock advances only while a server runs, with the monotonic clock of the machine. So a jump
/// of the machine's time changes no answer's age.
///
/// When an SQLite store is opened, the clock continues at the time of the newest kept answer. For a store that several
/// servers share, the clock continues at the time that the servers have stored there. In an SQLite store without any
/// answer, the clock starts with the machine's time.
public final class AnswerClock: Sendable {
    /// The difference between this clock's time and the monotonic time, in milliseconds.
    private let offset: Mutex<Int>

    /// Creates a clock that shows the given time now, in milliseconds. If `time` is `nil`, the clock starts with the
    /// machine's time.
    package init(from time: Int?) { offset = Mutex((time ?? systemMilliseconds()) - Self.monotonic()) }

    private static func monotonic() -> Int { monotonicNanoseconds() / 1_000_000 }

    /// The clock's time, in milliseconds.
    public func now() -> Int { offset.withLock { $0 } + Self.monotonic() }

    /// Sets this clock to the time that the servers of a shared store have stored there. Must be called before anyone
    /// reads the clock.
    package func begin(at time: Int) { offset.withLock { $0 = time - Self.monotonic() } }

    /// The difference between this clock's time and the monotonic time, in milliseconds. A test can add to the
    /// difference to make kept answers older.
    package var setting: Int {
        get { offset.withLock { $0 } }
        set { offset.withLock { $0 = newValue } }
    }

    /// Sets the clock to another server's clock time, if that time is later.
    package func advance(to time: Int) {
        let offset = time - Self.monotonic()
        self.offset.withLock { $0 = max($0, offset) }
    }
}

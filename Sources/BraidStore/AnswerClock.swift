import BraidRuntime
import Synchronization

/// The clock that measures the age of kept answers. The clock advances only while a server runs, with the monotonic
/// clock of the machine, so a jump of the machine's time changes no answer's age.
///
/// When a store is opened, the clock continues at the time of the newest kept answer, or at the time that the servers
/// of a shared store have stored. In a store without any answer, the clock starts with the machine's time.
public final class AnswerClock: Sendable {
    /// The difference between this clock's time and the monotonic time, in milliseconds.
    private let offset: Mutex<Int>

    /// Creates a clock that shows `time` now, in milliseconds. If `time` is `nil`, the clock starts with the machine's
    /// time.
    package init(from time: Int?) { offset = Mutex((time ?? systemMilliseconds()) - Self.monotonic()) }

    private static func monotonic() -> Int { monotonicNanoseconds() / 1_000_000 }

    /// The clock's time, in milliseconds.
    public func now() -> Int { offset.withLock { $0 } + Self.monotonic() }

    /// Sets this clock to the time that the servers of a shared store have stored. Must be called before the clock is
    /// used.
    package func begin(at time: Int) { offset.withLock { $0 = time - Self.monotonic() } }

    /// The clock's distance from the monotonic time, in milliseconds. A test that adds to it makes kept answers older.
    package var setting: Int {
        get { offset.withLock { $0 } }
        set { offset.withLock { $0 = newValue } }
    }

    /// Sets the clock to the time of another server, if that time is later.
    package func advance(to time: Int) {
        let offset = time - Self.monotonic()
        self.offset.withLock { $0 = max($0, offset) }
    }
}

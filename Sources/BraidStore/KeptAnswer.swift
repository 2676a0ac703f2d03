import BraidEngine
import BraidRuntime
import Synchronization

/// The answer to a request with an `Idempotency-Key`, for a client that repeats the request
/// (draft-ietf-httpapi-idempotency-key-header).
public struct KeptAnswer: Sendable, Equatable {
    // Session, requester and key together name a request.

    /// The number of the session that received the request, or 0 for one that opens a session.
    public var session: Int
    /// The id of the request's token, or empty for a controller.
    public var requester: String
    /// The value of the `Idempotency-Key`, without quotes.
    public var key: String
    /// Milliseconds of the store's ``AnswerClock``.
    public var at: Int
    /// A hash of the request. Another request with the same key is a client's mistake.
    public var request: Int
    public var answer: JSONText

    /// Milliseconds. The store may delete an answer earlier: for the ``quota``, or with its session.
    public static let lifetime = 24 * 60 * 60 * 1000

    /// The most bytes of one requester's answers in one session. Beyond it, the oldest go.
    public static let quota = 16 << 20
    /// How many old answers a new one replaces at most, so that no commit waits for a long delete.
    package static let mostEvicted = 64

    /// In SQL: the costs are in their range.
    package static let hasSoundCost =
        "\(StoredNumber.bytes.condition("cost_before")) AND \(StoredNumber.bytes.condition("cost"))"

    /// Bytes of the ``quota``: at least 1 KiB, so that it also limits the number of answers, to 16,384.
    package var cost: Int { max(1 << 10, answer.count + key.utf8.count) }

    public init(session: Int, requester: String, key: String, at: Int, request: Int, answer: JSONText) {
        self.session = session
        self.requester = requester
        self.key = key
        self.at = at
        self.request = request
        self.answer = answer
    }
}

/// The clock that measures the age of kept answers. It runs with the monotonic clock while a server runs, so that a jump
/// of the machine's time changes no answer's age.
///
/// It goes on at the time of the newest answer, or at the time that the servers of a shared store have stored. Without
/// any, it starts with the machine's time.
public final class AnswerClock: Sendable {
    /// This clock's time minus the monotonic time, in milliseconds.
    private let offset: Mutex<Int>

    /// - Parameter time: what the clock shows now, in milliseconds.
    package init(from time: Int?) { offset = Mutex((time ?? systemMilliseconds()) - Self.monotonic()) }

    private static func monotonic() -> Int { monotonicNanoseconds() / 1_000_000 }

    /// Milliseconds.
    public func now() -> Int { offset.withLock { $0 } + Self.monotonic() }

    /// Sets the clock to the time of a shared store, before anyone reads it.
    package func begin(at time: Int) { offset.withLock { $0 = time - Self.monotonic() } }

    /// A test can add to the offset to make answers older.
    package var setting: Int {
        get { offset.withLock { $0 } }
        set { offset.withLock { $0 = newValue } }
    }

    /// Sets the clock to another server's time, if that is later.
    package func advance(to time: Int) {
        let offset = time - Self.monotonic()
        self.offset.withLock { $0 = max($0, offset) }
    }
}

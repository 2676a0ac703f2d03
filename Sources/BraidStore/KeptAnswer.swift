import BraidEngine
import BraidRuntime
import Synchronization

/// The answer to a request with an `Idempotency-Key`, for a client that repeats it
/// (draft-ietf-httpapi-idempotency-key-header). Session, requester and key identify the request.
public struct KeptAnswer: Sendable, Equatable {
    /// A session's number, or 0 for a request that opens one.
    public var session: Int
    /// The token's id, or empty for a controller.
    public var requester: String
    /// Without quotes.
    public var key: String
    /// Milliseconds of the store's ``AnswerClock``.
    public var at: Int
    /// A hash, to notice another request with the same key.
    public var request: Int
    public var answer: JSONText

    /// Milliseconds. An answer goes earlier with its session, or for the ``quota``.
    public static let lifetime = 24 * 60 * 60 * 1000

    /// Bytes for one requester in one session. Beyond, the oldest answers go.
    public static let quota = 16 << 20
    /// Old answers that one commit removes at most, so that none takes long.
    package static let mostEvicted = 64

    /// SQL: both costs are in range.
    package static let hasSoundCost =
        "\(StoredNumber.bytes.condition("cost_before")) AND \(StoredNumber.bytes.condition("cost"))"

    /// Bytes of the ``quota``. At least 1 KiB, which limits the answers to 16,384.
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

/// Milliseconds that measure the age of kept answers. Runs with the monotonic clock, so that no jump of the machine's
/// time changes an age. It goes on from the newest answer or from the shared store's time; a new store starts with
/// the machine's time.
public final class AnswerClock: Sendable {
    /// Relative to the monotonic clock.
    private let offset: Mutex<Int>

    package init(from time: Int?) { offset = Mutex((time ?? systemMilliseconds()) - Self.monotonic()) }

    private static func monotonic() -> Int { monotonicNanoseconds() / 1_000_000 }

    public func now() -> Int { offset.withLock { $0 } + Self.monotonic() }

    /// To a shared store's time, before anyone reads the clock.
    package func begin(at time: Int) { offset.withLock { $0 = time - Self.monotonic() } }

    /// Tests add to it to make answers older.
    package var setting: Int {
        get { offset.withLock { $0 } }
        set { offset.withLock { $0 = newValue } }
    }

    /// To another server's time, if later.
    package func advance(to time: Int) {
        let offset = time - Self.monotonic()
        self.offset.withLock { $0 = max($0, offset) }
    }
}

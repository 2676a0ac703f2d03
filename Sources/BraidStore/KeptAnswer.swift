import BraidEngine
import BraidRuntime
import Synchronization

/// The answer to a request with an `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header). Session, requester
/// and key identify the request.
package struct KeptAnswer: Sendable, Equatable {
    /// 0 for a request that opens a session.
    package var session: Int
    /// The token's id, or empty for a controller.
    package var requester: String
    /// The header's, without quotes.
    package var key: String
    /// Milliseconds of the store's ``AnswerClock``.
    package var at: Int
    /// A hash that tells another request with the same key apart.
    package var request: Int
    package var answer: JSONText

    /// Milliseconds. Ends earlier with the session, or for the ``quota``.
    package static let lifetime = 24 * 60 * 60 * 1000

    /// Bytes for one requester in one session. The oldest answers go first.
    package static let quota = 16 << 20
    /// The most that one commit deletes for the quota, so that none takes long.
    package static let mostEvicted = 64

    /// An SQL condition.
    package static let hasSoundCost =
        "\(StoredNumber.bytes.condition("cost_before")) AND \(StoredNumber.bytes.condition("cost"))"

    /// At least 1 KiB, so that the ``quota`` also limits the answers, to 16,384.
    package var cost: Int { max(1 << 10, answer.count + key.utf8.count) }

    package init(session: Int, requester: String, key: String, at: Int, request: Int, answer: JSONText) {
        self.session = session
        self.requester = requester
        self.key = key
        self.at = at
        self.request = request
        self.answer = answer
    }
}

/// Milliseconds, for the age of kept answers. Runs with the monotonic clock, because the machine's time can jump.
/// Goes on from the newest answer or the shared store's time, otherwise from the machine's.
package final class AnswerClock: Sendable {
    private let offset: Mutex<Int>

    package init(from time: Int?) { offset = Mutex((time ?? systemMilliseconds()) - Self.monotonic()) }

    private static func monotonic() -> Int { monotonicNanoseconds() / 1_000_000 }

    package func now() -> Int { offset.withLock { $0 } + Self.monotonic() }

    /// Call it before anyone reads the clock.
    package func begin(at time: Int) { offset.withLock { $0 = time - Self.monotonic() } }

    /// Tests add to it to make answers older.
    package var setting: Int {
        get { offset.withLock { $0 } }
        set { offset.withLock { $0 = newValue } }
    }

    package func advance(to time: Int) {
        let offset = time - Self.monotonic()
        self.offset.withLock { $0 = max($0, offset) }
    }
}

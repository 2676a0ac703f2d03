import Synchronization

/// Makes the IDs of sessions, epochs, tokens and requests: random, or counted (`--deterministic`).
package final class IDGenerator: Sendable {
    private struct Counts {
        var session = 0
        var epoch = 0
    }

    private let requests = Atomic<UInt64>(0)
    private let requestPrefix: String
    let isCounting: Bool
    private let counts: Mutex<Counts>

    /// IDs are random.
    package init() {
        requestPrefix = Self.randomWord(6)
        isCounting = false
        counts = Mutex(Counts())
    }

    /// IDs are counted: `session-1`, `epoch-1`. The first ones follow the given numbers.
    package init(countingAfterSession session: Int, epoch: Int) {
        requestPrefix = "request"
        isCounting = true
        counts = Mutex(Counts(session: session, epoch: epoch))
    }

    /// An ID for a session that a client opens without naming one. A counted ID can be in use already, as clients
    /// choose IDs as well.
    func sessionID() -> String {
        guard isCounting else { return Self.randomWord(12) }
        return counts.withLock { counts in
            counts.session += 1
            return "session-\(counts.session)"
        }
    }

    /// A session's epoch: an opaque word that is never used again.
    func epoch() -> String {
        guard isCounting else { return Self.randomWord(8) }
        return counts.withLock { counts in
            counts.epoch += 1
            return "epoch-\(counts.epoch)"
        }
    }

    /// A token's ID. It is not secret.
    func tokenID() -> String { Self.randomWord(12) }

    /// A token's secret: 258 random bits as base64url (RFC 4648, section 5).
    func secret() -> String { Self.randomWord(43, of: Self.base64URLDigits) }

    package func requestID() -> String {
        "\(requestPrefix)-\(requests.wrappingAdd(1, ordering: .relaxed).newValue)"
    }

    private static let alphanumerics = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
    private static let base64URLDigits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    private static func randomWord(_ length: Int, of letters: [UInt8] = alphanumerics) -> String {
        var generator = SystemRandomNumberGenerator()
        return String(
            decoding: (0..<length).map { _ in letters[Int.random(in: 0..<letters.count, using: &generator)] },
            as: UTF8.self)
    }
}

import Synchronization

/// A generator for the IDs of sessions, epochs, tokens and requests. The IDs are random, or counted
/// (`--deterministic`).
package final class IDGenerator: Sendable {
    private struct Counts {
        var session = 0
        var epoch = 0
    }

    private let requests = Atomic<UInt64>(0)
    private let requestPrefix: String
    let isCounting: Bool
    private let counts: Mutex<Counts>

    /// Creates a generator of random IDs.
    package init() {
        requestPrefix = Self.randomWord(6)
        isCounting = false
        counts = Mutex(Counts())
    }

    /// Creates a generator that counts: `session-1`, `epoch-1`. The first session ID and the first epoch follow the
    /// given numbers.
    package init(countingAfterSession session: Int, epoch: Int) {
        requestPrefix = "request"
        isCounting = true
        counts = Mutex(Counts(session: session, epoch: epoch))
    }

    /// Returns an ID for a session that a client opens without an ID. A counted ID can already be in use, because
    /// clients choose IDs as well.
    func sessionID() -> String {
        guard isCounting else { return Self.randomWord(12) }
        return counts.withLock { counts in
            counts.session += 1
            return "session-\(counts.session)"
        }
    }

    /// Returns a session's epoch: an opaque word that is never used again.
    func epoch() -> String {
        guard isCounting else { return Self.randomWord(8) }
        return counts.withLock { counts in
            counts.epoch += 1
            return "epoch-\(counts.epoch)"
        }
    }

    /// Returns a token's ID. The ID is not secret.
    func tokenID() -> String { Self.randomWord(12) }

    /// Returns a token's secret: 258 random bits as base64url (RFC 4648, section 5).
    func secret() -> String { Self.randomWord(43, of: Self.base64URLDigits) }

    /// Returns a request's ID, which is unique in the process. A random prefix distinguishes the IDs of different
    /// processes.
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

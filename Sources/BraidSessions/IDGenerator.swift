import Synchronization

/// A generator for the IDs of sessions, epochs, tokens and requests. The IDs are random, or with `--deterministic`
/// counted, as in `session-1`.
package final class IDGenerator: Sendable {
    private struct Counts {
        var session = 0
        var epoch = 0
    }

    private let requests = Atomic<UInt64>(0)
    private let requestPrefix: String
    let isCounting: Bool
    private let counts: Mutex<Counts>

    /// Creates a generator of random IDs, as opposed to counted IDs.
    package init() {
        requestPrefix = Self.randomWord(6)
        isCounting = false
        counts = Mutex(Counts())
    }

    /// Creates a generator that counts IDs: `session-1`, `epoch-1`. The first session ID has the number after
    /// `session`, and the first epoch the number after `epoch`.
    package init(countingAfterSession session: Int, epoch: Int) {
        requestPrefix = "request"
        isCounting = true
        counts = Mutex(Counts(session: session, epoch: epoch))
    }

    /// Returns an ID for a session that a client opens without choosing an ID. If the generator counts, the ID can
    /// already be in use, because other clients choose IDs such as `session-1`.
    func sessionID() -> String {
        guard isCounting else { return Self.randomWord(12) }
        return counts.withLock { counts in
            counts.session += 1
            return "session-\(counts.session)"
        }
    }

    /// Returns an epoch for a new session: an opaque word that is never used again.
    func epoch() -> String {
        guard isCounting else { return Self.randomWord(8) }
        return counts.withLock { counts in
            counts.epoch += 1
            return "epoch-\(counts.epoch)"
        }
    }

    /// Returns a new token's ID, which is the part of the token that is not secret.
    func tokenID() -> String { Self.randomWord(12) }

    /// Returns a new token's secret part: 258 random bits as base64url (RFC 4648, section 5).
    func secret() -> String { Self.randomWord(43, of: Self.base64URLDigits) }

    /// Returns an ID for a request, which is unique in this process. A random prefix distinguishes it from the IDs of
    /// other processes.
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

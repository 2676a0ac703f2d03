import Synchronization

/// IDs of sessions, epochs, tokens and requests: random, or counted as in `session-1` (`--deterministic`).
package final class IDGenerator: Sendable {
    /// The last ones used.
    package struct Counts: Sendable {
        package var session = 0
        package var epoch = 0
        package var token = 0
        package var request: UInt64 = 0

        package init() {}
    }

    private let requests: Atomic<UInt64>
    private let requestPrefix: String
    let isCounting: Bool
    private let counted: Mutex<Counts>

    package init() {
        requestPrefix = Self.randomWord(6)
        requests = Atomic(0)
        isCounting = false
        counted = Mutex(Counts())
    }

    package init(countingAfter counts: Counts) {
        requestPrefix = "request"
        requests = Atomic(counts.request)
        isCounting = true
        counted = Mutex(counts)
    }

    /// A reset in test mode sets them back; random IDs ignore it.
    package var counts: Counts {
        get {
            var counts = counted.withLock { $0 }
            counts.request = requests.load(ordering: .relaxed)
            return counts
        }
        set {
            guard isCounting else { return }
            counted.withLock { $0 = newValue }
            requests.store(newValue.request, ordering: .relaxed)
        }
    }

    /// A counted one can be in use already: clients may choose `session-1`.
    func sessionID() -> String {
        guard isCounting else { return Self.randomWord(12) }
        return counted.withLock { counts in
            counts.session += 1
            return "session-\(counts.session)"
        }
    }

    func epoch() -> String {
        guard isCounting else { return Self.randomWord(8) }
        return counted.withLock { counts in
            counts.epoch += 1
            return "epoch-\(counts.epoch)"
        }
    }

    /// The secret is 258 random bits as base64url (RFC 4648, section 5); a counted one can be guessed.
    func token() -> (id: String, secret: String) {
        guard isCounting else { return (Self.randomWord(12), Self.randomWord(43, of: Self.base64URLDigits)) }
        return counted.withLock { counts in
            counts.token += 1
            return ("token-\(counts.token)", "secret-\(counts.token)")
        }
    }

    /// Not counted, so that tickets change no token's id.
    func ticketSecret() -> String { isCounting ? "secret" : Self.randomWord(43, of: Self.base64URLDigits) }

    /// Unique in this process; a random prefix tells it from other servers'.
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

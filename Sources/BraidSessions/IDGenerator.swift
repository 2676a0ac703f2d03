import Synchronization

/// A generator for the IDs of sessions, epochs, tokens and requests. The IDs contain random characters, or with
/// `--deterministic` are counted, as in `session-1`.
package final class IDGenerator: Sendable {
    /// The numbers of the IDs that a counting generator has returned last, or after which it starts.
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

    /// Creates a generator of random IDs, as opposed to counted IDs.
    package init() {
        requestPrefix = Self.randomWord(6)
        requests = Atomic(0)
        isCounting = false
        counted = Mutex(Counts())
    }

    /// Creates a generator that counts IDs: `session-1`, `epoch-1`, `token-1`, `request-1`. The first ID of each kind
    /// has the number after the one in `counts`.
    package init(countingAfter counts: Counts) {
        requestPrefix = "request"
        requests = Atomic(counts.request)
        isCounting = true
        counted = Mutex(counts)
    }

    /// The numbers in the IDs that a counting generator has returned last, or after which it starts. A reset of a
    /// server in test mode sets these numbers back. Setting them has no effect on a generator of random IDs.
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

    /// Returns an ID for a session that a client opens without choosing an ID. If the generator counts, the ID can
    /// already be in use, because other clients choose IDs such as `session-1`.
    func sessionID() -> String {
        guard isCounting else { return Self.randomWord(12) }
        return counted.withLock { counts in
            counts.session += 1
            return "session-\(counts.session)"
        }
    }

    /// Returns an epoch for a session: an opaque word. A random epoch almost certainly differs from all others.
    func epoch() -> String {
        guard isCounting else { return Self.randomWord(8) }
        return counted.withLock { counts in
            counts.epoch += 1
            return "epoch-\(counts.epoch)"
        }
    }

    /// Returns the two parts of a new token: its ID, which is not secret, and its secret.
    ///
    /// The secret is 258 random bits as base64url (RFC 4648, section 5). A counting generator returns `token-1` and
    /// `secret-1`, which everyone can guess.
    func token() -> (id: String, secret: String) {
        guard isCounting else { return (Self.randomWord(12), Self.randomWord(43, of: Self.base64URLDigits)) }
        return counted.withLock { counts in
            counts.token += 1
            return ("token-\(counts.token)", "secret-\(counts.token)")
        }
    }

    /// Returns an ID for a request, which is unique in this process. A counting generator repeats IDs after a reset in
    /// test mode. Unless the generator counts, a random prefix distinguishes the ID from the request IDs of other
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

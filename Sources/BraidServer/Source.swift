import BraidStore
import Glibc
import Synchronization

/// Where the server takes time and randomness from.
package final class Source: Sendable {
    private let requests = Atomic<UInt64>(0)
    private let prefix: String
    /// Instead of the real clock, and of randomness.
    private let counts: Mutex<Counts>
    let isCounting: Bool

    package init() {
        prefix = Source.word(6)
        counts = Mutex(Counts())
        isCounting = false
    }

    /// Everything counts up, so that the same requests are answered the same, byte for byte: `--deterministic`.
    ///
    /// Of a database that was used before, it goes on behind what is found there: no id, epoch or time of a stored session
    /// comes again. (Of those that were ended, nothing is known any more.)
    package init(countingBehind store: any SessionStore) async throws {
        prefix = "request"
        var counts = Counts(), after: String?
        for table in try await store.tables() { counts.next = max(counts.next, table.updated + 1) }
        while case let page = try await store.sessions(after: after, limit: 1_000), let last = page.last {
            for session in page { counts.skip(session) }
            after = last.id
        }
        self.counts = Mutex(counts)
        isCounting = true
    }

    private struct Counts {
        /// 2000-01-01T00:00:00.000Z.
        var next = 946_684_800_000
        var session = 0
        var epoch = 0

        mutating func skip(_ facts: SessionFacts) {
            next = max(next, facts.updated + 1)
            session = max(session, Self.number(in: facts.id, after: "session-"))
            epoch = max(epoch, Self.number(in: facts.epoch, after: "epoch-"))
        }

        private static func number(in word: String, after prefix: String) -> Int {
            word.hasPrefix(prefix)
                ? Int(word.dropFirst(prefix.count).prefix { $0 != "-" }).flatMap { $0 < 1 << 53 ? $0 : nil } ?? 0 : 0
        }
    }

    /// Milliseconds since 1970.
    package func now() -> Int { isCounting ? counts.withLock { $0.next } : Source.clock() }

    /// The time of something that is done: a counting clock moves on by a millisecond with each.
    package func instant() -> Int {
        guard isCounting else { return Source.clock() }
        return counts.withLock { counts in
            defer { counts.next += 1 }
            return counts.next
        }
    }

    /// Milliseconds since 1970, as the system has it.
    package static func clock() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return time.tv_sec * 1000 + time.tv_nsec / 1_000_000
    }

    /// An id for a session that was opened without one. One that counts may be taken: clients choose ids, too.
    func sessionID() -> String {
        guard isCounting else { return Source.word(12) }
        return counts.withLock { counts in
            counts.session += 1
            return "session-\(counts.session)"
        }
    }

    /// An opaque word, never used again.
    func epoch() -> String {
        guard isCounting else { return Source.word(8) }
        return counts.withLock { counts in
            counts.epoch += 1
            return "epoch-\(counts.epoch)"
        }
    }

    /// An id for a token; not secret.
    func tokenID() -> String { Source.word(12) }

    /// 256 bits that nobody can guess, as base64url (RFC 4648, 5).
    static func secret() -> String {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        var generator = SystemRandomNumberGenerator()
        // 43 letters of 6 bits are 258.
        return String(decoding: (0..<43).map { _ in letters[Int.random(in: 0..<64, using: &generator)] }, as: UTF8.self)
    }

    func requestID() -> String {
        "\(prefix)-\(requests.wrappingAdd(1, ordering: .relaxed).newValue)"
    }

    private static let letters = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

    private static func word(_ length: Int) -> String {
        var generator = SystemRandomNumberGenerator()
        return String(
            decoding: (0..<length).map { _ in letters[Int.random(in: 0..<letters.count, using: &generator)] },
            as: UTF8.self)
    }
}

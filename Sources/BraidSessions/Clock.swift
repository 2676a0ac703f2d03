import BraidRuntime
import BraidStore
import Synchronization

/// A clock that returns milliseconds since 1970: either the system's time, shifted if the clock was set, or artificial
/// times that advance by one millisecond with each call of `instant()` (`--deterministic`).
package final class Clock: Sendable {
    private let isCounting: Bool
    /// The time that a counting clock returns next.
    private let counted: Mutex<Int>
    /// The number of milliseconds that the clock adds to the system's time: 0 unless the clock was set. A counting
    /// clock does not use this offset.
    private let offset = Atomic(0)

    /// Creates a clock that reads the system's time, as opposed to a counting clock.
    package init() {
        isCounting = false
        counted = Mutex(0)
    }

    /// Creates a counting clock. The clock starts at 2000-01-01T00:00:00.000Z or one millisecond after `latest`,
    /// whichever is later.
    package init(countingAfter latest: Int) {
        isCounting = true
        counted = Mutex(max(latest + 1, 946_684_800_000))
    }

    /// The clock's time, in milliseconds since 1970. Reading this time does not advance a counting clock.
    package func now() -> Int { isCounting ? counted.withLock { $0 } : systemTime() }

    /// Returns the time for a command, a new session or a new version of a table description, in milliseconds since
    /// 1970. Each call advances a counting clock by one millisecond.
    package func instant() -> Int {
        guard isCounting else { return systemTime() }
        return counted.withLock { next in
            defer { next += 1 }
            return next
        }
    }

    private func systemTime() -> Int { Clock.system() + offset.load(ordering: .relaxed) }

    /// Sets the clock to a time. After that, the clock advances from this time as before.
    ///
    /// - Parameter time: milliseconds since 1970.
    package func set(to time: Int) {
        setting = isCounting ? time : time - Clock.system()
    }

    /// The clock's setting in milliseconds, which a server in test mode stores and restores. For a counting clock, this
    /// is the next time. For any other clock, this is the offset from the system's time.
    package var setting: Int {
        get { isCounting ? counted.withLock { $0 } : offset.load(ordering: .relaxed) }
        set { isCounting ? counted.withLock { $0 = newValue } : offset.store(newValue, ordering: .relaxed) }
    }

    /// Returns the operating system's time, in milliseconds since 1970.
    package static func system() -> Int { systemMilliseconds() }
}

/// Returns a clock and an ID generator that count, so that the same sequence of requests gets the same answers, byte
/// for byte.
///
/// The clock and the generator continue after the sessions, tables and tokens in `store`, so they never repeat a stored
/// ID or epoch, or the time of a session's last revision. Ended sessions and revoked tokens leave no trace in the
/// store, so their IDs and epochs can appear again.
/// - Complexity: O(sessions and tokens in the store).
package func deterministic(after store: any SessionStore) async throws -> (clock: Clock, ids: IDGenerator) {
    var latest = 0, counts = IDGenerator.Counts()
    var page: String?
    for table in try await store.tables() { latest = max(latest, table.updated) }
    while case let sessions = try await store.sessions(after: page, limit: 1_000), let last = sessions.last {
        for summary in sessions {
            latest = max(latest, summary.updated)
            counts.session = max(counts.session, number(in: summary.id, after: "session-"))
            counts.epoch = max(counts.epoch, number(in: summary.epoch, after: "epoch-"))
            counts.token = max(counts.token, try await latestToken(of: summary.id, in: store))
        }
        page = last.id
    }
    return (Clock(countingAfter: latest), IDGenerator(countingAfter: counts))
}

/// Returns the highest number in the IDs of a session's tokens, expired tokens included. Returns 0 if the session has
/// no tokens.
private func latestToken(of session: String, in store: any SessionStore) async throws -> Int {
    var latest = 0
    var page: String?
    while let tokens = try await store.tokens(of: session, after: page, limit: 1_000, now: 0), let last = tokens.last {
        for token in tokens { latest = max(latest, number(in: token.token.id, after: "token-")) }
        page = last.token.id
    }
    return latest
}

/// Returns the number after a prefix in a counted ID: 12 in `session-12`, and 3 in `epoch-3-1`, an epoch with a suffix.
/// Returns 0 for any other word and for numbers from 2^53.
private func number(in word: String, after prefix: String) -> Int {
    guard word.hasPrefix(prefix), let number = Int(digits: word.dropFirst(prefix.count).prefix { $0 != "-" }) else {
        return 0
    }
    return number < 1 << 53 ? number : 0
}

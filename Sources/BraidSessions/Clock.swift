import BraidRuntime
import BraidStore
import Synchronization

/// Milliseconds since 1970: the system's time, shifted if the clock was set, or a counting clock (`--deterministic`),
/// which each `instant()` advances by 1.
package final class Clock: Sendable {
    private let isCounting: Bool
    private let counted: Mutex<Int>
    /// Milliseconds.
    private let offset = Atomic(0)

    package init() {
        isCounting = false
        counted = Mutex(0)
    }

    /// Starts at 2000-01-01T00:00:00.000Z, or after `latest` if that is later.
    package init(countingAfter latest: Int) {
        isCounting = true
        counted = Mutex(max(latest + 1, 946_684_800_000))
    }

    /// Does not advance a counting clock.
    package func now() -> Int { isCounting ? counted.withLock { $0 } : systemTime() }

    /// For a command, a new session or a new version of a description.
    package func instant() -> Int {
        guard isCounting else { return systemTime() }
        return counted.withLock { next in
            defer { next += 1 }
            return next
        }
    }

    private func systemTime() -> Int { Clock.system() + offset.load(ordering: .relaxed) }

    package func set(to time: Int) {
        setting = isCounting ? time : time - Clock.system()
    }

    /// For test mode: a counting clock's next time, or the offset from the system's.
    package var setting: Int {
        get { isCounting ? counted.withLock { $0 } : offset.load(ordering: .relaxed) }
        set { isCounting ? counted.withLock { $0 = newValue } : offset.store(newValue, ordering: .relaxed) }
    }

    package static func system() -> Int { systemMilliseconds() }
}

/// A clock and IDs that count, so the same requests get the same answers, byte for byte. They continue after what is in
/// `store`; IDs of ended sessions and revoked tokens can appear again. O(sessions and tokens).
package func deterministic(after store: any SessionStore) async throws -> (clock: Clock, ids: IDGenerator) {
    var latest = 0, counts = IDGenerator.Counts()
    var page: String?
    counts.token = try await latestToken(of: nil, in: store)
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

private func latestToken(of session: String?, in store: any SessionStore) async throws -> Int {
    var latest = 0
    var page: String?
    while let tokens = try await store.tokens(of: session, after: page, limit: 1_000, now: 0), let last = tokens.last {
        for token in tokens { latest = max(latest, number(in: token.token.id, after: "token-")) }
        page = last.token.id
    }
    return latest
}

/// 12 in `session-12`, 3 in `epoch-3-1`. 0 for other words and for numbers from 2^53.
private func number(in word: String, after prefix: String) -> Int {
    guard word.hasPrefix(prefix), let number = Int(digits: word.dropFirst(prefix.count).prefix { $0 != "-" }) else {
        return 0
    }
    return number < 1 << 53 ? number : 0
}

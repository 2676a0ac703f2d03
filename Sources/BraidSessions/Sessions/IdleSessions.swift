import BraidRuntime

/// Sessions that nobody asks for leave memory; the next request reads them from the store again.
///
/// A clock hand instead of clocks: a look-up marks the session, each sweep takes the marks away, and a session that has
/// none at `sweeps` sweeps one after the other is dropped. So a request pays one relaxed store.
package struct IdleSessions: Sendable {
    /// How long a session stays in memory that nobody asks for, at least; and a quarter more, at most.
    let time: Duration

    private static let sweeps = 5

    package init(time: Duration) { self.time = time }

    /// Until the task is cancelled.
    package func unload(from sessions: Sessions) async {
        while (try? await Task.sleep(for: time / (Self.sweeps - 1))) != nil {
            if sessions.unloadIdle(after: Self.sweeps) > 0 { Memory.trimSoon() }
        }
    }
}

extension Sessions {
    /// Drops the sessions from memory that nobody has asked for between the last `sweeps` calls. Gives their number.
    func unloadIdle(after sweeps: Int) -> Int {
        inMemory.count { session in
            guard session.isUnused(for: sweeps), session.unload() else { return false }
            drop(session)
            return true
        }
    }
}

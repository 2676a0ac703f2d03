import BraidRuntime

/// Drops idle sessions from memory. The next request for one reads it from the store.
///
/// They are found with the clock algorithm: a look-up sets the session's count of unused sweeps to 0, each sweep
/// increments it, and drops the sessions whose count has reached `sweeps`. A request pays one relaxed atomic store.
package struct IdleSessions: Sendable {
    /// The shortest time for which an idle session stays in memory; at the longest, a quarter more. 0: it stays.
    let time: Duration

    private static let sweeps = 5

    package init(time: Duration) { self.time = time }

    /// Drops sessions as if `time` had passed without a request, when a test advances the clock.
    package func unload(from sessions: SessionHost, afterAnother time: Duration) {
        guard self.time > .zero else { return }
        let sweeps = time >= self.time ? Self.sweeps : Int(time / (self.time / (Self.sweeps - 1)))
        for _ in 0..<sweeps { _ = sessions.unloadIdle(after: Self.sweeps) }
    }

    /// Sweeps at regular intervals, until the task is cancelled.
    package func unload(from sessions: SessionHost) async {
        while (try? await Task.sleep(for: time / (Self.sweeps - 1))) != nil {
            if sessions.unloadIdle(after: Self.sweeps) > 0 { Memory.trimSoon() }
        }
    }
}

extension SessionHost {
    /// Drops the sessions that no request has used during the last `sweeps` calls, except those with followers or a
    /// running command. Returns their number.
    func unloadIdle(after sweeps: Int) -> Int {
        inMemory.count { session in
            guard session.isUnused(for: sweeps), session.unload() else { return false }
            drop(session)
            if session.takeUse() { unloadedUses.withLock { _ = $0.insert(session.number) } }
            return true
        }
    }
}

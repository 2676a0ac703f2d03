import BraidRuntime

/// Drops idle sessions from memory; the next request reads them from the store.
///
/// The clock algorithm: a look-up sets the session's count of unused sweeps to 0 (one relaxed atomic store), a sweep
/// increments it, and drops the session at `sweeps`.
package struct IdleSessions: Sendable {
    /// The shortest time in memory; the longest is a quarter more. 0: forever.
    let time: Duration

    private static let sweeps = 5

    package init(time: Duration) { self.time = time }

    /// When a test advances the clock.
    package func unload(from sessions: SessionHost, afterAnother time: Duration) {
        guard self.time > .zero else { return }
        let sweeps = time >= self.time ? Self.sweeps : Int(time / (self.time / (Self.sweeps - 1)))
        for _ in 0..<sweeps { _ = sessions.unloadIdle(after: Self.sweeps) }
    }

    /// Until the task is cancelled.
    package func unload(from sessions: SessionHost) async {
        while (try? await Task.sleep(for: time / (Self.sweeps - 1))) != nil {
            if sessions.unloadIdle(after: Self.sweeps) > 0 { Memory.trimSoon() }
        }
    }
}

extension SessionHost {
    /// Sessions that no request has used during the last `sweeps` calls, except followed or busy ones. Returns how
    /// many.
    func unloadIdle(after sweeps: Int) -> Int {
        inMemory.count { session in
            guard session.isUnused(for: sweeps), session.unload() else { return false }
            drop(session)
            if session.takeUse() { unloadedUses.withLock { _ = $0.insert(session.number) } }
            return true
        }
    }
}

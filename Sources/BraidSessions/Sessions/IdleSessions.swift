import BraidRuntime

/// The clock algorithm: a look-up sets a session's count of unused sweeps to 0 (one relaxed store), a sweep increments
/// it and drops the session from memory at `sweeps`.
package struct IdleSessions: Sendable {
    /// How long a session must be unused, at least; at most a quarter more. 0: sessions stay.
    let time: Duration

    private static let sweeps = 5

    package init(time: Duration) { self.time = time }

    /// For a test that advances the clock.
    package func unload(from sessions: SessionHost, afterAnother time: Duration) {
        guard self.time > .zero else { return }
        let sweeps = time >= self.time ? Self.sweeps : Int(time / (self.time / (Self.sweeps - 1)))
        for _ in 0..<sweeps { _ = sessions.unloadIdle(after: Self.sweeps) }
    }

    package func unload(from sessions: SessionHost) async {
        while (try? await Task.sleep(for: time / (Self.sweeps - 1))) != nil {
            if sessions.unloadIdle(after: Self.sweeps) > 0 { Memory.trimSoon() }
        }
    }
}

extension SessionHost {
    /// Drops unused sessions from memory, except followed and busy ones. Returns how many.
    func unloadIdle(after sweeps: Int) -> Int {
        inMemory.count { session in
            session.viewers.forgetUnused(now: session.revision)
            guard session.isUnused(for: sweeps), session.unload() else { return false }
            drop(session)
            if session.takeUse() { unloadedUses.withLock { _ = $0.insert(session.number) } }
            return true
        }
    }
}

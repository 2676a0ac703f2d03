import BraidRuntime

/// Drops idle sessions from the server's memory. The store still contains these sessions. The next request for a
/// dropped session reads the session from the store.
///
/// Idle sessions are found with the clock algorithm. A look-up sets the session's count of unused sweeps to 0, and each
/// sweep increments the count. A sweep drops the sessions whose count has reached `sweeps`. So the algorithm costs a
/// request only one relaxed store of an atomic number.
package struct IdleSessions: Sendable {
    /// The shortest time that an idle session stays in memory after its last use. At the latest, the session is dropped
    /// after a quarter more than this time. A session with event streams or waiting long polls is not dropped. With a
    /// time of 0, no session is dropped.
    let time: Duration

    private static let sweeps = 5

    package init(time: Duration) { self.time = time }

    /// Drops sessions from memory as if `time` had passed without a request. A server in test mode does this when a
    /// test advances the clock.
    package func unload(from sessions: SessionHost, afterAnother time: Duration) {
        guard self.time > .zero else { return }
        let sweeps = time >= self.time ? Self.sweeps : Int(time / (self.time / (Self.sweeps - 1)))
        for _ in 0..<sweeps { _ = sessions.unloadIdle(after: Self.sweeps) }
    }

    /// Sweeps for idle sessions at regular intervals and drops them from memory, until the task is cancelled.
    package func unload(from sessions: SessionHost) async {
        while (try? await Task.sleep(for: time / (Self.sweeps - 1))) != nil {
            if sessions.unloadIdle(after: Self.sweeps) > 0 { Memory.trimSoon() }
        }
    }
}

extension SessionHost {
    /// Drops the sessions from memory that no request has used during the last `sweeps` calls of this method. Keeps
    /// sessions with event streams, waiting long polls or a running command. Returns the number of dropped sessions.
    func unloadIdle(after sweeps: Int) -> Int {
        inMemory.count { session in
            guard session.isUnused(for: sweeps), session.unload() else { return false }
            drop(session)
            if session.takeUse() { unloadedUses.withLock { _ = $0.insert(session.number) } }
            return true
        }
    }
}

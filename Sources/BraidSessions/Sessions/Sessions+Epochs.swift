import BraidStore

extension Sessions {
    /// Gives a session a new epoch, as the restored backup of a database gives to all sessions. Every position that
    /// clients have is then of another epoch. The session's streams and long polls end.
    ///
    /// - Throws: `unavailable` if the store cannot do this.
    package func renewEpoch(of id: String) async throws {
        guard let store = store as? any EpochStore else {
            throw SessionError(unavailable: "This server's database cannot give one session a new epoch.")
        }
        try await with(id) { session in
            try await session.commands.lock()
            defer { session.commands.unlock() }
            if session.isStale { throw StaleSession() }
            try await store.setEpoch(ids.epoch(), of: session.number)
            session.markStale()
        }
    }
}

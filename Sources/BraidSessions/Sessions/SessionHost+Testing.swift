import BraidStore

/// The state of a server at the end of its start, which a reset in test mode restores. The state consists of the
/// settings of the clocks and the counters of the IDs. The store itself keeps a copy of its content.
package struct StartingPoint: Sendable {
    fileprivate let clock: Int
    fileprivate let answerClock: Int
    fileprivate let ids: IDGenerator.Counts
}

extension SessionHost {
    /// Stores the current state of the server, which ``restore(_:in:)`` can restore.
    package func startingPoint(in store: any TestableStore) throws -> StartingPoint {
        try store.keepContent()
        return StartingPoint(clock: clock.setting, answerClock: store.answerClock.setting, ids: ids.counts)
    }

    /// Restores the state of the server at a starting point. Event streams receive the event that their session has
    /// ended.
    ///
    /// No request may be under way. The restored sessions get new epochs, unless the server counts IDs
    /// (`--deterministic`). A server that counts IDs gives the same answers to the same requests as after its start.
    package func restore(_ start: StartingPoint, in store: any TestableStore) async throws {
        forgetAll()
        try await store.restoreContent(beginsEpochs: !ids.isCounting)
        // A task that belongs to no request, such as the check of a token, may have read the store in the meantime. So
        // forget again what is in memory.
        forgetAll()
        clock.setting = start.clock
        store.answerClock.setting = start.answerClock
        ids.counts = start.ids
    }

    /// Gives a session a new epoch, as the restore of a backup does with all sessions. The positions that clients have
    /// received until then are of another epoch. The session's streams and long polls end.
    package func renewEpoch(of id: String, in store: any TestableStore) async throws {
        try await with(id) { session in
            try await session.commands.lock()
            defer { session.commands.unlock() }
            if session.isStale { throw StaleSession() }
            try await store.setEpoch(ids.epoch(), of: session.number)
            session.markStale()
        }
    }
}

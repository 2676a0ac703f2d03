import BraidStore

/// The state of a server after its start, to which the test mode can lead back: the clocks and the counted IDs. The
/// store keeps its content itself.
package struct StartingPoint: Sendable {
    fileprivate let clock: Int
    fileprivate let answerClock: Int
    fileprivate let ids: IDGenerator.Counts
}

extension Sessions {
    /// Keeps the current state of the server for ``restore(_:in:)``.
    package func startingPoint(in store: any TestableStore) throws -> StartingPoint {
        try store.keepContent()
        return StartingPoint(clock: clock.setting, answerClock: store.answerClock.setting, ids: ids.counts)
    }

    /// Restores the state of the server at a starting point. Event streams receive the end of their session.
    ///
    /// No request may be under way. Sessions get new epochs, unless the server counts IDs: then the same requests get
    /// the same answers as after the starting point.
    package func restore(_ start: StartingPoint, in store: any TestableStore) async throws {
        forgetAll()
        try await store.restoreContent(beginsEpochs: !ids.isCounting)
        // Work that is no request, such as the check of a token, may have read the store in the meantime.
        forgetAll()
        clock.setting = start.clock
        store.answerClock.setting = start.answerClock
        ids.counts = start.ids
    }

    /// Gives a session a new epoch, as the restored backup of a database gives to all sessions. Every position that
    /// clients have is then of another epoch. The session's streams and long polls end.
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

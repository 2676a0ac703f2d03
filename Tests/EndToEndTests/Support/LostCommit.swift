import TestSupport

/// Fates for a `LossyProxy`: breaks a connection to PostgreSQL during COMMIT.
final class LostCommit: Sendable {
    enum Lost: CaseIterable, Sendable {
        case commit, confirmation
    }

    private struct State: Sendable {
        var next: Lost?
        var isClosed = false
        /// Connections that write: each takes the lock of its marks in its first transaction, before COMMIT.
        var writers: Set<Int> = []
        var locking: Set<Int> = []
        /// They have the results of a transaction's statements: COMMIT is next.
        var begun: Set<Int> = []
        var committing: Set<Int> = []
    }
    private let state = Watched(State())

    /// The next COMMIT or its confirmation, once. `isClosed`: breaks all further connections, until `open`.
    func lose(_ lost: Lost, isClosed: Bool = false) { state.withLock { ($0.next, $0.isClosed) = (lost, isClosed) } }

    func open() { state.withLock { $0.isClosed = false } }

    var hasHappened: Bool { state.value.next == nil }

    func waitForLoss() -> Bool { state.wait { $0.next == nil } }

    func fate(_ piece: LossyProxy.Piece) -> LossyProxy.Fate {
        state.withLock { state in
            if state.isClosed, state.next == nil { return .lose }
            let number = piece.connection
            func says(_ text: String) -> Bool { piece.bytes.contains(text.utf8) }
            if piece.toServer {
                if says("SELECT pg_advisory_lock(") {
                    state.writers.insert(number)
                    state.locking.insert(number)
                }
                guard state.begun.remove(number) != nil else { return .pass }
                if state.next == .commit {
                    state.next = nil
                    return .lose
                }
                state.committing.insert(number)
            } else if state.writers.contains(number) {
                if says("BEGIN\0") || state.locking.remove(number) != nil { state.begun.insert(number) }
                guard state.committing.contains(number), says("COMMIT\0") else { return .pass }
                state.committing.remove(number)
                if state.next == .confirmation {
                    state.next = nil
                    return .lose
                }
            }
            return .pass
        }
    }
}

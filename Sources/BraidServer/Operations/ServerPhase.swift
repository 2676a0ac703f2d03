import Synchronization

/// What `/readyz` tells load balancers.
package final class ServerPhase: Sendable {
    package enum Phase: Sendable {
        /// Waits for the database, then loads fixtures.
        case starting
        case running
        /// Still answers, but will stop soon.
        case stopping
    }

    private let phase = Mutex(Phase.running)

    package func enter(_ phase: Phase) { self.phase.withLock { $0 = phase } }

    package var isRunning: Bool { phase.withLock { $0 == .running } }

    func checkReady() throws {
        switch phase.withLock({ $0 }) {
        case .starting: throw ProblemError(unavailable: "The server is starting: it waits for its database.")
        case .running: return
        case .stopping: throw ProblemError(unavailable: "The server is stopping. Send new requests to another server.")
        }
    }
}

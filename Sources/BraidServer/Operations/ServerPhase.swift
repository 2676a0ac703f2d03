import Synchronization

/// The phase of the server's life, as `/readyz` reports it to load balancers.
package final class ServerPhase: Sendable {
    package enum Phase: Sendable {
        /// The server waits for its database, or loads fixtures after it has waited.
        case starting
        case running
        /// The server has been told to stop, for example by a signal: it still answers requests, but will stop soon.
        case stopping
    }

    private let phase = Mutex(Phase.running)

    package func enter(_ phase: Phase) { self.phase.withLock { $0 = phase } }

    package var isRunning: Bool { phase.withLock { $0 == .running } }

    /// Throws `unavailable` while the server is starting or stopping.
    func checkReady() throws {
        switch phase.withLock({ $0 }) {
        case .starting: throw ProblemError(unavailable: "The server is starting: it waits for its database.")
        case .running: return
        case .stopping: throw ProblemError(unavailable: "The server is stopping. Send new requests to another server.")
        }
    }
}

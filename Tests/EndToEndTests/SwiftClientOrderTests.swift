import BraidClient
import Foundation
import Synchronization
import Testing

/// The order in which a session's commands are sent.
@MainActor @Suite(.serialized) struct SwiftClientOrderTests {
    /// Can be interrupted.
    private final class Network: Sendable {
        private let isDown = Atomic<Bool>(false)
        private let lost = AsyncStream.makeStream(of: Void.self)

        func set(down: Bool) { isDown.store(down, ordering: .sequentiallyConsistent) }

        func fate(toServer: Bool) -> LossyProxy.Fate {
            guard isDown.load(ordering: .sequentiallyConsistent) else { return .pass }
            if toServer { lost.continuation.yield() }
            return .lose
        }

        /// Lost requests.
        func losses(_ count: Int) async {
            var iterator = lost.stream.makeAsyncIterator()
            for _ in 0..<count { await iterator.next() }
        }
    }

    /// `session` is behind the simulated network, `direct` is the same one without it.
    private func behindNetwork(
        _ body: @MainActor (_ session: BraidSession, _ network: Network, _ direct: BraidSession) async throws -> Void
    ) async throws {
        let server = try ServerProcess(), network = Network(), direct = try SwiftClientTests.client(server)
        let proxy = try LossyProxy(to: server.port) { network.fate(toServer: $0) }
        let session = try await direct.openSession(["id": "list", "rows": []]).session
        try await body(SwiftClientTests.client(proxy.url, retries: 10_000).session(session.id), network, session)
    }

    @Test("Two commands that are called while the server is unreachable arrive in this order, in each of 50 attempts")
    func order() async throws {
        try await behindNetwork { session, network, direct in
            for run in 0..<50 {
                network.set(down: true)
                let first = Task { try await session.perform(.patchState(["value": .integer(2 * run)])) }
                let second = Task { try await session.perform(.patchState(["value": .integer(2 * run + 1)])) }
                await network.losses(2)
                network.set(down: false)
                let revisions = try await [first.value.revision, second.value.revision]
                #expect(revisions == [2 * run + 1, 2 * run + 2])
            }
            #expect(try await direct.snapshot().state["value"] == 99)
        }
    }

    @Test("After a refused command, the client sends the next command")
    func refusals() async throws {
        try await behindNetwork { session, network, _ in
            network.set(down: true)
            let refused = Task { try await session.perform(.delete(.id("nobody"))) }
            let next = Task { try await session.perform(.patchState(["value": 1])) }
            await network.losses(2)
            network.set(down: false)
            await #expect(throws: Problem.self) { try await refused.value }
            let answer = try await next.value
            #expect(answer.revision == 1)
        }
    }

    @Test("A waiting command that is cancelled is never sent, and later commands keep their order")
    func cancellations() async throws {
        try await behindNetwork { session, network, direct in
            network.set(down: true)
            let first = Task { try await session.perform(.patchState(["first": true])) }
            let cancelled = Task { try await session.perform(.patchState(["cancelled": true])) }
            let last = Task { try await session.perform(.patchState(["last": true])) }
            await network.losses(2)
            cancelled.cancel()
            await #expect(throws: CancellationError.self) { try await cancelled.value }
            network.set(down: false)
            let revisions = try await [first.value.revision, last.value.revision]
            let state = try await direct.snapshot().state
            #expect(revisions == [1, 2] && state == ["first": true, "last": true])
        }
    }

    @Test("Commands of one session do not wait for commands of another session")
    func otherSessions() async throws {
        let server = try ServerProcess(), port = server.port
        let direct = try SwiftClientTests.client(server)
        for id in ["stalled", "other"] { _ = try await direct.openSession(["id": .string(id), "rows": []]) }
        let proxy = try LossyProxy(connecting: { connectedSocket(port: port) }) {
            $0.toServer && String(decoding: $0.bytes, as: UTF8.self).contains("/stalled/") ? .stall : .pass
        }
        let client = SwiftClientTests.client(proxy.url)
        let stalled = Task { try await client.session("stalled").perform(.patchState(["value": 1])) }
        #expect(try await client.session("other").perform(.patchState(["value": 1])).revision == 1)
        stalled.cancel()
        _ = await stalled.result
    }

    @Test("The client ends a session only after the commands that were called before")
    func ends() async throws {
        try await behindNetwork { session, network, _ in
            network.set(down: true)
            let command = Task { try await session.perform(.patchState(["value": 1])) }
            let end = Task { try await session.end() }
            await network.losses(2)
            network.set(down: false)
            #expect(try await command.value.revision == 1)
            try await end.value
        }
    }
}

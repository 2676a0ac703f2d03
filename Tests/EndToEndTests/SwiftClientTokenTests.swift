import BraidClient
import Foundation
import Synchronization
import Testing

/// Token providers: functions that return a token.
@Suite(.serialized) struct SwiftClientTokenTests {
    /// Makes a participant's token at each call, and records the refused one that it is given.
    private final class Backend: Sendable {
        private let session: BraidSession
        private let calls = Mutex<[(refused: String?, made: BraidSession.Token)]>([])

        init(_ session: BraidSession) { self.session = session }

        var refused: [String?] { calls.withLock { $0.map(\.refused) } }

        func token(insteadOf refused: String?) async throws -> String? {
            let made = try await session.makeToken(.participant, expiringIn: 600)
            calls.withLock { $0.append((refused, made)) }
            return made.token
        }

        func revokeLast() async throws -> String? {
            guard let last = calls.withLock({ $0.last?.made }) else { return nil }
            try await session.revokeToken(last.tokenId)
            return last.token
        }
    }

    private func client(_ server: ServerProcess, _ provider: @escaping TokenProvider) throws -> BraidClient {
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port)"))
        return BraidClient(
            url: url, retrying: .init(count: 6, first: .milliseconds(1), longest: .milliseconds(20)),
            tokenProvider: provider)
    }

    /// `session` is the controller's, `backend` makes tokens for it.
    private func withBackend(
        _ body: (_ server: ServerProcess, _ session: BraidSession, _ backend: Backend) async throws -> Void
    ) async throws {
        let server = try ServerProcess(ServerProcess.attendees, environment: ["BRAID_TOKEN": "secret"])
        let session = try SwiftClientTests.client(server, token: "secret").session("party")
        try await body(server, session, Backend(session))
    }

    @Test("When its token is revoked, a stream continues with another token, without a new snapshot")
    func streams() async throws {
        try await withBackend { server, session, backend in
            var events = try client(server) { try await backend.token(insteadOf: $0) }.session("party").subscribe()
                .makeAsyncIterator()
            var snapshots = 0
            func live() async throws {
                while let event = try await events.next() {
                    if case .snapshot = event { snapshots += 1 }
                    if case .live = event { return }
                }
                Issue.record("the stream ended")
            }
            try await live()
            let revoked = try await backend.revokeLast()
            try await live()
            #expect(snapshots == 1 && backend.refused == [nil, revoked])
            try await session.perform(.patchState(["mood": "good"]))
            guard case .update(let update, _, _)? = try await events.next() else {
                Issue.record("no update came"); return
            }
            #expect(update.to == 1)
        }
    }

    @Test("A command that is refused because of a revoked token is sent once more with another token")
    func commands() async throws {
        try await withBackend { server, _, backend in
            let party = try client(server) { try await backend.token(insteadOf: $0) }.session("party")
            #expect(try await party.perform(.delete(.id("Omar"))).revision == 1)
            let revoked = try await backend.revokeLast()
            #expect(try await party.perform(.delete(.id("Sara"))).revision == 2)
            #expect(backend.refused == [nil, revoked])
        }
    }

    @Test("If several requests are refused at the same time, the client asks the token provider once")
    func manyRequests() async throws {
        try await withBackend { server, _, backend in
            let party = try client(server) { try await backend.token(insteadOf: $0) }.session("party")
            for expected in 1...2 {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<8 { group.addTask { _ = try await party.snapshot() } }
                    try await group.waitForAll()
                }
                #expect(backend.refused.count == expected)
                _ = try await backend.revokeLast()
            }
        }
    }

    @Test("If the token provider returns no valid token, the client asks once more, and then throws the refusal")
    func refusals() async throws {
        try await withBackend { server, _, _ in
            let calls = Mutex(0)
            let party = try client(server) { _ in
                calls.withLock { $0 += 1 }
                return "wrong"
            }.session("party")
            let refused = await #expect(throws: Problem.self) { for try await _ in party.subscribe() {} }
            #expect(refused?.status == 401 && calls.withLock { $0 } == 2)
            let command = await #expect(throws: Problem.self) { try await party.perform(.reset) }
            #expect(command?.status == 401 && calls.withLock { $0 } == 3)
        }
    }

    @Test("If the token provider throws an error, the client tries again, as after a failed connection")
    func failures() async throws {
        struct NotNow: Error {}
        try await withBackend { server, _, backend in
            let failures = Mutex(2)
            let party = try client(server) { refused in
                if failures.withLock({ count in
                    defer { count -= 1 }
                    return count > 0
                }) {
                    throw NotNow()
                }
                return try await backend.token(insteadOf: refused)
            }.session("party")
            #expect(try await party.perform(.delete(.id("Omar"))).revision == 1)
            let never = try client(server) { _ in throw NotNow() }.session("party")
            let failure = await #expect(throws: ConnectionFailure.self) { try await never.snapshot() }
            #expect(failure?.underlying is NotNow)
        }
    }
}

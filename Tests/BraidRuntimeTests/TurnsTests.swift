import Testing

@testable import BraidRuntime

@Suite struct TurnsTests {
    @Test("The work of one client runs one after the other, in order, and nothing remains of it")
    func oneAfterTheOther() async throws {
        let turns = Turns(), (gate, opening) = AsyncStream.makeStream(of: Void.self)
        let first = Task { try await turns.withTurn(of: "a") { for await _ in gate {} } }
        while turns.clientCount == 0 { await Task.yield() }
        let second = Task { try await turns.withTurn(of: "a") { 2 } }
        while !turns.isAwaited(by: "a") { await Task.yield() }
        #expect(try await turns.withTurn(of: "b") { 3 } == 3)
        #expect(try await turns.withTurn(of: nil) { 4 } == 4)
        let cancelled = Task { try await turns.withTurn(of: "a") { 5 } }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        opening.finish()
        try await first.value
        #expect(try await second.value == 2)
        #expect(turns.clientCount == 0)
    }
}

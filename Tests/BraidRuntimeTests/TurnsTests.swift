import Testing

@testable import BraidRuntime

@Suite struct TurnsTests {
    @Test("The work of one client runs one after the other, in order, and nothing remains of it")
    func oneAfterTheOther() async throws {
        let turns = Turns(), gate = FIFOLock()
        try await gate.lock()
        let first = Task { try await turns.withTurn(of: "a") { try await gate.withLock {} } }
        while !gate.isAwaited { await Task.yield() }
        let second = Task { try await turns.withTurn(of: "a") { 2 } }
        while !turns.isAwaited(by: "a") { await Task.yield() }
        #expect(try await turns.withTurn(of: "b") { 3 } == 3)
        #expect(try await turns.withTurn(of: nil) { 4 } == 4)
        let cancelled = Task { try await turns.withTurn(of: "a") { 5 } }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        gate.unlock()
        try await first.value
        #expect(try await second.value == 2)
        #expect(turns.clientCount == 0)
    }
}

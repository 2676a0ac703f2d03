import Testing

@testable import BraidRuntime

@Suite("The order of locks") struct FIFOLockTests {
    @Test("Locks are acquired upwards, and by a task of its own in any order")
    func upwards() async throws {
        let low = FIFOLock(rank: .init(1)), high = FIFOLock(rank: .init(2)), leaf = FIFOLock()
        let other = try await low.withLock {
            try await high.withLock { try await leaf.withLock {} }
            try await high.withLock {}
            // Inherits the task local values of the task that holds `low`, but not the lock.
            let other = Task { try await low.withLock { 1 } }
            while !low.isAwaited { await Task.yield() }
            return other
        }
        #expect(try await other.value == 1)
        try await high.withLock {}
        try await low.withLock {}
    }

    @Test("A lock that is free is acquired at once, and otherwise not at all") func ifFree() async throws {
        let lock = FIFOLock()
        #expect(lock.withLockIfFree { lock.withLockIfFree { 1 } ?? 2 } == 2)
        #expect(try await lock.withLock { lock.withLockIfFree { 1 } } == nil)
        #expect(lock.withLockIfFree { 3 } == 3)
    }

    #if DEBUG && os(Linux)
    @Test("A debug build stops at a lock that is acquired downwards, or with another one of its rank")
    func downwards() async {
        await #expect(processExitsWith: .failure) {
            let low = FIFOLock(rank: .init(1)), high = FIFOLock(rank: .init(2))
            try await high.withLock { try await low.withLock {} }
        }
        await #expect(processExitsWith: .failure) {
            let one = FIFOLock(rank: .init(1)), other = FIFOLock(rank: .init(1))
            try await one.withLock { try await other.withLock {} }
        }
    }
    #endif
}

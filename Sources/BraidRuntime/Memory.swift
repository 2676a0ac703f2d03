import CEpoll
import Synchronization

/// Settings of the process's memory allocator, which by default keeps freed memory.
public enum Memory {
    /// A body, answer or history above this size is large: it counts against a quota, is not cached, is parsed on the long
    /// pool, and leaves memory to trim. Blocks of this size go back to the system as soon as they are freed.
    public static let largeBytes = 1 << 20
    private static let isTrimPlanned = Atomic(false)

    /// Called once, at the start of the process.
    public static func prepare() { cepoll_map_blocks(CInt(largeBytes)) }

    /// Returns the allocator's free memory to the system in a second, once for all calls until then.
    public static func trimSoon() {
        guard !isTrimPlanned.exchange(true, ordering: .relaxed) else { return }
        Task(executorPreference: Workers.shared.long) {
            try? await Task.sleep(for: .seconds(1))
            isTrimPlanned.store(false, ordering: .relaxed)
            // The allocator holds the lock of an arena while it returns the arena's pages. A thread of low priority
            // would hold it for seconds on a busy machine, and the threads that share the arena would wait for it.
            startThread(named: "braid-trim") { cepoll_trim_memory() }
        }
    }
}

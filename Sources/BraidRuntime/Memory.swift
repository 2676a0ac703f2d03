import CEpoll
import Synchronization

/// Settings of the process's memory allocator, which by default does not return all freed memory to the operating
/// system.
public enum Memory {
    /// The size in bytes from which the work for a request counts as large. After such work, call `trimSoon` to return
    /// freed memory to the operating system.
    public static let largeWork = 1 << 20
    private static let isTrimPlanned = Atomic(false)

    /// Makes the allocator map memory blocks of 1 MiB or more separately, so that it returns them when they are freed.
    /// Called once, at the start of the process.
    public static func prepare() { cepoll_map_blocks(1 << 20) }

    /// Returns the allocator's free memory to the operating system one second after the call. Further calls within that
    /// second have no additional effect.
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

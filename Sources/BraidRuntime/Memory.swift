import CEpoll
import Synchronization

/// Settings of the memory allocator. Without `trimSoon`, the allocator keeps freed memory in the middle of its heaps.
public enum Memory {
    /// The size in bytes from which a request's work is large: after such work, call `trimSoon` to return freed memory
    /// to the system.
    public static let largeWork = 1 << 20
    private static let isTrimPlanned = Atomic(false)

    /// Sets the process's memory allocator up. Called once, at the start of the process.
    public static func prepare() { cepoll_map_blocks(1 << 20) }

    /// Returns the allocator's free memory to the operating system, a second after the call. Further calls within that
    /// second have no effect.
    public static func trimSoon() {
        guard !isTrimPlanned.exchange(true, ordering: .relaxed) else { return }
        Task(executorPreference: Workers.shared.long) {
            try? await Task.sleep(for: .seconds(1))
            isTrimPlanned.store(false, ordering: .relaxed)
            cepoll_trim_memory()
        }
    }
}

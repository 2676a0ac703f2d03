import CEpoll
import Synchronization

/// What the allocator is told: it keeps what was freed in the middle of its heaps until it is asked to let go of it.
public enum Memory {
    /// Bytes from which on a request's work leaves something worth giving back.
    public static let largeWork = 1 << 20
    private static let isTrimPlanned = Atomic(false)

    /// Once, at the start.
    public static func prepare() { cepoll_map_blocks(1 << 20) }

    /// Returns free memory to the system a second after large work was done: once for all work that ends meanwhile.
    public static func trimSoon() {
        guard !isTrimPlanned.exchange(true, ordering: .relaxed) else { return }
        Task(executorPreference: Workers.shared.long) {
            try? await Task.sleep(for: .seconds(1))
            isTrimPlanned.store(false, ordering: .relaxed)
            cepoll_trim_memory()
        }
    }
}

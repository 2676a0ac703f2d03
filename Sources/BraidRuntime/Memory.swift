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

/// The command line of the process.
public enum ProcessArguments {
    /// The program's name and its arguments; empty if they cannot be read. Swift's `CommandLine.arguments` needs
    /// `/proc`, which a root directory may lack; with glibc this does not.
    public static var all: [String] {
        let count = cepoll_argument_count()
        guard count > 0 else { return CommandLine.arguments }
        return (0..<count).compactMap { cepoll_argument($0).map { String(cString: $0) } }
    }
}

import CEpoll
import Synchronization

/// The allocator by default keeps freed memory.
package enum Memory {
    /// What is larger counts against a quota, is not cached, is parsed on the long pool, and leaves memory to trim.
    /// Freed blocks of this size go back to the system at once.
    package static let largeBytes = 1 << 20
    private static let isTrimPlanned = Atomic(false)

    /// Call it once, at the start.
    package static func prepare() { cepoll_map_blocks(CInt(largeBytes)) }

    /// Returns free memory to the system in a second, once for all calls until then.
    package static func trimSoon() {
        guard !isTrimPlanned.exchange(true, ordering: .relaxed) else { return }
        Task(executorPreference: Workers.shared.long) {
            try? await Task.sleep(for: .seconds(1))
            isTrimPlanned.store(false, ordering: .relaxed)
            // The allocator holds an arena's lock while it returns its pages: a thread that gives way would hold it for
            // long on a busy machine, and the arena's other threads would wait.
            startThread(named: "braid-trim") { cepoll_trim_memory() }
        }
    }
}

package enum ProcessArguments {
    /// Empty if unreadable. Swift's `CommandLine.arguments` needs `/proc`, which a root directory may lack; with
    /// glibc this does not.
    package static var all: [String] {
        let count = cepoll_argument_count()
        guard count > 0 else { return CommandLine.arguments }
        return (0..<count).compactMap { cepoll_argument($0).map { String(cString: $0) } }
    }
}

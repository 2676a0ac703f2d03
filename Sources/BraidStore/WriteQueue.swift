import BraidRuntime

/// The queue of the writes that wait for a store's writer. The queue decides which writes share a transaction.
///
/// Writes share a transaction so that they share its disk flush. However, a small write that shares a transaction with
/// a large one waits for the large one. Each transaction therefore contains at most one large write. While small writes
/// wait, every second transaction contains no large write.
///
/// A small write waits for at most one large write. A large write waits for the large writes before it, and for one
/// transaction of small writes before each large write.
package struct WriteQueue<Request> {
    private var requests: [Request] = []
    private var large: [Request] = []
    private var hadLarge = false

    package init() {}

    package var count: Int { requests.count + large.count }
    package var isEmpty: Bool { count == 0 }

    /// Adds a write request to the queue. `cost` is the request's estimated cost, in rows.
    package mutating func append(_ request: Request, cost: Int) {
        if cost < Workers.shortRows { requests.append(request) } else { large.append(request) }
    }

    /// Removes the requests of the next transaction from the queue, and returns them in order of arrival. A large
    /// request, if any, comes last. The result is empty only if no request waits.
    package mutating func takeGroup() -> [Request] {
        hadLarge = !large.isEmpty && (requests.isEmpty || !hadLarge)
        defer { requests = [] }
        return hadLarge ? requests + [large.removeFirst()] : requests
    }
}

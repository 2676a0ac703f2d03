/// What waits to be written, and what of it shares a transaction.
///
/// All that waits does, and with it one flush of the disk; but whoever shares it with a large write waits until that is
/// written, too. So a transaction has one large write at most, and every second none while others wait. These wait for
/// one large write, however many there are; a large one waits for those before it, and before each for one transaction
/// of the others.
package struct WriteQueue<Request> {
    private var requests: [Request] = []
    private var large: [Request] = []
    private var hadLarge = false

    /// From here on, a write takes several times as long as what a transaction takes anyway.
    private static var largeCost: Int { 1_000 }

    package init() {}

    package var count: Int { requests.count + large.count }
    package var isEmpty: Bool { count == 0 }

    /// `cost`: about how many rows the request writes, or as much else.
    package mutating func append(_ request: Request, cost: Int) {
        if cost < Self.largeCost { requests.append(request) } else { large.append(request) }
    }

    /// What the next transaction writes, in order of arrival but for the large one, which is last. Empty only where
    /// nothing waits.
    package mutating func takeGroup() -> [Request] {
        hadLarge = !large.isEmpty && (requests.isEmpty || !hadLarge)
        defer { requests = [] }
        return hadLarge ? requests + [large.removeFirst()] : requests
    }
}

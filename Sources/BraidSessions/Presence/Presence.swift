import BraidEngine
import BraidRuntime
import BraidStore
import Synchronization

/// Who is present in the sessions. In memory only: outside of the journal and of positions.
///
/// A client is present from its first `put` until 30 s after its last one, and as long as a stream of its own is open.
/// Streams get what has changed since their last event, at most five times a second, and not before that was read:
/// whoever reads slowly gets the latest state, not a queue.
package final class Presence: Sendable {
    /// A token's id (`nil`: a controller's, or none) and a name that the client chose.
    package struct Client: Sendable {
        var token: String?
        var name: String

        package init(token: String?, name: String) {
            self.token = token
            self.name = name
        }

        /// For others: tells neither token nor name. The same after a reconnect, and on all servers.
        func id(in session: Int) -> String {
            let text = "\(session) \(token ?? "") \(name)"
            return SHA256Digest(of: Array(text.utf8)).bytes.prefix(12).hexadecimal
        }
    }

    struct Content: Sendable {
        var user: User
        var at: RowReference?
        var data: JSONText?
    }

    /// Milliseconds.
    static let life = 30_000
    /// Of an entry in JSON. A notice of PostgreSQL has less than 8,000.
    static let mostBytes = 6 << 10
    private static let pause = Duration.milliseconds(200)
    /// Of all streams of a session. With more to write, events come more rarely.
    private static let bytesPerSecond = 32 << 20
    /// What a write costs besides its bytes, in bytes.
    private static let writeCost = 4 << 10

    struct State {
        /// By session number; only those in use.
        var rooms: [Int: PresenceRoom] = [:]
        var isSweeping = false
        /// For the other servers: ids by session, and whether they were removed.
        var changed: [Int: [String: Bool]] = [:]
        var isSending = false

        mutating func withRoom<Value>(_ session: Int, _ body: (inout PresenceRoom) throws -> Value) rethrows -> Value {
            var room = rooms.removeValue(forKey: session) ?? PresenceRoom()
            defer { rooms[session] = room.isUsed ? room : nil }
            return try body(&room)
        }
    }

    let state = Mutex(State())
    let clock: Clock
    let sharing: (any StoreSharing)?
    /// Of this server, for the others.
    let server = String(UInt64.random(in: .min ... .max), radix: 36)
    private let limits: StreamLimits
    /// Clients present.
    let quota: Quota
    package let eventsSent = Counter()

    init(clock: Clock, sharing: (any StoreSharing)?, limits: StreamLimits, most: Int) {
        self.clock = clock
        self.sharing = sharing
        self.limits = limits
        quota = Quota(most, resourcePart: 2, clientPart: 256)
    }

    package var count: Int { quota.taken }

    /// Changes a room, and starts its pump if there is news.
    func change<Value: Sendable>(_ session: Int, _ body: (inout PresenceRoom) throws -> Value) rethrows -> Value {
        let (value, starts) = try state.withLock { state in
            try state.withRoom(session) { (try body(&$0), $0.startsPump()) }
        }
        if starts { startPump(of: session) }
        return value
    }

    // MARK: Clients

    /// `new`: the lease of its place, if it was not present before. Throws `badRequest`, `unavailable` or
    /// `quotaExceeded`.
    func put(
        _ client: Client, in session: Int, _ content: Content, for account: Quota.Account
    ) throws -> (json: JSONText, new: Quota.Lease?) {
        let id = client.id(in: session), now = clock.now()
        let before = change(session) { room in
            room.expire(id, at: now)
            return room.entries[id]
        }
        let since = before?.since ?? Instant(millisecondsSince1970: now).text
        let json = content.json(id: id, since: since)
        guard json.count <= Self.mostBytes else {
            throw SessionError(
                .badRequest, "With its row and user, this would have \(json.count) bytes, of \(Self.mostBytes).")
        }
        let lease =
            try before?.lease
            ?? quota.required("clients present", option: "max-subscribers", for: account, retryAfter: 5)
        change(session) { room in
            let stamp = max(now, room.lastStamp(of: id) + 1)
            var entry = PresenceEntry(id: id, json: json, since: since, stamp: stamp, put: now, lease: lease)
            entry.holders = room.entries[id]?.holders ?? [:]
            room.put(entry)
        }
        startSweeping()
        tellOthers(of: id, in: session)
        return (json, before == nil ? lease : nil)
    }

    func remove(_ client: Client, from session: Int) {
        let id = client.id(in: session)
        guard change(session, { $0.remove(id) }) else { return }
        startSweeping()
        tellOthers(of: id, in: session, isRemoved: true)
    }

    /// `{"present": […]}`
    func list(of session: Int, in table: DisplayedTable? = nil) -> JSONText {
        let now = clock.now()
        let room = change(session) { room in
            room.expire(at: now)
            return room
        }
        return room.whole(in: table)
    }

    func end(_ session: Int) { change(session) { $0.removeAll() } }

    func endAll() { for session in state.withLock({ Array($0.rooms.keys) }) { end(session) } }

    // MARK: Time

    func startSweeping() {
        let starts = state.withLock { state in
            defer { state.isSweeping = true }
            return !state.isSweeping
        }
        if starts { Task { await sweep() } }
    }

    /// Reads the clock every second: the system's time can be set.
    private func sweep() async {
        for second in 1... {
            try? await Task.sleep(for: .seconds(1))
            for session in state.withLock({ Array($0.rooms.keys) }) { change(session) { $0.forgetUnneeded() } }
            endExpired()
            if second.isMultiple(of: Self.repetition) { repeatAll() }
            let isDone = state.withLock { state in
                state.isSweeping = !state.rooms.isEmpty
                return !state.isSweeping
            }
            if isDone { return }
        }
    }

    package func endExpired() {
        let now = clock.now()
        for session in state.withLock({ Array($0.rooms.keys) }) { change(session) { $0.expire(at: now) } }
    }

    // MARK: Streams

    func join(_ stream: PresenceStream) {
        change(stream.session) { $0.join(stream) }
        tellOthers(of: stream.client, in: stream.session)
    }

    func watch(_ stream: PresenceStream) { change(stream.session) { $0.watch(stream) } }

    func leave(_ stream: PresenceStream) {
        let now = clock.now()
        change(stream.session) { room in
            room.leave(stream)
            room.expire(stream.client, at: now)
        }
        tellOthers(of: stream.client, in: stream.session)
    }

    /// On the long pool: it interrupts no command.
    private func startPump(of session: Int) {
        Task(executorPreference: Workers.shared.long) {
            while let cost = self.deliverNews(of: session) {
                let wait = Duration.seconds(1) * (Double(cost) / Double(Self.bytesPerSecond))
                try? await Task.sleep(for: max(Self.pause, wait))
            }
        }
    }

    /// `nil`: there was none, so the pump stops.
    private func deliverNews(of session: Int) -> Int? {
        guard let room = state.withLock({ $0.withRoom(session) { $0.round() } }) else { return nil }
        var events = PresenceEvents(room), cost = 0
        for stream in room.watching.values {
            guard let bytes = stream.deliver(&events, limits) else { continue }
            cost += bytes + Self.writeCost
            eventsSent.add()
        }
        return cost
    }
}

extension Presence.Content {
    fileprivate func json(id: String, since: String) -> JSONText {
        .object(capacity: 256 + (data?.count ?? 0)) {
            $0.member("id", id)
            if user.id != nil || user.name != nil {
                $0.object("user") {
                    $0.member("id", user.id.map { .string($0) } ?? JSONText.null)
                    $0.member("name", user.name.map { .string($0) } ?? JSONText.null)
                }
            }
            $0.member("role", user.role.rawValue)
            $0.member("at", at?.json)
            $0.member("data", data)
            $0.member("since", since)
        }
    }
}

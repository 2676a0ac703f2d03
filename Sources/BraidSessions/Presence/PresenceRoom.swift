import BraidEngine
import BraidRuntime

/// A client that is present.
struct PresenceEntry: Sendable {
    let id: String
    /// As others see it.
    let json: JSONText
    /// RFC 3339, UTC.
    let since: String
    /// Of two from different servers, the greater counts: milliseconds since 1970, or one more than the last.
    let stamp: Int
    /// Its place in the quota; it lives exactly as long as the client is present.
    let lease: Quota.Lease
    /// By this server's clock, in milliseconds since 1970.
    var put: Int
    /// Whether the client put it here, not at another server.
    var isOwn = true
    /// Until when other servers are known to have a stream of the client.
    var holders: [String: Int] = [:]
    /// The room's, when it last changed.
    fileprivate(set) var version = 0

    init(id: String, json: JSONText, since: String, stamp: Int, put: Int, lease: Quota.Lease) {
        (self.id, self.json, self.since, self.stamp, self.put, self.lease) = (id, json, since, stamp, put, lease)
    }

    /// Also after the clock was set back.
    fileprivate func isOver(at now: Int) -> Bool {
        abs(now - put) >= Presence.life && !holders.values.contains { now < $0 && $0 - now <= Presence.life }
    }
}

/// Who is present in one session, and the streams that show it.
struct PresenceRoom: Sendable {
    private(set) var entries: [String: PresenceEntry] = [:]
    /// Grows with each change.
    private(set) var version = 0
    /// Those who left, ascending by version; with the stamp of what was removed, 0 for what expired.
    private var left: [(version: Int, id: String, stamp: Int)] = []
    /// `left` is complete after this version.
    private var complete = 0
    private var streams: [ObjectIdentifier: PresenceStream] = [:]
    /// Those that have caught up.
    private(set) var watching: [ObjectIdentifier: PresenceStream] = [:]
    /// How many streams of this server each client has.
    private var held: [String: Int] = [:]
    private var hasNews = false
    private var isPumping = false

    private static let mostLeft = 1_024

    private var isEmpty: Bool { entries.isEmpty && streams.isEmpty && !isPumping }
    var isUsed: Bool { !isEmpty || !left.isEmpty }

    func isHeld(_ id: String) -> Bool { held[id] != nil }

    mutating func put(_ entry: PresenceEntry) {
        var entry = entry
        if let known = entries[entry.id], known.json == entry.json {
            entry.version = known.version
        } else {
            version += 1
            hasNews = true
            entry.version = version
        }
        entries[entry.id] = entry
    }

    /// Returns whether it was present.
    mutating func remove(_ id: String) -> Bool { remove(id, isExpired: false) }

    private mutating func remove(_ id: String, isExpired: Bool) -> Bool {
        guard let entry = entries.removeValue(forKey: id) else { return false }
        version += 1
        hasNews = true
        left.append((version, id, isExpired ? 0 : entry.stamp))
        if left.count > 2 * Self.mostLeft {
            complete = left[left.count - Self.mostLeft - 1].version
            left.removeFirst(left.count - Self.mostLeft)
        }
        return true
    }

    mutating func removeAll() {
        (entries, streams, watching, held, left, complete) = ([:], [:], [:], [:], [], version)
    }

    mutating func expire(at now: Int) {
        for id in entries.keys { expire(id, at: now) }
    }

    /// A while after the last has left: notices of other servers that were under way have arrived.
    mutating func forgetUnneeded() {
        if isEmpty { (left, complete) = ([], version) }
    }

    mutating func expire(_ id: String, at now: Int) {
        if entries[id]?.isOver(at: now) == true, held[id] == nil { _ = remove(id, isExpired: true) }
    }

    /// Another server's entry counts only if its stamp is greater, or if this one has expired.
    func lastStamp(of id: String) -> Int { entries[id]?.stamp ?? left.last { $0.id == id }?.stamp ?? 0 }

    mutating func join(_ stream: PresenceStream) {
        guard streams.updateValue(stream, forKey: ObjectIdentifier(stream)) == nil else { return }
        held[stream.client, default: 0] += 1
    }

    mutating func watch(_ stream: PresenceStream) {
        // It may have left meanwhile.
        guard streams[ObjectIdentifier(stream)] != nil else { return }
        watching[ObjectIdentifier(stream)] = stream
        hasNews = true
    }

    mutating func leave(_ stream: PresenceStream) {
        guard streams.removeValue(forKey: ObjectIdentifier(stream)) != nil else { return }
        watching[ObjectIdentifier(stream)] = nil
        let others = (held[stream.client] ?? 1) - 1
        held[stream.client] = others > 0 ? others : nil
    }

    // MARK: Events

    /// Returns whether the caller must start the pump.
    mutating func startsPump() -> Bool {
        guard hasNews, !isPumping, !watching.isEmpty else { return false }
        isPumping = true
        return true
    }

    /// What the pump writes next; `nil`: nothing, so it stops.
    mutating func round() -> PresenceRoom? {
        hasNews = watching.values.contains { $0.seen != version }
        isPumping = hasNews
        return isPumping ? self : nil
    }

    /// `{"present": […]}`, in the order of their arrival. `table`: whose rows the reader may see.
    func whole(in table: DisplayedTable?) -> JSONText {
        let list = Self.sorted(entries.values)
        return .object(capacity: list.reduce(16) { $0 + $1.json.count + 1 }) {
            $0.array("present", of: list) { $0.value(table?.showing($1.json) ?? $1.json) }
        }
    }

    /// `{"changed": […], "left": […]}`, or `whole()`.
    func news(after seen: Int?, in table: DisplayedTable? = nil) -> JSONText {
        guard let seen, seen >= complete else { return whole(in: table) }
        let changed = Self.sorted(entries.values.filter { $0.version > seen })
        let first = left.lastIndex { $0.version <= seen }.map { $0 + 1 } ?? 0
        let gone = left[first...].map(\.id).filter { entries[$0] == nil }
        return .object(capacity: changed.reduce(64 + 28 * gone.count) { $0 + $1.json.count + 1 }) {
            $0.array("changed", of: changed) { $0.value(table?.showing($1.json) ?? $1.json) }
            $0.member("left", gone)
        }
    }

    private static func sorted(_ entries: some Sequence<PresenceEntry>) -> [PresenceEntry] {
        entries.sorted { ($0.since, $0.id) < ($1.since, $1.id) }
    }
}

/// Of one round of the pump, encoded once for all streams of a table that have seen the same.
struct PresenceEvents {
    private struct Key: Hashable {
        var seen: Int?
        var hides: Bool
        var own: ObjectIdentifier?
    }

    let room: PresenceRoom
    private var encoded: [Key: EventBytes] = [:]

    init(_ room: PresenceRoom) { self.room = room }

    mutating func news(after seen: Int?, in table: DisplayedTable?) -> EventBytes {
        let key = Key(seen: seen, hides: table != nil, own: table?.own.map { ObjectIdentifier($0) })
        if let known = encoded[key] { return known }
        let news = room.news(after: seen, in: table)
        let events = EventBytes(ServerSentEvent.bytes("presence", at: nil, data: news.bytes))
        encoded[key] = events
        return events
    }
}

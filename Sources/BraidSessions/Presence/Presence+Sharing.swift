import BraidEngine
import BraidRuntime

// Several servers on one store tell each other who is present, in notices that may get lost. A server tells of a
// client that was put there or has a stream there: when that changes, and again every ten seconds. What is not
// repeated ends by itself, so a server that has failed needs no care.
//
//     {"session": 12, "server": "1x9", "put": [{"stamp": 1767…, "age": 40, "held": true, "entry": {…}}],
//      "left": ["…"], "released": ["…"]}
//
// `held`: it has a stream there; `released`: no longer, and is not known there.
extension Presence {
    /// Seconds.
    static let repetition = 10
    /// Of a notice, about.
    private static let noticeBytes = 7_000
    private static let pauseBetweenNotices = Duration.milliseconds(200)

    /// Coalesced, as clients can change quickly.
    func tellOthers(of id: String, in session: Int, isRemoved: Bool = false) {
        guard sharing != nil else { return }
        let starts = state.withLock { state in
            let wasRemoved = state.changed[session]?[id] ?? false
            state.changed[session, default: [:]][id] = isRemoved || wasRemoved
            defer { state.isSending = true }
            return !state.isSending
        }
        if starts { Task { await send() } }
    }

    func repeatAll() {
        guard sharing != nil else { return }
        let ours = state.withLock { state in
            state.rooms.mapValues { room in room.entries.values.filter { $0.isOwn || room.isHeld($0.id) }.map(\.id) }
        }
        for (session, ids) in ours { for id in ids { tellOthers(of: id, in: session) } }
    }

    /// Asks the others to repeat all, at the start and after a time without notices.
    func ask() async { try? await sharing?.tell([#"{"ask":true}"#]) }

    private func send() async {
        while let notices = notices() {
            // Repeated later.
            try? await sharing?.tell(notices)
            try? await Task.sleep(for: Self.pauseBetweenNotices)
        }
    }

    /// `nil`: nothing to tell, so the sender stops.
    private func notices() -> [String]? {
        let now = clock.now()
        let news: [(session: Int, put: [JSONText], left: [String], released: [String])]? = state.withLock { state in
            guard !state.changed.isEmpty else {
                state.isSending = false
                return nil
            }
            defer { state.changed = [:] }
            return state.changed.map { session, ids in
                let room = state.rooms[session] ?? PresenceRoom()
                let put = ids.keys.compactMap { id in
                    room.entries[id].map { $0.notice(at: now, isHeld: room.isHeld(id)) }
                }
                let gone = ids.filter { room.entries[$0.key] == nil }
                return (
                    session, put, gone.filter(\.value).map(\.key),
                    gone.filter { !$0.value && !room.isHeld($0.key) }.map(\.key)
                )
            }
        }
        return news?.flatMap { notices(of: $0.session, put: $0.put, left: $0.left, released: $0.released) }
    }

    private func notices(of session: Int, put: [JSONText], left: [String], released: [String]) -> [String] {
        var notices: [String] = [], put = put[...], left = left[...], released = released[...]
        while !put.isEmpty || !left.isEmpty || !released.isEmpty {
            var room = Self.noticeBytes, some: [JSONText] = []
            while let first = put.first, some.isEmpty || first.count < room {
                room -= first.count + 1
                some.append(put.removeFirst())
            }
            let text = JSONText.object {
                $0.member("session", session)
                $0.member("server", server)
                $0.member("put", some)
                $0.member("left", Self.taking(from: &left, &room))
                $0.member("released", Self.taking(from: &released, &room))
            }
            notices.append(text.text)
        }
        return notices
    }

    /// As many as fit into `room` bytes.
    private static func taking(from ids: inout ArraySlice<String>, _ room: inout Int) -> [String] {
        var taken: [String] = []
        while let first = ids.first, room > first.utf8.count + 3 {
            room -= first.utf8.count + 3
            taken.append(ids.removeFirst())
        }
        return taken
    }

    // MARK: Hearing

    func hear(_ text: String) {
        guard let notice = try? JSONText(parsing: text) else { return }
        if notice["ask"] != nil { return repeatAll() }
        guard let session = notice["session"]?.intValue, let other = notice["server"]?.stringValue else { return }
        let now = clock.now()
        let heard = (notice["put"]?.elements() ?? []).compactMap { HeardPresence($0, at: now) }
        let left = (notice["left"]?.elements() ?? []).compactMap(\.stringValue)
        let released = (notice["released"]?.elements() ?? []).compactMap(\.stringValue)
        // Taken outside of the lock. Without room, this server does not show the client.
        let leases = heard.map { _ in try? quota.lease() }
        change(session) { room in
            for (heard, lease) in zip(heard, leases) { room.hear(heard, of: other, at: now, lease) }
            for id in left { _ = room.remove(id) }
            for id in released { room.release(id, by: other, at: now) }
        }
        startSweeping()
    }
}

/// What another server tells of a client.
struct HeardPresence {
    let id: String
    let since: String
    let json: JSONText
    let stamp: Int
    /// By this server's clock.
    let put: Int
    let isHeld: Bool

    fileprivate init?(_ json: JSONText, at now: Int) {
        guard let stamp = json["stamp"]?.intValue, let age = json["age"]?.intValue, let entry = json["entry"],
            let id = entry["id"]?.stringValue, let since = entry["since"]?.stringValue
        else { return nil }
        (self.id, self.since, self.stamp) = (id, since, stamp)
        self.json = entry.detached
        put = now - max(0, age)
        isHeld = json["held"]?.boolValue == true
    }
}

extension PresenceEntry {
    fileprivate func notice(at now: Int, isHeld: Bool) -> JSONText {
        .object(capacity: json.count + 64) {
            $0.member("stamp", stamp)
            $0.member("age", max(0, now - put))
            $0.member("held", isHeld)
            $0.member("entry", json)
        }
    }
}

extension PresenceRoom {
    fileprivate mutating func hear(
        _ heard: HeardPresence, of server: String, at now: Int, _ lease: Quota.Lease?
    ) {
        let known = entries[heard.id]
        guard let lease = known?.lease ?? lease, known != nil || heard.stamp > lastStamp(of: heard.id) else { return }
        var entry: PresenceEntry
        if let known, known.stamp >= heard.stamp {
            entry = known
            if known.stamp == heard.stamp { entry.put = max(known.put, heard.put) }
        } else {
            entry = PresenceEntry(
                id: heard.id, json: heard.json, since: heard.since, stamp: heard.stamp, put: heard.put, lease: lease)
            entry.holders = known?.holders ?? [:]
            entry.isOwn = false
        }
        entry.holders[server] = heard.isHeld ? now + Presence.life : nil
        put(entry)
        expire(heard.id, at: now)
    }

    fileprivate mutating func release(_ id: String, by server: String, at now: Int) {
        guard var entry = entries[id] else { return }
        entry.holders[server] = nil
        put(entry)
        expire(id, at: now)
    }
}

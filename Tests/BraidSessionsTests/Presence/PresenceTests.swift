import BraidEngine
import BraidRuntime
import BraidStore
import Synchronization
import TestSupport
import Testing

@testable import BraidSessions

struct PresenceTests {
    private func put(
        _ name: String, _ data: Int, _ sessions: SessionHost, token: String? = nil
    ) throws {
        let content = Presence.Content(user: User(role: .viewer), data: try JSONText(parsing: "\(data)"))
        _ = try sessions.presence.put(
            Presence.Client(token: token, name: name), in: 1, content,
            for: Quota.Account(resource: "s", client: token))
    }

    @Test("A reader that reads nothing has one event in its queue, and then gets the latest state")
    func slowReader() async throws {
        let test = try await TestSession(), presence = test.sessions.presence
        #expect(test.session.number == 1)
        let client = Presence.Client(token: nil, name: "reader")
        let subscriber = Subscriber(
            test.session.displayed, after: nil, form: StreamForm(),
            presence: PresenceStream(presence, session: 1, client: client, account: Quota.Account()))
        #expect(subscriber.start())
        let reader = TestReader(subscriber)
        var text = ""
        func reads(_ part: String) async -> Bool {
            await reader.takes { taken in
                text += taken.pieces.map { String(decoding: $0, as: UTF8.self) }.joined()
                return text.contains(part)
            }
        }
        #expect(await reads("event: presence\ndata: {\"present\":[]}\n\n"))
        try put("a", 0, test.sessions)
        #expect(await eventually { presence.eventsSent.value == 2 }, "it is in the queue, unread")
        for number in 1...500 { try put("a", number, test.sessions) }
        #expect(presence.eventsSent.value == 2)
        text = ""
        #expect(await reads(#""data":500"#))
        #expect(text.split(separator: "event: presence").count == 2, "the one in the queue, and the latest: \(text)")
        subscriber.stream.close()
    }

    @Test("1,000 streams share one event of one change, and are not written to without a change")
    func crowd() async throws {
        let store = try SQLiteStore(path: ":memory:")
        let sessions = SessionHost(store: store), presence = sessions.presence
        let streams = (0..<1_000).map { number in
            let client = Presence.Client(token: nil, name: "\(number)")
            let stream = PresenceStream(presence, session: 1, client: client, account: Quota.Account())
            stream.join()
            return (stream, ByteStream())
        }
        for number in 0..<1_000 { try put("\(number)", 0, sessions) }
        for (stream, body) in streams { stream.watch(body) }
        func taken() -> [[UInt8]] { streams.flatMap { $0.1.take().pieces } }
        func seen() -> Bool { streams.allSatisfy { $0.0.seen == 1_000 } }
        #expect(
            await eventually {
                _ = taken(); return seen()
            })
        let before = presence.eventsSent.value
        for number in 0..<1_000 { try put("\(number)", 0, sessions) }
        try put("7", 1, sessions)
        #expect(await eventually { presence.eventsSent.value == before + 1_000 }, "the first 1,000 changed nothing")
        let pieces = taken()
        #expect(pieces.count == 1_000 && pieces.allSatisfy { $0.count < 250 })
        #expect(Set(pieces.map { $0.withUnsafeBufferPointer(\.baseAddress) }).count == 1, "encoded once")
        for (stream, _) in streams { stream.leave() }
        await store.close()
    }

    @Test("A client stays present while it has a stream, and without one for 30 seconds after it was put")
    func life() async throws {
        let store = try SQLiteStore(path: ":memory:"), clock = Clock(countingAfter: 0)
        let sessions = SessionHost(store: store, clock: clock), presence = sessions.presence
        let start = clock.now()
        let held = Presence.Client(token: nil, name: "held")
        let streams = (0..<2).map { _ in
            PresenceStream(presence, session: 1, client: held, account: Quota.Account())
        }
        for stream in streams { stream.join() }
        try put("held", 0, sessions)
        try put("free", 0, sessions)
        func present() -> Int { presence.list(of: 1)["present"]?.elements()?.count ?? -1 }
        clock.set(to: start + 29_999)
        #expect(present() == 2)
        clock.set(to: start + 30_000)
        #expect(present() == 1)
        streams[0].leave()
        streams[0].leave()
        #expect(present() == 1, "its other stream is open")
        streams[1].leave()
        #expect(present() == 0)
        #expect(presence.count == 0)
        await store.close()
    }

    @Test("Who leaves and comes back stays, and leaves with the token")
    func comingBack() async throws {
        let test = try await TestSession(), sessions = test.sessions, account = Quota.Account()
        let (text, stored) = try await sessions.tokens.create(
            TokenGrant(user: User(role: .viewer)), for: "s", lasting: 60)
        let token = try await sessions.tokens.find(PresentedToken(text))
        let client = Presence.Client(token: token.id, name: "a")
        func put() async throws {
            _ = try await sessions.putPresence(
                in: test.session.displayed, of: client, token.grant.user, at: nil, data: nil, token: token, for: account
            )
        }
        try await put()
        sessions.removePresence(in: test.session, of: client)
        try await put()
        sessions.tokens.endExpired()
        #expect(sessions.presence.count == 1)
        #expect(try await sessions.tokens.revoke(stored.id, of: "s"))
        #expect(sessions.presence.count == 0)
    }

    @Test("A session has at most half of all clients, and a token its share")
    func shares() async throws {
        var limits = SessionLimits()
        limits.subscribers = 512
        let store = try SQLiteStore(path: ":memory:")
        let sessions = SessionHost(store: store, limits: limits)
        for name in ["a", "b", "a"] { try put(name, 1, sessions, token: "t") }
        #expect(throws: SessionError.self) { try put("c", 1, sessions, token: "t") }
        for number in 2..<256 { try put("c\(number)", 1, sessions) }
        #expect(throws: SessionError.self) { try put("more", 1, sessions) }
        try put("c2", 2, sessions)
        sessions.presence.remove(Presence.Client(token: nil, name: "c2"), from: 1)
        try put("more", 1, sessions)
        sessions.presence.end(1)
        #expect(sessions.presence.count == 0)
        await store.close()
    }

    // MARK: Several servers

    /// Brings what each tells to all others, at once.
    private final class Wire: StoreSharing {
        let others = Mutex<[Presence]>([])
        /// Notices are lost while it is cut.
        let isCut = Flag()

        func revision(of session: Int) async throws -> StoredRevision? { nil }
        func listen(_ hear: @escaping @Sendable (StoreNotice) -> Void) throws {}
        func takeTurn(of session: Int) async throws {}
        func endTurn(of session: Int) async {}
        func ticketSecret(orNew new: String) async throws -> String { new }
        func tell(_ texts: [String]) async throws {
            guard !isCut.isSet else { return }
            for other in others.withLock({ $0 }) { for text in texts { other.hear(text) } }
        }
    }

    private struct Servers {
        let clock = Clock(countingAfter: 0)
        let wires = [Wire(), Wire()]
        let servers: [Presence]

        init() {
            servers = wires.map { [clock] in Presence(clock: clock, sharing: $0, limits: StreamLimits(), most: 1_000) }
            for (place, wire) in wires.enumerated() { wire.others.withLock { $0 = [servers[1 - place]] } }
        }

        func put(_ name: String, _ data: Int, at server: Int) throws {
            let content = Presence.Content(user: User(role: .viewer), data: try JSONText(parsing: "\(data)"))
            _ = try servers[server].put(
                Presence.Client(token: nil, name: name), in: 1, content, for: Quota.Account())
        }

        func data(at server: Int) -> [Int] {
            (servers[server].list(of: 1)["present"]?.elements() ?? []).compactMap { $0["data"]?.intValue }.sorted()
        }

        func agree(on data: [Int]) async -> Bool {
            await eventually { self.data(at: 0) == data && self.data(at: 1) == data }
        }
    }

    @Test("Servers show each other's clients, and the latest of what one put at several") func sharing() async throws {
        let both = Servers()
        try both.put("a", 1, at: 0)
        try both.put("b", 2, at: 1)
        #expect(await both.agree(on: [1, 2]))
        try both.put("a", 3, at: 1)
        #expect(await both.agree(on: [2, 3]))
        both.servers[0].remove(Presence.Client(token: nil, name: "a"), from: 1)
        #expect(await both.agree(on: [2]))
        #expect(both.servers.map(\.count) == [1, 1])
    }

    @Test("A stream at one server keeps a client present that was put at another, until it closes")
    func heldElsewhere() async throws {
        let both = Servers(), start = both.clock.now()
        let stream = PresenceStream(
            both.servers[1], session: 1, client: Presence.Client(token: nil, name: "a"), account: Quota.Account())
        stream.join()
        try both.put("a", 1, at: 0)
        try both.put("b", 2, at: 0)
        #expect(await both.agree(on: [1, 2]))
        both.servers[1].repeatAll()
        func isHeld() -> Bool {
            both.servers[0].state.withLock { $0.rooms[1]?.entries.values.contains { !$0.holders.isEmpty } ?? false }
        }
        #expect(await eventually { isHeld() })
        both.clock.set(to: start + 29_000)
        both.servers[1].repeatAll()
        both.clock.set(to: start + 31_000)
        #expect(await both.agree(on: [1]))
        stream.leave()
        #expect(await both.agree(on: []))
    }

    @Test("A stream at a server that has not heard of its client does not end the client")
    func streamFirst() async throws {
        let both = Servers()
        both.wires[0].isCut.set()
        try both.put("a", 1, at: 0)
        #expect(await eventually { both.servers[0].state.withLock { !$0.isSending } })
        let stream = PresenceStream(
            both.servers[1], session: 1, client: Presence.Client(token: nil, name: "a"), account: Quota.Account())
        stream.join()
        try both.put("b", 2, at: 1)
        #expect(await eventually { both.data(at: 0) == [1, 2] })
        #expect(both.data(at: 1) == [2])
    }

    @Test("What was removed does not come back with an older notice, but with a newer one") func removedAndLate() throws
    {
        let both = Servers(), other = both.servers[1]
        func notice(_ stamp: Int) -> String {
            #"{"session":1,"server":"x","put":[{"stamp":\#(stamp),"age":0,"held":true,"entry":{"id":"i","since":"2026","data":7}}],"left":[]}"#
        }
        other.hear(notice(5))
        #expect(both.data(at: 1) == [7])
        other.hear(#"{"session":1,"server":"x","put":[],"left":["i"]}"#)
        other.hear(notice(5))
        #expect(both.data(at: 1) == [])
        other.hear(notice(6))
        #expect(both.data(at: 1) == [7])
        for text in ["", "{}", "[1]", #"{"session":1}"#, #"{"session":1,"server":"x","put":[1,{}],"left":[2]}"#] {
            other.hear(text)
        }
        #expect(both.data(at: 1) == [7])
    }

    @Test("What was lost is repeated, and what a dead server held ends by itself") func lostNotices() async throws {
        let both = Servers(), start = both.clock.now()
        both.wires[0].isCut.set()
        let stream = PresenceStream(
            both.servers[0], session: 1, client: Presence.Client(token: nil, name: "a"), account: Quota.Account())
        stream.join()
        try both.put("a", 1, at: 0)
        #expect(await eventually { both.servers[0].state.withLock { !$0.isSending } })
        #expect(both.data(at: 1) == [])
        both.wires[0].isCut.set(false)
        await both.servers[1].ask()
        #expect(await both.agree(on: [1]))
        both.wires[0].isCut.set()
        both.clock.set(to: start + 40_000)
        #expect(both.data(at: 0) == [1])
        #expect(both.data(at: 1) == [])
    }

    @Test("However much there is to tell, no notice is too large for PostgreSQL") func sizeOfNotices() async throws {
        final class Lengths: StoreSharing {
            let told = Mutex<[Int]>([])
            func revision(of session: Int) async throws -> StoredRevision? { nil }
            func listen(_ hear: @escaping @Sendable (StoreNotice) -> Void) throws {}
            func takeTurn(of session: Int) async throws {}
            func endTurn(of session: Int) async {}
            func ticketSecret(orNew new: String) async throws -> String { new }
            func tell(_ texts: [String]) async throws { told.withLock { $0 += texts.map(\.utf8.count) } }
        }
        let wire = Lengths()
        let presence = Presence(clock: Clock(), sharing: wire, limits: StreamLimits(), most: 2_000)
        let data = JSONText.string(String(repeating: "x", count: 1_000))
        // U+0001 has six bytes in JSON.
        let user = User(
            id: String(repeating: "\u{1}", count: 128), name: String(repeating: "\u{1}", count: 128), role: .viewer)
        let at = RowReference.id(RowID(String(repeating: "\u{1}", count: 400)), in: nil)
        for number in 0..<500 {
            let content = Presence.Content(
                user: user, at: number.isMultiple(of: 2) ? at : nil, data: data)
            _ = try presence.put(
                Presence.Client(token: nil, name: "\(number)"), in: 1, content, for: Quota.Account())
        }
        #expect(await eventually { presence.state.withLock { !$0.isSending } })
        for number in 0..<500 { presence.remove(Presence.Client(token: nil, name: "\(number)"), from: 1) }
        #expect(await eventually { presence.state.withLock { !$0.isSending } })
        let told = wire.told.withLock { $0 }
        #expect(told.count > 300 && told.allSatisfy { $0 < 7_900 }, "\(told.max() ?? 0)")
    }
}

import BraidEngine
import BraidRuntime
import TestSupport
import Testing

@testable import BraidSessions

struct LargeAnswerTests {
    /// The position is of another epoch, so the answer is a snapshot.
    private static func reset(_ session: Session) async throws -> EncodedAnswer {
        try await session.displayed.updates(
            UpdatesRequest(since: Position(epoch: "bogus", revision: 1), account: Quota.Account()))
    }

    /// While another answer uses half of the quota: without leases, a quota grants any.
    private static func expectRefusal(_ buffers: Quota, _ request: () async throws -> Void) async throws {
        let other = try buffers.lease(buffers.limit / 2)
        do {
            try await request()
            Issue.record("the request was not refused")
        } catch let refusal as SessionError {
            #expect(refusal.code == .unavailable && refusal.limit == "max-buffered-bytes")
        }
        #expect(buffers.taken == buffers.limit / 2)
        other.end()
    }

    @Test("A snapshot in place of updates for which the quota has no memory is refused before it is encoded")
    func reset() async throws {
        let buffers = Quota(10_000)
        let test = try await TestSession(StreamLimits(largeBytes: 1_000, buffers: buffers))
        try await test.setState(1, padding: 4_000)
        try await Self.expectRefusal(buffers) { _ = try await Self.reset(test.session) }
        #expect(test.session.cachedSnapshot == nil, "nothing was encoded")
        var list: EncodedAnswer? = try await Self.reset(test.session)
        #expect(list?.lease != nil)
        #expect(buffers.taken >= 8_000, "the snapshot and its copy in the list")
        list = nil
        #expect(buffers.taken == 0)
    }

    @Test("A small snapshot in place of updates needs no lease")
    func smallReset() async throws {
        let buffers = Quota(10_000)
        let test = try await TestSession(StreamLimits(largeBytes: 1_000, buffers: buffers))
        let other = try buffers.lease(10_000)
        let list = try await Self.reset(test.session)
        #expect(list.json != nil && list.lease == nil)
        other.end()
    }

    @Test("A window for whose rows the quota has no memory is refused, and a window of small rows is not")
    func windows() async throws {
        let buffers = Quota(10_000)
        let test = try await TestSession(StreamLimits(largeBytes: 1_000, buffers: buffers))
        let text = String(repeating: "x", count: 6_000)
        let body = try JSONText(parsing: #"{"id":"w","rows":[{"id":"1","text":"\#(text)"},{"id":"2"}]}"#)
        let session = try await test.sessions.open(SessionOpening(body), text: body).session
        let large = WindowQuery(section: nil, .rows(offset: 0, limit: 1))
        let small = WindowQuery(section: nil, .rows(offset: 1, limit: 1))
        func updates(since epoch: String?, from old: WindowQuery? = nil) async throws -> EncodedAnswer {
            var request = UpdatesRequest(since: Position(epoch: epoch, revision: 0), account: Quota.Account())
            request.window = large
            request.old = old
            return try await session.displayed.updates(request)
        }
        try await Self.expectRefusal(buffers) {
            _ = try await session.displayed.encodedWindow(large, for: Quota.Account())
        }
        try await Self.expectRefusal(buffers) { _ = try await updates(since: "bogus") }
        try await Self.expectRefusal(buffers) { _ = try await updates(since: nil, from: small) }
        let other = try buffers.lease(10_000)
        #expect(try await session.displayed.encodedWindow(small, for: Quota.Account()).lease == nil)
        other.end()
        var window: EncodedAnswer? = try await session.displayed.encodedWindow(large, for: Quota.Account())
        #expect(window?.lease != nil && (6_000..<8_000).contains(buffers.taken))
        window = nil
        var list: EncodedAnswer? = try await updates(since: "bogus")
        #expect(list?.lease != nil && (12_000..<16_000).contains(buffers.taken))
        list = try await updates(since: nil)
        #expect(list?.lease == nil && buffers.taken == 0, "an empty list needs no lease")
    }

    @Test("Rows rendered on demand are no work for an event loop, and have the bytes that they had at first")
    func onDemand() async throws {
        let test = try await TestSession(StreamLimits())
        let models = (0...10_000).map { #"{"id":"\#($0)"}"# }.joined(separator: ",")
        let table =
            #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[],"viewModel":{"title":"${model.id}"}}]}"#
        let body = try JSONText(parsing: #"{"id":"w","table":\#(table),"models":{"table":[\#(models)]}}"#)
        let (session, opened) = try await test.sessions.open(SessionOpening(body), text: body)
        let all = WindowSource(opened)
        #expect(session.displayed.isLarge && session.displayed.isTooLargeToCache)
        #expect(session.displayed.encoded(session.current.snapshot) == session.displayed.encoded(opened))
        for limit in [1, 50, 1_000, 1_001, 10_001] {
            let query = WindowQuery(section: nil, .rows(offset: 5, limit: limit))
            #expect(try session.displayed.encodedSmallWindow(query, for: Quota.Account()) == nil)
            let window = try await session.displayed.encodedWindow(query, for: Quota.Account())
            let expected = all.cut(offset: 5, limit: limit).encoded(session: "w", table: "t", epoch: session.epoch)
            #expect(window.json == expected)
        }
    }

    @Test("The stream of a window for whose rows the quota has no memory ends, and reserves memory first otherwise")
    func windowStreams() async throws {
        let buffers = Quota(10_000)
        let test = try await TestSession(StreamLimits(largeBytes: 1_000, buffers: buffers))
        let text = String(repeating: "x", count: 4_000)
        let body = try JSONText(parsing: #"{"id":"w","rows":[{"id":"1"},{"id":"2","text":"\#(text)"}]}"#)
        let session = try await test.sessions.open(SessionOpening(body), text: body).session
        func reader(after revision: Int?, from old: Int? = nil) async throws -> TestReader {
            func window(_ offset: Int) -> WindowQuery { WindowQuery(section: nil, .rows(offset: offset, limit: 1)) }
            let start = try await session.displayed.windowStart(
                window(1), from: old.map(window), at: revision, for: Quota.Account())
            let subscriber = Subscriber(
                session.displayed, after: start.revision, following: start.followed, form: StreamForm())
            #expect(subscriber.start())
            return TestReader(subscriber)
        }
        // A snapshot of the window, and a move from another one.
        for (revision, old) in [(nil, nil), (0, 0)] as [(Int?, Int?)] {
            let other = try buffers.lease(buffers.limit / 2), count = session.feed.followers.subscribers
            let refused = try await reader(after: revision, from: old)
            #expect(await eventually { session.feed.followers.subscribers == count })
            #expect(refused.events.isEmpty && buffers.taken == buffers.limit / 2)
            other.end()
            let reader = try await reader(after: revision, from: old)
            #expect(await eventually { buffers.taken >= 8_000 }, "the event and a copy of it")
            #expect(await reader.events(through: "caught-up", 0).count == 2)
            #expect(await eventually { buffers.taken == 0 })
        }
    }

    @Test("A large window waits for its token's turn, and neither a small one nor that of another token does")
    func turns() async throws {
        let test = try await TestSession()
        let rows = (0..<3_000).map { #"{"id":"\#($0)"}"# }.joined(separator: ",")
        let body = try JSONText(parsing: #"{"id":"w","rows":[\#(rows)]}"#)
        let session = try await test.sessions.open(SessionOpening(body), text: body).session
        let turns = session.feed.limits.turns
        func rowCount(_ limit: Int, _ client: String?) async throws -> Int {
            let window = try await session.displayed.encodedWindow(
                WindowQuery(section: nil, .rows(offset: 0, limit: limit)), for: Quota.Account(client: client))
            return try JSONText(parsing: window.json ?? [])["sections"]?.elements()?.first?["rows"]?.elements()?.count
                ?? -1
        }
        let waiting = try await turns.withTurn(of: "a") { () async throws -> Task<Int, any Error> in
            let others = try await Task {
                try await [rowCount(Workers.shortRows, "a"), rowCount(3_000, "b"), rowCount(3_000, nil)]
            }.value
            #expect(others == [Workers.shortRows, 3_000, 3_000])
            let waiting = Task { try await rowCount(Workers.shortRows + 1, "a") }
            #expect(await eventually { turns.isAwaited(by: "a") })
            return waiting
        }
        #expect(try await waiting.value == Workers.shortRows + 1)
    }

    @Test("A session encodes large snapshots in place of updates one after the other")
    func resetsWait() async throws {
        let test = try await TestSession()
        let text = String(repeating: "x", count: 1_100_000)
        let body = try JSONText(parsing: #"{"id":"large","rows":[{"id":"1","text":"\#(text)"}]}"#)
        let session = try await test.sessions.open(SessionOpening(body), text: body).session
        let reset = try await session.largeReads.withLock {
            let reset = Task { try await Self.reset(session) }
            #expect(await eventually { session.largeReads.isAwaited })
            return reset
        }
        let list = try await reset.value
        #expect(list.json?.count ?? 0 > 1_100_000 && list.lease != nil)
    }
}

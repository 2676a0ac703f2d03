import BraidEngine
import BraidRuntime
import Testing

@testable import BraidSessions

struct LargeAnswerTests {
    /// Asks for the updates after a position of another epoch, so that the answer is a snapshot.
    private static func reset(_ session: Session) async throws -> UpdateList {
        try await session.updates(
            since: Position(epoch: "bogus", revision: 1), waiting: .zero, unless: { _ in false },
            UpdateListForm(isSequential: false, isCoalesced: false), for: Quota.Account())
    }

    /// Expects that a request is refused while another answer uses half of the memory quota. The other answer is
    /// needed, because a quota without leases grants a lease of any size.
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
        var list: UpdateList? = try await Self.reset(test.session)
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
        let session = try await test.sessions.open(SessionOpening(body), text: body)
        let large = WindowQuery(section: nil, .rows(offset: 0, limit: 1))
        let small = WindowQuery(section: nil, .rows(offset: 1, limit: 1))
        func updates(since epoch: String?, from old: WindowQuery? = nil) async throws -> UpdateList {
            try await session.windowUpdates(
                since: Position(epoch: epoch, revision: 0), waiting: .zero, unless: { _ in false }, large, from: old,
                isSequential: false, for: Quota.Account())
        }
        try await Self.expectRefusal(buffers) { _ = try session.encodedWindow(large, for: Quota.Account()) }
        try await Self.expectRefusal(buffers) { _ = try await updates(since: "bogus") }
        try await Self.expectRefusal(buffers) { _ = try await updates(since: nil, from: small) }
        let other = try buffers.lease(10_000)
        #expect(try session.encodedWindow(small, for: Quota.Account()).lease == nil)
        other.end()
        var window: EncodedWindow? = try session.encodedWindow(large, for: Quota.Account())
        #expect(window?.lease != nil && (6_000..<8_000).contains(buffers.taken))
        window = nil
        var list: UpdateList? = try await updates(since: "bogus")
        #expect(list?.lease != nil && (12_000..<16_000).contains(buffers.taken))
        list = try await updates(since: nil)
        #expect(list?.lease == nil && buffers.taken == 0, "an empty list needs no lease")
    }

    @Test("A session encodes large snapshots in place of updates one after the other")
    func resetsWait() async throws {
        let test = try await TestSession()
        let text = String(repeating: "x", count: 1_100_000)
        let body = try JSONText(parsing: #"{"id":"large","rows":[{"id":"1","text":"\#(text)"}]}"#)
        let session = try await test.sessions.open(SessionOpening(body), text: body)
        try await session.largeReads.lock()
        let reset = Task { try await Self.reset(session) }
        #expect(await happens { session.largeReads.isAwaited })
        session.largeReads.unlock()
        let list = try await reset.value
        #expect(list.json?.count ?? 0 > 1_100_000 && list.lease != nil)
    }
}

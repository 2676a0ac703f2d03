import BraidEngine
import BraidRuntime
import BraidStore
import TestSupport
import Testing

@testable import BraidSessions

struct ServerSentEventTests {
    @Test("Events and the retry time are written in the format of server-sent events") func format() {
        var bytes: [UInt8] = []
        ServerSentEvent.append("update", id: "e.1", data: #"{"a":"\n"}"#.utf8, to: &bytes)
        ServerSentEvent.append("ended", id: nil, data: "{}".utf8, to: &bytes)
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == "id: e.1\nevent: update\ndata: {\"a\":\"\\n\"}\n\nevent: ended\ndata: {}\n\n")
        #expect(ServerSentEvent.retry(after: .milliseconds(1_500)) == Array("retry: 1500\n\n".utf8))
    }
}

struct RecentChangesTests {
    private func change(_ revision: Int, _ bytes: Int = 0) -> Change {
        let text = JSONText.string(String(repeating: "x", count: bytes))
        return Change(
            epoch: "e", update: BatchUpdate(from: revision - 1, to: revision, totalRowCount: 0), updateText: text,
            controllerEvents: [])
    }

    @Test("The changes after a revision are returned completely or not at all") func completeness() {
        var recent = RecentChanges(last: 4)
        let limits = StreamLimits()
        #expect(recent.after(4)?.isEmpty == true)
        #expect(recent.after(3) == nil)
        for revision in 5...7 { recent.append(change(revision), limits: limits) }
        #expect(recent.after(4)?.map(\.revision) == [5, 6, 7])
        #expect(recent.after(6)?.map(\.revision) == [7])
        #expect(recent.after(7)?.isEmpty == true)
        #expect(recent.after(8)?.isEmpty == true, "a snapshot may be ahead")
        #expect(recent.after(3) == nil)
        recent.skip(to: 9)
        #expect(recent.after(8) == nil)
        #expect(recent.after(9)?.isEmpty == true)
    }

    @Test("The recent changes are limited in number and in bytes, but always include the newest change") func bounds() {
        var recent = RecentChanges(last: 0)
        let limits = StreamLimits(recentChanges: 3, recentBytes: 10_000)
        for revision in 1...5 { recent.append(change(revision), limits: limits) }
        #expect(recent.after(2)?.count == 3)
        #expect(recent.after(1) == nil)
        recent.append(change(6, 9_000), limits: limits)
        recent.append(change(7, 20_000), limits: limits)
        #expect(recent.after(6)?.count == 1)
        #expect(recent.after(5) == nil)
        recent.append(change(8), limits: limits)
        #expect(recent.after(7)?.count == 1)
    }
}

struct SubscriberTests {
    @Test("All subscribers receive the bytes of one encoding, without a copy") func sharedBytes() async throws {
        let test = try await TestSession()
        let readers = (0..<4).map { _ in test.subscribe() }
        for reader in readers {
            #expect(await reader.events(through: "caught-up", 0) == ["snapshot 0", "caught-up 0"])
        }
        try await test.setState(1)
        var places: Set<UnsafeRawPointer?> = []
        for reader in readers {
            var pieces: [[UInt8]] = []
            #expect(
                await eventually {
                    pieces += reader.subscriber.stream.take().pieces
                    return !pieces.isEmpty
                })
            for piece in pieces { piece.withUnsafeBytes { _ = places.insert($0.baseAddress) } }
        }
        #expect(places.count == 1, "one encoding, never copied")
    }

    @Test("Only controllers receive cell events") func cellEvents() async throws {
        let test = try await TestSession()
        let controller = test.subscribe()
        let viewer = test.subscribe(StreamForm(hasControllerEvents: false))
        for reader in [controller, viewer] {
            #expect(await reader.events(through: "caught-up", 0).last == "caught-up 0")
        }
        try await test.perform("events", #"{"at":{"id":"1"},"event":{"go":{}}}"#)
        try await test.setState(1)
        #expect(await controller.events(through: "update", 2).suffix(2) == ["cellEvent 1", "update 2"])
        #expect(await viewer.events(through: "update", 2).suffix(1) == ["update 2"])
        #expect(!viewer.events.contains { $0.hasPrefix("cellEvent") })
        let late = test.subscribe(after: 0, StreamForm(hasControllerEvents: false))
        #expect(await late.events(through: "caught-up", 2) == ["update 2", "caught-up 2"])
        // Nor from the journal, which is read here because all earlier streams are closed.
        for reader in [controller, viewer, late] { reader.subscriber.stream.close() }
        let alone = test.subscribe(after: 0, StreamForm(hasControllerEvents: false))
        #expect(await alone.events(through: "caught-up", 2) == ["update 2", "caught-up 2"])
    }

    @Test("A full queue does not grow: its subscriber receives a snapshot in place of the missed updates")
    func fullQueue() async throws {
        let test = try await TestSession(StreamLimits(queueBytes: 4_000, recentChanges: 8, recentBytes: 8_000))
        let stalled = test.subscribe(), reader = test.subscribe()
        #expect(await stalled.events(through: "caught-up", 0).count == 2)
        #expect(await reader.events(through: "caught-up", 0).count == 2)
        for revision in 1...40 {
            try await test.setState(revision, padding: 500)
            #expect(await reader.events(through: "update", revision).last == "update \(revision)")
        }
        #expect(!reader.events.dropFirst().contains { $0.hasPrefix("snapshot") })
        #expect(stalled.take().bytes <= 4_000)
        let told = await stalled.events(through: "snapshot", 40)
        let missed = try #require(told.firstIndex(of: "snapshot 40"))
        #expect(
            told[2..<missed].map { $0 } == (1...missed - 2).map { "update \($0)" },
            "what was queued, and then the table as it is")
        #expect(test.feed.behind.value == 1)
        try await test.setState(41)
        #expect(await stalled.events(through: "update", 41).last == "update 41")
    }

    @Test("A queued large event counts once in the memory quota. A subscriber for which it has no room is cut off")
    func largeEvents() async throws {
        let buffers = Quota(6_000)
        let test = try await TestSession(StreamLimits(largeBytes: 1_000, buffers: buffers))
        try await test.setState(1, padding: 4_000)
        // Two subscribers, one of which does not read, share one snapshot: the quota has room for no more.
        let silent = test.subscribe(), reader = test.subscribe()
        #expect(await reader.events(through: "caught-up", 1) == ["snapshot 1", "caught-up 1"])
        #expect(await eventually { (4_000...6_000).contains(buffers.taken) })
        try await test.perform("edits", #"{"delete":{"id":"1"}}"#)
        #expect(await reader.events(through: "update", 2).last == "update 2", "small events need no room")
        let late = test.subscribe()
        #expect(await late.takes { $0.isBroken }, "another snapshot")
        // It may have caught up before the edit or after.
        let told = await silent.events(through: "update", 2)
        #expect(told.filter { !$0.hasPrefix("caught-up") } == ["snapshot 1", "update 2"])
        #expect(await eventually { buffers.taken == 0 })
        #expect(await test.subscribe().events(through: "caught-up", 2) == ["snapshot 2", "caught-up 2"])
    }

    @Test("Large events that are read from the journal count in the quota for each subscriber")
    func largeJournalEvents() async throws {
        let buffers = Quota(6_000)
        let test = try await TestSession(StreamLimits(largeBytes: 1_000, buffers: buffers))
        try await test.setState(1, padding: 4_000)
        let silent = test.subscribe(after: 0)
        #expect(await eventually { buffers.taken > 4_000 })
        let late = test.subscribe(after: 0)
        #expect(await late.takes { $0.isBroken })
        #expect(await silent.events(through: "caught-up", 1) == ["update 1", "caught-up 1"])
        #expect(await eventually { buffers.taken == 0 })
        #expect(await test.subscribe(after: 0).events(through: "caught-up", 1) == ["update 1", "caught-up 1"])
    }

    @Test("A subscriber that starts while commands run receives every update once and in order")
    func concurrentSubscriptions() async throws {
        let test = try await TestSession(StreamLimits(recentChanges: 16))
        let last = 400, count = 15, subscribed = Watched(0), stored = Watched(0)
        let commands = Task {
            for revision in 1..<last {
                try await test.setState(revision)
                stored.withLock { $0 = revision }
            }
            // The last command comes when all subscribers have started, so that each has something to receive.
            #expect(await subscribed.wait { $0 == count })
            try await test.setState(last)
        }
        let readers = (0..<count).map { number in
            Task {
                #expect(await stored.wait { $0 >= number * 20 })
                let start = number % 3 == 0 ? nil : test.session.current.snapshot.revision - number % 7
                let reader = test.subscribe(after: start.map { max(0, $0) })
                subscribed.withLock { $0 += 1 }
                return await reader.events(at: last)
            }
        }
        for reader in readers {
            var position: Int?
            for event in await reader.value where !event.hasPrefix("caught-up") {
                let revision = try #require(Int(event.split(separator: " ")[1]))
                if let position, event.hasPrefix("update") {
                    #expect(revision == position + 1, "\(event) after \(position)")
                }
                if let position { #expect(revision > position) }
                position = revision
            }
            #expect(position == last)
        }
        try await commands.value
    }

    @Test("A subscriber that disconnects is removed, and without subscribers no recent changes are kept")
    func disconnects() async throws {
        let test = try await TestSession()
        let readers = (0..<10).map { _ in test.subscribe() }
        #expect(test.feed.followers.subscribers == 10)
        for reader in readers.dropFirst() { reader.subscriber.stream.close() }
        #expect(test.feed.followers.subscribers == 1)
        try await test.setState(1)
        #expect(test.feed.recent.changes.after(0)?.count == 1)
        readers[0].subscriber.stream.endFromServer()
        #expect(test.feed.followers.subscribers == 0)
        #expect(test.feed.recent.changes.after(0) == nil, "nothing is kept for nobody")
    }

    private func step(_ revision: Int) -> StreamStep {
        StreamStep(events: EventBytes([0]), revision: revision, followed: .table)
    }

    /// It closes on an event loop's thread, which must not wait for the encoding.
    @Test("A subscriber can close its stream while its snapshot is encoded, without waiting")
    func closeDuringEncoding() async throws {
        let test = try await TestSession()
        let reader = test.subscribe()
        let told = try await test.feed.snapshotStep(at: 1, for: reader.subscriber) {
            reader.subscriber.stream.close()
            #expect(!test.feed.isFollowed)
            return step(1)
        }
        #expect(told?.revision == 1)
    }

    @Test("A subscriber that has disconnected receives no snapshot") func closeBeforeEncoding() async throws {
        let test = try await TestSession()
        let reader = test.subscribe()
        reader.subscriber.stream.close()
        #expect(try await test.feed.snapshotStep(at: 1, for: reader.subscriber) { step(1) } == nil)
    }

    @Test("Subscribers that start at the same revision share one encoded snapshot, which is freed when they disconnect")
    func sharedSnapshot() async throws {
        let test = try await TestSession()
        let readers = [test.subscribe(), test.subscribe()]
        // While it catches up, a subscriber holds the event with its snapshot.
        for reader in readers { _ = await reader.events(through: "caught-up", 0) }
        weak var event: EventBytes?
        func ask(_ reader: TestReader, _ revision: Int) async throws -> EventBytes? {
            try await test.feed.snapshotStep(at: revision, for: reader.subscriber) { step(revision) }?.events
        }
        event = try await ask(readers[0], 1)
        let same = try await ask(readers[1], 1) === event
        #expect(event != nil && same)
        let isNew = try await ask(readers[1], 2) !== event
        #expect(isNew)
        #expect(event == nil)
        event = try await ask(readers[1], 1)
        #expect(event != nil, "a later one will do")
        for reader in readers { reader.subscriber.stream.close() }
        #expect(event == nil, "nothing is kept for nobody")
    }

    @Test("Subscribers that need a snapshot at the same time encode it once") func concurrentSnapshots() async throws {
        let test = try await TestSession()
        let readers = (0..<20).map { _ in test.subscribe() }, encoded = Counter()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for reader in readers {
                group.addTask {
                    _ = try await test.feed.snapshotStep(at: 1, for: reader.subscriber) {
                        encoded.add()
                        return step(1)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(encoded.value == 1)
    }

    @Test("A long poll is removed when it is cancelled or its time is over") func polls() async throws {
        let test = try await TestSession()
        let poll = Task { await test.feed.changes(after: 0, waiting: .seconds(36_000)) }
        #expect(await eventually { test.feed.followers.polls == 1 })
        poll.cancel()
        #expect(await poll.value.last == 0)
        #expect(test.feed.followers.polls == 0)
        #expect(await test.feed.changes(after: 0, waiting: .milliseconds(20)).last == 0)
        #expect(test.feed.followers.polls == 0)
    }

    @Test("When a session is removed from memory, its streams end without the event `ended`")
    func staleSession() async throws {
        let test = try await TestSession()
        let reader = test.subscribe()
        #expect(await reader.events(through: "caught-up", 0).count == 2)
        test.session.markStale()
        #expect(await reader.takes { $0.isLast })
        #expect(!reader.events.contains { $0.hasPrefix("ended") })
        #expect(await eventually { test.feed.followers.subscribers == 0 })
        #expect(!Subscriber(test.session.displayed, after: nil, form: StreamForm()).start())
        #expect(try await test.sessions.session("s") !== test.session)
    }
}

struct StreamCommentTests {
    @Test("A subscriber that arrives after all others have disconnected also receives comments")
    func laterSubscriber() async throws {
        let test = try await TestSession(StreamLimits(commentInterval: .milliseconds(10)))
        for _ in 0..<2 {
            let reader = test.subscribe()
            #expect(
                await reader.takes { $0.pieces.contains(ServerSentEvent.comment.piece(in: nil).bytes) })
            reader.subscriber.stream.close()
            // At the next comment the server notices that nobody listens. If it is late, the test still passes.
            try await Task.sleep(for: .milliseconds(30))
        }
    }

    @Test("The server sends comments on a stream without events") func quietStream() async throws {
        let test = try await TestSession(StreamLimits(commentInterval: .milliseconds(30)))
        let reader = test.subscribe()
        var bytes: [UInt8] = []
        let isQuiet = await reader.takes {
            bytes += $0.pieces.joined()
            return String(decoding: bytes, as: UTF8.self).hasSuffix("\n\n:\n\n:\n\n")
        }
        #expect(isQuiet, "two comments behind the last event")
        reader.subscriber.stream.close()
    }
}

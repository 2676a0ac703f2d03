import BraidClient
import Foundation
import Synchronization
import TestSupport
import Testing

/// Follows sessions through lost connections, restarts, resets and ends.
@Suite(.serialized) struct SwiftClientStreamTests {
    /// Reads a subscription's events one by one, and records them.
    private struct Listener {
        private var events: AsyncThrowingStream<SessionEvent, any Error>.Iterator
        var shown: Snapshot?
        var snapshots = 0
        var updates: [Update] = []
        var cellEvents: [CellEvent] = []
        var taps: [Tap] = []
        var emitted: [EmittedEvent] = []
        var interruptions: [any Error] = []
        var isLive = false
        var hasEnded = false

        init(_ session: BraidSession, from snapshot: Snapshot? = nil) {
            events = session.subscribe(from: snapshot).makeAsyncIterator()
            shown = snapshot
        }

        mutating func listen(until holds: (Listener) -> Bool) async throws {
            while !holds(self) {
                switch try await events.next() {
                case .snapshot(let snapshot): (shown, snapshots) = (snapshot, snapshots + 1)
                case .update(let update, let before, let after):
                    // No update comes twice.
                    #expect(before.revision >= (updates.last?.to ?? 0) && after.revision == update.to)
                    #expect(try update.applied(to: before) == after)
                    updates.append(update)
                    shown = after
                case .cellEvent(let event): cellEvents.append(event)
                case .tap(let tap): taps.append(tap)
                case .emitted(let event): emitted.append(event)
                case .presence: break
                case .live: isLive = true
                case .interrupted(let error):
                    isLive = false
                    interruptions.append(error)
                case nil:
                    hasEnded = true
                    return
                }
            }
        }

        mutating func revision(_ revision: Int) async throws {
            try await listen { $0.shown?.revision ?? -1 >= revision }
        }
        mutating func live() async throws { try await listen { $0.isLive } }
    }

    private func tell(_ session: BraidSession, _ name: String) async throws {
        try await session.perform(.patchModels(["invited": [["name": .string(name)]]]))
    }

    @Test(
        "After the server was killed and started again, a subscription continues without missing or repeating an update"
    )
    func restarts() async throws {
        let directory = try TemporaryDirectory(), database = directory.path("braid.sqlite")
        var server = try ServerProcess(database: database, ServerProcess.attendees)
        let port = server.port, party = try SwiftClientTests.client(server).session("party")
        var listener = Listener(party)
        try await listener.live()
        #expect(try await listener.shown == party.snapshot())
        for round in 1...3 {
            for number in 0..<5 { try await tell(party, "guest \(round) \(number)") }
            server.kill()
            let count = listener.interruptions.count
            try await listener.listen { $0.interruptions.count > count }
            server = try ServerProcess(database: database, ServerProcess.attendees + ["--port", String(port)])
            try await tell(party, "after \(round)")
            try await listener.revision(round * 6)
        }
        #expect(listener.snapshots == 1 && listener.updates.map(\.to) == Array(1...18))
        #expect(try await listener.shown == party.snapshot())
    }

    @Test("A subscription whose connections break at random places misses no update")
    func tears() async throws {
        let server = try ServerProcess(ServerProcess.attendees), random = Mutex(SeededGenerator(seed: 11))
        let proxy = try LossyProxy(to: server.port) { toServer in
            random.withLock { !toServer && Int.random(in: 0..<10, using: &$0) < 4 ? .tear : .pass }
        }
        let party = try SwiftClientTests.client(server).session("party")
        let first = try await party.snapshot()
        var listener = Listener(SwiftClientTests.client(proxy.url).session("party"), from: first)
        for number in 1...40 { try await tell(party, "guest \(number)") }
        try await listener.revision(40)
        var last = 40
        // On a busy machine, updates can come in so few pieces that hardly a connection breaks: send more.
        while proxy.lost <= 1 {
            last += 1
            try await tell(party, "guest \(last)")
            try await listener.revision(last)
        }
        #expect(listener.snapshots == 0 && listener.updates.map(\.to) == Array(1...last))
        #expect(try await listener.shown == party.snapshot())
    }

    @Test("The client replaces a connection on which nothing arrives any more")
    func stalls() async throws {
        let server = try ServerProcess(ServerProcess.attendees),
            party = try SwiftClientTests.client(server).session("party")
        let flag = Flag()
        let proxy = try LossyProxy(to: server.port) { toServer in flag.isSet && !toServer ? .stall : .pass }
        var listener = Listener(SwiftClientTests.client(proxy.url, timeout: .seconds(1)).session("party"))
        try await listener.live()
        flag.set(true)
        try await tell(party, "Ann")
        try await listener.listen { !$0.interruptions.isEmpty }
        flag.set(false)
        try await listener.revision(1)
        #expect(listener.snapshots == 1 && listener.updates.map(\.to) == [1])
    }

    @Test("If a proxy answers with a web page, the subscription reports a failure and requests the stream again")
    func pages() async throws {
        let server = try ServerProcess(ServerProcess.attendees), flag = Flag()
        let page =
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 12\r\nConnection: close\r\n\r\n<html>Log in"
        let proxy = try LossyProxy(to: server.port) { toServer in flag.isSet && toServer ? .answer(page) : .pass }
        flag.set(true)
        var listener = Listener(SwiftClientTests.client(proxy.url).session("party"))
        try await listener.listen { $0.interruptions.count == 2 }
        #expect(
            listener.interruptions.allSatisfy {
                ($0 as? ConnectionFailure)?.detail == "The answer is no stream of events"
            })
        flag.set(false)
        try await listener.live()
        #expect(listener.snapshots == 1)
    }

    @Test("A subscription requests its stream again only after the time in Retry-After")
    func waits() async throws {
        let server = try ServerProcess(ServerProcess.attendees), flag = Flag()
        let busy = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        let proxy = try LossyProxy(to: server.port) { toServer in flag.isSet && toServer ? .answer(busy) : .pass }
        flag.set(true)
        // Before the subscription exists, as it may send its first request at once.
        let start = ContinuousClock.now
        var listener = Listener(SwiftClientTests.client(proxy.url).session("party"))
        try await listener.listen { $0.interruptions.count == 2 }
        #expect(ContinuousClock.now - start >= .seconds(1))
        flag.set(false)
        try await listener.live()
    }

    @Test("A reset is an ordinary update, a session's end ends its subscriptions, and a new session needs a snapshot")
    func ends() async throws {
        let server = try ServerProcess(ServerProcess.attendees), client = try SwiftClientTests.client(server)
        let (guests, opened) = try await client.openSession(["table": "attendees", "id": "guests"])
        var listener = Listener(guests, from: opened)
        try await tell(guests, "Ann")
        try await guests.perform(.reset)
        try await listener.revision(2)
        #expect(listener.snapshots == 0 && listener.shown?.sections == opened.sections)
        try await guests.end()
        try await listener.listen { _ in false }
        #expect(listener.hasEnded)
        var late = Listener(guests, from: listener.shown)
        let gone = await #expect(throws: Problem.self) { try await late.listen { _ in false } }
        #expect(gone?.status == 404)
        let (_, again) = try await client.openSession(["table": "attendees", "id": "guests"])
        var anew = Listener(guests, from: listener.shown)
        try await anew.live()
        #expect(anew.snapshots == 1 && anew.shown == again && again.epoch != opened.epoch)
    }

    @Test("If an update does not fit the shown snapshot, the subscription requests a new snapshot")
    func misfits() async throws {
        let server = try ServerProcess(ServerProcess.attendees),
            party = try SwiftClientTests.client(server).session("party")
        var wrong = try await party.snapshot()
        wrong.totalRowCount -= wrong.sections.removeFirst().rows.count
        var listener = Listener(party, from: wrong)
        try await listener.live()
        try await tell(party, "Ann")
        try await listener.listen { $0.snapshots > 0 }
        #expect(listener.interruptions.contains { $0 is UpdateFault })
        #expect(try await listener.shown == party.snapshot())
    }

    @Test("An update after revisions without visible changes applies to the `before` snapshot that comes with it")
    func silentRevisions() async throws {
        let server = try ServerProcess(ServerProcess.attendees), client = try SwiftClientTests.client(server)
        let (list, opened) = try await client.openSession(["rows": [["id": "a"]]])
        var listener = Listener(list, from: opened)
        try await listener.live()
        try await list.perform(.addRow(["id": "b"], at: .path(0, 1), notify: false))
        try await list.perform(.addRow(["id": "c"], at: .path(0, 2)))
        try await listener.revision(2)
        #expect(listener.updates.map { [$0.from, $0.to] } == [[1, 2]])
    }

    @Test("A revoked token ends its subscription with the reason, and only controllers receive taps and cell events")
    func tokens() async throws {
        let server = try ServerProcess(
            ["--fixtures", ServerProcess.package.appendingPathComponent("Examples/form").path],
            environment: ["BRAID_TOKEN": "secret"])
        let event = try SwiftClientTests.client(server, token: "secret").session("event")
        let token = try await event.makeToken(.participant, expiringIn: 600)
        #expect(try await event.tokens().tokens.map(\.tokenId) == [token.tokenId])
        let guest = try SwiftClientTests.client(server, token: token.token).session("event")
        var listener = Listener(guest), all = Listener(event)
        try await listener.live()
        try await all.live()
        let sections = try #require(listener.shown?.sections)
        let paths = sections.indices.flatMap { section in
            sections[section].rows.indices.map { RowPath(section: section, row: $0) }
        }
        let path = try #require(paths.first { sections[$0.section].rows[$0.row].cell == "TextFieldCell" })
        try await guest.perform(.event(named: "textEntered", ["text": "Party"], at: .path(path)))
        try await all.listen { !$0.cellEvents.isEmpty }
        #expect(all.cellEvents.first?.event == ["textEntered": ["text": "Party"]] && all.cellEvents.first?.at == path)
        try await guest.perform(.tap(.path(path)))
        try await all.listen { !$0.taps.isEmpty }
        #expect(all.taps.first?.at == path && all.taps.first?.cell == "TextFieldCell")
        #expect(listener.cellEvents.isEmpty && listener.taps.isEmpty)
        try await event.revokeToken(token.tokenId)
        let refused = await #expect(throws: Problem.self) { try await listener.listen { _ in false } }
        #expect(refused?.status == 401)
    }

    @Test("A cell event that changed nothing is delivered once, even if the connection is lost after it")
    func cellEventsAreToldOnce() async throws {
        let server = try ServerProcess(), flag = Flag()
        let table: JSON = [
            "table": "t", "cells": ["C": ["events": ["go": [:]]]],
            "bindings": [["cell": "C", "models": [["id": "1"]]]],
        ]
        let session = try await SwiftClientTests.client(server).openSession(["table": table]).session
        let proxy = try LossyProxy(to: server.port) { toServer in flag.isSet && !toServer ? .lose : .pass }
        var listener = Listener(SwiftClientTests.client(proxy.url).session(session.id))
        try await listener.live()
        try await session.perform(.event(named: "go", at: .id("1")))
        try await listener.listen { !$0.cellEvents.isEmpty }
        flag.set(true)
        try await session.perform(.patchState(["x": 1]))
        try await listener.listen { !$0.interruptions.isEmpty }
        flag.set(false)
        try await listener.revision(2)
        #expect(listener.cellEvents.count == 1)
    }

    @Test("An emitted event is delivered once, with its payload")
    func emittedEventsAreToldOnce() async throws {
        let server = try ServerProcess()
        let table: JSON = [
            "table": "t",
            "bindings": [
                [
                    "cell": "C", "models": [["id": "1"]],
                    "onTap": [
                        ["emit": ["name": "opened", "payload": ["id": "${model.id}"]]], ["emit": ["name": "bare"]],
                    ],
                ]
            ],
        ]
        let session = try await SwiftClientTests.client(server).openSession(["table": table]).session
        var listener = Listener(session)
        try await listener.live()
        try await session.perform(.tap(.id("1")))
        try await session.perform(.patchState(["x": 1]))
        try await listener.revision(2)
        #expect(listener.emitted.map(\.name) == ["opened", "bare"])
        #expect(listener.emitted.map(\.payload) == [["id": "1"], nil])
    }

    @Test("A tap that changed nothing is delivered once, with its row, even if the connection is lost after it")
    func tapsAreToldOnce() async throws {
        let server = try ServerProcess(), flag = Flag()
        let table: JSON = [
            "table": "t", "cells": ["C": [:]],
            "bindings": [["cell": "C", "models": [["id": "1"], ["id": "2"]]]],
        ]
        let session = try await SwiftClientTests.client(server).openSession(["table": table]).session
        let proxy = try LossyProxy(to: server.port) { toServer in flag.isSet && !toServer ? .lose : .pass }
        var listener = Listener(SwiftClientTests.client(proxy.url).session(session.id))
        try await listener.live()
        try await session.perform(.tap(.id("2")))
        try await listener.listen { !$0.taps.isEmpty }
        flag.set(true)
        try await session.perform(.patchState(["x": 1]))
        try await listener.listen { !$0.interruptions.isEmpty }
        flag.set(false)
        try await listener.revision(2)
        #expect(listener.taps.map(\.at) == [RowPath(section: 0, row: 1)])
        #expect(listener.taps.first?.id == "2" && listener.taps.first?.model == ["id": "2"])
    }

    @Test("When a program leaves the loop over a subscription, the client closes the connection")
    func cancellations() async throws {
        let server = try ServerProcess(ServerProcess.attendees),
            party = try SwiftClientTests.client(server).session("party")
        func subscribers() throws -> Bool {
            try server.client().get("/metrics").text.split(separator: "\n").contains {
                $0.hasPrefix("braid_subscribers{") && !$0.hasSuffix(" 0")
            }
        }
        for try await event in party.subscribe() {
            guard case .live = event else { continue }
            #expect(try subscribers())
            break
        }
        #expect(try await eventually { try !subscribers() })
    }
}

import BraidClient
import Foundation
import Synchronization
import TestSupport
import Testing

/// Follows windows that change and move.
@Suite(.serialized) struct SwiftClientWindowTests {
    private static let table: JSON = [
        "table": "t", "sections": ["a", "b", "c"], "cells": ["C": [:]], "state": ["round": 0],
        "bindings": [
            [
                "on": ["sections": ["a", "b", "c"]], "cell": "C", "models": [:], "editing": "delete",
                "moving": ["to": "anySection"],
            ]
        ],
    ]

    private func open(_ server: ServerProcess, rows: Int) async throws -> BraidSession {
        let models = Dictionary(
            uniqueKeysWithValues: ["a", "b", "c"].map { name in
                (name, JSON.array((0..<rows).map { ["id": .string("\(name)\($0)")] }))
            })
        return try await SwiftClientTests.client(server).openSession([
            "id": "s", "table": Self.table, "models": .object(models),
        ]).session
    }

    /// Reads a subscription's events one by one, and records them.
    private struct Listener {
        let subscription: WindowSubscription
        private var events: WindowSubscription.Iterator
        private(set) var shown: Snapshot?
        private(set) var snapshots = 0
        private(set) var updates: [Update] = []
        private(set) var interruptions: [any Error] = []
        private(set) var isLive = false
        private(set) var hasEnded = false

        init(_ subscription: WindowSubscription, from snapshot: Snapshot? = nil) {
            self.subscription = subscription
            events = subscription.makeAsyncIterator()
            shown = snapshot
        }

        var rows: [String] { shown?.sections.flatMap { $0.rows.compactMap(\.id) } ?? [] }

        mutating func listen(until holds: (Listener) throws -> Bool) async throws {
            while try !holds(self) {
                switch try await events.next(isolation: nil) {
                case .snapshot(let snapshot): (shown, snapshots) = (snapshot, snapshots + 1)
                case .update(let update, let before, let after):
                    // Each update must start at what was shown before.
                    var base = shown
                    base?.revision = before.revision
                    #expect(before == base && before.revision >= shown?.revision ?? 0)
                    #expect(try update.applied(to: before) == after)
                    updates.append(update)
                    shown = after
                case .live: isLive = true
                case .interrupted(let error):
                    isLive = false
                    interruptions.append(error)
                case .cellEvent, .tap, .emitted, .presence: break
                case nil:
                    hasEnded = true
                    return
                }
            }
        }

        mutating func live() async throws { try await listen { $0.isLive } }
        /// Until the requested window's rows are there.
        mutating func moved() async throws { try await listen { !$0.subscription.isMoving } }
        /// Until the requested window is there, at this revision or later.
        mutating func revision(_ revision: Int) async throws {
            try await listen { !$0.subscription.isMoving && $0.shown?.revision ?? -1 >= revision }
        }
    }

    /// Changes the state, which every window shows, and then compares with the server's snapshot of the window.
    private func expectTheWindow(
        _ listener: inout Listener, _ session: BraidSession, round: Int,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let answer = try await session.perform(.patchState(["round": .integer(round)]))
        try await listener.revision(answer.revision)
        let window = listener.subscription.window
        #expect(
            try await listener.shown == session.snapshot(window: window), "round \(round): \(window)",
            sourceLocation: sourceLocation)
    }

    @Test("A program can read a window and follow its changes, and a lost anchor is replaced by its neighbour")
    func followed() async throws {
        let server = try ServerProcess(), session = try await open(server, rows: 10)
        let part = try await session.snapshot(window: .rows(offset: 2, limit: 3, ofSection: "b"))
        #expect(part.sections.map { $0.rows.map(\.id) } == [["b2", "b3", "b4"]])
        #expect(part.sections.map(\.rowCount) == [10] && part.sections.map(\.offset) == [2])
        #expect(part.totalRowCount == 30 && part.window == .init(offset: 2))
        let window = TableWindow.around("b3", inSection: "b", before: 1, after: 1)
        var listener = Listener(session.subscribe(window: window))
        try await listener.live()
        #expect(listener.rows == ["b2", "b3", "b4"] && listener.subscription.window == window)
        try await session.perform(.insertRow(["id": "new"], at: .start, inSection: "b"))
        try await session.perform(.deleteRow(id: "b3", inSection: "b"))
        try await expectTheWindow(&listener, session, round: 1)
        #expect(listener.shown?.window == .init(offset: 13, anchor: .init(section: "b", id: "b4")))
        #expect(listener.subscription.window == .around("b4", inSection: "b", before: 1, after: 1))
        #expect(listener.snapshots == 1)
    }

    @Test("One update leads from any window to any other one, with `updates` and in a subscription")
    func updates() async throws {
        let server = try ServerProcess(), session = try await open(server, rows: 10)
        let old = TableWindow.rows(offset: 0, limit: 4), new = TableWindow.around("a5", before: 3, after: 2)
        let first = try await session.snapshot(window: old)
        try await session.perform(.deleteRow(id: "a2", inSection: "a"))
        guard
            case .updates(let updates, let position) = try await session.updates(
                since: first.position, window: new, from: old)
        else {
            Issue.record("The server has the table of the revision before.")
            return
        }
        #expect(updates.count == 1 && position == Position(epoch: first.epoch, revision: 1))
        #expect(try await updates.first?.applied(to: first) == session.snapshot(window: new))
        #expect(try await session.updates(since: position, window: new) == .updates([], to: position))
        let another = Position(epoch: "another", revision: 0)
        #expect(
            try await session.updates(since: another, window: new) == .snapshot(session.snapshot(window: new)))
    }

    @Test("When a window moves, an update leads from its rows to the new ones, and contains only the new rows")
    func moves() async throws {
        let server = try ServerProcess(), session = try await open(server, rows: 100)
        var listener = Listener(session.subscribe(window: .rows(offset: 0, limit: 20), overscan: 10))
        let subscription = listener.subscription
        try await listener.live()
        subscription.move(to: .rows(offset: 5, limit: 20))
        #expect(subscription.isMoving)
        // The old window's rows are still on screen: `show` must not move.
        subscription.show(0...3)
        #expect(subscription.window == .rows(offset: 5, limit: 20))
        try await listener.moved()
        #expect(listener.shown?.window?.offset == 5 && listener.snapshots == 1)
        #expect(listener.updates.map { $0.stages.map { [$0.deleteRows.count, $0.insertRows.count] } } == [[[5, 5]]])
        // The middle moves nothing, the edge moves once.
        subscription.show(10...19)
        #expect(!subscription.isMoving)
        subscription.show(10...20)
        let wanted = TableWindow.around("a15", inSection: "a", before: 15, after: 15)
        #expect(subscription.isMoving && subscription.window == wanted)
        subscription.show(11...21)
        #expect(subscription.window == wanted)
        try await listener.moved()
        #expect(listener.shown?.window == .init(offset: 0, anchor: .init(section: "a", id: "a15")))
        #expect(listener.rows == (0...30).map { "a\($0)" } && listener.snapshots == 1)
        // Outside of the window: by position.
        subscription.show(250...259)
        #expect(subscription.window == .rows(offset: 240, limit: 30))
        try await listener.moved()
        #expect(listener.rows == (40...69).map { "c\($0)" } && listener.snapshots == 1)
        // At the table's end, it moves no further.
        subscription.move(to: .rows(offset: -15, limit: 15))
        try await listener.moved()
        subscription.show(290...299)
        #expect(!subscription.isMoving && subscription.window == .rows(offset: -15, limit: 15))
        try await expectTheWindow(&listener, session, round: 1)
    }

    @Test(
        "After each update, a window has exactly the table's rows of that revision, despite random edits and moves",
        arguments: 0..<4)
    func randomEditsAndMoves(seed: Int) async throws {
        var random = SeededGenerator(seed: UInt64(seed))
        func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }
        let server = try ServerProcess(), session = try await open(server, rows: seed == 0 ? 2 : 12)
        // Half of the runs break connections at random.
        let torn = Mutex(SeededGenerator(seed: 77)), isTearing = seed % 2 == 1
        let proxy = try LossyProxy(to: server.port) { toServer in
            torn.withLock { isTearing && !toServer && Int.random(in: 0..<10, using: &$0) == 0 ? .tear : .pass }
        }
        let follower = SwiftClientTests.client(proxy.url).session(session.id)
        var tables = [0: try await session.snapshot()]
        var listener = Listener(follower.subscribe(window: .rows(offset: 0, limit: 10), overscan: below(8)))
        let subscription = listener.subscription
        try await listener.live()
        var round = 0
        // On a busy machine, updates can come in so few pieces that hardly a connection breaks: add rounds.
        while round < 30 || isTearing && proxy.lost <= 3 {
            round += 1
            for step in 0..<3 {
                let name = ["a", "b", "c"][below(3)], row = below(8)
                let command: SessionCommand =
                    switch below(5) {
                    case 0, 1: .delete(.row(row, in: name))
                    case 2: .move(.row(row, in: name), to: .row(below(8), in: ["a", "b", "c"][below(3)]))
                    case 3: .insertRow(["id": .string("n\(round).\(step)")], at: .index(row), inSection: name)
                    default: .setDisplayedSections(below(2) == 0 ? ["a", "b", "c"] : ["c", "b"])
                    }
                do {
                    let answer = try await session.perform(command)
                    tables[answer.revision] = try await session.snapshot()
                } catch let problem as Problem {
                    #expect(problem.status < 500, "\(problem)")
                }
                switch below(9) {
                case 0: subscription.move(to: .rows(offset: below(30), limit: 1 + below(15)))
                case 1: subscription.move(to: .rows(offset: -1 - below(12), limit: 20))
                case 2: subscription.move(to: .rows(offset: below(8), limit: 5, ofSection: "b"))
                case 3:
                    guard let section = listener.shown?.sections.randomElement(using: &random),
                        let id = section.rows.randomElement(using: &random)?.id
                    else { continue }
                    subscription.move(to: .around(id, inSection: section.id, before: below(6), after: below(6)))
                case 4, 5:
                    let first = below(36)
                    subscription.show(first...first + below(6))
                default: break
                }
            }
            let answer = try await session.perform(.patchState(["round": .integer(round)]))
            tables[answer.revision] = try await session.snapshot()
            try await listener.listen { listener in
                if let shown = listener.shown {
                    expectCut(shown, of: try #require(tables[shown.revision]))
                }
                return !subscription.isMoving && listener.shown?.revision == answer.revision
            }
            let window = subscription.window
            #expect(try await listener.shown == session.snapshot(window: window), "round \(round): \(window)")
        }
    }

    private func expectCut(_ window: Snapshot, of table: Snapshot) {
        #expect(window.totalRowCount == table.totalRowCount && window.state == table.state)
        for section in window.sections {
            guard let whole = table.sections.first(where: { $0.id == section.id }), let offset = section.offset else {
                Issue.record("There is no section \(section.id).")
                continue
            }
            #expect(section.rowCount == whole.rowCount && section.header == whole.header)
            #expect(section.rows == Array(whole.rows.dropFirst(offset).prefix(section.rows.count)))
        }
        if let first = window.sections.first, let place = window.window, !first.rows.isEmpty {
            let before = table.sections.prefix { $0.id != first.id }.reduce(0) { $0 + $1.rows.count }
            // In a window of one section, it counts that section's rows only.
            #expect([first.offset, first.offset.map { $0 + before }].contains(place.offset))
        }
        if let anchor = window.window?.anchor {
            #expect(window.sections.contains { $0.id == anchor.section && $0.rows.contains { $0.id == anchor.id } })
        }
    }

    @Test("If all rows of a window are deleted, the window shows the rows that are inserted next")
    func emptied() async throws {
        let server = try ServerProcess(), session = try await open(server, rows: 1)
        var listener = Listener(session.subscribe(window: .around("b0", before: 1, after: 2)))
        try await listener.live()
        for name in ["a", "b", "c"] { try await session.perform(.deleteRow(id: "\(name)0", inSection: name)) }
        try await expectTheWindow(&listener, session, round: 1)
        #expect(listener.rows == [] && listener.shown?.window == .init(offset: 0))
        for number in 0..<6 {
            try await session.perform(.insertRow(["id": .integer(number)], inSection: "a"))
        }
        try await expectTheWindow(&listener, session, round: 2)
        #expect(listener.shown?.window?.anchor?.id == "0")
        listener.subscription.move(to: .rows(offset: 1, limit: 3))
        try await expectTheWindow(&listener, session, round: 3)
        #expect(listener.rows == ["1", "2", "3"] && listener.snapshots == 1 && listener.interruptions.isEmpty)
    }

    @Test("A window continues after a restart of the server, even if its anchor is gone")
    func restarts() async throws {
        let directory = try TemporaryDirectory(), database = directory.path("braid.sqlite")
        var server = try ServerProcess(database: database)
        let port = server.port, session = try await open(server, rows: 10), isDown = Flag()
        let network = try LossyProxy(to: port) { _ in isDown.isSet ? .lose : .pass }
        let client = SwiftClientTests.client(network.url, retries: 10_000)
        let window = TableWindow.around("b3", inSection: "b", before: 2, after: 2)
        var listener = Listener(client.session(session.id).subscribe(window: window))
        try await listener.live()
        isDown.set(true)
        server.kill()
        try await listener.listen { !$0.interruptions.isEmpty }
        server = try ServerProcess(database: database, ["--port", String(port)])
        try await session.perform(.deleteRow(id: "b3", inSection: "b"))
        isDown.set(false)
        try await expectTheWindow(&listener, session, round: 1)
        #expect(listener.subscription.window == .rows(offset: 11, limit: 5))
        #expect(listener.interruptions.contains { ($0 as? Problem)?.kind == "row-not-found" })
        #expect(listener.rows == ["b1", "b2", "b4", "b5", "b6"])
    }

    @Test("A subscription continues where its last loop stopped, also with another window or a known snapshot")
    func loops() async throws {
        let server = try ServerProcess(), session = try await open(server, rows: 10)
        let window = TableWindow.rows(offset: 0, limit: 5)
        let known = try await session.snapshot(window: window)
        try await session.perform(.deleteRow(id: "a1", inSection: "a"))
        let subscription = session.subscribe(window: window, from: known)
        var first = Listener(subscription, from: known)
        try await first.live()
        #expect(first.rows == ["a0", "a2", "a3", "a4", "a5"] && first.snapshots == 0)
        // Ends the first loop, and continues from there.
        var second = Listener(subscription, from: first.shown)
        try await first.listen { _ in false }
        #expect(first.hasEnded)
        try await second.live()
        #expect(second.updates.isEmpty)
        // Leaving the loop must close the connection.
        second = Listener(session.subscribe(window: window))
        func subscribers() throws -> Bool {
            try server.client().get("/metrics").text.split(separator: "\n").contains {
                $0.hasPrefix("braid_subscribers{") && !$0.hasSuffix(" 0")
            }
        }
        _ = consume second
        #expect(try await eventually { try !subscribers() })
        try await session.perform(.deleteRow(id: "a2", inSection: "a"))
        subscription.move(to: .rows(offset: 1, limit: 5))
        var third = Listener(subscription, from: first.shown)
        try await expectTheWindow(&third, session, round: 1)
        #expect(third.rows == ["a3", "a4", "a5", "a6", "a7"] && third.snapshots == 0)
        try await session.end()
        try await third.listen { _ in false }
        #expect(third.hasEnded)
        subscription.move(to: window)
        var late = Listener(subscription)
        let gone = await #expect(throws: Problem.self) { try await late.listen { _ in false } }
        #expect(gone?.status == 404)
    }

    @Test("An invalid window is refused, also in a loop, and a window whose anchor is gone continues by position")
    func refusals() async throws {
        let server = try ServerProcess(), session = try await open(server, rows: 3)
        for (window, status, kind) in [
            (TableWindow.rows(ofSection: "nowhere"), 404, "section-not-found"), (.rows(limit: -1), 400, "bad-request"),
        ] {
            let refused = await #expect(throws: Problem.self) { try await session.snapshot(window: window) }
            #expect(refused?.status == status && refused?.kind == kind)
            var listener = Listener(session.subscribe(window: window))
            let ended = await #expect(throws: Problem.self) { try await listener.listen { _ in false } }
            #expect(ended?.kind == kind)
        }
        let lost = TableWindow.around("nobody", before: 1, after: 1)
        let refused = await #expect(throws: Problem.self) { try await session.snapshot(window: lost) }
        #expect(refused?.kind == "row-not-found")
        var listener = Listener(session.subscribe(window: lost))
        try await listener.live()
        #expect(listener.rows == ["a0", "a1", "a2"] && listener.interruptions.count == 1)
    }
}

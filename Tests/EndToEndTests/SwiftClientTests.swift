import BraidClient
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite(.serialized) struct SwiftClientTests {
    static func client(_ url: URL, token: String? = nil, timeout: Duration = .seconds(60), retries: Int = 6)
        -> BraidClient
    {
        // Retries wait only milliseconds: the server is near.
        BraidClient(
            url: url, token: token, timeout: timeout,
            retrying: .init(count: retries, first: .milliseconds(1), longest: .milliseconds(20)))
    }

    static func client(_ server: ServerProcess, token: String? = nil, retries: Int = 6) throws -> BraidClient {
        client(try #require(URL(string: "http://127.0.0.1:\(server.port)")), token: token, retries: retries)
    }

    private func ids(_ snapshot: Snapshot, _ section: String) -> [String?]? {
        snapshot.sections.first { $0.id == section }?.rows.map(\.id)
    }

    @Test("Each command of the Swift client has its effect, and its update leads to the server's snapshot")
    func commands() async throws {
        let server = try ServerProcess(ServerProcess.attendees)
        let client = try Self.client(server), party = client.session("party")
        var shown = try await party.snapshot()
        guard case .object(var description) = try await party.table() else { throw Unexpected() }
        description["state"] = ["mood": "new"]
        let commands: [SessionCommand] = [
            .delete(.row(1, in: "attending")), .move(.id("Yvonne"), to: .row(0, in: "attending")),
            .patchModels(["invited": [["name": "Zoe"], ["name": "Ann"]]]),
            .patchHeaders(["invited": "PERHAPS"]), .patchFooters(["attending": "At seven"]),
            .patchState(["mood": "good"]),
            .setDisplayedSections(["invited", "attending"]),
            .move(RowPath(section: 1, row: 0), to: RowPath(section: 2, row: 0)),
            .transaction([["edits": ["delete": ["id": "Sara"]]], ["state": ["mood": .null]]]), .tap(.path(0, 0)),
            .displayed([.idInSection("Zoe", section: "invited")]), .setTable(.object(description)),
            .setTable(version: 1, discarding: ["invited"]), .reset,
        ]
        for command in commands {
            let answer = try await party.perform(command)
            shown = try answer.update.applied(to: shown)
            #expect(try await party.snapshot() == shown, "\(command)")
        }
        #expect(ids(shown, "attending") == ["Jonathan", "Omar", "Sara"])
        #expect(try await party.summary().revision == shown.revision)
        let journal = try await party.journal()
        #expect(journal.records.count == shown.revision && journal.records.first?.command["edits"] != nil)
        #expect(
            try await String(decoding: party.journalFile(), as: UTF8.self).split(separator: "\n").count == shown
                .revision + 1)
        guard case .updates(let updates, let last) = try await party.updates(since: 0) else { throw Unexpected() }
        #expect(updates.count == shown.revision && last.revision == shown.revision)
        #expect(try await party.updates(since: Position(epoch: "another", revision: 0)) == .snapshot(shown))
        #expect(
            try await party.updates(since: shown.position, waiting: .seconds(1)) == .updates([], to: shown.position))
        #expect(
            try await ids(party.snapshot(window: .rows(offset: 1, limit: 1, ofSection: "attending")), "attending") == [
                "Omar"
            ])
    }

    @Test("The Swift client can fork a session, and read its snapshots at earlier positions")
    func forks() async throws {
        let server = try ServerProcess(ServerProcess.attendees), client = try Self.client(server)
        let party = client.session("party"), first = try await party.snapshot()
        try await party.perform(.delete(.id("Omar")))
        let second = try await party.snapshot()
        #expect(try await party.snapshot(at: 0) == first)
        #expect(try await party.snapshot(at: second.position) == second)
        let window = try await party.snapshot(window: .rows(limit: 1, ofSection: "attending"), at: first.position)
        #expect(ids(window, "attending") == Array(try #require(ids(first, "attending")).prefix(1)))
        let (fork, opened) = try await client.openSession(["from": ["session": "party"], "id": "fork"])
        #expect(fork.id == "fork" && opened.sections == second.sections && opened.revision == 0)
        let (_, earlier) = try await client.openSession(["from": ["session": "party", "revision": 0]])
        #expect(earlier.sections == first.sections)
        await #expect {
            _ = try await party.snapshot(at: Position(epoch: "another", revision: 0))
        } throws: {
            ($0 as? Problem)?.kind == "revision-not-available" && ($0 as? Problem)?.status == 410
        }
    }

    private struct Unexpected: Error {}

    @Test("The Swift client can make all calls of the data source, on rows and on sections")
    func dataSource() async throws {
        let server = try ServerProcess(), client = try Self.client(server)
        let (list, opened) = try await client.openSession(["rows": [["id": "a"], ["id": "b"]]])
        #expect(opened.session == list.id && opened.sections.map(\.rowCount) == [2])
        func shown() async throws -> [String] {
            try await list.snapshot().sections.map { $0.rows.compactMap(\.id).joined() }
        }
        let added = try await list.perform(.addRow(["id": "c"], at: .path(0, 1)))
        #expect(added.outcome == .applied && added.notification == ["section": 0])
        try await list.perform(.updateRow(["id": "A"], at: RowPath(section: 0, row: 0)))
        try await list.perform(.updateRows([(at: .path(0, 1), model: ["id": "C"])]))
        #expect(try await shown() == ["ACb"])
        #expect(try await list.model(at: RowPath(section: 0, row: 2)) == ["id": "b"])
        try await list.perform(.removeRow(at: RowPath(section: 0, row: 2)))
        try await list.perform(.addSection(["rows": [["id": "d"]]]))
        try await list.perform(.updateRows([["id": "e"], ["id": "f"]], ofSection: 1))
        try await list.perform(.updateSectionData(["header": "E"], at: 1))
        #expect(try await list.sectionData(at: 1)["header"] == "E")
        try await list.perform(.addRow(["id": "hidden"], at: .path(0, 0), notify: false))
        #expect(try await shown() == ["AC", "ef"])
        try await list.perform(.updateSection(["rows": [["id": "g"]]], at: 0))
        try await list.perform(.registerCell("Cell", forModelType: "object"))
        #expect(try await shown() == ["g", "ef"])
        try await list.perform(.removeSection(at: 0))
        try await list.perform(.updateAllSections([["rows": [["id": "h"]]]]))
        #expect(try await shown() == ["h"])
        let id = try #require(try await list.snapshot().sections.first?.id)
        let put = try await list.perform(.putRows([["id": "h", "n": 1], ["id": "i"]], at: .start, inSection: id))
        #expect(put.rows?.section == id && put.rows?.inserted == 1 && put.rows?.replaced == 1)
        try await list.perform(.insertRows([["id": "j"], ["id": "k"]], at: .after("i"), inSection: id))
        #expect(try await shown() == ["ijkh"])
        #expect(try await list.perform(.removeRow(at: RowPath(section: 9, row: 9))).outcome == .ignored)
        try await list.perform(.removeAllSections())
        #expect(try await shown() == [])
    }

    @Test("The Swift client can list, create and end tables and sessions, and a refusal names the fault and its place")
    func tables() async throws {
        let server = try ServerProcess(ServerProcess.attendees), client = try Self.client(server)
        try await client.checkHealth()
        guard case .object(var description) = try await client.table("attendees") else { throw Unexpected() }
        description["table"] = "guests"
        #expect(try await client.putTable("guests", .object(description)).version == 1)
        #expect(try await client.tables().contains { $0.table == "guests" })
        let taken = await #expect(throws: Problem.self) {
            try await client.putTable("guests", .object(description), onlyIfNew: true)
        }
        #expect(taken?.kind == "etag-mismatch")
        #expect(try await client.versions(ofTable: "guests").map(\.version) == [1])
        #expect(try await client.table("guests", version: 1) == .object(description))
        #expect(try await client.validate(.object(description)).isEmpty)
        #expect(
            try await client.validate([
                "table": "x", "cells": ["C": [:]], "bindings": [["cell": "C", "header": "${titel}"]],
            ]).first?.pointer == "/bindings/0/header")
        let (guests, opened) = try await client.openSession(["table": "guests"])
        #expect(try await client.sessions(of: "guests").sessions.map(\.tableVersion) == [1])
        let page = try await client.sessions(limit: 1)
        let next = try #require(page.next)
        #expect(try await !client.sessions(after: next).sessions.isEmpty)
        #expect(
            try await client.diff(from: opened, to: Snapshot(state: opened.state)).stages.first?.deleteSections == [
                0, 1, 2,
            ])
        #expect(try await client.render("${name}!", context: ["name": "Omar"]) == "Omar!")
        try await guests.end()
        let ended = await #expect(throws: Problem.self, "it was gone before") { try await guests.end() }
        #expect(ended?.status == 404)
        try await client.deleteTable("guests")
        let gone = await #expect(throws: Problem.self) { try await guests.snapshot() }
        #expect(gone?.status == 404 && gone?.kind == "session-not-found")
        let refused = await #expect(throws: Problem.self) {
            try await client.session("party").perform(.delete(.row(0, in: "invited")))
        }
        #expect(refused?.status == 403 && refused?.kind == "editing-not-allowed" && refused?.requestID != nil)
        let invalid = await #expect(throws: Problem.self) {
            try await client.validate(["table": "x", "bindings": [["on": 1]]])
        }
        #expect(invalid?.errors.first?.pointer.hasPrefix("/bindings/0") == true)
        let escaped = await #expect(throws: Problem.self) { try await client.session("ü /?#").snapshot() }
        #expect(escaped?.instance == "/v1/sessions/%C3%BC%20%2F%3F%23/snapshot")
        await #expect(throws: ConnectionFailure.self) {
            try await Self.client(#require(URL(string: "http://127.0.0.1:1")), retries: 2).tables()
        }
    }

    @Test(
        "The Swift client can send a command with a base, with an idempotency key, and as a dry run")
    func bases() async throws {
        let server = try ServerProcess(ServerProcess.attendees), party = try Self.client(server).session("party")
        let old = try await party.snapshot()
        try await party.perform(.delete(.row(0, in: "attending")))
        let dry = try await party.perform(.delete(.row(2, in: "attending")), base: old.position, dryRun: true)
        #expect(dry.outcome == .applied && dry.at == RowPath(section: 1, row: 1))
        let first = try await party.perform(.delete(.row(2, in: "attending")), base: old.position, key: "once")
        #expect(try await party.perform(.delete(.row(2, in: "attending")), base: old.position, key: "once") == first)
        #expect(try await ids(party.snapshot(), "attending") == ["Omar"])
        let late = await #expect(throws: Problem.self) {
            try await party.perform(.tap(.id("Omar")), ifMatch: old.position)
        }
        #expect(late?.status == 412)
    }

    @Test("If the network loses requests and answers, each command of the Swift client is still applied once")
    func losses() async throws {
        let server = try ServerProcess(), random = Mutex(SeededGenerator(seed: 8))
        let proxy = try LossyProxy(to: server.port) { toServer in
            random.withLock { random in
                Int.random(in: 0..<10, using: &random) < 3
                    ? (toServer || Bool.random(using: &random) ? .lose : .tear) : .pass
            }
        }
        let (list, _) = try await Self.client(proxy.url, retries: 100).openSession(["id": "list", "rows": []])
        var count = 0
        while count < 40 || proxy.lost <= 20 {
            let answer = try await list.perform(.addRow(["id": .integer(count)], at: .path(0, count)))
            count += 1
            #expect(answer.revision == count)
        }
        let stored = try await Self.client(server).session("list").snapshot()
        #expect(stored.sections.first?.rows.map(\.id) == (0..<count).map { String($0) })
        try await list.end()
    }
}

import BraidClient
import Foundation
import TestSupport
import Testing

/// Undo, redo, who acted, and who is present.
@Suite(.serialized) struct SwiftClientPeopleTests {
    private static let table: JSON = [
        "table": "tasks", "authors": true, "undo": "own", "cells": ["C": [:]],
        "bindings": [
            [
                "cell": "C", "models": [["id": "a"], ["id": "b"]], "editing": "delete",
                "onTap": [["setState": ["tapped": ["$eval": "model.id"]]]],
            ]
        ],
    ]

    private struct Unexpected: Error {}

    private func ids(_ session: BraidSession) async throws -> [String?] {
        try await session.snapshot().sections.flatMap { $0.rows.map(\.id) }
    }

    /// A participant's session.
    private func participant(_ user: String, of session: BraidSession) async throws -> BraidSession {
        let made = try await session.makeToken(
            .participant, expiringIn: 600, user: user, name: user.capitalized, claims: ["team": "red"])
        #expect(made.user == user && made.claims == ["team": "red"])
        return SwiftClientTests.client(session.client.url, token: made.token).session(session.id)
    }

    @Test("Everybody can undo and redo their own commands, and updates say whose they are")
    func undo() async throws {
        let server = try ServerProcess(environment: ["BRAID_TOKEN": "secret"])
        let controller = try SwiftClientTests.client(server, token: "secret")
        let (tasks, _) = try await controller.openSession(["table": Self.table])
        let kim = try await participant("kim", of: tasks), lee = try await participant("lee", of: tasks)
        try await kim.perform(.delete(.id("a")))
        try await lee.perform(.delete(.id("b")))
        #expect(try await kim.perform(.undo, dryRun: true).revision == 3)
        let undone = try await kim.perform(.undo)
        #expect(undone.update.by == .init(id: "kim", name: "Kim"))
        #expect(try await ids(tasks) == ["a"])
        #expect(try await kim.perform(.undo).outcome == .ignored)
        try await kim.perform(.redo)
        #expect(try await tasks.perform(.undo(revision: 2)).update.by == nil)
        #expect(try await ids(tasks) == ["b"])
        try await tasks.perform(.redo(revision: 5))
        let refusal = await #expect(throws: Problem.self) { try await kim.perform(.undo(revision: 2)) }
        #expect(refusal?.kind == "undo-not-allowed")
        try await lee.perform(.undo)
        var events = tasks.subscribe().makeAsyncIterator()
        func next<Value>(_ wanted: (SessionEvent) -> Value?) async throws -> Value {
            while let event = try await events.next() { if let value = wanted(event) { return value } }
            throw Unexpected()
        }
        try await next { if case .live = $0 { () } else { nil } }
        try await lee.perform(.tap(.id("b")))
        let tap = try await next { if case .tap(let tap) = $0 { tap } else { nil } }
        #expect(tap.by == .init(id: "lee", name: "Lee", role: .participant))
        let update = try await next { if case .update(let update, _, _) = $0 { update } else { nil } }
        #expect(update.by == .init(id: "lee", name: "Lee"))
        try await tasks.perform(.patchState(["tapped": "nothing"]))
        let conflict = await #expect(throws: Problem.self) { try await lee.perform(.undo(revision: 8)) }
        #expect(conflict?.kind == "undo-conflict" && conflict?.errors.first?.pointer == "/state/tapped")
        let record = try #require(try await tasks.journal(limit: 1).records.first)
        #expect(record.by == .init(id: "kim", name: "Kim", role: .participant, claims: ["team": "red"]))
    }

    @Test("Subscribers see who comes, changes and leaves, and a client is present again after the server's restart")
    func presence() async throws {
        let directory = try TemporaryDirectory(), database = directory.path("braid.sqlite")
        let environment = ["BRAID_TOKEN": "secret"]
        var server = try ServerProcess(database: database, environment: environment)
        let port = String(server.port)
        func restart() throws {
            server.kill()
            server = try ServerProcess(database: database, ["--port", port], environment: environment)
        }
        let controller = try SwiftClientTests.client(server, token: "secret", retries: 1_000)
        let (tasks, _) = try await controller.openSession(["table": Self.table])
        let kim = try await participant("kim", of: tasks)
        // Keeps Kim present.
        let own = Task { for try await _ in kim.subscribe(window: .rows(limit: 1), presence: true) {} }
        defer { own.cancel() }
        var events = tasks.subscribe(presence: true).makeAsyncIterator()
        func present(_ holds: ([BraidSession.PresentClient]) -> Bool) async throws
            -> [BraidSession.PresentClient]
        {
            while let event = try await events.next() {
                if case .presence(let present) = event, holds(present) { return present }
            }
            throw Unexpected()
        }
        #expect(try await present { _ in true } == [])
        let me = try await kim.setPresence(at: .path(0, 0), data: ["typing": true])
        #expect(me.user == .init(id: "kim", name: "Kim") && me.role == .participant)
        #expect(me.at?.id == "a" && me.data == ["typing": true])
        #expect(try await present { !$0.isEmpty } == [me])
        #expect(try await tasks.presence() == [me])
        let mine = try await tasks.setPresence()
        try await kim.setPresence(at: .id("b"))
        let both = try await present { $0.count == 2 && $0.first?.at?.id == "b" }
        #expect(both.map(\.id) == [me.id, mine.id], "a changed one keeps its place")
        try await tasks.leavePresence()
        _ = try await present { $0.count == 1 }
        try restart()
        // The new server knows of nobody at first.
        _ = try await present { $0.first?.at?.id == "b" }
        try await tasks.perform(.delete(.id("b")))
        try restart()
        #expect(try await present { $0.first.map { $0.at == nil } == true }.first?.id == me.id)
        try await kim.leavePresence()
        _ = try await present { $0.isEmpty }
    }
}

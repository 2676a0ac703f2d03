import BraidStore
import Foundation
import TestSupport
import Testing

@testable import BraidEngine
@testable import BraidSessions

@Suite("Forks, and tables at earlier revisions") struct ForkTests {
    /// At revision 0, so that sessions can be compared.
    private static func content(_ snapshot: Snapshot) -> String {
        var snapshot = snapshot
        snapshot.revision = 0
        return String(decoding: snapshot.encoded(session: nil, table: nil, epoch: nil), as: UTF8.self)
    }

    private static func fork(_ sessions: SessionHost, as id: String, at revision: Int?) async throws -> Session {
        let revision = revision.map { #","revision":\#($0)"# } ?? ""
        let body = try JSONText(parsing: #"{"from":{"session":"s"\#(revision)},"id":"\#(id)"}"#)
        return try await sessions.open(SessionOpening(body), text: body).session
    }

    /// Random commands, resets and bindings to other versions; `after` each of them.
    private static func perform(
        _ count: Int, on id: String, _ sessions: SessionHost, _ random: inout SeededGenerator,
        after: (Session) async throws -> Void
    ) async throws {
        for step in 0..<count {
            let text = try JSONText(parsing: RestartTests.command(step, &random))
            do {
                if step % 13 == 12 {
                    _ = try await sessions.execute(.reset(id))
                } else {
                    _ = try await sessions.execute(
                        CommandRequest(session: id, try Command(json: text), text: text))
                }
            } catch is Refusal {}
            try await RestartTests.rebind(sessions, of: id, step, &random)
            try await after(try await sessions.session(id))
        }
    }

    @Test("A reset of a fork that was bound to another version keeps the fork's displayed sections that are left")
    func resetDisplay() async throws {
        func table(_ sections: String) -> String {
            #"{"table":"t","sections":\#(sections),"cells":{"C":{}},"bindings":[{"on":"allOtherSections","cell":"C"}]}"#
        }
        let store = try SQLiteStore(path: ":memory:"), sessions = RestartTests.sessions(store)
        let body = try JSONText(parsing: #"{"id":"s","table":\#(table(#"["a","b","c"]"#))}"#)
        _ = try await sessions.open(SessionOpening(body), text: body)
        let displayed = try JSONText(parsing: #"{"displayedSections":["c","a"]}"#)
        _ = try await sessions.execute(
            CommandRequest(session: "s", try Command(json: displayed), text: displayed))
        for (id, version, left) in [("f", #"["a","b"]"#, ["a"]), ("g", #"["b"]"#, [])] {
            _ = try await Self.fork(sessions, as: id, at: nil)
            let rebinding = try Rebinding(JSONText(parsing: #"{"table":\#(table(version))}"#))
            for request in [CommandRequest(session: id, .rebind(rebinding), text: .null), .reset(id)] {
                _ = try await sessions.execute(request)
                #expect(try await sessions.session(id).current.snapshot.sections.map(\.id.text) == left)
            }
        }
        await store.close()
    }

    @Test(
        "The table at each earlier revision is what clients saw, and a fork of it works like any session",
        arguments: RestartTests.tables, ["memory", "file"])
    func everyRevision(table: String, place: String) async throws {
        var random = SeededGenerator(seed: UInt64(table.utf8.count))
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("forks-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let path = place == "memory" ? ":memory:" : directory.path + "/braid.sqlite"
        let store = try SQLiteStore(path: path, options: StoreOptions(journalLimit: 40))
        let sessions = RestartTests.sessions(store)
        try await RestartTests.register(store)
        let body = try JSONText(parsing: table.dropLast() + #","id":"s"}"#)
        // By revision.
        var seen = [try await sessions.open(SessionOpening(body), text: body).session.current.snapshot]
        try await Self.perform(50, on: "s", sessions, &random) { session in
            // A step can create several revisions, of which only the last is known: the others get an empty snapshot.
            let snapshot = session.current.snapshot
            while seen.count < snapshot.revision { seen.append(Snapshot(revision: -1)) }
            if seen.count == snapshot.revision { seen.append(snapshot) }
        }
        let original = try await sessions.session("s"), last = original.current.snapshot.revision
        try #require(last > 15)
        let before = RestartTests.text(original), stored = original.storedSnapshot.encoded()
        var available = 0
        for revision in stride(from: last, through: 0, by: -3) {
            let past: SessionTable
            do {
                past = try await original.table(atRevision: revision)
            } catch let error as SessionError {
                #expect(error.code == .revisionNotAvailable && revision < last - 5)
                continue
            }
            available += 1
            if seen[revision].revision == revision {
                #expect(past.snapshot.revision == revision)
                #expect(past.snapshot.encoded() == seen[revision].encoded(), "revision \(revision)")
            }
            let id = "f\(revision)", fork = try await Self.fork(sessions, as: id, at: revision == last ? nil : revision)
            #expect(fork.position.revision == 0 && fork.epoch != original.epoch)
            #expect(fork.current.unpublished == nil)
            if !past.bound.binder.readsNow {
                #expect(Self.content(fork.current.snapshot) == Self.content(past.snapshot))
            }
            let opened = fork.current.model
            try await Self.perform(12, on: id, sessions, &random) { session in
                // As read from the database.
                let again = try await RestartTests.sessions(store).session(id)
                #expect(RestartTests.text(again) == RestartTests.text(session), "\(id)")
                #expect(again.storedSnapshot.encoded() == session.storedSnapshot.encoded(), "\(id)")
                #expect(again.current.model.nextKey == session.current.model.nextKey)
            }
            // Its journal replays without the original's data.
            let opening = try #require(try await store.opening(id))
            let records = try await store.journal(of: opening.summary.number, after: 0, limit: 1000, bytes: .max)
            #expect(
                try JournalFile.replay(
                    [JournalFile.opening(of: opening, checkpoint: nil)] + records.map { JournalFile.lines(of: [$0]) })
                    == (try await sessions.session(id)).displayed.encodedSnapshot().bytes.plain)
            // With its first description, a reset restores the table of the fork's opening.
            _ = try await sessions.execute(.reset(id))
            let reset = try await sessions.session(id).current
            if reset.bound.description?.text == past.bound.description?.text {
                #expect(reset.model.content == opened.content, "\(id)")
            }
        }
        #expect(available > 4)
        // The original is unchanged.
        let after = try await sessions.session("s")
        #expect(RestartTests.text(after) == before && after.storedSnapshot.encoded() == stored)
        // A fork outlives its original.
        try await sessions.end("s")
        let fork = "f\(last)", text = RestartTests.text(try await sessions.session(fork))
        #expect(RestartTests.text(try await RestartTests.sessions(store).session(fork)) == text)
        await store.close()
    }

    @Test("A fork shares its rows in memory with the original session until one of the two changes a row")
    func sharing() async throws {
        let store = try SQLiteStore(path: ":memory:"), sessions = RestartTests.sessions(store)
        let rows = (0..<5_000).map { #"{"id":"\#($0)"}"# }.joined(separator: ",")
        let body = try JSONText(parsing: #"{"rows":[\#(rows)],"id":"s"}"#)
        let original = try await sessions.open(SessionOpening(body), text: body).session
        let fork = try await Self.fork(sessions, as: "f", at: nil)
        func isShared() -> Bool {
            let first = original.current, second = fork.current
            return first.snapshot.sections[0].rows.isShared(with: second.snapshot.sections[0].rows)
                && first.model.sections[0].rows.isShared(with: second.model.sections[0].rows)
        }
        #expect(isShared())
        let text: JSONText = try JSONText(parsing: #"{"dataSource":{"removeRow":{"at":[0,7]}}}"#)
        _ = try await sessions.execute(CommandRequest(session: "f", try Command(json: text), text: text))
        #expect(!isShared() && fork.current.snapshot.totalRowCount == 4_999)
        #expect(original.current.snapshot.totalRowCount == 5_000)
        await store.close()
    }

    @Test("A revision in the future and a revision that the journal no longer contains are refused")
    func refusals() async throws {
        let store = try SQLiteStore(path: ":memory:", options: StoreOptions(journalLimit: 2))
        let sessions = RestartTests.sessions(store)
        let body: JSONText = try JSONText(parsing: #"{"rows":["a"],"id":"s"}"#)
        _ = try await sessions.open(SessionOpening(body), text: body)
        for number in 1...5 {
            let text = try JSONText(parsing: #"{"patchState":{"n":\#(number)}}"#)
            _ = try await sessions.execute(CommandRequest(session: "s", try Command(json: text), text: text))
        }
        let session = try await sessions.session("s")
        for (position, code) in [
            ("6", SessionError.Code.badRequest), ("2", .revisionNotAvailable), ("0", .revisionNotAvailable),
            ("other.5", .revisionNotAvailable), ("\(session.epoch).2", .revisionNotAvailable),
        ] {
            do {
                _ = try await session.displayed.table(at: Position(position), seenBy: Looker(.controller))
                Issue.record("\(position) is available")
            } catch let error as SessionError {
                #expect(error.code == code, "\(position)")
            }
        }
        for position in ["5", "4", "3", "\(session.epoch).4"] {
            let number = Int(position.suffix(1))
            let snapshot = try await session.displayed.table(at: Position(position), seenBy: Looker(.controller))
                .snapshot
            #expect(snapshot.state["n"]?.intValue == number && snapshot.revision == number)
        }
        await #expect(throws: SessionError.self) { _ = try await Self.fork(sessions, as: "f", at: 9) }
        #expect(try await store.sessionSummary("f") == nil)
        await store.close()
    }
}

extension TableModel {
    /// Without internal numbers and ranks.
    fileprivate var content: [String] {
        sections.map { section in
            "\(section.id) \(section.summary.header?.text ?? "-") \(section.summary.footer?.text ?? "-") "
                + "\(section.summary.prefetched ?? -1) \(section.rows.map { "\($0.id?.text ?? "-") \($0.model.text)" })"
        } + [state.text, "\(displayedSections.map { $0.map(\.text) } ?? [])", cells.json.text]
    }
}

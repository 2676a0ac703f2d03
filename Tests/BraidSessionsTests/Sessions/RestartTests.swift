import BraidStore
import TestSupport
import Testing

@testable import BraidEngine
@testable import BraidSessions

/// Restarts and replays: what is read from the database must be what was in memory, byte for byte, unpublished changes
/// included.
@Suite struct RestartTests {
    static let tables = [
        #"{"rows":[{"id":1},"two"]}"#,
        #"{"sections":[{"header":"A","rows":[{"id":"a"},{"id":"b"}]},{"rows":[]}],"cellsForModelTypes":{"object":"C"},"empty":{"text":"none", "n":1.0}}"#,
        #"{"table":{"table":"t","sections":"dynamic","cells":{"C":{}},"empty":"none","bindings":[{"on":"allOtherSections","cell":"C","models":{"x":[{"id":"a"}]},"viewModel":{"$eval":"now"},"header":"${section} ${count}","editing":"delete"}]}}"#,
        #"{"table":"t","models":{"x":[{"id":"o","n":1},{"id":"b","n":2}]},"state":{"own":1}}"#,
        #"{"table":{"table":"t","sections":["x","d"],"sectionDisplay":{"behavior":"hidesSectionsWithNoData"},"cells":{"C":{},"D":{}},"cellsForModelTypes":{"object":"C","string":"C"},"bindings":[{"on":{"section":"x"},"cell":{"byModelType":true},"models":[{"id":"a"},{"id":"b"}],"shown":"model.id != 'h'","editing":"delete"},{"on":{"section":"d"},"cell":"C","numberOfCells":"len(models.x)"}]}}"#,
    ]

    /// Of the table `t`. Sections come and go and become dynamic, ids change or disappear, models stop fitting.
    private static let versions = [
        #"{"table":"t","sections":["x"],"state":{"a":1},"cells":{"C":{}},"bindings":[{"on":"allOtherSections","cell":"C","models":{"x":[{"id":"v"}]},"viewModel":{"$eval":"now"},"editing":"delete"}]}"#,
        #"{"table":"t","sections":["y","x"],"state":{"b":2},"modelTypes":{"M":{"id":null}},"cells":{"D":{}},"bindings":[{"on":"allOtherSections","modelType":"M","cell":"D","models":{"y":[{"id":"w"}]},"header":"${section}","editing":"delete"}]}"#,
        #"{"table":"t","sections":"dynamic","modelTypes":{"M":{"id":"/n","schema":{"properties":{},"optionalProperties":{"id":{"type":"string"},"n":{}}}}},"cells":{"C":{}},"bindings":[{"on":"allOtherSections","modelType":"M","cell":"C","editing":"delete"}]}"#,
    ]

    static func register(_ store: SQLiteStore) async throws {
        for (index, version) in versions.enumerated() {
            try await store.putTable("t", description: JSONText(parsing: version), at: index)
        }
    }

    /// Every fifth step, to a random one of `versions`, if the session has a description.
    static func rebind(
        _ sessions: SessionHost, of id: String = "s", _ step: Int, _ random: inout SeededGenerator
    ) async throws {
        guard step % 5 == 4, try await sessions.session(id).table != nil else { return }
        let number = Int.random(in: 1...versions.count, using: &random)
        let source = Bool.random(using: &random) ? #""version":\#(number)"# : #""table":\#(versions[number - 1])"#
        let discard = Bool.random(using: &random) ? #""x","y","d","s1","s2","s3""# : ""
        let rebinding = try Rebinding(JSONText(parsing: "{\(source),\"discard\":[\(discard)]}"))
        do {
            _ = try await sessions.execute(CommandRequest(session: id, .rebind(rebinding), text: .null))
        } catch let refusal as Refusal {
            #expect(refusal.code == .modelsDoNotFit, "\(refusal.detail)")
        }
    }

    @Test(
        "A restart of the server changes nothing in a session, and replaying the journal gives the same snapshot",
        arguments: tables, 0..<3)
    func restarts(table: String, seed: Int) async throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let store = try SQLiteStore(path: ":memory:")
        let body = try JSONText(parsing: table.dropLast() + #","id":"s"}"#)
        var sessions = Self.sessions(store)
        try await Self.register(store)
        _ = try await sessions.open(SessionOpening(body), text: body)
        var kept = 0, applied = 0
        for step in 0..<100 {
            let text = try JSONText(parsing: Self.command(step, &random))
            if step % 40 == 39 {
                _ = try await sessions.execute(.reset("s"))
            }
            try await Self.rebind(sessions, step, &random)
            do {
                let execution = try await sessions.execute(
                    CommandRequest(session: "s", try Command(json: text), text: text))
                if execution.outcome.kind == .applied { applied += 1 }
                if execution.session.current.unpublished != nil { kept += 1 }
            } catch is Refusal {}
            let before = try await sessions.session("s")
            sessions = Self.sessions(store)
            let after = try await sessions.session("s")
            #expect(Self.text(after) == Self.text(before), "after \(text)")
            #expect(after.position == before.position)
            #expect(after.storedSnapshot.encoded() == before.storedSnapshot.encoded())
            #expect((after.current.unpublished == nil) == (before.current.unpublished == nil))
            #expect(
                after.current.model.nextKey == before.current.model.nextKey
                    && after.current.model.nextSection == before.current.model.nextSection)
        }
        #expect(applied > 8 && kept > 2)
        // A replay from the opening gives the same, byte for byte.
        let stored = try #require(try await store.opening("s"))
        let records = try await store.journal(of: stored.summary.number, after: 0, limit: 1000, bytes: .max)
        var lines = [JournalFile.opening(of: stored, checkpoint: nil)] + records.map { JournalFile.lines(of: [$0]) }
        #expect(
            try JournalFile.replay(lines) == (try await sessions.session("s")).displayed.encodedSnapshot().bytes.plain)
        lines.remove(at: 1)
        #expect(throws: JournalFault.self) { try JournalFile.replay(lines) }
        await store.close()
    }

    @Test(
        "Replaying a trimmed journal from its checkpoint gives the same snapshot, byte for byte, after each command",
        arguments: tables, 0..<6)
    func aTrimmedJournalIsReplayed(table: String, seed: Int) async throws {
        var random = SeededGenerator(seed: UInt64(100 + seed))
        let store = try SQLiteStore(path: ":memory:", options: StoreOptions(journalLimit: 1 + seed))
        let body = try JSONText(parsing: table.dropLast() + #","id":"s"}"#), sessions = Self.sessions(store)
        try await Self.register(store)
        _ = try await sessions.open(SessionOpening(body), text: body)
        var cuts = 0, beforeEnd = 0
        for step in 0..<100 {
            // Sometimes a transaction of three commands, or a reset.
            var commands = (0...[0, 0, 0, 2][step % 4]).map { Self.command(step * 10 + $0, &random) }
            if step % 40 == 39 { commands = [] }
            let text = try JSONText(
                parsing: commands.count == 1
                    ? commands[0]
                    : commands.isEmpty
                        ? #"{"reset":{}}"# : #"{"transactions":{"commands":[\#(commands.joined(separator: ","))]}}"#)
            do {
                _ = try await sessions.execute(
                    CommandRequest(session: "s", try Command(journalText: text), text: text))
            } catch is Refusal {}
            try await Self.rebind(sessions, step, &random)
            let stored = try #require(try await store.opening("s")), checkpoint = try await store.journalStart(of: "s")
            let start = checkpoint?.summary.revision ?? 0
            let records = try await store.journal(of: stored.summary.number, after: start, limit: 1000, bytes: .max)
            if checkpoint != nil { cuts += 1 }
            if !records.isEmpty { beforeEnd += 1 }
            #expect(records.count == stored.summary.revision - start)
            let lines =
                [JournalFile.opening(of: stored, checkpoint: checkpoint)] + records.map { JournalFile.lines(of: [$0]) }
            #expect(
                try JournalFile.replay(lines)
                    == (try await sessions.session("s")).displayed.encodedSnapshot().bytes.plain,
                "step \(step): \(text)")
        }
        #expect(cuts > 5 && beforeEnd > 5)
        await store.close()
    }

    static func text(_ session: Session) -> String {
        String(decoding: session.displayed.encodedSnapshot().bytes.plain, as: UTF8.self)
    }

    static func sessions(_ store: SQLiteStore) -> SessionHost {
        SessionHost(store: store)
    }

    static func command(_ step: Int, _ random: inout SeededGenerator) -> String {
        func number(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &random) }
        func path() -> String { "[\(number(3)),\(number(4))]" }
        func model() -> String { #"{"id":"\#(["a", "b", "h", "n\(step)"][number(4)])"}"# }
        let notify = #""notify":\#(number(4) == 0)"#
        let section = #"{"header":"H\#(number(3))","rows":[\#(model())]}"#
        let call =
            switch number(14) {
            case 0...3: #"{"addRow":{"at":\#(path()),"model":\#(model()),\#(notify)}}"#
            case 4: #"{"updateRow":{"at":\#(path()),"model":\#(model()),\#(notify)}}"#
            case 5: #"{"removeRow":{"at":\#(path()),\#(notify)}}"#
            case 6: #"{"addSection":{"section":\#(section),"at":\#(number(3)),\#(notify)}}"#
            case 7: #"{"updateSectionData":{"at":\#(number(3)),"footer":"F\#(number(3))",\#(notify)}}"#
            case 8: #"{"updateSection":{"at":\#(number(3)),"rows":[\#(model()),"t"],\#(notify)}}"#
            case 9: #"{"removeSection":{"at":\#(number(3)),\#(notify)}}"#
            case 10: #"{"updateRowsOfSection":{"at":\#(number(3)),"rows":[\#(model()),{"id":"z"}],\#(notify)}}"#
            case 11:
                #"{"insertRow":{"section":\#(number(3)),"at":\#(number(2)),"models":[\#(model()),{"id":"y\#(step)"}],\#(notify)}}"#
            case 12:
                #"{"putRows":{"section":\#(number(3)),"models":[\#(model()),{"id":"z","n":\#(step)}],"move":\#(number(2) == 0),\#(notify)}}"#
            default:
                number(3) == 0
                    ? #"{"registerCell":{"modelType":"object","cell":"\#(["C", "D"][number(2)])"}}"#
                    : #"{"updateAllSections":{"sections":[\#(section),\#(section)],\#(notify)}}"#
            }
        switch number(10) {
        case 0: return #"{"delete":{"section":\#(number(2)),"row":\#(number(2))}}"#
        case 1: return #"{"displayedSections":["s\#(1 + number(3))"]}"#
        default: return #"{"dataSource":\#(call)}"#
        }
    }
}

extension CommandRequest {
    static func reset(_ session: String) -> CommandRequest {
        CommandRequest(session: session, .reset(to: nil), text: JSONText(object: [("reset", .emptyObject)]))
    }
}

import Foundation
import TestSupport
import Testing

@testable import BraidEngine

@Suite struct RebindingTests {
    private static func description(
        sections: String = #"["a","b"]"#, models: String = #"{"a":[{"id":1,"n":"x"},{"id":2,"n":"y"}],"b":[{"id":3}]}"#,
        state: String = "{}", type: String = "{}", binding: String = #""viewModel":"${model.id}""#
    ) throws -> TableDescription {
        try TableDescription(
            stored: JSONText(
                parsing:
                    #"{"table":"t","sections":\#(sections),"state":\#(state),"modelTypes":{"M":\#(type)},"cells":{"C":{},"D":{}},"bindings":[{"on":"allOtherSections","cell":"C","modelType":"M","models":\#(models),\#(binding)}]}"#
            ))
    }

    private static func played(_ description: TableDescription) throws -> Played {
        try Played(binder: description.binder, table: description.openingTable())
    }

    private func models(_ table: TableModel) -> [String] {
        table.sections.map { section in "\(section.id)\(section.rows.map(\.model.text))" }
    }

    @Test("A new version of a description keeps each section's models, and the update contains only changed rows")
    func modelsStay() throws {
        var session = try Self.played(Self.description())
        try session.perform(
            .setModels([(section: "a", models: [#"{"id":2,"n":"y"}"#, #"{"id":9,"n":"z"}"#])], merging: true))
        let before = session.snapshot
        let new = try Self.description(
            models: "{}", binding: #""viewModel":{"$if":"model.id == 9","then":"nine","else":"${model.id}"}"#)
        let outcome = try session.perform(.rebind(Rebinding(to: new, version: 2)))
        #expect(
            models(session.table) == [#"a["{\"id\":2,\"n\":\"y\"}", "{\"id\":9,\"n\":\"z\"}"]"#, #"b["{\"id\":3}"]"#])
        #expect(outcome.update.json.text.components(separatedBy: "viewModel").count == 2, "\(outcome.update.json.text)")
        #expect(outcome.update.rowOperationCount == 0, "the row is reloaded")
        #expect(outcome.change.isEmpty, "the store writes no model")
        #expect(session.snapshot.revision == before.revision + 1)
        #expect(try outcome.update.applied(to: before).text == session.snapshot.text)
    }

    @Test("A section that a new version adds starts with its models, and sections have the new version's order")
    func newSections() throws {
        var session = try Self.played(Self.description())
        let new = try Self.description(sections: #"["b","c","a"]"#, models: #"{"b":[{"id":7}],"c":[{"id":8}]}"#)
        try session.perform(.rebind(Rebinding(to: new, version: 2)))
        #expect(
            session.snapshot.sections.map { "\($0.id)\($0.rows.map { $0.id?.text ?? "" })" } == [
                #"b["3"]"#, #"c["8"]"#, #"a["1", "2"]"#,
            ])
    }

    @Test("A list of displayed sections that a new version leaves empty displays nothing, also after a restart")
    func displayedSections() throws {
        var session = try Self.played(Self.description(models: #"{"b":[{"id":3}]}"#))
        try session.perform(.setDisplayedSections(["a"]))
        try session.perform(.rebind(Rebinding(to: Self.description(sections: #"["b"]"#, models: "{}"), version: 2)))
        #expect(session.table.displayedSections == [] && session.snapshot.sections.isEmpty)
        #expect(session.table["b"]?.rows.count == 1)
        try session.restart()
        #expect(session.snapshot.sections.isEmpty)
        try session.perform(.setDisplayedSections(["b"]))
        #expect(session.snapshot.totalRowCount == 1)
    }

    @Test("Rows whose ids would break the rule do not fit, but rows keep the ids that they have")
    func ids() throws {
        var session = try Self.played(Self.description(models: #"{"a":[{"id":"..","n":"."},{"id":2,"n":"y"}]}"#))
        func rebind(to type: String, discarding discard: Set<SectionID> = []) throws {
            var binder = session.binder
            binder.limits.checksIDs = true
            let new = try Self.description(models: "{}", type: type)
            let outcome = try binder.applying(
                .rebind(Rebinding(to: new, version: 2, discarding: discard)), to: session.table,
                shown: session.snapshot,
                unpublished: nil, now: "")
            (session.table, session.snapshot) = (outcome.table, outcome.snapshot)
        }
        try rebind(to: "{}")
        #expect(session.table["a"]?.rows.map { $0.id?.text } == ["..", "2"])
        let refusal = #expect(throws: Refusal.self) { try rebind(to: #"{"id":"/n"}"#) }
        #expect(refusal?.faults.map { "\($0.pointer) \($0.code.rawValue)" } == ["/a/0 invalid-value"])
        try rebind(to: #"{"id":"/n"}"#, discarding: ["a"])
        #expect(session.table["a"]?.rows.map { $0.id?.text } == ["y"])
    }

    @Test("State members that a new version adds get their default values, and existing members keep their values")
    func state() throws {
        var session = try Self.played(Self.description(state: #"{"kept":1,"gone":2}"#))
        try session.perform(.setState(#"{"kept":5,"own":6}"#, merging: true))
        let new = try Self.description(state: #"{"new":{"x":3},"kept":1,"own":4}"#)
        let outcome = try session.perform(.rebind(Rebinding(to: new, version: 2)))
        #expect(session.table.state == #"{"kept":5,"gone":2,"own":6,"new":{"x":3}}"#)
        #expect(outcome.change.state != nil && outcome.undo.state == #"{"kept":5,"gone":2,"own":6}"#)
    }

    static let losses: [(sections: String, type: String, faults: [String])] = [
        (#"["a"]"#, "{}", ["/b unknown-name"]),
        (#"["b"]"#, "{}", ["/a unknown-name"]),
        (#"["a","b"]"#, #"{"id":"/n"}"#, ["/b/0/n missing-member"]),
        (
            #"["a","b"]"#, #"{"schema":{"properties":{"id":{"type":"int8"},"n":{"type":"int8"}}}}"#,
            ["/a/0/n wrong-type", "/a/1/n wrong-type", "/b/0 missing-member"]
        ),
        (
            #""dynamic""#, #"{"id":"/same"}"#,
            ["/a/0/same missing-member", "/a/1/same missing-member", "/b/0/same missing-member"]
        ),
    ]

    @Test(
        "A new version that would lose models is refused with their faults, unless the command names their sections",
        arguments: losses)
    func refusesLosses(sections: String, type: String, faults: [String]) throws {
        var session = try Self.played(Self.description())
        let new = try Self.description(sections: sections, models: "{}", type: type, binding: #""editing":"delete""#)
        let before = session.snapshot.text
        let refusal = #expect(throws: Refusal.self) { try session.perform(.rebind(Rebinding(to: new, version: 2))) }
        #expect(refusal?.code == .modelsDoNotFit)
        #expect(refusal?.faults.map { "\($0.pointer) \($0.code.rawValue)" } == faults)
        #expect(session.snapshot.text == before)
        let outcome = try session.perform(.rebind(Rebinding(to: new, version: 2, discarding: ["a", "b"])))
        let anew = try new.binder.snapshot(of: session.table, revision: 1, now: RandomCommandTests.now)
        #expect(session.snapshot.text == anew.text && outcome.rebinding != nil)
    }

    @Test("If a new version gives two models the same id, binding may keep only the first model")
    func duplicates() throws {
        var session = try Self.played(
            Self.description(models: #"{"a":[{"id":1,"n":"x"},{"id":2,"n":"x"},{"id":3,"n":"y"}]}"#))
        let new = try Self.description(models: "{}", type: #"{"id":"/n"}"#)
        let refusal = #expect(throws: Refusal.self) { try session.perform(.rebind(Rebinding(to: new, version: 2))) }
        #expect(refusal?.faults.map { "\($0.pointer) \($0.code.rawValue)" } == ["/a/1 duplicate"])
        try session.perform(.rebind(Rebinding(to: new, version: 2, discarding: ["a"])))
        #expect(session.table["a"]?.rows.map { $0.id?.text } == ["x", "y"])
    }

    @Test("Binding a session to a new version publishes its unpublished changes")
    func unpublished() throws {
        var session = try Self.played(Self.description())
        try session.perform(
            .dataSource(.updateRow(#"{"id":1,"n":"hidden"}"#, at: RowReference(section: 0, row: 0)), notify: false))
        let before = session.snapshot
        let new = try Self.description(binding: #""viewModel":{"$eval":"model"}"#)
        let outcome = try session.perform(.rebind(Rebinding(to: new, version: 2)))
        #expect(session.unpublished == nil)
        #expect(try outcome.update.applied(to: before).text == session.snapshot.text)
        #expect(session.snapshot.text.contains("hidden"))
    }

    @Test("A table with more rows than a lowered limit can be bound to a new version, but must not grow")
    func limits() throws {
        var old = try Self.description(), new = try Self.description(binding: #""viewModel":1"#)
        var binder = old.binder
        binder.limits.rows = 1
        let table = try old.openingTable(), shown = try old.binder.snapshot(of: table, revision: 0, now: "")
        func rebind() throws -> Outcome {
            try binder.applying(
                .rebind(Rebinding(to: new, version: 2)), to: table, shown: shown, unpublished: nil, now: "")
        }
        #expect(try rebind().snapshot.totalRowCount == 3)
        old = new
        new = try Self.description(sections: #"["a","b","c"]"#, models: #"{"c":[{"id":7}]}"#)
        #expect(throws: Refusal.self) { try rebind() }
    }

    @Test(
        "When tables change between random versions, every update leads to the table that the new version displays",
        arguments: 0..<8)
    func randomVersions(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed)), refused = 0
        for _ in 0..<TestEffort.cases(60) {
            var (binder, table) = try RandomTable.make(&random)
            var session = try Played(binder: binder, table: table)
            for step in 0..<20 {
                guard step % 4 == 3 else {
                    let command = RandomTable.command(for: session.snapshot, binder: binder, &random)
                    do { try session.perform(command) } catch is Refusal {}
                    continue
                }
                let new = try TableDescription(RandomTable.description(&random))
                let before = session
                let all = Set(session.table.sections.map(\.id))
                let outcome: Outcome
                do {
                    outcome = try session.perform(
                        .rebind(Rebinding(to: new, version: nil, discarding: Bool.random(using: &random) ? all : [])))
                } catch let refusal as Refusal {
                    // A random template of the new version may fail with the old version's models.
                    #expect(
                        [.modelsDoNotFit, .templateFailed, .duplicateRowID].contains(refusal.code), "\(refusal.detail)")
                    refused += 1
                    continue
                }
                let anew = try new.binder.snapshot(
                    of: session.table, revision: session.snapshot.revision, now: RandomCommandTests.now)
                #expect(session.snapshot.text == anew.text && session.unpublished == nil)
                #expect(try outcome.update.applied(to: before.snapshot).text == anew.text)
                var restarted = before
                try restarted.restart()
                let again = try restarted.perform(.rebind(try #require(outcome.rebinding)))
                #expect(again.update.json == outcome.update.json, "the same update after a restart")
                binder = new.binder
                table = session.table
                let snapshot = session.snapshot
                session = try Played(binder: binder, table: table)
                session.snapshot = snapshot
            }
        }
        #expect(refused < TestEffort.cases(200))
    }
}

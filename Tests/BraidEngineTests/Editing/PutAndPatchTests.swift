import TestSupport
import Testing

@testable import BraidEngine

/// `PUT` replaces what its path names, `PATCH` merges into it.
@Suite struct PutAndPatchTests {
    static func description(_ sections: String) -> String {
        """
        {"table":"t","sections":\(sections),"state":{"x":1,"y":{"z":2}},"cells":{"C":{}},
         "bindings":[{"on":"allOtherSections","cell":"C","models":{"a":[{"id":"1"}],"b":[{"id":"2"}]},"headers":{"a":"A","b":"B"},"footers":{"a":"a","b":"b"}}]}
        """
    }

    static func counts(_ session: Played) -> [String: Int] {
        Dictionary(uniqueKeysWithValues: session.table.sections.map { ($0.id.text, $0.rows.count) })
    }

    static let both = [#"["a","b"]"#, #""dynamic""#]

    @Test(
        "PUT of models empties the sections that it does not name, and PATCH keeps their models",
        arguments: both)
    func models(sections: String) throws {
        var session = try Played(Self.description(sections))
        try session.perform(Command(json: JSONText(parsing: #"{"patchModels":{"a":[{"id":"1"},{"id":"3"}]}}"#)))
        #expect(Self.counts(session) == ["a": 2, "b": 1])
        try session.perform(Command(json: JSONText(parsing: #"{"patchModels":{"a":null}}"#)))
        #expect(Self.counts(session) == ["a": 0, "b": 1])
        try session.perform(Command(json: JSONText(parsing: #"{"models":{"a":[{"id":"1"}]}}"#)))
        #expect(Self.counts(session) == ["a": 1, "b": 0])
        try session.perform(Command(json: JSONText(parsing: #"{"models":{}}"#)))
        #expect(Self.counts(session) == ["a": 0, "b": 0])
    }

    @Test("PUT and PATCH of an unknown section create it if sections are dynamic, and else change nothing")
    func unknownSections() throws {
        for name in ["models", "patchModels"] {
            let command = try Command(json: JSONText(parsing: #"{"\#(name)":{"a":[],"new":[{"id":"9"}]}}"#))
            var declared = try Played(Self.description(Self.both[0]))
            let refusal = #expect(throws: Refusal.self) { try declared.perform(command) }
            #expect(refusal?.code == .sectionNotFound && Self.counts(declared) == ["a": 1, "b": 1])
            var dynamic = try Played(Self.description(Self.both[1]))
            try dynamic.perform(command)
            #expect(Self.counts(dynamic) == ["a": 0, "b": name == "models" ? 0 : 1, "new": 1])
        }
        let null = #expect(throws: Refusal.self) { try Command(json: JSONText(parsing: #"{"models":{"a":null}}"#)) }
        #expect(null?.faults.map(\.pointer.description) == ["/models/a"])
    }

    @Test(
        "PUT restores the description's titles of sections that it does not name. PATCH keeps current titles",
        arguments: both)
    func titles(sections: String) throws {
        func title(_ json: JSONText?) -> String? { json?["title"]?.stringValue }
        var session = try Played(Self.description(sections))
        for (name, bound) in [("Headers", ["A", "B"]), ("Footers", ["a", "b"])] {
            func shown() -> [String?] {
                session.snapshot.sections.map { title(name == "Headers" ? $0.header : $0.footer) }
            }
            #expect(shown() == bound)
            try session.perform(Command(json: JSONText(parsing: #"{"patch\#(name)":{"a":"X","b":null}}"#)))
            #expect(shown() == ["X", nil])
            try session.perform(Command(json: JSONText(parsing: #"{"patch\#(name)":{"a":"Y"}}"#)))
            #expect(shown() == ["Y", nil])
            try session.perform(Command(json: JSONText(parsing: #"{"\#(name.lowercased())":{"b":"Z"}}"#)))
            #expect(shown() == [bound[0], "Z"])
            try session.perform(Command(json: JSONText(parsing: #"{"\#(name.lowercased())":{}}"#)))
            #expect(shown() == bound)
        }
    }

    @Test("PUT replaces the state, and PATCH merges into the state")
    func state() throws {
        var session = try Played(Self.description(Self.both[0]))
        try session.perform(Command(json: JSONText(parsing: #"{"patchState":{"x":null,"y":{"w":1}}}"#)))
        #expect(session.table.state == #"{"y":{"z":2,"w":1}}"#)
        try session.perform(Command(json: JSONText(parsing: #"{"state":{"y":{"w":1.50}}}"#)))
        #expect(session.table.state == #"{"y":{"w":1.50}}"#)
        #expect(throws: Refusal.self) { try Command(json: JSONText(parsing: #"{"state":[]}"#)) }
    }

    @Test(
        "In strict mode, a data source call that names a missing row or section is refused, not ignored",
        arguments: [
            (#"{"updateRow":{"at":[0,9],"model":{"id":"n"}}}"#, Refusal.Code.rowNotFound),
            (#"{"updateRow":{"at":{"id":"x"},"model":{"id":"n"}}}"#, .rowNotFound),
            (#"{"removeRow":{"at":[9,0]}}"#, .sectionNotFound), (#"{"removeRow":{"at":["x",0]}}"#, .sectionNotFound),
            (#"{"updateRows":{"rows":[{"at":[9,0],"model":1}]}}"#, .sectionNotFound),
            (#"{"addRow":{"at":{"id":"x"},"model":{"id":"n"}}}"#, .rowNotFound),
            (#"{"updateRowsOfSection":{"at":9,"rows":[]}}"#, .sectionNotFound),
            (#"{"updateSectionData":{"at":9}}"#, .sectionNotFound), (#"{"removeSection":{"at":9}}"#, .sectionNotFound),
        ])
    func strict(call: String, code: Refusal.Code) throws {
        let session = try Played(Self.description(Self.both[1]))
        let call = try Command(json: JSONText(parsing: #"{"dataSource":\#(call)}"#))
        func apply(_ command: Command, strict: Bool) throws -> Outcome {
            try session.binder.applying(
                command, to: session.table, shown: session.snapshot, unpublished: nil, now: RandomCommandTests.now,
                strict: strict)
        }
        for command in [call, .transaction([.setState("{}", merging: false), call])] {
            let refusal = #expect(throws: Refusal.self) { try apply(command, strict: true) }
            #expect(refusal?.code == code)
        }
        #expect(try apply(call, strict: false).isIgnored)
        let fine = Command.dataSource(.removeRow(at: .init(section: 0, row: 0)), notify: true)
        #expect(try apply(fine, strict: true).kind == .applied)
    }
}

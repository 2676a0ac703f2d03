import Testing

@testable import BraidEngine

/// Which names each kind of template may read, as in "Expressions and templates" of docs/handlers.md.
@Suite struct ContextTests {
    /// Renders for each name whether it is defined.
    private static let defined =
        "${join(["
        + [
            "model", "row", "section", "state", "models", "count", "displayedCount", "header", "now", "reason", "event",
        ]
        .map { "defined('\($0)')" }.joined(separator: ",") + "],' ')}"
    private static let ofTitles = "false false true true true true true false true false false"
    private static let ofDerivedRows = "false false true true true false false false true false false"
    private static let ofRows = "true true true true true true false false true false false"

    @Test("Templates of titles, rows and derived rows can read exactly the documented names")
    func documentedNames() throws {
        let session = try Played(
            """
            {"table":"t","sections":["a","b"],"cells":{"C":{}},"bindings":[
             {"on":{"section":"a"},"cell":"C","models":[{"id":"1"}],"header":"\(Self.defined)","viewModel":"\(Self.defined)"},
             {"on":{"section":"b"},"cell":"C","modelsFrom":[{"id":"\(Self.defined)"}]}]}
            """)
        #expect(session.snapshot.sections[0].header.text == #"{"title":"\#(Self.ofTitles)"}"#)
        #expect(session.snapshot.sections[0].rows[0].json["viewModel"]?.text == #""\#(Self.ofRows)""#)
        #expect(session.snapshot.sections[1].rows[0].id?.text == Self.ofDerivedRows)
    }

    @Test(
        "The function `defined` also answers for a name that an expression computes",
        arguments: ["defined(model.name)", "[defined][0](model.name)"])
    func definedAnswersForComputedNames(expression: String) throws {
        let session = try Played(
            """
            {"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[{"id":"1","name":"state"},{"id":"2","name":"count"},{"id":"3","name":"header"}],
             "viewModel":{"$eval":"\(expression)"}}]}
            """)
        #expect(session.snapshot.sections[0].rows.map { $0.json["viewModel"]?.text } == ["true", "true", "false"])
    }

    @Test("The expressions `order` and `passing` read the section's id, counts, header and footer")
    func orderAndPassing() throws {
        let all =
            "header == section && footer == null && displayedCount == count && len(models[section]) == count && typeof(state) == 'object' && now != ''"
        let session = try Played(
            """
            {"table":"t","sections":["a","b"],"sectionDisplay":{"behavior":"hidesSectionsWithNoCellData","order":{"by":"str(\(all)) + str(9 - count)"}},"cells":{"C":{}},
             "bindings":[{"on":"allOtherSections","cell":"C","header":"${section}","models":{"a":[{"id":"1"}],"b":[{"id":"2"},{"id":"3"}]},"moving":{"to":{"passing":"\(all)"}}}]}
            """)
        #expect(session.ids == ["b", "a"])
        #expect(session.snapshot.sections[0].movesTo?.text == #"["b","a"]"#)
    }

    @Test("In templates, `count` counts hidden rows and `displayedCount` does not")
    func countCountsHiddenRows() throws {
        var session = try Played(
            """
            {"table":"t","sections":["a","b"],"cells":{"C":{}},"bindings":[
             {"on":{"section":"a"},"cell":"C","models":[{"id":"1"},{"id":"2","off":1},{"id":"3"}],"shown":"!('off' in model)",
              "viewModel":"${row} of ${count}","header":"${displayedCount} of ${count}","editing":"delete"},
             {"on":{"section":"b"},"cell":"C","modelsFrom":{"$map":{"$eval":"models.a"},"each(m)":{"id":"${m.id}"}},
              "viewModel":"${row} of ${count}","header":"${displayedCount} of ${count}"}]}
            """)
        func shown() -> [String] {
            session.snapshot.sections.flatMap { section in
                [section.header["title"]?.stringValue ?? ""]
                    + section.rows.map { $0.json["viewModel"]?.stringValue ?? "" }
            }
        }
        #expect(shown() == ["2 of 3", "0 of 3", "2 of 3", "3 of 3", "0 of 3", "1 of 3", "2 of 3"])
        try session.perform(.delete(.at(.displayed(0), row: 0)))
        #expect(shown() == ["1 of 2", "1 of 2", "2 of 2", "0 of 2", "1 of 2"])
    }

    @Test("Handlers can read their row. Delete handlers also read `reason`, and event handlers read `event`")
    func handlerContext() throws {
        var session = try Played(
            """
            {"table":"t","cells":{"C":{"events":{"e":{}}}},"bindings":[{"cell":"C","models":[{"id":"1"}],"editing":"delete",
             "onTap":[{"setState":{"tap":"\(Self.defined)"}}],"onEvent":{"C":{"e":[{"setState":{"event":"\(Self.defined)"}}]}},"onDelete":[{"setState":{"delete":"\(Self.defined)"}}]}]}
            """)
        try session.perform(.tap(.at(.displayed(0), row: 0)))
        try session.perform(.event(.at(.displayed(0), row: 0), name: "e", parameters: .null))
        try session.perform(.delete(.at(.displayed(0), row: 0)))
        let row = "true true true true true true false false true"
        #expect(
            session.snapshot.state.text
                == #"{"tap":"\#(row) false false","event":"\#(row) false true","delete":"\#(row) true false"}"#)
    }

    /// `!state.closed` is `(!state).closed`, as in JSON-e's reference implementation.
    @Test("The operators `!` and unary `-` bind tighter than a member access")
    func signsBindTighterThanAccesses() throws {
        func value(_ source: String) throws -> JSONValue {
            var budget = JSONeBudget()
            return try Expression(source).evaluate(
                JSONeContext(now: "", [("state", .object(JSONObject([("closed", .bool(false))])))]), budget: &budget)
        }
        #expect(try value("!(state.closed)") == .bool(true))
        #expect(throws: JSONeError.self) { try value("!state.closed") }
        #expect(throws: JSONeError.self) { try value("-state.closed") }
    }
}

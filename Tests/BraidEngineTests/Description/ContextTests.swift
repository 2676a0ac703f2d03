import Testing

@testable import BraidEngine

/// The names that each template may read, as docs/table-description.md lists them ("Expressions and templates").
@Suite struct ContextTests {
    /// A template that renders, for each name, whether it is defined.
    private static let defined =
        "${join(["
        + ["model", "row", "section", "state", "models", "count", "now", "reason", "event"]
        .map { "defined('\($0)')" }.joined(separator: ",") + "],' ')}"
    private static let everywhere = "false false true true true true true false false"
    private static let ofRows = "true true true true true true true false false"

    @Test("Templates of rows and sections read the values made for them")
    func rowsAndSectionsReadWhatIsMadeForThem() throws {
        let session = try Played(
            """
            {"table":"t","sections":["a","b"],"cells":{"C":{}},"bindings":[
             {"on":{"section":"a"},"cell":"C","models":[{"id":"1"}],"header":"\(Self.defined)","viewModel":"\(Self.defined)"},
             {"on":{"section":"b"},"cell":"C","modelsFrom":[{"id":"\(Self.defined)"}]}]}
            """)
        #expect(session.snapshot.sections[0].header.text == #"{"title":"\#(Self.everywhere)"}"#)
        #expect(session.snapshot.sections[0].rows[0].json["viewModel"]?.text == #""\#(Self.ofRows)""#)
        #expect(session.snapshot.sections[1].rows[0].id?.text == Self.everywhere)
    }

    @Test("`order` and `passing` read the section as an object")
    func orderAndPassingReadTheSectionAsAnObject() throws {
        let all =
            "typeof(section) == 'object' && section.rowCount == count && len(models[section.id]) == count && typeof(state) == 'object' && now != ''"
        let session = try Played(
            """
            {"table":"t","sections":["a","b"],"sectionDisplay":{"behavior":"hidesSectionsWithNoCellData","order":{"by":"str(\(all)) + str(9 - count)"}},"cells":{"C":{}},
             "bindings":[{"on":"allSections","cell":"C","models":{"a":[{"id":"1"}],"b":[{"id":"2"},{"id":"3"}]},"moving":{"to":{"passing":"\(all)"}}}]}
            """)
        #expect(session.ids == ["b", "a"])
        #expect(session.snapshot.sections[0].movesTo?.text == #"["b","a"]"#)
    }

    @Test("Handlers read their row and the reason for their call")
    func handlersReadTheirRowAndWhatTheyAreCalledFor() throws {
        var session = try Played(
            """
            {"table":"t","cells":{"C":{"events":{"e":{}}}},"bindings":[{"on":"table","cell":"C","models":[{"id":"1"}],"editing":"delete",
             "onTap":[{"setState":{"tap":"\(Self.defined)"}}],"onEvent":{"C":{"e":[{"setState":{"event":"\(Self.defined)"}}]}},"onDelete":[{"setState":{"delete":"\(Self.defined)"}}]}]}
            """)
        try session.perform(.tap(.at(.displayed(0), row: 0)))
        try session.perform(.event(.at(.displayed(0), row: 0), name: "e", parameters: .null))
        try session.perform(.delete(.at(.displayed(0), row: 0)))
        let row = "true true true true true true true"
        #expect(
            session.snapshot.state.text
                == #"{"tap":"\#(row) false false","event":"\#(row) false true","delete":"\#(row) true false"}"#)
    }

    /// This is the precedence of JSON-e's own implementation.
    @Test("A sign binds tighter than an access")
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

import Testing

@testable import BraidEngine

/// `uuid()` in templates.
@Suite struct MadeIDTests {
    /// Each tap inserts two rows with made ids; so does a person's insert.
    static let table = #"""
        {"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[{"id":"a"}],"editing":"insert",
         "insert":{"template":{"id":"${uuid()}"}},
         "onTap":[{"insert":{"section":"table","model":{"id":"${uuid()}","and":{"$eval":"uuid()"}}}},{"insert":{"section":"table","model":{"id":"${uuid()}"}}}]}]}
        """#

    private static func counted(_ session: inout Played, _ command: Command) throws {
        let outcome = try session.binder.applying(
            command, to: session.table, shown: session.snapshot, unpublished: nil, now: "",
            ids: IDSource { "id-\($0)" })
        (session.table, session.snapshot) = (outcome.table, outcome.snapshot)
    }

    @Test("A command calls `uuid()` once for each id, in the order of its steps")
    func idsAreMadeInOrder() throws {
        var session = try Played(Self.table)
        try Self.counted(&session, .tap(.at(.displayed(0), row: 0)))
        #expect(
            session.table["table"]?.rows.map(\.model.text) == [
                #"{"id":"a"}"#, #"{"id":"id-0","and":"id-1"}"#, #"{"id":"id-2"}"#,
            ])
        session = try Played(Self.table)
        try Self.counted(
            &session,
            .transaction([.insert(.at(.displayed(0), row: 0), model: nil), .tap(.at(.displayed(0), row: 0))]))
        #expect(session.table["table"]?.rows.compactMap(\.id?.text) == ["id-0", "a", "id-1", "id-3"])
    }

    @Test("By default, `uuid()` returns random UUIDs of version 4")
    func idsAreRandomByDefault() throws {
        var session = try Played(Self.table)
        for _ in 0..<50 { try session.perform(.tap(.at(.displayed(0), row: 0))) }
        let ids = session.table["table"]?.rows.compactMap(\.id?.text).dropFirst() ?? []
        #expect(Set(ids).count == 100)
        for id in ids {
            let parts = id.split(separator: "-")
            #expect(
                parts.map(\.count) == [8, 4, 4, 4, 12] && parts[2].first == "4" && "89ab".contains(parts[3].prefix(1)))
        }
    }

    @Test("A template that renders displayed content cannot call `uuid()`")
    func displayTemplates() throws {
        let description = try TableDescription(
            JSONText(
                parsing:
                    #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[{"id":"1"}],"viewModel":"${uuid()}","header":{"$if":"defined('uuid')","then":"${uuid()}"}}]}"#
            ))
        #expect(description.warnings.map(\.pointer.description) == ["/bindings/0/viewModel"])
        #expect(description.openingFault(now: "")?.code == .templateFailed)
        var budget = JSONeBudget()
        #expect(throws: JSONeError.self) { try Expression("uuid()").evaluate(JSONeContext(now: ""), budget: &budget) }
        #expect(throws: JSONeError.self) { try Expression("min()").evaluate(JSONeContext(now: ""), budget: &budget) }
    }
}

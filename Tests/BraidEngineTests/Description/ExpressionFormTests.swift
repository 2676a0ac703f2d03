import Testing

@testable import BraidEngine

/// Bare and in `${…}`; and handler actions without a target row.
@Suite struct ExpressionFormTests {
    static func value(_ source: String) throws -> JSONValue {
        var budget = JSONeBudget()
        let context = JSONeContext(now: "", [("a", .number(JSONNumber(2))), ("b", .number(JSONNumber(3)))])
        return try Expression(source).evaluate(context, budget: &budget)
    }

    @Test(
        "An expression means the same with and without `${…}` around it",
        arguments: ["a", "a + b", "a == 2 && b > 0", "{a: a}.a", "'${a}'", "'}' + '{'", "[a, b][1]", "typeof(a)"])
    func bothFormsMeanTheSame(source: String) throws {
        #expect(try Self.value("${\(source)}") == Self.value(source))
        #expect(try Self.value("${ \(source) }") == Self.value(source))
    }

    @Test(
        "Text around `${…}` is refused where an expression is expected, and the error says what to write",
        arguments: [
            ("${a} and ${b}", "a + ' and ' + b"), ("${a} == ${b}", "a == b"), ("${a} > 1", "a > 1"), ("n${a}", "na"),
            ("${a} ", "a "), ("x y ${a}", "'x y ' + a"),
        ])
    func aTextIsRefused(text: String, hint: String) throws {
        let error = #expect(throws: JSONeError.self) { try Self.value(text) }
        #expect(error?.message.hasSuffix("; write \"\(hint)\"") == true, "\(error?.message ?? "")")
    }

    @Test(
        "The error for a faulty expression suggests no other form, with or without `${…}`",
        arguments: ["${a", "${a +}", "a $ b", "${}", "$"])
    func aFaultyExpressionIsRefused(source: String) throws {
        let error = #expect(throws: JSONeError.self) { try Self.value(source) }
        #expect(error?.message.contains("; write") == false, "\(error?.message ?? "")")
    }

    @Test("The actions `remove` and `move` without a target change the handler's own row")
    func actionsOnOwnRow() throws {
        var session = try Played(
            """
            {"table":"t","sections":["a","b"],"cells":{"C":{}},"bindings":[
             {"on":{"sections":["a","b"]},"cell":"C","models":{"a":[{"id":"1"},{"id":"2"},{"id":"3"}],"b":[{"id":"4"}]}},
             {"on":{"section":"a"},"onTap":[{"move":{"to":{"section":"b","row":0}}},{"update":{"merge":{"moved":true}}}]},
             {"on":{"section":"b"},"onTap":[{"remove":{}}]}]}
            """)
        try session.perform(.tap(.at(.displayed(0), row: 1)))
        #expect(session.table["a"]?.rows.map(\.model.text) == [#"{"id":"1"}"#, #"{"id":"3"}"#])
        #expect(session.table["b"]?.rows.map(\.model.text) == [#"{"id":"2","moved":true}"#, #"{"id":"4"}"#])
        try session.perform(.tap(.at(.displayed(1), row: 1)))
        #expect(session.table["b"]?.rows.map(\.model.text) == [#"{"id":"2","moved":true}"#])
    }

    @Test("A command is refused if its handler uses the handler's own row after removing that row")
    func actionOnRemovedRow() throws {
        for action in [#"{"remove":{}}"#, #"{"move":{"to":{"section":"table"}}}"#] {
            var session = try Played(
                #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[{"id":"1"}],"onTap":[{"remove":{}},\#(action)]}]}"#
            )
            let refusal = #expect(throws: Refusal.self) { try session.perform(.tap(.at(.displayed(0), row: 0))) }
            #expect(refusal?.code == .handlerContract)
            #expect(session.table["table"]?.rows.count == 1)
        }
    }
}

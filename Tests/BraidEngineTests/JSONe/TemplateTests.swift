import Synchronization
import Testing
@testable import BraidEngine

@Suite struct TemplateTests {
    // MARK: What is known before rendering

    @Test("`$fromNow` without a reference time starts from the time `now` of the context")
    func noReferenceTimeIsNow() throws {
        let now = try rendered(parsed(#"{"$fromNow": "1 day"}"#))
        #expect(try now != nil && rendered(parsed(#"{"$fromNow": "1 day", "from": {"$eval": "null"}}"#)) == now)
    }

    @Test("A template without expressions is constant")
    func literalsAreConstant() throws {
        let literal = #"{"a": [1.50, null, {"b": "plain"}], "$$eval": "$${x}"}"#
        let expected = #"{"a": [1.50, null, {"b": "plain"}], "$eval": "${x}"}"#
        #expect(try JSONeTemplate(parsed(literal)).constant == parsed(expected))
        #expect(try JSONeTemplate(parsed(#"["${x}"]"#)).constant == nil)
        #expect(try JSONeTemplate(parsed(#"{"$eval": "1"}"#)).constant == nil)
    }

    private static let reads: [(String, Set<String>)] = [
        (#""${model.name} ${row + 1}""#, ["model", "row"]),
        (#"{"$map": {"$eval": "models"}, "each(m, i)": {"$eval": "[m, i, section]"}}"#, ["models", "section"]),
        (#"{"$let": {"a": {"$eval": "b"}}, "in": {"$eval": "a + c"}}"#, ["b", "c"]),
        (#"{"$let": {"a": {"$if": "b", "then": 1}}, "in": {"$eval": "a"}}"#, ["a", "b"]),
        (#"{"$let": {"a": {"$find": {"$eval": "l"}, "each(x)": "x"}}, "in": {"$eval": "a"}}"#, ["a", "l"]),
        (#"{"$let": {"${k}": 1}, "in": {"$eval": "a"}}"#, ["a", "k"]),
        (#"{"$reduce": {"$eval": "l"}, "initial": "${no}", "each(a,x)": {"$eval": "a + x + y"}}"#, ["l", "y"]),
        (#"{"$find": {"$eval": "l"}, "each(x)": "x == z"}"#, ["l", "z"]),
        (#"{"$sort": {"$eval": "l"}, "by(x)": "x.a - y"}"#, ["l", "y"]),
        (#"{"$switch": {"a": "${b}", "$default": "${c}"}}"#, ["a", "b", "c"]),
        (#"{"$match": {"a": 1}}"#, ["a"]),
        (#"{"$fromNow": "1 day"}"#, ["now"]),
        (#"{"$eval": "fromNow('1 day') + fromNow('', then)"}"#, ["now", "then"]),
        (#"{"$eval": "len(l[from:to]) + [min(a)][0] ** {k: e}.k"}"#, ["l", "from", "to", "a", "e"]),
        (#"{"$if": "defined('x') && !y", "then": 1}"#, ["x", "y"]),
    ]

    @Test("The free names of a template are the names that it reads from the context", arguments: reads)
    func freeNames(template: String, names: Set<String>) throws {
        #expect(try JSONeTemplate(parsed(template)).names.all == names)
    }

    /// `nil`: all.
    private static let members: [(String, Set<String>?)] = [
        (#""${model.a} and ${model.b.c}""#, ["a", "b"]), (#"{"$eval": "model.none"}"#, ["none"]),
        (#"{"$eval": "model['a']"}"#, nil), (#"{"$eval": "[model, model.a]"}"#, nil),
        (#"{"$eval": "'a' in model"}"#, nil), (#"{"$eval": "defined('model') && model.a == 1"}"#, nil),
        (#"{"$let": {"m": {"$eval": "model"}}, "in": "${m.a}"}"#, nil),
        (#"{"$let": {"model": {"d": "${model.a}"}}, "in": {"$eval": "model.d"}}"#, ["a", "d"]),
        (#"{"$map": {"$eval": "model.l"}, "each(x)": {"$eval": "x + model.n"}}"#, ["l", "n"]),
        (#"{"$if": "model.a", "then": {"$eval": "model.b"}}"#, ["a", "b"]), (#"{"$eval": "state.a"}"#, []),
        (#"{"$eval": "model.a + model.b + model.c + model.d + model.e + model.f + model.g + model.h + model.i"}"#, nil),
    ]

    @Test("A template renders the same with only those members of an object that it reads", arguments: members)
    func membersRead(source: String, members: Set<String>?) throws {
        let template = try JSONeTemplate(parsed(source)), found = template.names.members(of: "model")
        #expect(found.map { Set($0) } == members)
        for model in [#"{"x":1,"\u0061":"A","b":{"c":[2]},"l":[3,4],"n":5,"y":[{}]}"#, "{}", "[]", "null", #""a""#] {
            let model = try JSONText(parsing: model)
            func rendered(_ model: JSONValue) -> Result<JSONValue?, JSONeError> {
                var budget = JSONeBudget()
                return Result { () throws(JSONeError) in
                    try template.render(
                        JSONeContext(now: "2026-01-01T00:00:00Z", [("model", model), ("state", [:])]), budget: &budget)
                }
            }
            #expect("\(rendered(model.value(of: found)))" == "\(rendered(model.value()))")
        }
    }

    private static let needs: [(String, Set<String>)] = [
        (#"{"a": "${x}", "b": {"$if": "defined('x')", "then": "${y}"}}"#, ["y"]),
        (#"{"$eval": "defined('x') && x.y == z"}"#, ["z"]),
        // `$let` with a computed key or object may define any name. A member that may be absent does not surely define
        // its name, but the context need not contain it.
        (#"{"$let": {"${k}": 1}, "in": {"$eval": "a"}}"#, ["k"]),
        (#"{"$let": {"$eval": "values"}, "in": {"$eval": "a"}}"#, ["values"]),
        (#"{"$let": {"a": {"$if": "b", "then": 1}}, "in": {"$eval": "a + c"}}"#, ["b", "c"]),
        (#"{"$let": {"a": "${a}"}, "in": {"$eval": "a"}}"#, ["a"]),
        (#"{"$map": {"$eval": "l"}, "each(x)": {"$eval": "x + y"}}"#, ["l", "y"]),
    ]

    @Test(
        "The context need not contain a name that a template defines itself or tests with `defined`", arguments: needs)
    func optionalNames(template: String, names: Set<String>) throws {
        let read = try JSONeTemplate(parsed(template)).names
        #expect(read.all.subtracting(read.tolerated) == names)
    }

    private static let times: [(String, Bool)] = [
        (#"{"$eval": "now"}"#, true), (#"{"$fromNow": "1 day"}"#, true), (#"{"$eval": "fromNow('1 day')"}"#, true),
        (#"{"$fromNow": "1 day", "from": null}"#, true),
        (#"{"$fromNow": "1 day", "from": {"$eval": "model.none"}}"#, true),
        (#"{"$fromNow": "1 day", "from": {"$if": "true", "then": null}}"#, true),
        (#"{"$eval": "fromNow('1 day', '')"}"#, true), (#"{"$eval": "fromNow('1 day', model.empty)"}"#, true),
        (#"{"$eval": "[fromNow][0]('1 day')"}"#, true), (#"{"$eval": "{f: fromNow}.f('1 day')"}"#, true),
        (#"{"$let": {"f": {"$eval": "fromNow"}}, "in": {"$eval": "f('1 day')"}}"#, true),
        // A local `now` hides the time only in its scope, and never from a `from` of null.
        (#"{"$let": {"now": "TIME"}, "in": {"$fromNow": "1 day", "from": null}}"#, true),
        (
            #"{"$let": {"l": {"$let": {"now": "TIME"}, "in": {"$eval": "[fromNow]"}}}, "in": {"$eval": "l[0]('1 day')"}}"#,
            true
        ),
        (#"{"$let": {"now": "TIME"}, "in": {"$fromNow": "1 day"}}"#, false),
        (#"{"$let": {"now": "TIME"}, "in": {"$eval": "now + fromNow('1 day')"}}"#, false),
        (#"{"$fromNow": "1 day", "from": "TIME"}"#, false), (#"{"$fromNow": "1 day", "from": ""}"#, false),
        (#"{"$fromNow": "1 day", "from": "${model.none}"}"#, false),
        (#"{"$eval": "fromNow('1 day', 'TIME')"}"#, false), (#"{"$eval": "'fromNow'"}"#, false),
    ]

    /// Otherwise a cached row would not be rendered at another time.
    @Test("A template counts as reading the time if its result depends on the time", arguments: times)
    func readsOfTime(source: String, readsTime: Bool) throws {
        let time = "2020-02-28T00:00:00Z"
        let source = source.split(separator: "TIME", omittingEmptySubsequences: false).joined(separator: time)
        let template = try JSONeTemplate(parsed(source)), model = parsed(#"{"none": null, "empty": ""}"#)
        func rendered(at now: String) -> JSONValue? {
            var budget = JSONeBudget()
            return try? template.render(JSONeContext(now: now, [("model", model)]), budget: &budget)
        }
        let isSame = rendered(at: "2026-01-01T00:00:00Z") == rendered(at: "2026-01-02T00:00:00Z")
        #expect(isSame != readsTime)
        #expect(Reads(names: template.names).contains(.now) == readsTime)
    }

    // MARK: Errors point into the template

    private static let errors: [(String, String, [String])] = [
        (#"{"a": [{"$eval": "1 +"}]}"#, "syntax", ["a", "0", "$eval"]),
        (#"{"a": {"$nothing": 1}}"#, "syntax", ["a", "$nothing"]),
        (#"{"$if": "true", "thn": 1}"#, "syntax", ["thn"]),
        (#"{"$if": "true", "then": {"$if": "("}}"#, "syntax", ["then", "$if"]),
        (#"{"$match": {"a": "x", "b ==": 1}}"#, "syntax", ["$match", "b =="]),
        (#"{"$switch": {"$default": "${"}}"#, "syntax", ["$switch", "$default"]),
        (#"{"x ${1 +} y": 1}"#, "syntax", ["x ${1 +} y"]),
        (#"{"a": ["ok", "${nope}"]}"#, "interpreter", ["a", "1"]),
        (
            #"{"$let": {"x": 1}, "in": [{"$map": [1], "each(y)": {"$eval": "y.z"}}]}"#, "interpreter",
            ["in", "0", "each(y)", "$eval"]
        ),
        (#"{"$sort": [1], "by(x)": "nope"}"#, "interpreter", ["by(x)"]),
        (#"{"$flatten": 1}"#, "template", []),
        (#"[{"$merge": [{"$json": "${[1]}"}]}]"#, "template", ["0", "$merge", "0", "$json"]),
    ]

    @Test("A template's error contains the pointer to the faulty place in the template", arguments: errors)
    func errorsPointIntoTheTemplate(template: String, kind: String, pointer: [String]) {
        let error = #expect(throws: JSONeError.self) { try rendered(parsed(template)) }
        #expect(error?.kind.rawValue == kind)
        #expect(error?.pointer == pointer)
    }

    // MARK: Numbers

    @Test("Numbers that a template only copies keep their digits")
    func untouchedNumbersKeepTheirDigits() throws {
        let context = parsed(#"{"n": 1.50, "big": 123456789012345678901234567890, "e": 1E5}"#)
        let template = parsed(#"[{"$eval": "n"}, {"$eval": "[big, {a: e}]"}, {"$json": {"$eval": "e"}}]"#)
        #expect(try rendered(template, context)?.shown == #"[1.50,[123456789012345678901234567890,{"a":1E5}],"1E5"]"#)
    }

    @Test(
        "Numbers that a template computes are written as JSON-e's reference implementation writes them",
        arguments: [
            ("9223372036854775807 + 1", "9.223372036854776e+18"), ("2 ** 64", "1.8446744073709552e+19"),
            ("9007199254740993 + 0", "9007199254740993"), ("4 / 2", "2.0"), ("10.0 ** 15", "1000000000000000.0"),
            ("9007199254740994 * 1.0", "9007199254740994.0"), ("10.0 ** 16", "1e+16"), ("1 / 100000", "1e-05"),
        ])
    func computedNumbers(source: String, text: String) throws {
        #expect(try evaluated(source).shown == text)
    }

    @Test(
        "A number too large for a double keeps its digits, and computing with it is an error", arguments: ["", ".0"])
    func largeNumbers(fraction: String) throws {
        let number = "1" + String(repeating: "0", count: 400) + fraction
        #expect(try evaluated("00" + number).shown == number)
        let error = #expect(throws: JSONeError.self) { try evaluated(number + " + 1") }
        #expect(error?.kind == .interpreter)
    }

    // MARK: Expressions and contexts

    @Test("Null, false, 0 and empty strings, arrays and objects count as false, as in JSON-e")
    func truthinessIsJSONe() {
        for falsy in ["null", "false", "0", "0.0", "-0", #""""#, "[]", "{}"] { #expect(!parsed(falsy).isTruthy) }
        for truthy in ["true", "1", "1e-9", #""0""#, "[0]", #"{"a": 0}"#] { #expect(parsed(truthy).isTruthy) }
    }

    @Test("A lazy name of a context is computed once, and only if a template reads it")
    func lazyNames() throws {
        final class Count: Sendable { let value = Mutex(0) }
        let count = Count()
        var context = JSONeContext(now: OracleCase.now, [("x", .string("a"))])
        context.lazy("models") {
            count.value.withLock { $0 += 1 }
            return .array([.string("b")])
        }
        let copy = context
        var budget = JSONeBudget()
        _ = try Expression("x + str(defined('models'))").evaluate(context, budget: &budget)
        #expect(count.value.withLock { $0 } == 0)
        for context in [context, copy] {
            #expect(try Expression("x + models[0]").evaluate(context, budget: &budget) == .string("ab"))
        }
        #expect(count.value.withLock { $0 } == 1)
    }

    @Test("Changing a copy of a template's context does not change the original")
    func contextsAreValues() throws {
        var context = JSONeContext(now: OracleCase.now, [("x", .bool(true))])
        let before = context
        context["x"] = .null
        context["y"] = .string("y")
        #expect(before["x"] == .bool(true) && before["y"] == nil && context["x"] == .null)
        context["x"] = nil
        #expect(context["x"] == nil && context["now"] == .string(OracleCase.now))
    }

    @Test("The time `now` of a context may have an offset from UTC and need not have a fraction")
    func formsOfNow() throws {
        var budget = JSONeBudget()
        for now in ["2026-01-31T12:00:00Z", "2026-01-31T13:00:00+01:00", "2026-01-31T11:30:00.0-00:30"] {
            let context = JSONeContext(now: now)
            #expect(
                try Expression("fromNow('1 day')").evaluate(context, budget: &budget)
                    == .string("2026-02-01T12:00:00.000Z"))
        }
    }

    /// JSON-e's reference implementation renders the result of `$find` as a template again. The engine never does that,
    /// because the result may be data from a client.
    @Test("Data that `$find` returns is never rendered as a template")
    func dataIsNeverATemplate() throws {
        let context = parsed(#"{"l": ["${secret}", {"$eval": "secret"}], "secret": 1}"#)
        let template = parsed(
            #"[{"$find": {"$eval": "l"}, "each(x)": "true"}, {"$find": {"$eval": "l"}, "each(x, i)": "i == 1"}]"#)
        #expect(try rendered(template, context)?.shown == #"["${secret}",{"$eval":"secret"}]"#)
    }
}

func rendered(
    _ template: JSONValue, _ context: JSONValue = .object(JSONObject()), budget: JSONeBudget = JSONeBudget()
) throws -> JSONValue? {
    guard case .object(let names) = context else { preconditionFailure("a context is an object") }
    var budget = budget
    let context = JSONeContext(now: OracleCase.now, names.members.map { ($0.name, $0.value) })
    return try JSONeTemplate(template).render(context, budget: &budget)
}

func evaluated(_ source: String, budget: JSONeBudget = JSONeBudget()) throws -> JSONValue {
    var budget = budget
    return try Expression(source).evaluate(JSONeContext(now: OracleCase.now), budget: &budget)
}

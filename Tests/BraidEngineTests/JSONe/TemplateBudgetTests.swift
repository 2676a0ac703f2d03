import Testing
@testable import BraidEngine

/// Templates must not block the server, exhaust its memory or crash it.
@Suite struct TemplateBudgetTests {
    private static let wide = "{\"$eval\": \"range(0, 1000)\"}"

    @Test(
        "A template that needs too much time or memory is refused",
        arguments: [
            // Time
            #"{"$map": WIDE, "each(a)": {"$map": WIDE, "each(b)": {"$map": WIDE, "each(c)": 1}}}"#,
            #"{"$reduce": WIDE, "initial": 0, "each(a,b)": {"$reduce": WIDE, "initial": 0, "each(a,b)": {"$eval": "a + b"}}}"#,
            #"{"$find": WIDE, "each(a)": "len(range(0, 10000)) < 0"}"#,
            #"{"$sort": WIDE, "by(x)": "len(range(0, 10000))"}"#,
            // Memory
            #"{"$eval": "range(0, 1000000000)"}"#,
            #"{"$eval": "range(-9223372036854775807, 9223372036854775807)"}"#,
            #"{"$eval": "range(9223372036854775807, -9223372036854775807, -1)"}"#,
            #"{"$reduce": WIDE, "initial": "xxxxxxxx", "each(a,b)": {"$eval": "a + a"}}"#,
            #"{"$reduce": WIDE, "initial": "xxxxxxxx", "each(a,b)": "${a}${a}"}"#,
            #"{"$reduce": WIDE, "initial": [1], "each(a,b)": {"$flatten": [{"$eval": "a"}, {"$eval": "a"}]}}"#,
            #"{"$reduce": WIDE, "initial": {"a": [1]}, "each(a,b)": {"$mergeDeep": [{"$eval": "a"}, {"$eval": "a"}]}}"#,
            #"{"$map": WIDE, "each(a)": {"$eval": "range(0, 1000)"}}"#,
            #"{"$map": WIDE, "each(a)": {"$json": WIDE}}"#,
            #"{"$map": WIDE, "each(a)": {"$eval": "join(range(0, 1000), ',')"}}"#,
            // Small in memory by shared parts, but huge when written; and deep nesting.
            #"{"$reduce": WIDE, "initial": [], "each(a,b)": [{"$eval": "a"}, {"$eval": "a"}]}"#,
            #"{"$reduce": WIDE, "initial": [], "each(a,b)": {"$eval": "{x: a, y: a}"}}"#,
            #"{"$reduce": WIDE, "initial": [], "each(a,b)": [{"$eval": "a"}]}"#,
            #"{"$reduce": WIDE, "initial": {}, "each(a,b)": {"$eval": "{a: {a: {a: a}}}"}}"#,
        ])
    func bombsAreDefused(template: String) {
        let template = parsed(
            template.split(separator: "WIDE", omittingEmptySubsequences: false).joined(separator: Self.wide))
        let start = ContinuousClock.now
        let error = #expect(throws: JSONeError.self) { try rendered(template) }
        #expect(error?.kind == .budget)
        #expect(ContinuousClock.now - start < .seconds(100))
    }

    /// Each level contains the one before twice.
    @Test("A template whose nested parts each double a value is refused", arguments: ["$let", "$map", "expression"])
    func nestedDoublingIsDefused(kind: String) {
        var template = parsed(#"{"$eval": "x"}"#)
        for _ in 0..<60 {
            switch kind {
            case "$let":
                template = .object(
                    JSONObject([
                        ("$let", parsed(#"{"x": {"$eval": "[x, x]"}}"#)), ("in", template),
                    ]))
            case "$map":
                template = .object(
                    JSONObject([
                        ("$map", parsed(#"{"$eval": "[[x, x]]"}"#)), ("each(x)", template),
                    ]))
            default:
                template = .object(
                    JSONObject([
                        ("$let", .object(JSONObject([("x", parsed(#"{"$json": {"$eval": "x + x"}}"#))]))),
                        ("in", template),
                    ]))
            }
        }
        let error = #expect(throws: JSONeError.self) { try rendered(template, parsed(#"{"x": "x"}"#)) }
        #expect(error?.kind == .budget)
    }

    @Test("After a template has used up its budget of steps, nothing more can be evaluated with that budget")
    func anExceededBudgetStaysExceeded() throws {
        var budget = JSONeBudget(steps: 50)
        let context = JSONeContext(now: OracleCase.now)
        let template = try JSONeTemplate(parsed(#"{"$map": [1,2,3,4,5,6,7,8,9,10], "each(x)": ["${x + x + x + x}"]}"#))
        #expect(throws: JSONeError.self) { try template.render(context, budget: &budget) }
        #expect(budget.remainingSteps == 0)
        #expect(throws: JSONeError.self) { try Expression("1").evaluate(context, budget: &budget) }
    }

    @Test("A value from the context counts towards the output limit only if it is part of the result")
    func valuesFromContext() throws {
        let big = JSONValue.object(JSONObject([("big", .array(Array(repeating: .null, count: 10_000)))]))
        let budget = JSONeBudget(output: 10_000)
        #expect(
            try rendered(parsed(#"{"$let": {"b": {"$eval": "big"}}, "in": "${len(b)}"}"#), big, budget: budget)
                == .string("10000"))
        #expect(throws: JSONeError.self) { try rendered(parsed(#"[{"$eval": "big"}]"#), big, budget: budget) }
    }

    /// They may come from a request, and comparing each with all before would take too long.
    @Test("A template's context with many names is created in linear time", .timeLimit(.minutes(1)))
    func manyNames() throws {
        let names = (0..<200_000).map { ("n\($0)", JSONValue.number(JSONNumber($0))) }
        var context = JSONeContext(now: OracleCase.now, names), budget = JSONeBudget()
        context["n5"] = .null
        context["n6"] = nil
        let template = try JSONeTemplate(
            parsed(
                #"{"$eval": "[n0, n5, n199999, defined('n199998'), defined('n6'), defined('n200000'), defined('now')]"}"#
            ))
        #expect(try template.render(context, budget: &budget) == parsed("[0, null, 199999, true, false, false, true]"))
    }

    @Test("A context of any size finds each of its names")
    func contextSizes() {
        for count in 1...20 {
            var context = JSONeContext(
                now: OracleCase.now, (0..<count).map { ("n\($0)", JSONValue.number(JSONNumber($0))) })
            for number in 0..<count { #expect(context["n\(number)"] == .number(JSONNumber(number)), "\(count)") }
            context["n0"] = nil
            for number in 1..<count { #expect(context["n\(number)"] == .number(JSONNumber(number)), "\(count)") }
            #expect(context["n0"] == nil)
        }
    }

    @Test("After one template has exceeded a budget, no other template can be rendered with it")
    func exceededBudget() throws {
        var budget = JSONeBudget(steps: 50)
        let context = JSONeContext(now: OracleCase.now), small = try JSONeTemplate(parsed(#"{"$eval": "1"}"#)),
            large = try JSONeTemplate(parsed(Self.wide))
        #expect(try small.render(context, budget: &budget) == 1)
        for template in [large, small] {
            #expect(throws: JSONeError.self) { try template.render(context, budget: &budget) }
        }
    }

    @Test("A text is refused as soon as it exceeds the output limit, before the rest is evaluated")
    func longTexts() {
        let context = JSONValue.object(JSONObject([("a", .string(String(repeating: "x", count: 6_000)))]))
        // Comes after what exceeds the limit, so its own error must not occur.
        let error = #expect(throws: JSONeError.self) {
            try rendered(parsed(#""${a}${a}${nothing}""#), context, budget: JSONeBudget(output: 10_000))
        }
        #expect(error?.kind == .budget)
    }

    /// At a fixed cost, one request with long texts could run too long.
    @Test(
        "Functions that read a text cost steps in proportion to its length",
        arguments: [
            #"{"$fromNow": "${text}1 day"}"#, #"{"$eval": "fromNow(text + '1 day')"}"#, #"{"$eval": "strip(text)"}"#,
            #"{"$if": "number(text + '1')"}"#,
        ])
    func textFunctions(template: String) throws {
        func steps(_ length: Int) throws -> Int {
            let context = JSONeContext(now: OracleCase.now, [("text", .string(String(repeating: " ", count: length)))])
            var budget = JSONeBudget()
            let all = budget.remainingSteps
            _ = try JSONeTemplate(parsed(template)).render(context, budget: &budget)
            return all - budget.remainingSteps
        }
        #expect(try steps(256_000) - steps(0) == 1_000)
    }

    @Test(
        "Long numbers and long member names cost steps in proportion to their length",
        arguments: [
            #"{"$eval": "join(numbers, ',')"}"#, #"{"$sort": {"$eval": "numbers"}}"#, #"{"$eval": "1 in numbers"}"#,
            #"{"$eval": "numbers == copies"}"#, #"{"$eval": "typeof(1DIGITS)"}"#, #"{"$eval": "object == copy"}"#,
            #"{"$merge": [{"$eval": "object"}]}"#, #"{"$mergeDeep": [{"$eval": "object"}]}"#,
            #"{"$map": {"$eval": "object"}, "each(value, name)": {"$eval": "object"}}"#,
        ])
    func longNumbersAndNames(template: String) throws {
        func steps(_ length: Int) throws -> Int {
            let digits = String(repeating: "0", count: length)
            let numbers = parsed("[0.25\(digits)]"), object = parsed(#"{"n\#(digits)": null}"#)
            let context = JSONeContext(
                now: OracleCase.now,
                [("numbers", numbers), ("copies", numbers), ("object", object), ("copy", object)])
            let source = template.split(separator: "DIGITS", omittingEmptySubsequences: false).joined(separator: digits)
            var budget = JSONeBudget()
            let all = budget.remainingSteps
            _ = try JSONeTemplate(parsed(source)).render(context, budget: &budget)
            return all - budget.remainingSteps
        }
        #expect(try steps(256_000) - steps(0) >= 1_000)
    }

    @Test("A long number in a template's result counts towards the output limit with its digits")
    func longNumbersInResults() throws {
        let context = parsed(#"{"list": [1\#(String(repeating: "0", count: 6_000))]}"#)
        let template = parsed(#"[{"$eval": "list"}, {"$eval": "list"}]"#)
        #expect(try rendered(template, context, budget: JSONeBudget(output: 20_000)) != nil)
        let error = #expect(throws: JSONeError.self) {
            try rendered(template, context, budget: JSONeBudget(output: 10_000))
        }
        #expect(error?.kind == .budget)
    }

    /// Copying what is merged for each further object would take many minutes.
    @Test("`$mergeDeep` merges many objects in linear time", .timeLimit(.minutes(1)), arguments: [false, true])
    func mergeDeep(isNested: Bool) throws {
        let count = 100_000
        let objects = (0..<count).map { number in
            let object = JSONValue.object(JSONObject([("n\(number)", .bool(true))]))
            return isNested ? JSONValue.object(JSONObject([("a", .object(JSONObject([("b", object)])))])) : object
        }
        let context = JSONValue.object(JSONObject([("objects", .array(objects))]))
        let merged = try rendered(
            parsed(#"{"$mergeDeep": {"$eval": "objects"}}"#), context, budget: JSONeBudget(steps: .max, output: .max))
        let inner = isNested ? merged?.objectValue?["a"]?.objectValue?["b"] : merged
        #expect(inner?.objectValue?.count == count)
    }

    // MARK: Nesting

    @Test("Expressions may be nested up to the limit", arguments: ["(", "[", "{a:", "-", "!", "f(", "l[", "2 ** "])
    func expressionsNestSoFar(opening: String) throws {
        let closing = ["(": ")", "[": "]", "{a:": "}", "f(": ")", "l[": "]"][opening] ?? ""
        func source(_ depth: Int) -> String {
            String(repeating: opening, count: depth) + "1" + String(repeating: closing, count: depth)
        }
        _ = try Expression(source(ExpressionParser.maximumDepth))
        let error = #expect(throws: JSONeError.self) { try Expression(source(ExpressionParser.maximumDepth + 1)) }
        #expect(error?.kind == .syntax)
        #expect(throws: JSONeError.self) { try Expression(source(1_000_000)) }
    }

    @Test(
        "A long chain of operators does not count as nesting",
        arguments: [(" + ", "1"), (" && ", "true"), (" == ", "1"), (" in ", "[]")])
    func longChainsDoNotNest(symbol: String, operand: String) throws {
        _ = try Expression(Array(repeating: operand, count: 10_000).joined(separator: symbol))
        _ = try Expression("a" + String(repeating: ".b", count: 10_000))
    }

    @Test("An expression with a chain of 10,000 operators is evaluated")
    func longChainsAreEvaluated() throws {
        #expect(try evaluated(Array(repeating: "1", count: 10_000).joined(separator: "+")).shown == "10000")
    }

    @Test("Templates may be nested up to the limit")
    func templatesNestSoFar() throws {
        func nested(_ depth: Int, in wrap: (JSONValue) -> JSONValue) -> JSONValue {
            (0..<depth).reduce(.string("${1}")) { value, _ in wrap(value) }
        }
        let limit = JSONeBudget.maximumDepth
        #expect(try rendered(nested(limit) { .array([$0]) }) != nil)
        #expect(throws: JSONeError.self) { try rendered(nested(limit + 1) { .array([$0]) }) }
        for operation in ["$flatten", "$json", "$reverse", "$mergeDeep", "$sort"] {
            _ = try? rendered(nested(limit) { .object(JSONObject([(operation, $0)])) })
        }
        _ = try rendered(nested(limit) { .object(JSONObject([("$if", .string("true")), ("then", $0)])) })
        let deep = try rendered(nested(limit - 2) { .array([$0]) })
        let deepest = parsed(
            #"[{"$flattenDeep": {"$eval": "d"}}, {"$json": {"$eval": "d"}}, {"$eval": "d == d"}, {"$mergeDeep": [{"$eval": "{a: d}"}, {"$eval": "{a: d}"}]}]"#
        )
        #expect(try rendered(deepest, .object(JSONObject([("d", deep ?? .null)]))) != nil)
    }

    // MARK: Values made to be slow or to overflow

    private static let short = String(repeating: "a", count: 5000)
    private static let long = String(repeating: "a", count: 200_000)
    private static let nines = String(repeating: "9", count: 1000)
    private static let extremes: [String] = [
        "'\(short)b' in '\(long)'",
        "len(split('\(long)', '\(short)b'))",
        "9223372036854775807 ** 9223372036854775807 > 0", "2 ** 9223372036854775807 > 0", "1 ** 9223372036854775807",
        "(0 - 1) ** 9223372036854775807", "abs(0 - 9223372036854775807 - 1)", "-(0 - 9223372036854775807 - 1)",
        "[1][9223372036854775807:-9223372036854775807]", "[1][0 - 9223372036854775807 - 1:]",
        "'a'[0 - 9223372036854775807 - 1]",
        "range(0, 9223372036854775807, 9223372036854775807)",
        "range(0, 0 - 9223372036854775807 - 1, 0 - 9223372036854775807 - 1)",
        "fromNow('9223372036854775807 years')", "fromNow('999999999999999999 weeks')",
        "fromNow('-99999999999999 seconds')",
        "ceil(10.0 ** 300)", "floor(0 - 10.0 ** 300)", "number('1e308') * 10", "sqrt(0 - 1)", "l[1e999]",
        "number('\(nines)')",
    ]

    @Test("Expressions with extreme values are evaluated or refused in reasonable time", arguments: extremes)
    func extremesAreAnsweredOrRefused(source: String) {
        let start = ContinuousClock.now
        _ = try? evaluated(source)
        #expect(ContinuousClock.now - start < .seconds(100))
    }

    /// Also rendered as templates.
    @Test("Evaluating a random text as an expression never traps")
    func mangledExpressionsNeverTrap() {
        var random = SystemRandomNumberGenerator()
        let alphabet = Array("ab1.0'\"()[]{}:,+-*/<>=!&|$ é☃\n")
        for _ in 0..<5000 {
            let source = String(
                (0..<Int.random(in: 0...24, using: &random)).map { _ in alphabet.randomElement(using: &random) ?? "a" })
            _ = try? evaluated(source)
            _ = try? rendered(.string("x${\(source)}y"))
            _ = try? rendered(.object(JSONObject([(source, .string(source))])))
            _ = TimeOffset(source)
            _ = Instant(source)
        }
    }
}

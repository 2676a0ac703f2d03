/// A JSON-e template (json-e.js.org), checked and compiled when it is created. Rendering parses no expressions again.
///
/// The language is that of JSON-e's reference implementation in Python, except for this:
/// - Every expression is parsed when the template is created, also in branches that are never rendered. Names of
///   properties must match in full (there, `thenX` is `then`), and `a[1 2]` is not an index.
/// - Data is not code: `$find` returns the element as it is, without rendering it once more.
/// - Numbers are compared and sorted by value, whole or not. Booleans are not numbers (`true == 1` is false).
/// - `$match` leaves out absent values. `join` writes scalars as `str` does and accepts no arrays or objects. `min` and
///   `max` accept a single number.
/// - Whole numbers beyond 64 bits are computed as doubles; a result that is not finite is an error. A number that is
///   only passed on keeps its digits, also in `$json`. As text, one with a fraction or an exponent has the shortest
///   digits.
/// - Times may have all forms of RFC 3339: lower-case `t` and `z`, leap seconds, more than six digits of a fraction.
/// - The engine reads no clock: without `from`, `$fromNow` uses the context's `now`, which may have no fraction.
public struct JSONeTemplate: Sendable {
    let node: JSONeNode

    /// Those that rendering may read, without JSON-e's built-in functions. Can contain names that are never read, and
    /// lacks computed names for which `defined` asks.
    let names: NamesRead

    /// In the table description, for messages.
    var place: JSONPointer?

    /// Throws ``JSONeError`` for what needs no context to be found: a syntax error, an unknown operator, an undefined
    /// property. Its pointer leads into `value`.
    public init(_ value: JSONValue) throws(JSONeError) { try self.init(value, named: nil) }

    init(_ value: JSONValue, named: [UTF8Key: NamedTemplate]?) throws(JSONeError) {
        node = try JSONeCompiler(named: named).compile(value)
        names = node.names
    }

    /// The value, if it is the same for every context.
    public var constant: JSONValue? { node.literal }

    /// `nil` if not known before rendering. Only an operator, such as `$eval`, can give another kind than its JSON has.
    var kind: JSONKind? { node.kind }

    /// True also if the kind is not known before rendering.
    func canGive(_ kinds: JSONKind...) -> Bool { kind.map(kinds.contains) ?? true }

    /// Reduces the budget by the cost. `nil` if the value is absent, as for `{"$if": "false", "then": 1}`.
    ///
    /// - Throws: ``JSONeError`` if an expression or an operator fails, or the budget is exhausted.
    public func render(
        _ context: JSONeContext, budget: inout JSONeBudget
    ) throws(JSONeError) -> JSONValue? {
        if let constant { return constant }
        return try JSONeEvaluator.run(context, &budget) { (evaluator) throws(JSONeError) in
            guard let value = try evaluator.render(node) else { return nil }
            try evaluator.budget.admit(value, counting: true)
            return value
        }
    }
}

/// A single JSON-e expression, as in the values of `$eval` and `$if` (json-e.js.org/expressions.html).
public struct Expression: Sendable {
    private let node: ExpressionNode

    /// As those of a template.
    let names: NamesRead

    /// In the table description, for messages.
    var place: JSONPointer?

    /// Throws ``JSONeError`` of the kind `syntax`.
    public init(_ source: String) throws(JSONeError) {
        node = try ExpressionParser.parse(source)
        var names = NamesRead()
        node.collectNames(into: &names)
        self.names = names
    }

    /// Reduces the budget by the cost. Throws ``JSONeError`` if the evaluation fails, the result is a function, or the
    /// budget is exhausted.
    public func evaluate(
        _ context: JSONeContext, budget: inout JSONeBudget
    ) throws(JSONeError) -> JSONValue {
        try JSONeEvaluator.run(context, &budget) { (evaluator) throws(JSONeError) in
            let operand = try evaluator.evaluate(node), value = operand.json()
            if case .function(let builtin) = operand { throw .function(builtin.rawValue) }
            if !node.isPath { try evaluator.budget.admit(value, counting: true) }
            return value
        }
    }
}

extension JSONeEvaluator {
    /// Writes the remaining budget back, also after an error.
    fileprivate static func run<Result>(
        _ context: JSONeContext, _ budget: inout JSONeBudget,
        _ body: (inout JSONeEvaluator) throws(JSONeError) -> Result
    ) throws(JSONeError) -> Result {
        var evaluator = JSONeEvaluator(context, budget)
        defer { budget = evaluator.budget }
        return try body(&evaluator)
    }
}

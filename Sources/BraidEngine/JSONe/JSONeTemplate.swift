/// A JSON-e template (json-e.js.org), compiled once.
///
/// ```swift
/// let template = try JSONeTemplate(["title": "${name}, ${age + 1}"])
/// var budget = JSONeBudget()
/// let value = try template.render(JSONeContext(now: now, [("name", "Kim"), ("age", 41)]), budget: &budget)
/// ```
/// As the reference implementation in Python, except:
/// - All expressions are parsed at creation, in unused branches, too. Property names must match in full (there, `thenX`
///   is `then`); `a[1 2]` is no index.
/// - Data is no code: `$find` does not render the element again.
/// - Numbers compare and sort by value. Booleans are not numbers (`true == 1` is false).
/// - `$match` leaves out absent values. `join` writes scalars as `str` does, and takes no arrays or objects. `min` and
///   `max` take a single number.
/// - Whole numbers beyond 64 bits are computed as doubles; results must be finite. A number just passed on keeps its
///   digits, also in `$json`; as text, one with a fraction or exponent has the shortest digits.
/// - Times take all forms of RFC 3339: `t`, `z`, leap seconds, more than six digits.
/// - Without `from`, `$fromNow` uses the context's `now`, which may have no fraction: the engine reads no clock.
public struct JSONeTemplate: Sendable {
    let node: JSONeNode

    /// The context names that it may read, without built-ins and without names that `defined` computes.
    let names: NamesRead

    /// In the table description, for messages.
    var place: JSONPointer?

    /// Throws ``JSONeError`` for what needs no context: syntax, unknown operators and properties. Its pointer leads
    /// into `value`.
    public init(_ value: JSONValue) throws(JSONeError) { try self.init(value, named: nil) }

    init(_ value: JSONValue, named: [UTF8Key: NamedTemplate]?) throws(JSONeError) {
        node = try JSONeCompiler(named: named).compile(value)
        names = node.names
    }

    /// The value, if always the same.
    public var constant: JSONValue? { node.literal }

    /// `nil` for an operator: unknown before rendering.
    var kind: JSONKind? { node.kind }

    /// True also if the kind is unknown.
    func canGive(_ kinds: JSONKind...) -> Bool { kind.map(kinds.contains) ?? true }

    /// Takes its cost from the budget. `nil` if absent: `{"$if": "false", "then": 1}`. Throws ``JSONeError``, also when
    /// the budget is exhausted.
    public func render(
        _ context: consuming JSONeContext, budget: inout JSONeBudget
    ) throws(JSONeError) -> JSONValue? {
        if let constant { return constant }
        // No closures: they would copy the template and the context, a tenth of a short rendering.
        var evaluator = JSONeEvaluator(context, budget)
        defer { budget = evaluator.budget }
        guard let value = try evaluator.render(node) else { return nil }
        try evaluator.budget.admit(value, counting: true)
        return value
    }
}

/// An expression, as in `$eval` and `$if` (json-e.js.org/expressions.html).
public struct Expression: Sendable {
    let node: ExpressionNode

    /// As a template's.
    let names: NamesRead

    /// In the table description, for messages.
    var place: JSONPointer?

    /// Throws ``JSONeError`` `syntax`.
    public init(_ source: String) throws(JSONeError) {
        node = try ExpressionParser.parse(source)
        var names = NamesRead()
        node.collectNames(into: &names)
        self.names = names
    }

    /// Takes its cost from the budget. Throws ``JSONeError``, also for a function or an exhausted budget.
    public func evaluate(
        _ context: consuming JSONeContext, budget: inout JSONeBudget
    ) throws(JSONeError) -> JSONValue {
        var evaluator = JSONeEvaluator(context, budget)
        defer { budget = evaluator.budget }
        let operand = try evaluator.evaluate(node), value = operand.json()
        if case .function(let builtin) = operand { throw .function(builtin.rawValue) }
        if !node.isPath { try evaluator.budget.admit(value, counting: true) }
        return value
    }
}

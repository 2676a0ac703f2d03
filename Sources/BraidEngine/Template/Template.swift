/// A JSON-e template (json-e.js.org), checked and compiled when it is made; rendering parses nothing.
///
/// The language is JSON-e's as its reference implementation (the one in Python) has it, but for this:
/// - Every expression is parsed when the template is made, also in branches that are never rendered. Names of properties
///   must match in full (the reference lets `thenX` pass as `then`), and `a[1 2]` is no index.
/// - Data is not code: `$find` hands out the element as it is; the reference renders it once more.
/// - Numbers compare and sort with numbers by value, whole or not; booleans are not numbers (`true == 1` is false).
/// - Functions are no values: they can be called, tested for truth, compared and given to `typeof`.
/// - `$match` leaves out absent values. `join` writes scalars as `str` does and takes no arrays or objects;
///   `min` and `max` take a single number.
/// - Whole numbers beyond 64 bits become doubles once they are computed with; what is not finite is an error.
///   A number that is only passed on keeps its digits, also in `$json`; as a text it has the shortest ones.
/// - `lowercase` knows no final sigma.
/// - There is no clock: without a reference, `$fromNow` goes by the context's `now`, which may have no fraction.
public struct Template: Sendable {
    private let node: TemplateNode

    /// Context names that rendering may read: no fewer, perhaps more. Built-ins are not among them.
    public var freeNames: Set<String> { names.all }
    let names: NamesRead

    /// Where it stands in the table description, for what is said of its failures.
    var place: JSONPointer?

    /// Throws what can be found without a context: syntax errors, unknown operators, undefined properties; the error
    /// points into the value.
    public init(_ value: JSONValue) throws(TemplateError) {
        node = try TemplateCompiler.compile(value)
        names = node.names
    }

    /// What the template renders to when it reads and computes nothing, else nil. A literal; its escapes are resolved.
    public var constant: JSONValue? { node.literal }

    /// The kind of what the template renders to, where that can be seen: of templates only operators, such as `$eval`, may
    /// give another kind than their own.
    var kind: JSONKind? { node.kind }

    /// Whether what the template renders to may be of one of these kinds.
    func canGive(_ kinds: JSONKind...) -> Bool { kind.map(kinds.contains) ?? true }

    /// Nil stands for an absent value: `{"$if": "false", "then": 1}`.
    public func render(
        _ context: TemplateContext, budget: inout TemplateBudget
    ) throws(TemplateError) -> JSONValue? {
        if let constant { return constant }
        return try TemplateEvaluator.run(context, &budget) { (evaluator) throws(TemplateError) in
            guard let value = try evaluator.render(node) else { return nil }
            try evaluator.budget.admit(value, counting: true)
            return value
        }
    }
}

/// A JSON-e expression by itself, as the values of `$eval` and `$if` are (json-e.js.org/expressions.html).
public struct Expression: Sendable {
    private let node: ExpressionNode

    /// Context names that evaluation may read: no fewer, perhaps more. Built-ins are not among them.
    public var freeNames: Set<String> { names.all }
    let names: NamesRead

    /// Where it stands in the table description, for what is said of its failures.
    var place: JSONPointer?

    public init(_ source: String) throws(TemplateError) {
        node = try ExpressionParser.parse(source)
        var names = NamesRead()
        node.collectNames(into: &names)
        self.names = names
    }

    public func evaluate(
        _ context: TemplateContext, budget: inout TemplateBudget
    ) throws(TemplateError) -> JSONValue {
        try TemplateEvaluator.run(context, &budget) { (evaluator) throws(TemplateError) in
            let value = try evaluator.json(node)
            if !node.isPath { try evaluator.budget.admit(value, counting: true) }
            return value
        }
    }
}

extension TemplateEvaluator {
    /// Runs the body with a budget and gives back what is left of it, also after an error.
    fileprivate static func run<Result>(
        _ context: TemplateContext, _ budget: inout TemplateBudget,
        _ body: (inout TemplateEvaluator) throws(TemplateError) -> Result
    ) throws(TemplateError) -> Result {
        var evaluator = TemplateEvaluator(context, budget)
        defer { budget = evaluator.budget }
        return try body(&evaluator)
    }
}

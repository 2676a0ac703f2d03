/// A parsed expression.
///
/// Chains of operators of one precedence and chains of accesses are lists, not nested nodes. So, apart from operators
/// of different precedence, only brackets, signs, `!` and powers nest. The parser limits the nesting of brackets,
/// signs, `!` and powers, and so also limits the evaluator's recursion.
indirect enum ExpressionNode: Sendable {
    case constant(Operand)
    case name(String)
    case list([ExpressionNode])
    case object([(key: String, value: ExpressionNode)])
    case unary(UnaryOperator, ExpressionNode)
    case or([ExpressionNode])
    case and([ExpressionNode])
    /// A chain of operators of one precedence, such as `a + b - c`, applied from left to right.
    case infix(ExpressionNode, [(symbol: InfixOperator, right: ExpressionNode)])
    case power(base: ExpressionNode, exponent: ExpressionNode)
    /// A value followed by accesses and calls, such as `a.b[0][1:](c)`, which are applied from left to right.
    case access(ExpressionNode, [ExpressionAccess])
}

enum UnaryOperator: String, Sendable { case not = "!", minus = "-", plus = "+" }

enum InfixOperator: String, Sendable {
    case equal = "==", notEqual = "!=", less = "<", greater = ">", lessOrEqual = "<=", greaterOrEqual = ">="
    case add = "+", subtract = "-", multiply = "*", divide = "/", isIn = "in"
}

enum ExpressionAccess: Sendable {
    case member(String)
    case index(ExpressionNode)
    case slice(from: ExpressionNode?, to: ExpressionNode?)
    case call([ExpressionNode])
}

extension ExpressionNode {
    /// Whether the node's value can only be a constant, a context value or a part of one. Such a value needs no check
    /// of its size and depth, because the expression did not build it.
    var isPath: Bool {
        switch self {
        case .name, .constant: true
        case .access(let base, let accesses):
            base.isPath
                && accesses.allSatisfy {
                    switch $0 {
                    case .member, .index: true
                    case .slice, .call: false
                    }
                }
        default: false
        }
    }

    /// Adds the names that the expression reads from its context, except the names of built-in functions that exist in
    /// every context.
    func collectNames(into names: inout NamesRead) {
        switch self {
        case .constant: return
        case .name(let name):
            if Builtin(rawValue: name)?.isEverywhere != true { names.insert(name) }
        case .list(let nodes), .or(let nodes), .and(let nodes):
            for node in nodes { node.collectNames(into: &names) }
        case .object(let members):
            for member in members { member.value.collectNames(into: &names) }
        case .unary(_, let node): node.collectNames(into: &names)
        case .infix(let first, let rest):
            first.collectNames(into: &names)
            for (_, right) in rest { right.collectNames(into: &names) }
        case .power(let base, let exponent):
            base.collectNames(into: &names)
            exponent.collectNames(into: &names)
        case .access(let base, let accesses):
            base.collectNames(into: &names)
            for access in accesses { access.collectNames(of: base, into: &names) }
        }
    }
}

extension ExpressionAccess {
    fileprivate func collectNames(of base: ExpressionNode, into names: inout NamesRead) {
        switch self {
        case .member: return
        case .index(let index): index.collectNames(into: &names)
        case .slice(let from, let to):
            from?.collectNames(into: &names)
            to?.collectNames(into: &names)
        case .call(let arguments):
            for argument in arguments { argument.collectNames(into: &names) }
            // The built-in functions `fromNow` and `defined` read the context themselves.
            switch (base, arguments.first) {
            case (.name("fromNow"), _) where arguments.count < 2: names.insert("now")
            case (.name("defined"), .constant(.json(.string(let name)))?): names.insertAsked(name)
            default: return
            }
        }
    }
}

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
        case .name(let name): names.insertMention(of: name)
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
            if case .name(let function) = base, case .call(let arguments)? = accesses.first {
                names.insertCall(of: function, arguments)
            } else {
                base.collectNames(into: &names)
            }
            for access in accesses { access.collectNames(into: &names) }
        }
    }
}

extension ExpressionAccess {
    fileprivate func collectNames(into names: inout NamesRead) {
        switch self {
        case .member: return
        case .index(let index): index.collectNames(into: &names)
        case .slice(let from, let to):
            from?.collectNames(into: &names)
            to?.collectNames(into: &names)
        case .call(let arguments):
            for argument in arguments { argument.collectNames(into: &names) }
        }
    }
}

extension NamesRead {
    /// Adds what an expression reads that mentions a name without calling it directly. The built-in functions `fromNow`
    /// and `defined` can get other names, so each mention counts as a call that reads as much as the function can.
    fileprivate mutating func insertMention(of name: String) {
        switch Builtin(rawValue: name) {
        case .fromNow?: insertTime()
        case .defined?: insertAnyAsked()
        case let builtin?: if !builtin.isEverywhere { insert(name) }
        case nil: insert(name)
        }
    }

    /// Adds what a direct call of a function reads, such as `fromNow('1 day')`, without what its arguments read.
    fileprivate mutating func insertCall(of function: String, _ arguments: [ExpressionNode]) {
        switch Builtin(rawValue: function) {
        case .fromNow?:
            // If the second argument of `fromNow`, the reference time, is an empty text or missing, the function reads
            // `now`.
            if arguments.count > 1, case .constant(.json(.string(let time))) = arguments[1], !time.isEmpty { return }
            insert("now")
        case .defined?:
            if case .constant(.json(.string(let name)))? = arguments.first {
                insertAsked(name)
            } else {
                insertAnyAsked()
            }
        default: insertMention(of: function)
        }
    }
}

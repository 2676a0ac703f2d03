/// A parsed expression. Chains of operators and accesses are lists, so only brackets, signs, `!` and powers nest; the
/// parser limits those, and with them the evaluator's recursion.
indirect enum ExpressionNode: Sendable {
    case constant(Operand)
    case name(String)
    case list([ExpressionNode])
    case object([(key: String, value: ExpressionNode)])
    case unary(UnaryOperator, ExpressionNode)
    case or([ExpressionNode])
    case and([ExpressionNode])
    /// One precedence, left to right: `a + b - c`.
    case infix(ExpressionNode, [(symbol: InfixOperator, right: ExpressionNode)])
    case power(base: ExpressionNode, exponent: ExpressionNode)
    /// Left to right: `a.b[0][1:](c)`.
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
    /// A constant or a part of the context, whose size and depth need no check.
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

    /// Adds the names that it may read, without built-ins that are everywhere.
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
            } else if case .name(let name) = base, case .member(let member)? = accesses.first,
                Builtin(rawValue: name) == nil
            {
                names.insert(member: member, of: name)
                names.insert(path: accesses.prefix { $0.member != nil }.compactMap(\.member), of: name)
            } else {
                base.collectNames(into: &names)
            }
            for access in accesses { access.collectNames(into: &names) }
        }
    }
}

extension ExpressionAccess {
    var member: String? { if case .member(let name) = self { name } else { nil } }

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
    /// A name that is not called. `fromNow` and `defined` may be called later by another name, so count the most that
    /// they could read.
    fileprivate mutating func insertMention(of name: String) {
        switch Builtin(rawValue: name) {
        case .fromNow?: insertTime()
        case .defined?: insertAnyAsked()
        case let builtin?: if !builtin.isEverywhere { insert(name) }
        case nil: insert(name)
        }
    }

    /// Without the names in its arguments.
    fileprivate mutating func insertCall(of function: String, _ arguments: [ExpressionNode]) {
        switch Builtin(rawValue: function) {
        case .fromNow?:
            // Without a reference time it reads `now`.
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

/// Recursive descent (json-e.js.org/expressions.html, "Operator Precedence").
///
/// From low to high: `||`, `&&`, `in`, `== !=`, `< > <= >=`, `+ -`, `* /`, `**` (right-associative). As in the
/// reference implementation, signs and `!` bind tighter than `.`, `[]` and `()`: `!a.b` is `(!a).b`.
struct ExpressionParser {
    private var lexer: ExpressionLexer
    private var token: ExpressionToken
    private var tokenStart: Int
    private var depth = 0

    /// Of brackets, signs, `!` and powers.
    static let maximumDepth = 100

    private static let levels: [[String]] = [
        ["||"], ["&&"], ["in"], ["==", "!="], ["<", ">", "<=", ">="], ["+", "-"], ["*", "/"],
    ]

    private init(_ bytes: [UInt8], from offset: Int) throws(JSONeError) {
        lexer = ExpressionLexer(bytes, from: offset)
        (token, tokenStart) = try lexer.next()
    }

    /// Bare, `a + b`, or as in a text, `${a + b}`.
    static func parse(_ source: String) throws(JSONeError) -> ExpressionNode {
        let bytes = Array(source.utf8)
        guard source.utf8.contains(UInt8(ascii: "$")) else { return try parse(bytes) }
        if bytes.starts(with: "${".utf8) {
            let (node, end) = try parseInterpolated(bytes, from: 2)
            if end == bytes.count - 1 { return node }
        } else {
            // The dollar may be in a string.
            do { return try parse(bytes) } catch { guard source.contains(bytesOf: "${") else { throw error } }
        }
        let hint = expression(for: source).map { "; write \"\($0)\"" } ?? ""
        throw .syntax("an expression must be given, not a text that contains \"${…}\"\(hint)")
    }

    private static func parse(_ bytes: [UInt8]) throws(JSONeError) -> ExpressionNode {
        var parser = try ExpressionParser(bytes, from: 0)
        let node = try parser.expression()
        guard parser.token == .end else { throw parser.unexpected() }
        return node
    }

    /// What the author of an interpolated text probably means: without `${` and `}`, or its parts' sum.
    private static func expression(for text: String) -> String? {
        guard let parts = try? InterpolatedText(text).parts else { return nil }
        func joined(_ separator: String, quote: String) -> String {
            parts.map { part in
                switch part {
                case .text(let text): quote + text + quote
                case .expression(_, let source): source
                }
            }.joined(separator: separator)
        }
        return [joined("", quote: ""), joined(" + ", quote: "'")].first { (try? parse(Array($0.utf8))) != nil }
    }

    /// `offset` is after `${`, `end` at the `}`.
    static func parseInterpolated(
        _ bytes: [UInt8], from offset: Int
    ) throws(JSONeError) -> (node: ExpressionNode, end: Int) {
        var parser = try ExpressionParser(bytes, from: offset)
        let node = try parser.expression()
        guard parser.token != .end else { throw .syntax("unterminated ${..} expression") }
        guard parser.isAt("}") else { throw parser.unexpected() }
        return (node, parser.tokenStart)
    }

    // MARK: Tokens

    private mutating func advance() throws(JSONeError) { (token, tokenStart) = try lexer.next() }

    private func isAt(_ symbol: String) -> Bool { token == .symbol(symbol) }

    private mutating func take(_ symbol: String) throws(JSONeError) -> Bool {
        guard isAt(symbol) else { return false }
        try advance()
        return true
    }

    private mutating func expect(_ symbol: String) throws(JSONeError) {
        guard try take(symbol) else { throw unexpected("'\(symbol)'") }
    }

    private func unexpected(_ expected: String = "an operator or the end") -> JSONeError {
        let words = ["and": "&&", "or": "||", "is": "=="]
        if case .identifier(let name) = token, let meant = words[name] {
            return .syntax("found '\(name)', write '\(meant)'")
        }
        return .syntax("found '\(token.text)', expected \(expected)")
    }

    private mutating func nested<Result>(
        _ parse: (inout ExpressionParser) throws(JSONeError) -> Result
    ) throws(JSONeError) -> Result {
        guard depth < Self.maximumDepth else {
            throw .syntax("the expression is nested deeper than \(Self.maximumDepth)")
        }
        depth += 1
        defer { depth -= 1 }
        return try parse(&self)
    }

    // MARK: Grammar

    private mutating func expression() throws(JSONeError) -> ExpressionNode { try infix(0) }

    private mutating func infix(_ level: Int) throws(JSONeError) -> ExpressionNode {
        guard level < Self.levels.count else { return try power() }
        let first = try infix(level + 1)
        var rest: [(symbol: String, node: ExpressionNode)] = []
        while case .symbol(let symbol) = token, Self.levels[level].contains(symbol) {
            try advance()
            rest.append((symbol, try infix(level + 1)))
        }
        guard !rest.isEmpty else { return first }
        switch level {
        case 0: return .or([first] + rest.map(\.node))
        case 1: return .and([first] + rest.map(\.node))
        default:
            return .infix(
                first,
                rest.compactMap { part in
                    InfixOperator(rawValue: part.symbol).map { ($0, part.node) }
                })
        }
    }

    private mutating func power() throws(JSONeError) -> ExpressionNode {
        let base = try unitWithAccesses()
        guard try take("**") else { return base }
        return .power(base: base, exponent: try nested { (parser) throws(JSONeError) in try parser.power() })
    }

    private mutating func unitWithAccesses() throws(JSONeError) -> ExpressionNode {
        let base = try unit()
        var accesses: [ExpressionAccess] = []
        while true {
            if isAt("[") {
                accesses.append(try nested { (parser) throws(JSONeError) in try parser.brackets() })
            } else if isAt("(") {
                try advance()
                accesses.append(.call(try nested { (parser) throws(JSONeError) in try parser.elements(until: ")") }))
            } else if try take(".") {
                guard case .identifier(let name) = token else { throw unexpected("a property name") }
                try advance()
                accesses.append(.member(name))
            } else {
                return accesses.isEmpty ? base : .access(base, accesses)
            }
        }
    }

    /// `[index]`, `[from:to]`, `[from:]`, `[:to]` or `[:]`.
    private mutating func brackets() throws(JSONeError) -> ExpressionAccess {
        try expect("[")
        let from = isAt(":") ? nil : try expression()
        if try take(":") {
            let to = isAt("]") ? nil : try expression()
            try expect("]")
            return .slice(from: from, to: to)
        }
        try expect("]")
        guard let from else { throw unexpected("an index") }
        return .index(from)
    }

    private mutating func elements(until end: String) throws(JSONeError) -> [ExpressionNode] {
        if try take(end) { return [] }
        var nodes = [try expression()]
        while try take(",") { nodes.append(try expression()) }
        try expect(end)
        return nodes
    }

    private mutating func unit() throws(JSONeError) -> ExpressionNode {
        switch token {
        case .number(let text):
            try advance()
            return .constant(Operand(literal: text))
        case .string(let text):
            try advance()
            return .constant(.json(.string(text)))
        case .identifier(let name):
            try advance()
            return .name(name)
        case .symbol("null"):
            try advance()
            return .constant(.json(.null))
        case .symbol("true"), .symbol("false"):
            let value = isAt("true")
            try advance()
            return .constant(.json(.bool(value)))
        case .symbol(let symbol):
            return try nested { (parser) throws(JSONeError) in try parser.nestedUnit(symbol) }
        case .end:
            throw .syntax("unexpected end of input")
        }
    }

    private mutating func nestedUnit(_ symbol: String) throws(JSONeError) -> ExpressionNode {
        if let sign = UnaryOperator(rawValue: symbol) {
            try advance()
            return .unary(sign, try unit())
        }
        switch symbol {
        case "(":
            try advance()
            let node = try expression()
            try expect(")")
            return node
        case "[":
            try advance()
            return .list(try elements(until: "]"))
        case "{":
            try advance()
            return .object(try members())
        default:
            throw unexpected("a value")
        }
    }

    /// After the `{`. A last comma is allowed; of equal keys the last wins.
    private mutating func members() throws(JSONeError) -> [(key: String, value: ExpressionNode)] {
        var members: [(key: String, value: ExpressionNode)] = []
        var positions: [UTF8Key: Int] = [:]
        while true {
            switch token {
            case .string(let key), .identifier(let key):
                try advance()
                try expect(":")
                let value = try expression()
                if let position = positions[UTF8Key(key)] {
                    members[position].value = value
                } else {
                    positions[UTF8Key(key)] = members.count
                    members.append((key, value))
                }
                if try take("}") { return members }
                try expect(",")
            default:
                try expect("}")
                return members
            }
        }
    }
}

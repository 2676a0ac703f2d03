/// JSON, a computed number or a function. Functions may have names and be elements, but no result contains one.
enum Operand: Sendable {
    case json(JSONValue)
    case number(JSONeNumber)
    case function(Builtin)

    static func bool(_ value: Bool) -> Operand { .json(.bool(value)) }
    static func int(_ value: Int) -> Operand { .number(.int(value)) }
    static func string(_ value: String) -> Operand { .json(.string(value)) }

    init(literal: String) {
        if let int = Int(literal) {
            self = .int(int)
        } else if literal.utf8.contains(UInt8(ascii: ".")), let number = JSONeNumber(JSONNumber(validLexeme: literal)) {
            self = .number(number)
        } else {
            // Beyond 64 bits, or beyond a double: keeps its digits, without leading zeros.
            let digits = literal.drop { $0 == "0" }
            self = .json(.number(JSONNumber(validLexeme: digits.isEmpty ? "0" : String(digits))))
        }
    }

    /// A value from the context, where a function is a number: see ``json()``.
    init(_ value: JSONValue) {
        if case .number(let number) = value, let function = number.function {
            self = .function(function)
        } else {
            self = .json(value)
        }
    }

    /// For lists, objects and results. A function becomes a number with its name as the lexeme, which no JSON has;
    /// results are checked for that.
    func json() -> JSONValue {
        switch self {
        case .json(let value): return value
        case .number(let number): return .number(number.json)
        case .function(let builtin): return .number(JSONNumber(validLexeme: builtin.rawValue))
        }
    }

    /// `nil` for other kinds. Throws if too large for a double.
    func number() throws(JSONeError) -> JSONeNumber? {
        switch self {
        case .number(let number): return number
        case .json(.number(let number)):
            guard let value = JSONeNumber(number) else { throw .interpreter("\(number.lexeme) is out of range") }
            return value
        default: return nil
        }
    }

    var string: String? {
        if case .json(.string(let string)) = self { string } else { nil }
    }

    var isTruthy: Bool {
        switch self {
        case .json(let value): value.isTruthy
        case .number(let number): number.double != 0
        case .function: true
        }
    }

    /// What `${…}` and `str()` give; `nil` for arrays, objects, functions.
    var text: String? {
        switch self {
        case .number(let number): number.text
        case .function: nil
        case .json(let value): value.templateText
        }
    }

    var typeName: String {
        switch self {
        case .number: "number"
        case .function: "function"
        case .json(let value): value.kind.name
        }
    }
}

extension JSONValue {
    /// `null`, `false`, `0`, `""`, `[]` and `{}` are false (json-e.js.org/operators.html, "Truthiness").
    public var isTruthy: Bool {
        switch self {
        case .null: false
        case .bool(let value): value
        case .number(let number): number.doubleValue != 0
        case .string(let string): !string.isEmpty
        case .array(let elements): !elements.isEmpty
        case .object(let object): !object.isEmpty
        }
    }

    /// What `${…}` and `str()` give; `nil` for arrays, objects, functions.
    var templateText: String? {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .string(let string): string
        case .number(let number) where number.function != nil: nil
        case .number(let number):
            number.isWholeLexeme && number.lexeme != "-0"
                ? number.lexeme : JSONeNumber(number)?.text ?? number.lexeme
        case .array, .object: nil
        }
    }
}

extension JSONNumber {
    /// See ``Operand/json()``.
    var function: Builtin? {
        guard let first = lexeme.utf8.first, first >= UInt8(ascii: "a") else { return nil }
        return Builtin(rawValue: lexeme)
    }

    /// No fraction or exponent: the reference implementation's int.
    var isWholeLexeme: Bool {
        !lexeme.utf8.contains { $0 == UInt8(ascii: ".") || $0 | 0x20 == UInt8(ascii: "e") }
    }
}

/// JSON-e's expression language (json-e.js.org/expressions.html).
enum ExpressionToken: Equatable, Sendable {
    case number(String)
    case identifier(String)
    case string(String)
    /// An operator, bracket, `.`, `,`, `:`, `true`, `false`, `in` or `null`.
    case symbol(String)
    case end

    var text: String {
        switch self {
        case .number(let text), .identifier(let text), .symbol(let text): text
        case .string(let text): "'\(text)'"
        case .end: "end of input"
        }
    }
}

/// Reads on demand, not ahead: after the `}` of `${…}` comes no expression.
struct ExpressionLexer {
    private let bytes: [UInt8]
    private(set) var offset: Int

    init(_ bytes: [UInt8], from offset: Int = 0) {
        self.bytes = bytes
        self.offset = offset
    }

    /// The first match wins, so longer ones precede their prefixes.
    private static let symbols: [(text: String, bytes: [UInt8])] = [
        "**", "+", "-", "*", "/", "[", "]", ".", "(", ")", "{", "}", ":", ",",
        ">=", "<=", "<", ">", "==", "!=", "!", "&&", "||",
    ].map { ($0, Array($0.utf8)) }

    /// Other languages' operators, and ours.
    private static let foreign = [
        (text: "===", meant: "=="), (text: "!==", meant: "!="), (text: "<>", meant: "!="),
        (text: "=", meant: "=="), (text: "&", meant: "&&"), (text: "|", meant: "||"),
    ]

    /// The next token, with its first byte's offset.
    mutating func next() throws(JSONeError) -> (token: ExpressionToken, start: Int) {
        while let length = whitespaceLength { offset += length }
        let start = offset
        guard start < bytes.count else { return (.end, start) }
        switch bytes[start] {
        case UInt8(ascii: "0")...UInt8(ascii: "9"):
            return (number(), start)
        case UInt8(ascii: "'"), UInt8(ascii: "\""):
            return (try string(), start)
        case let byte where byte.startsIdentifier:
            offset = bytes[start...].firstIndex { !$0.continuesIdentifier } ?? bytes.count
            let word = text(start, offset)
            return (["true", "false", "in", "null"].contains(word) ? .symbol(word) : .identifier(word), start)
        default:
            let symbol = Self.symbols.first { bytes[start...].starts(with: $0.bytes) }
            if let foreign = Self.foreign.first(where: { bytes[start...].starts(with: $0.text.utf8) }),
                foreign.text.utf8.count > symbol?.bytes.count ?? 0
            {
                throw .syntax("found '\(foreign.text)', write '\(foreign.meant)'")
            }
            guard let symbol else {
                throw .syntax("unexpected input at '\(text(start, min(start + 40, bytes.count)))'")
            }
            offset += symbol.bytes.count
            return (.symbol(symbol.text), start)
        }
    }

    func text(_ start: Int, _ end: Int) -> String { String(decoding: bytes[start..<end], as: UTF8.self) }

    /// `[0-9]+(\.[0-9]+)?`: no sign, no exponent.
    private mutating func number() -> ExpressionToken {
        let start = offset
        skipDigits()
        if offset + 1 < bytes.count, bytes[offset] == UInt8(ascii: "."), bytes[offset + 1].isDigit {
            offset += 1
            skipDigits()
        }
        return .number(text(start, offset))
    }

    private mutating func skipDigits() {
        while offset < bytes.count, bytes[offset].isDigit { offset += 1 }
    }

    /// To the next quote of its kind; no escapes.
    private mutating func string() throws(JSONeError) -> ExpressionToken {
        let start = offset + 1
        guard let end = bytes[start...].firstIndex(of: bytes[offset]) else {
            throw .syntax("unterminated string at '\(text(offset, min(offset + 40, bytes.count)))'")
        }
        offset = end + 1
        return .string(text(start, end))
    }

    /// In bytes; `nil` if none.
    private var whitespaceLength: Int? {
        guard offset < bytes.count else { return nil }
        if bytes[offset] < 0x80 { return Unicode.Scalar(bytes[offset]).isWhitespace ? 1 : nil }
        let end = min(offset + 4, bytes.count)
        guard let scalar = String(decoding: bytes[offset..<end], as: UTF8.self).unicodeScalars.first,
            scalar.isWhitespace
        else { return nil }
        return UTF8.width(scalar)
    }
}

extension Unicode.Scalar {
    /// As in the reference implementation: Unicode's, and the four ASCII separators.
    var isWhitespace: Bool {
        value < 0x80
            ? value == 0x20 || (0x09...0x0D).contains(value) || (0x1C...0x1F).contains(value) : properties.isWhitespace
    }
}

extension UInt8 {
    var startsIdentifier: Bool {
        (self | 0x20 >= UInt8(ascii: "a") && self | 0x20 <= UInt8(ascii: "z")) || self == UInt8(ascii: "_")
    }
    var continuesIdentifier: Bool { startsIdentifier || isDigit }
}

extension String {
    /// `[a-zA-Z_][a-zA-Z0-9_]*`.
    var isTemplateIdentifier: Bool {
        guard let first = utf8.first, first.startsIdentifier else { return false }
        return utf8.allSatisfy(\.continuesIdentifier)
    }
}

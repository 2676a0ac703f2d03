/// A JSON number that keeps its digits as written (RFC 8259, section 6). Equal are those of the same exact decimal
/// value, such as `1`, `1.0` and `10e-1`.
public struct JSONNumber: Sendable {
    /// As written, always a valid JSON number.
    public let lexeme: String

    init(validLexeme: String) { lexeme = validLexeme }

    /// Creates a number.
    public init(_ value: Int) { lexeme = String(value) }

    /// `nil` for infinities and NaN. Whole values below 2^53 are written without a fraction.
    public init?(_ value: Double) {
        guard value.isFinite else { return nil }
        let isSmall = value.magnitude < 0x1p53
        lexeme = isSmall && Double(Int(value)) == value ? String(Int(value)) : "\(value)"
    }

    /// `nil` if the number is not whole, as `1.0` and `1e2` are, or does not fit into `Int`.
    public var intValue: Int? {
        if let int = Int(lexeme) { return int }
        let decimal = Decimal(lexeme)
        guard decimal.exponent >= 0, decimal.exponent + decimal.digits.count <= 19 else { return nil }
        let digits = decimal.digits.map { $0 + UInt8(ascii: "0") }
        let zeros = String(repeating: "0", count: decimal.exponent)
        return Int((decimal.isNegative ? "-0" : "0") + String(decoding: digits, as: UTF8.self) + zeros)
    }

    /// The nearest floating-point value, infinite if the number is too large.
    public var doubleValue: Double {
        Double(lexeme) ?? (lexeme.utf8.first == UInt8(ascii: "-") ? -.infinity : .infinity)
    }
}

extension JSONNumber: Equatable {
    public static func == (left: JSONNumber, right: JSONNumber) -> Bool {
        left.lexeme == right.lexeme || Decimal(left.lexeme) == Decimal(right.lexeme)
    }

    /// Digits times a power of ten, without zeros at the start and the end, so that equal numbers have equal parts.
    /// Zero has no digits.
    private struct Decimal: Equatable {
        var isNegative = false
        var digits: [UInt8] = []
        var exponent = 0

        init(_ lexeme: String) {
            var fraction = 0, inFraction = false, rest = lexeme.utf8[...]
            while let byte = rest.popFirst() {
                switch byte {
                case UInt8(ascii: "-"): isNegative = true
                case UInt8(ascii: "."): inFraction = true
                case UInt8(ascii: "e"), UInt8(ascii: "E"):
                    // Clamped to ±2^60, so that nothing overflows. Numbers beyond can count as equal.
                    let text = String(Substring(rest))
                    let limit = 1 << 60
                    exponent = max(
                        -limit, min(limit, Int(text) ?? (text.utf8.first == UInt8(ascii: "-") ? -limit : limit)))
                    rest = rest.suffix(0)
                default:
                    if inFraction { fraction += 1 }
                    if byte != UInt8(ascii: "0") || !digits.isEmpty { digits.append(byte - UInt8(ascii: "0")) }
                }
            }
            exponent -= fraction
            while digits.last == 0 {
                digits.removeLast()
                exponent += 1
            }
            if digits.isEmpty { (isNegative, exponent) = (false, 0) }
        }
    }
}

/// A number with its digits as written (RFC 8259, section 6). Equality is exact: `1`, `1.0` and `10e-1` are equal.
public struct JSONNumber: Sendable {
    /// As written: valid JSON.
    public let lexeme: String

    init(validLexeme: String) { lexeme = validLexeme }

    /// From an integer.
    public init(_ value: Int) { lexeme = String(value) }

    /// `nil` for infinities and NaN. Whole values below 2^53 get no fraction.
    public init?(_ value: Double) {
        guard value.isFinite else { return nil }
        let isSmall = value.magnitude < 0x1p53
        lexeme = isSmall && Double(Int(value)) == value ? String(Int(value)) : "\(value)"
    }

    /// `nil` unless whole (`1.0` and `1e2` are) and within `Int`.
    public var intValue: Int? {
        if let int = Int(lexeme) { return int }
        let decimal = Decimal(lexeme)
        guard decimal.exponent >= 0, decimal.exponent + decimal.digits.count <= 19 else { return nil }
        let digits = decimal.digits.map { $0 + UInt8(ascii: "0") }
        let zeros = String(repeating: "0", count: decimal.exponent)
        // The `0` in front: zero has no digits.
        return Int((decimal.isNegative ? "-0" : "0") + String(decoding: digits, as: UTF8.self) + zeros)
    }

    /// The nearest; infinite if too large.
    public var doubleValue: Double {
        Double(lexeme) ?? (lexeme.utf8.first == UInt8(ascii: "-") ? -.infinity : .infinity)
    }
}

extension JSONNumber: Equatable {
    public static func == (left: JSONNumber, right: JSONNumber) -> Bool {
        left.lexeme == right.lexeme || Decimal(left.lexeme) == Decimal(right.lexeme)
    }

    /// Normalized, without zeros at either end; zero has no digits.
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
                    // Clamped to ±2^60 against overflow; numbers beyond may count as equal.
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

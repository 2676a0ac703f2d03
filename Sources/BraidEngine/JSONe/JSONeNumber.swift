#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A computed number. As in the reference implementation, `4 / 2` is 2.0. Integers have 64 bits; beyond, doubles.
enum JSONeNumber: Sendable {
    case int(Int)
    /// Finite.
    case double(Double)

    /// `nil` if too large for a double.
    init?(_ number: JSONNumber) {
        if number.isWholeLexeme, let int = Int(number.lexeme) {
            self = .int(int)
        } else if let double = Double(number.lexeme), double.isFinite {
            self = .double(double)
        } else {
            return nil
        }
    }

    init(finite double: Double) throws(JSONeError) {
        guard double.isFinite else { throw .interpreter("the result is not a finite number") }
        self = .double(double)
    }

    /// An integer if it fits.
    init(whole double: Double) { self = Int(exactly: double).map { .int($0) } ?? .double(double) }

    var double: Double {
        switch self {
        case .int(let value): Double(value)
        case .double(let value): value
        }
    }

    var int: Int? {
        if case .int(let value) = self { value } else { nil }
    }

    /// The shortest digits that read back; a double never looks like an integer: `2.0`, `1e+16`.
    var text: String {
        switch self {
        case .int(let value): String(value)
        case .double(let value): value.templateText
        }
    }

    var json: JSONNumber { JSONNumber(validLexeme: text) }
}

// MARK: Arithmetic (json-e.js.org/expressions.html, "Arithmetic Operations")

extension JSONeNumber {
    static func + (left: Self, right: Self) throws(JSONeError) -> Self {
        if case (.int(let a), .int(let b)) = (left, right) {
            let (sum, overflow) = a.addingReportingOverflow(b)
            if !overflow { return .int(sum) }
        }
        return try JSONeNumber(finite: left.double + right.double)
    }

    static func - (left: Self, right: Self) throws(JSONeError) -> Self {
        if case (.int(let a), .int(let b)) = (left, right) {
            let (difference, overflow) = a.subtractingReportingOverflow(b)
            if !overflow { return .int(difference) }
        }
        return try JSONeNumber(finite: left.double - right.double)
    }

    static func * (left: Self, right: Self) throws(JSONeError) -> Self {
        if case (.int(let a), .int(let b)) = (left, right) {
            let (product, overflow) = a.multipliedReportingOverflow(by: b)
            if !overflow { return .int(product) }
        }
        return try JSONeNumber(finite: left.double * right.double)
    }

    /// Always a double.
    static func / (left: Self, right: Self) throws(JSONeError) -> Self {
        guard right.double != 0 else { throw .interpreter("division by zero") }
        return try JSONeNumber(finite: left.double / right.double)
    }

    func raised(to exponent: Self) throws(JSONeError) -> Self {
        if case (.int(var base), .int(var exponent)) = (self, exponent), exponent >= 0 {
            // By squaring. On overflow, again with doubles below.
            var result = 1, fits = true
            while exponent > 0, fits {
                if exponent & 1 == 1 {
                    let (product, overflow) = result.multipliedReportingOverflow(by: base)
                    (result, fits) = (product, !overflow)
                }
                exponent >>= 1
                if exponent > 0, fits {
                    let (square, overflow) = base.multipliedReportingOverflow(by: base)
                    (base, fits) = (square, !overflow)
                }
            }
            if fits { return .int(result) }
        }
        return try JSONeNumber(finite: pow(double, exponent.double))
    }

    func negated() throws(JSONeError) -> Self {
        switch self {
        case .double(let value): .double(-value)
        case .int(let value): value == .min ? .double(-Double(value)) : .int(-value)
        }
    }

    static func < (left: Self, right: Self) -> Bool {
        if case (.int(let a), .int(let b)) = (left, right) { a < b } else { left.double < right.double }
    }

    static func == (left: Self, right: Self) -> Bool {
        if case (.int(let a), .int(let b)) = (left, right) { a == b } else { left.double == right.double }
    }
}

extension Double {
    /// The shortest digits that read back, with an exponent from 1e16 and below 1e-4; `description` has one from 2^53.
    var templateText: String {
        if magnitude > 0x1p53, magnitude < 1e16 { "\(Int(self)).0" } else { description }
    }
}

/// Classes of bytes (RFC 9110, 5.6; RFC 5234, appendix B.1).
extension UInt8 {
    package static let tab = UInt8(ascii: "\t")
    package static let lineFeed = UInt8(ascii: "\n")
    package static let carriageReturn = UInt8(ascii: "\r")
    package static let space = UInt8(ascii: " ")

    package var isDigit: Bool { self &- UInt8(ascii: "0") < 10 }
    package var isBlank: Bool { self == .space || self == .tab }
    /// VCHAR.
    package var isVisible: Bool { self > 0x20 && self < 0x7F }

    /// Changes only ASCII letters.
    package var lowercased: UInt8 { self &- UInt8(ascii: "A") < 26 ? self | 0x20 : self }

    /// A tchar, as in methods and field names (RFC 9110, 5.6.2).
    var isTokenByte: Bool {
        // One bit for each of 128 bytes.
        let low: UInt64 = 0x03FF_6CFA_0000_0000  // ! # $ % & ' * + - . 0-9
        let high: UInt64 = 0x57FF_FFFF_C7FF_FFFE  // the bits of A-Z ^ _ ` a-z | ~
        return self < 64 ? low >> UInt64(self) & 1 == 1 : self < 128 && high >> UInt64(self & 63) & 1 == 1
    }

    /// Visible, blank, or obs-text (RFC 9110, 5.5).
    var isFieldByte: Bool { self >= 0x20 && self != 0x7F || self == .tab }

    /// `nil` if it is no hexadecimal digit.
    package var hexValue: UInt8? {
        if isDigit { return self &- UInt8(ascii: "0") }
        let letter = lowercased &- UInt8(ascii: "a")
        return letter < 6 ? letter &+ 10 : nil
    }

    /// `%2F` (RFC 3986, 2.1).
    package var percentEncoded: String { (self < 16 ? "%0" : "%") + String(self, radix: 16, uppercase: true) }
}

extension Array where Element == UInt8 {
    package mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { append(contentsOf: $0) }
    }

    /// Much faster for short strings than `append(contentsOf: text.utf8)`.
    package mutating func append(text: String) {
        var text = text
        text.withUTF8 { append(contentsOf: $0) }
    }

    /// Writes 0 for a negative number.
    package mutating func append(decimal number: Int) { append(text: String(Swift.max(0, number))) }

    package mutating func append(hexadecimal number: Int) {
        append(contentsOf: String(number, radix: 16).utf8)
    }

    /// Spaces replace what a field may not contain, so that a client's text can neither end its line nor add one.
    package mutating func append(fieldText text: String) {
        var text = text
        text.withUTF8 { utf8 in
            if utf8.allSatisfy(\.isFieldByte) {
                append(contentsOf: utf8)
            } else {
                append(contentsOf: utf8.map { $0.isFieldByte ? $0 : .space })
            }
        }
    }
}

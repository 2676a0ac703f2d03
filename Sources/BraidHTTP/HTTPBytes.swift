/// The classes of bytes in HTTP's grammar (RFC 9110, 5.6; RFC 5234, appendix B.1).
extension UInt8 {
    public static let tab = UInt8(ascii: "\t")
    public static let lineFeed = UInt8(ascii: "\n")
    public static let carriageReturn = UInt8(ascii: "\r")
    public static let space = UInt8(ascii: " ")

    public var isDigit: Bool { self &- UInt8(ascii: "0") < 10 }
    public var isBlank: Bool { self == .space || self == .tab }
    /// Whether the byte is a visible ASCII character (VCHAR), as opposed to a blank, a control character or a byte
    /// above 127.
    public var isVisible: Bool { self > 0x20 && self < 0x7F }

    /// The lower-case letter if the byte is an ASCII letter. Otherwise the byte itself.
    public var lowercased: UInt8 { self &- UInt8(ascii: "A") < 26 ? self | 0x20 : self }

    /// Whether the byte is a tchar: part of a token, such as a method or a field name (RFC 9110, 5.6.2).
    var isTokenByte: Bool {
        // The two words `low` and `high` are a set of 128 bits: bit n says whether the byte n is a tchar. The word
        // `low` holds the bits 0 to 63, and `high` the bits 64 to 127.
        let low: UInt64 = 0x03FF_6CFA_0000_0000  // ! # $ % & ' * + - . 0-9
        let high: UInt64 = 0x57FF_FFFF_C7FF_FFFE  // the bits of A-Z ^ _ ` a-z | ~
        return self < 64 ? low >> UInt64(self) & 1 == 1 : self < 128 && high >> UInt64(self & 63) & 1 == 1
    }

    /// Whether the byte may occur in a header field's value: visible, blank, or obs-text (RFC 9110, 5.5).
    var isFieldByte: Bool { self >= 0x20 && self != 0x7F || self == .tab }

    /// The value of a hexadecimal digit, or `nil` for any other byte.
    public var hexValue: UInt8? {
        if isDigit { return self &- UInt8(ascii: "0") }
        let letter = lowercased &- UInt8(ascii: "a")
        return letter < 6 ? letter &+ 10 : nil
    }

    /// The byte as a URL spells it where it cannot stand itself: `%2F` (RFC 3986, 2.1).
    public var percentEncoded: String { (self < 16 ? "%0" : "%") + String(self, radix: 16, uppercase: true) }
}

extension Array where Element == UInt8 {
    public mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { append(contentsOf: $0) }
    }

    /// Appends a string as UTF-8. For short strings, this method is several times as fast as `append(contentsOf:
    /// text.utf8)`.
    public mutating func append(text: String) {
        var text = text
        text.withUTF8 { append(contentsOf: $0) }
    }

    /// Appends a number in decimal digits. For a negative number, the method appends 0.
    public mutating func append(decimal number: Int) { append(text: String(Swift.max(0, number))) }

    public mutating func append(hexadecimal number: Int) {
        append(contentsOf: String(number, radix: 16).utf8)
    }

    /// Appends a string for a header line. A space replaces each byte that a header field may not contain, such as a
    /// line end. So a client's text in a header can neither end the header line nor add a field.
    public mutating func append(fieldText text: String) {
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

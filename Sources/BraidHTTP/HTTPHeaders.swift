/// The header fields of a message, in order. It keeps the received bytes, and makes a `String` of what is looked up.
/// Names are compared without regard to case.
///
/// - Complexity: a look-up is O(bytes of the names and of the found values).
///
/// Source: RFC 9110, 5.1 and 5.3.
public struct HTTPHeaders: Sendable {
    /// Ranges within `bytes`.
    public struct Field: Sendable {
        public var name: Range<Int32>
        public var value: Range<Int32>
    }

    public let bytes: [UInt8]
    /// In the order of the lines.
    public let fields: [Field]

    /// The values of all lines of this name, joined with ", " (RFC 9110, 5.3).
    public subscript(name: String) -> String? {
        var found: String?
        for field in fields where isNamed(field, name) {
            let value = text(field.value)
            found = found.map { $0 + ", " + value } ?? value
        }
        return found
    }

    /// One value for each line of this name.
    public func values(_ name: String) -> [String] {
        fields.filter { isNamed($0, name) }.map { text($0.value) }
    }

    /// All lines, with names in lower case.
    public var texts: [(name: String, value: String)] {
        fields.map { (text($0.name).lowercased(), text($0.value)) }
    }

    /// The fields of other names.
    public func without(_ names: String...) -> HTTPHeaders {
        HTTPHeaders(bytes: bytes, fields: fields.filter { field in !names.contains { isNamed(field, $0) } })
    }

    private func text(_ range: Range<Int32>) -> String {
        String(decoding: bytes[Int(range.lowerBound)..<Int(range.upperBound)], as: UTF8.self)
    }

    private func isNamed(_ field: Field, _ name: String) -> Bool {
        bytes.equals(name, in: Int(field.name.lowerBound)..<Int(field.name.upperBound))
    }
}

extension Array where Element == UInt8 {
    /// Compares without regard to the case of ASCII letters.
    func equals(_ text: String, in range: Range<Int>) -> Bool {
        guard range.count == text.utf8.count else { return false }
        var index = range.lowerBound
        for byte in text.utf8 {
            guard self[index].lowercased == byte.lowercased else { return false }
            index += 1
        }
        return true
    }
}

/// A message's fields in order (RFC 9110, 5.1 and 5.3). Keeps the received bytes, makes strings of what is looked up,
/// and ignores the case of names.
///
/// - Complexity: a look-up is O(bytes of the names and of the found values).
public struct HTTPHeaders: Sendable {
    /// One line: a name and a value.
    public struct Field: Sendable {
        /// In `bytes`.
        public var name: Range<Int32>
        /// In `bytes`, without white space at its ends.
        public var value: Range<Int32>
    }

    /// The received lines.
    public let bytes: [UInt8]
    /// In the order in which they were sent.
    public let fields: [Field]

    /// The values of all lines, joined with ", " (RFC 9110, 5.3).
    public subscript(name: String) -> String? {
        var found: String?
        for field in fields where isNamed(field, name) {
            let value = text(field.value)
            found = found.map { $0 + ", " + value } ?? value
        }
        return found
    }

    /// The values of a field that may occur on several lines, in order.
    public func values(_ name: String) -> [String] {
        fields.filter { isNamed($0, name) }.map { text($0.value) }
    }

    /// With names in lower case.
    public var texts: [(name: String, value: String)] {
        fields.map { (text($0.name).lowercased(), text($0.value)) }
    }

    package func without(_ names: String...) -> HTTPHeaders {
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
    /// Ignores the case of ASCII letters.
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

/// The fields of one message, in the order in which they came.
///
/// Keeps the bytes as received and compares names without regard to case; a `String` is made only for what is asked.
/// Look-up is O(bytes of the names): there are at most a hundred.
/// Source: RFC 9110, 5.1 (names) and 5.3 (order and combination).
public struct HTTPHeaders: Sendable {
    public struct Field: Sendable {
        public var name: Range<Int32>
        public var value: Range<Int32>
    }

    public let bytes: [UInt8]
    /// As a parser found them in `bytes`: every range lies within them.
    public let fields: [Field]

    /// The value of the field, or nil where there is none. Several lines are joined with ", " (RFC 9110, 5.3).
    public subscript(name: String) -> String? {
        var found: String?
        for field in fields where isNamed(field, name) {
            let value = text(field.value)
            found = found.map { $0 + ", " + value } ?? value
        }
        return found
    }

    /// The values of each line of that name, in order.
    public func values(_ name: String) -> [String] {
        fields.filter { isNamed($0, name) }.map { text($0.value) }
    }

    private func text(_ range: Range<Int32>) -> String {
        String(decoding: bytes[Int(range.lowerBound)..<Int(range.upperBound)], as: UTF8.self)
    }

    private func isNamed(_ field: Field, _ name: String) -> Bool {
        bytes.equals(name, in: Int(field.name.lowerBound)..<Int(field.name.upperBound))
    }
}

extension Array where Element == UInt8 {
    /// Whether the bytes in `range` spell `text`, without regard to the case of ASCII letters.
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

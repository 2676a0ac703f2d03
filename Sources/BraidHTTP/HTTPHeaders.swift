/// The header fields of a message, in the order in which they arrived.
///
/// `HTTPHeaders` keeps the received bytes, and makes a `String` only for a field that the server looks up. Field names
/// are compared without regard to case.
/// - Complexity: a look-up is O(bytes of the names and of the found values). By default, a message has at most a
///   hundred fields.
///
/// Source: RFC 9110, 5.1 (names) and 5.3 (order and combination).
public struct HTTPHeaders: Sendable {
    /// The byte ranges of a header field's name and value within `bytes`.
    public struct Field: Sendable {
        public var name: Range<Int32>
        public var value: Range<Int32>
    }

    public let bytes: [UInt8]
    /// The byte ranges of all header fields' names and values. Every range lies within `bytes`.
    public let fields: [Field]

    /// Returns the value of the header field with the given name, or `nil` if the message lacks the field. If several
    /// lines have this name, their values are joined with ", " (RFC 9110, 5.3).
    public subscript(name: String) -> String? {
        var found: String?
        for field in fields where isNamed(field, name) {
            let value = text(field.value)
            found = found.map { $0 + ", " + value } ?? value
        }
        return found
    }

    /// Returns the values of all header lines with the given field name, in order, one value for each line.
    public func values(_ name: String) -> [String] {
        fields.filter { isNamed($0, name) }.map { text($0.value) }
    }

    /// The names, in lower case, and the values of all header lines, in order.
    public var texts: [(name: String, value: String)] {
        fields.map { (text($0.name).lowercased(), text($0.value)) }
    }

    /// Returns the header fields except those with the given names.
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
    /// Returns whether the bytes in `range` spell `text`, without regard to the case of ASCII letters.
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

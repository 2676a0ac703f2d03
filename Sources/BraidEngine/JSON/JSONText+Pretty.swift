extension JSONText {
    /// Returns the JSON text with line breaks and an indentation of two spaces for each level, for people to read.
    /// Empty arrays and objects stay on one line.
    ///
    /// - Returns: UTF-8 bytes without a line feed at the end.
    /// - Complexity: O(bytes).
    public func pretty() -> [UInt8] { pretty(limit: .max) ?? [] }

    /// Returns the JSON text as ``pretty()`` does, or `nil` if the indented text has more than `limit` bytes.
    ///
    /// In a deeply nested text, the indentation of each line can be much longer than the line's value. So the indented
    /// text can be more than a hundred times as long as this text.
    /// - Complexity: O(bytes of the result), and O(limit) if the result is `nil`.
    package func pretty(limit: Int) -> [UInt8]? {
        var output: [UInt8] = []
        withBytes { bytes in
            output.reserveCapacity(min(2 * bytes.count, limit))
            var cursor = JSONCursor(bytes), depth = 0
            func breakLine() {
                output.append(0x0A)
                output.append(contentsOf: repeatElement(0x20, count: 2 * depth))
            }
            while cursor.at < bytes.count, output.count <= limit {
                let start = cursor.at, byte = bytes[start]
                cursor.at += 1
                switch byte {
                case .openBrace, .openBracket:
                    output.append(byte)
                    if cursor.peek == .closeBrace || cursor.peek == .closeBracket {
                        output.append(cursor.peek)
                        cursor.at += 1
                    } else {
                        depth += 1
                        breakLine()
                    }
                case .closeBrace, .closeBracket:
                    depth -= 1
                    breakLine()
                    output.append(byte)
                case .comma:
                    output.append(byte)
                    breakLine()
                case .colon: output.append(contentsOf: [byte, 0x20])
                default:
                    cursor.at = start
                    if byte == .quote { _ = cursor.skipString() } else { cursor.skipScalar() }
                    output.append(contentsOf: bytes[part: start..<cursor.at])
                }
            }
        }
        return output.count <= limit ? output : nil
    }
}

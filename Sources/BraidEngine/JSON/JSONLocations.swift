/// Where a document's values are in its text, for messages such as `file:line:column:`. Each query takes O(bytes).
public struct JSONLocations: Sendable {
    private let bytes: [UInt8]
    private let isValid: Bool

    /// The text as written. All queries return `nil` if ``JSONText`` rejects it.
    public init(of bytes: [UInt8]) {
        self.bytes = bytes
        isValid = (try? JSONText(parsing: bytes, depthLimit: .max)) != nil
    }

    /// Where the value's first byte is, both from 1, the column in bytes; `nil` if there is no such value.
    public func position(of pointer: JSONPointer) -> (line: Int, column: Int)? {
        find(pointer).flatMap { $0.isExact ? ($0.line, $0.column) : nil }
    }

    /// The position of the value or, if it is missing, of the innermost one around it.
    public func position(nearest pointer: JSONPointer) -> (line: Int, column: Int)? {
        find(pointer).map { ($0.line, $0.column) }
    }

    private func find(_ pointer: JSONPointer) -> (line: Int, column: Int, isExact: Bool)? {
        guard isValid else { return nil }
        return bytes.withUnsafeBytes { input in
            var cursor = JSONCursor(input)
            cursor.skipSpace()
            let isExact = cursor.follow(pointer) == pointer.tokens.count
            let (line, column) = lineAndColumn(of: cursor.at, in: input)
            return (line, column, isExact)
        }
    }
}

/// Where in a text the values of its document stand, for a checker's `file:line:column: pointer: message`.
///
/// Each question walks the text, O(bytes up to the answer): there are few, and only when something is wrong.
public struct JSONLocations: Sendable {
    private let bytes: [UInt8]
    private let isValid: Bool

    /// The text as it was written. For a text that is no JSON there are no positions (its `JSONError` has one).
    public init(of bytes: [UInt8]) {
        self.bytes = bytes
        isValid = (try? JSONText(parsing: bytes, depthLimit: .max)) != nil
    }

    /// Line and column of a value's first byte, both from 1, the column in bytes; nil if there is no such value.
    public func position(of pointer: JSONPointer) -> (line: Int, column: Int)? {
        find(pointer).flatMap { $0.isExact ? ($0.line, $0.column) : nil }
    }

    /// The same for the nearest value around it that is there, for messages about what is missing.
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

/// Why a text is no JSON, and where.
///
/// The place is the first byte that cannot stand where it stands; for malformed UTF-8 and for lone surrogates the
/// start of the sequence, for a member name that stands twice the opening quote of the second.
public struct JSONError: Error, Sendable, Equatable {
    /// Bytes before the place.
    public var offset: Int
    /// From 1; lines end in a line feed.
    public var line: Int
    /// From 1, counted in bytes.
    public var column: Int
    /// What stands there, and what would be right.
    public var message: String
    /// The value that could not be read, or the innermost one around the place.
    public var pointer: JSONPointer?

    public init(offset: Int, line: Int, column: Int, message: String, pointer: JSONPointer? = nil) {
        self.offset = offset
        self.line = line
        self.column = column
        self.message = message
        self.pointer = pointer
    }
}

extension JSONError: CustomStringConvertible {
    public var description: String {
        let place = pointer.map { $0 == .root ? "" : " \($0):" } ?? ""
        return "\(line):\(column):\(place) \(message)"
    }
}

/// What the scanner throws: small, turned into a `JSONError` once it is out of the loops.
struct JSONFault: Error {
    enum Reason {
        /// Something else should stand here.
        case expected(StaticString)
        /// Says it all.
        case wrong(StaticString)
        case endsInString, controlCharacter, duplicateName
        case tooDeep(Int)
    }

    var offset: Int
    var reason: Reason

    init(_ offset: Int, _ reason: Reason) {
        self.offset = offset
        self.reason = reason
    }

    func message(in input: UnsafeRawBufferPointer) -> String {
        switch reason {
        case .expected(let what):
            guard offset < input.count else { return "the text ends where \(what) should stand" }
            return "\(Self.found(at: offset, in: input)) stands where \(what) should"
        case .wrong(let message): return "\(message)"
        case .endsInString: return "the text ends inside a string"
        case .controlCharacter: return "\(Self.found(at: offset, in: input)) must be escaped inside a string"
        case .tooDeep(let limit): return "arrays and objects must not be nested deeper than \(limit)"
        case .duplicateName:
            var cursor = JSONCursor(input, at: offset)
            return "the member name \(JSONText.string(cursor.string()).text) stands twice in this object"
        }
    }

    /// The character at an offset, in a form that can be shown.
    private static func found(at offset: Int, in input: UnsafeRawBufferPointer) -> String {
        let byte = input[offset]
        switch byte {
        case 0x21...0x7E: return "`\(Character(Unicode.Scalar(byte)))`"
        case 0x20: return "a space"
        case 0..<0x20, 0x7F: return "the control character U+\(hexadecimal(UInt32(byte), digits: 4))"
        default:
            guard let length = JSONScanner.lengthOfSequence(in: input, at: offset) else { return "the byte 0x\(hexadecimal(UInt32(byte), digits: 2))" }
            let character = String(decoding: input[offset..<offset + length], as: UTF8.self)
            return "`\(character)` (U+\(hexadecimal(character.unicodeScalars.first?.value ?? 0, digits: 4)))"
        }
    }

    private static func hexadecimal(_ number: UInt32, digits: Int) -> String {
        let text = String(number, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}

/// Line and column of an offset, both from 1, the column in bytes.
func lineAndColumn(of offset: Int, in input: UnsafeRawBufferPointer) -> (line: Int, column: Int) {
    var line = 1, lineStart = 0
    for index in 0..<min(offset, input.count) where input[index] == 0x0A {
        line += 1
        lineStart = index + 1
    }
    return (line, offset - lineStart + 1)
}

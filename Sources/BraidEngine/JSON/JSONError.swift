/// Why a text is not JSON, and where: at the first byte that the grammar does not allow, or the end of a text that ends
/// too early. For
/// - malformed UTF-8 and lone surrogates: at their start
/// - a name that an object has twice: at the second one's quote
/// - too deep nesting: at the first bracket beyond the limit
/// - too long a text: at the limit, as line 1, column 1
public struct JSONError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Bytes before the fault.
    public var offset: Int
    /// From 1; a line ends with a line feed.
    public var line: Int
    /// From 1, in bytes.
    public var column: Int
    /// Without a full stop.
    public var message: String
    /// The value being read or just read; within a name, the object around it; for a duplicate name, the member.
    public var pointer: JSONPointer?

    /// Creates an error.
    public init(offset: Int, line: Int, column: Int, message: String, pointer: JSONPointer? = nil) {
        self.offset = offset
        self.line = line
        self.column = column
        self.message = message
        self.pointer = pointer
    }

    public var description: String {
        let place = pointer.map { $0 == .root ? "" : " \($0):" } ?? ""
        return "\(line):\(column):\(place) \(message)"
    }
}

/// Small, so that the hot loops stay fast; `scan` makes a ``JSONError`` of it.
struct JSONScanError: Error {
    enum Reason {
        /// What should be here.
        case expected(StaticString)
        /// The whole message.
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
            guard offset < input.count else { return "the text ends, but \(what) must follow" }
            return "expected \(what), but found \(Self.found(at: offset, in: input))"
        case .wrong(let message): return "\(message)"
        case .endsInString: return "the text ends inside a string"
        case .controlCharacter: return "\(Self.found(at: offset, in: input)) must be escaped inside a string"
        case .tooDeep(let limit): return "arrays and objects must not be nested deeper than \(limit)"
        case .duplicateName:
            var cursor = JSONCursor(input, at: offset)
            return "the member name \(JSONText.string(cursor.string()).text) is in this object twice"
        }
    }

    private static func found(at offset: Int, in input: UnsafeRawBufferPointer) -> String {
        let byte = input[offset]
        switch byte {
        case 0x21...0x7E: return "`\(Character(Unicode.Scalar(byte)))`"
        case 0x20: return "a space"
        case 0..<0x20, 0x7F: return "the control character U+\(hexadecimal(UInt32(byte), digits: 4))"
        default:
            guard let length = JSONScanner.lengthOfSequence(in: input, at: offset) else {
                return "the byte 0x\(hexadecimal(UInt32(byte), digits: 2))"
            }
            let character = String(decoding: input[offset..<offset + length], as: UTF8.self)
            return "`\(character)` (U+\(hexadecimal(character.unicodeScalars.first?.value ?? 0, digits: 4)))"
        }
    }

    private static func hexadecimal(_ number: UInt32, digits: Int) -> String {
        let text = String(number, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}

/// From 1, the column in bytes.
func lineAndColumn(of offset: Int, in input: UnsafeRawBufferPointer) -> (line: Int, column: Int) {
    var line = 1, lineStart = 0
    for index in 0..<min(offset, input.count) where input[index] == 0x0A {
        line += 1
        lineStart = index + 1
    }
    return (line, offset - lineStart + 1)
}

/// The fault that makes a text invalid JSON, with its position.
///
/// The position is the first byte that the grammar does not allow, or the end of a text that ends too early. The
/// following faults have another position:
/// - Malformed UTF-8 and lone surrogates: the first byte of the UTF-8 sequence or of the `\u` escape.
/// - A member name that an object contains twice: the opening quote of the second name.
/// - Arrays and objects that are nested too deeply: the first opening bracket beyond the limit.
/// - A text that is too long: the offset is the longest allowed length, and the line and the column are 1.
public struct JSONError: Error, Sendable, Equatable {
    /// The fault's position, as the number of bytes before it.
    public var offset: Int
    /// The line of the fault's position, from 1. A line ends with a line feed.
    public var line: Int
    /// The column of the fault's position, from 1, counted in bytes.
    public var column: Int
    /// What is wrong with the text, as a clause without a full stop.
    public var message: String
    /// The JSON pointer to the value that the parser was reading or had just read. If the parser was reading a member's
    /// name, the pointer leads to the object. For a name that an object contains twice, the pointer leads to the
    /// member. `nil` if unknown.
    public var pointer: JSONPointer?

    /// Creates an error from its parts. The parser creates its errors itself; a program rarely needs this initialiser.
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

/// What the scanner throws: small, so that the hot loops stay fast. `scan` converts it to a ``JSONError``.
struct JSONScanError: Error {
    enum Reason {
        /// The text has something else at the offset than the grammar expects. The string names what the grammar
        /// expects.
        case expected(StaticString)
        /// A fault that no other case describes. The string is the whole message.
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

    /// Returns the character at an offset of the input in printable form, for an error message.
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

/// Returns the line and column of an offset. The line and the column count from 1, and the column counts bytes.
func lineAndColumn(of offset: Int, in input: UnsafeRawBufferPointer) -> (line: Int, column: Int) {
    var line = 1, lineStart = 0
    for index in 0..<min(offset, input.count) where input[index] == 0x0A {
        line += 1
        lineStart = index + 1
    }
    return (line, offset - lineStart + 1)
}

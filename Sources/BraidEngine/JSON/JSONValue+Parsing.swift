extension JSONValue {
    /// Checks as `JSONText` does, then builds the tree.
    public init(parsing bytes: [UInt8], depthLimit: Int = 128) throws(JSONError) {
        self = try JSONText(parsing: bytes, depthLimit: depthLimit).value()
    }

    public init(parsing text: String, depthLimit: Int = 128) throws(JSONError) {
        try self.init(parsing: Array(text.utf8), depthLimit: depthLimit)
    }
}

extension JSONText {
    /// The tree. O(bytes), without recursion.
    public func value() -> JSONValue {
        withBytes {
            var builder = JSONTreeBuilder($0)
            return builder.build()
        }
    }
}

/// Builds the tree of a text that is known to be valid. Values that have ended wait on one stack until the array or
/// object around them ends and takes all of its own at once.
private struct JSONTreeBuilder {
    private struct Frame {
        /// Where its values start on the stack.
        var values: Int
        /// Where its names start, or -1 for an array.
        var names: Int
    }

    private var cursor: JSONCursor
    private var values: [JSONValue] = []
    private var names: [String] = []
    private var frames: [Frame] = []

    init(_ bytes: UnsafeRawBufferPointer) { cursor = JSONCursor(bytes) }

    mutating func build() -> JSONValue {
        while cursor.at < cursor.input.count {
            switch cursor.peek {
            case .quote:
                let string = cursor.string()
                if cursor.peek == .colon { names.append(string) } else { values.append(.string(string)) }
            case .openBrace:
                frames.append(Frame(values: values.count, names: names.count))
                cursor.at += 1
            case .openBracket:
                frames.append(Frame(values: values.count, names: -1))
                cursor.at += 1
            case .closeBrace, .closeBracket:
                guard let frame = frames.popLast() else { return .null }
                close(frame)
                cursor.at += 1
            case .comma, .colon: cursor.at += 1
            case UInt8(ascii: "n"):
                values.append(.null)
                cursor.at += 4
            case UInt8(ascii: "t"):
                values.append(.bool(true))
                cursor.at += 4
            case UInt8(ascii: "f"):
                values.append(.bool(false))
                cursor.at += 5
            default:
                let start = cursor.at
                cursor.skipScalar()
                values.append(.number(JSONNumber(validLexeme: String(decoding: cursor.input[part: start..<cursor.at], as: UTF8.self))))
                // A byte that starts no value would be a bug of ours: let it not stop the walk.
                if cursor.at == start { cursor.at += 1 }
            }
        }
        return values.last ?? .null
    }

    @inline(__always)
    private mutating func close(_ frame: Frame) {
        let value: JSONValue
        if frame.names < 0 {
            value = .array(Array(values[frame.values...]))
        } else {
            let count = values.count - frame.values
            var members: [(name: String, value: JSONValue)] = []
            members.reserveCapacity(count)
            for index in 0..<count { members.append((names[frame.names + index], values[frame.values + index])) }
            names.removeLast(count)
            value = .object(JSONObject(unique: members))
        }
        values.removeLast(values.count - frame.values)
        values.append(value)
    }
}

// What a value is, for reading.
extension JSONValue {
    public var isNull: Bool { if case .null = self { true } else { false } }
    public var boolValue: Bool? { if case .bool(let bool) = self { bool } else { nil } }
    public var stringValue: String? { if case .string(let string) = self { string } else { nil } }
    public var numberValue: JSONNumber? { if case .number(let number) = self { number } else { nil } }
    public var intValue: Int? { numberValue?.intValue }
    public var doubleValue: Double? { numberValue?.doubleValue }
    public var arrayValue: [JSONValue]? { if case .array(let elements) = self { elements } else { nil } }
    public var objectValue: JSONObject? { if case .object(let object) = self { object } else { nil } }
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(nilLiteral: ()) { self = .null }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int) { self = .number(JSONNumber(value)) }
    public init(floatLiteral value: Double) { self = JSONNumber(value).map(JSONValue.number) ?? .null }
    public init(stringLiteral value: String) { self = .string(value) }
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    public init(dictionaryLiteral members: (String, JSONValue)...) { self = .object(JSONObject(members)) }
}

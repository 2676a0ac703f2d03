extension JSONValue {
    /// By the rules of ``JSONText``.
    public init(parsing bytes: [UInt8], depthLimit: Int = 128) throws(JSONError) {
        self = try JSONText(parsing: bytes, depthLimit: depthLimit).value()
    }

    /// By the rules of ``JSONText``.
    public init(parsing text: String, depthLimit: Int = 128) throws(JSONError) {
        try self.init(parsing: Array(text.utf8), depthLimit: depthLimit)
    }
}

extension JSONText {
    /// A tree. O(bytes), no recursion.
    public func value() -> JSONValue {
        withBytes {
            var builder = JSONTreeBuilder($0)
            return builder.build()
        }
    }

    /// An object gets only the members with these names: a template reads few of a model. `nil` for all.
    func value(of names: [String]?) -> JSONValue {
        guard let names, kind == .object else { return value() }
        var members: [(name: String, value: JSONValue)] = []
        members.reserveCapacity(names.count)
        withBytes { bytes in
            var cursor = JSONCursor(bytes)
            cursor.forEachMember { cursor, found in
                let name = names.first {
                    var name = $0
                    return name.withUTF8 { cursor.isName(found, UnsafeRawBufferPointer($0)) }
                }
                guard let name else {
                    cursor.skipValue()
                    return true
                }
                if cursor.peek == .quote {
                    members.append((name, .string(cursor.string())))
                } else {
                    members.append((name, part(cursor.rangeOfValue()).value()))
                }
                return members.count < names.count
            }
        }
        return .object(JSONObject(unique: members))
    }
}

/// Values wait on a stack until the array or object around them ends and moves all of them off at once.
private struct JSONTreeBuilder: ~Copyable {
    private struct Frame {
        /// Position of its first value on the stack.
        var values: Int
        /// Position of its first name; -1 for an array.
        var names: Int
    }

    private var cursor: JSONCursor
    private var values = MoveStack<JSONValue>()
    private var names = MoveStack<String>()
    private var frames: [Frame] = []

    init(_ bytes: UnsafeRawBufferPointer) { cursor = JSONCursor(bytes) }

    mutating func build() -> JSONValue {
        while cursor.at < cursor.input.count {
            switch cursor.peek {
            case .quote:
                let string = cursor.string()
                // The text is compact: a name's colon follows at once.
                if cursor.peek == .colon { names.push(string) } else { values.push(.string(string)) }
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
                values.push(.null)
                cursor.at += 4
            case UInt8(ascii: "t"):
                values.push(.bool(true))
                cursor.at += 4
            case UInt8(ascii: "f"):
                values.push(.bool(false))
                cursor.at += 5
            default:
                let start = cursor.at
                cursor.skipScalar()
                values.push(
                    .number(
                        JSONNumber(validLexeme: String(decoding: cursor.input[part: start..<cursor.at], as: UTF8.self)))
                )
                // Only after a bug of the scanner: the loop must end.
                if cursor.at == start { cursor.at += 1 }
            }
        }
        return values.count > 0 ? values.pop() : .null
    }

    @inline(__always)
    private mutating func close(_ frame: Frame) {
        let count = values.count - frame.values
        if frame.names < 0 {
            let elements = [JSONValue](unsafeUninitializedCapacity: count) { output, initialized in
                if count > 0 { output.baseAddress!.moveInitialize(from: values.taking(count), count: count) }
                initialized = count
            }
            values.push(.array(elements))
        } else {
            let members = [(name: String, value: JSONValue)](unsafeUninitializedCapacity: count) {
                output, initialized in
                let names = names.taking(count), values = values.taking(count)
                for index in 0..<count {
                    output.initializeElement(at: index, to: ((names + index).move(), (values + index).move()))
                }
                initialized = count
            }
            values.push(.object(JSONObject(unique: members)))
        }
    }
}

/// Its values are moved out, not copied.
private struct MoveStack<Element>: ~Copyable {
    private var storage = UnsafeMutablePointer<Element>.allocate(capacity: 64)
    private var capacity = 64
    private(set) var count = 0

    @inline(__always)
    mutating func push(_ element: consuming Element) {
        if count == capacity { grow() }
        (storage + count).initialize(to: element)
        count += 1
    }

    @inline(__always)
    mutating func pop() -> Element { taking(1).move() }

    /// The caller must move them out before the next push.
    @inline(__always)
    mutating func taking(_ number: Int) -> UnsafeMutablePointer<Element> {
        precondition(number >= 0 && number <= count)
        count -= number
        return storage + count
    }

    @inline(never)
    private mutating func grow() {
        let larger = UnsafeMutablePointer<Element>.allocate(capacity: 2 * capacity)
        larger.moveInitialize(from: storage, count: count)
        storage.deallocate()
        storage = larger
        capacity *= 2
    }

    deinit {
        storage.deinitialize(count: count)
        storage.deallocate()
    }
}

extension JSONValue {
    var kind: JSONKind {
        switch self {
        case .null: .null
        case .bool: .bool
        case .number: .number
        case .string: .string
        case .array: .array
        case .object: .object
        }
    }

    /// `null`.
    public var isNull: Bool { if case .null = self { true } else { false } }
    /// `nil` for other kinds.
    public var boolValue: Bool? { if case .bool(let bool) = self { bool } else { nil } }
    /// `nil` for other kinds.
    public var stringValue: String? { if case .string(let string) = self { string } else { nil } }
    /// `nil` for other kinds.
    public var numberValue: JSONNumber? { if case .number(let number) = self { number } else { nil } }
    /// `nil` unless whole (`1.0` and `1e2` are) and within `Int`.
    public var intValue: Int? { numberValue?.intValue }
    /// The nearest; infinite if too large.
    public var doubleValue: Double? { numberValue?.doubleValue }
    /// `nil` for other kinds.
    public var arrayValue: [JSONValue]? { if case .array(let elements) = self { elements } else { nil } }
    /// `nil` for other kinds.
    public var objectValue: JSONObject? { if case .object(let object) = self { object } else { nil } }
}

// Not `nil`: in `condition ? nil : value` it would mean JSON's `null`.
extension JSONValue: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByStringLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int) { self = .number(JSONNumber(value)) }
    public init(floatLiteral value: Double) { self = JSONNumber(value).map(JSONValue.number) ?? .null }
    public init(stringLiteral value: String) { self = .string(value) }
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    public init(dictionaryLiteral members: (String, JSONValue)...) { self = .object(JSONObject(members)) }
}

/// The kind of a JSON value.
public enum JSONKind: Sendable, Hashable {
    /// RFC 8259, section 3.
    case null, bool, number, string, array, object

    /// The name in messages and in JSON-e's `typeof`, and a data source's model type for models without a `type`.
    var name: String {
        switch self {
        case .null: "null"
        case .bool: "boolean"
        case .number: "number"
        case .string: "string"
        case .array: "array"
        case .object: "object"
        }
    }
}

// Scalars.
extension JSONText {
    /// O(1): the first byte decides.
    public var kind: JSONKind {
        switch withBytes({ $0.first }) {
        case UInt8.openBrace: .object
        case UInt8.openBracket: .array
        case UInt8.quote: .string
        case UInt8(ascii: "n"): .null
        case UInt8(ascii: "t"), UInt8(ascii: "f"): .bool
        default: .number
        }
    }

    /// `null`.
    public var isNull: Bool { kind == .null }

    /// Unescaped. `nil` for other kinds.
    public var stringValue: String? {
        guard kind == .string else { return nil }
        return withBytes {
            var cursor = JSONCursor($0)
            return cursor.string()
        }
    }

    /// `nil` for other kinds.
    public var boolValue: Bool? { kind == .bool ? count == 4 : nil }

    /// With its digits as written. `nil` for other kinds.
    public var numberValue: JSONNumber? { kind == .number ? JSONNumber(validLexeme: text) : nil }

    /// `nil` unless the value is a whole number, such as `1.0` or `1e2`, that fits into `Int`.
    public var intValue: Int? { numberValue?.intValue }

    /// The nearest floating-point value of a number, infinite if it is too large.
    public var doubleValue: Double? { numberValue?.doubleValue }
}

// Read without building trees: each access scans the text.
extension JSONText {
    /// The elements, which share this text's bytes. `nil` for other kinds. O(bytes).
    public func elements() -> [JSONText]? {
        guard kind == .array else { return nil }
        var elements: [JSONText] = []
        withBytes { bytes in
            var cursor = JSONCursor(bytes)
            cursor.forEachElement { cursor in
                let start = cursor.at
                cursor.skipValue()
                elements.append(part(start..<cursor.at))
                return true
            }
        }
        return elements
    }

    /// The members in the order of the text, whose bytes the values share. `nil` for other kinds. O(bytes).
    public func members() -> [(name: String, value: JSONText)]? {
        guard kind == .object else { return nil }
        var members: [(name: String, value: JSONText)] = []
        withBytes { bytes in
            var cursor = JSONCursor(bytes)
            cursor.forEachMember { cursor, name in
                let start = cursor.at
                cursor.skipValue()
                members.append((cursor.string(name), part(start..<cursor.at)))
                return true
            }
        }
        return members
    }

    /// The value of an object's member, if there is one. O(bytes up to its end).
    public subscript(name: String) -> JSONText? {
        guard kind == .object else { return nil }
        return withBytes { bytes in
            var cursor = JSONCursor(bytes)
            return cursor.enter(member: name) ? part(cursor.rangeOfValue()) : nil
        }
    }

    /// The value to which a pointer leads (RFC 6901, section 4), if there is one. O(bytes up to its end).
    public subscript(pointer: JSONPointer) -> JSONText? {
        withBytes { bytes in
            var cursor = JSONCursor(bytes)
            return cursor.follow(pointer) == pointer.tokens.count ? part(cursor.rangeOfValue()) : nil
        }
    }

    /// How deep arrays and objects are nested: 0 for a scalar, 1 for `[1]`. A text that is composed of others can be
    /// deeper than the parser allows. O(bytes).
    public var depth: Int {
        withBytes { bytes in
            var cursor = JSONCursor(bytes), depth = 0, deepest = 0
            while cursor.at < bytes.count {
                switch bytes[cursor.at] {
                case .quote:
                    _ = cursor.skipString()
                    continue
                case .openBrace, .openBracket:
                    depth += 1
                    deepest = max(deepest, depth)
                case .closeBrace, .closeBracket: depth -= 1
                default: break
                }
                cursor.at += 1
            }
            return deepest
        }
    }
}

extension JSONCursor {
    /// Moves from the start of an object to a member's value. If it is missing, moves behind the object and returns
    /// false.
    mutating func enter(member name: String) -> Bool {
        var name = name, found = false
        name.withUTF8 { utf8 in
            forEachMember { cursor, member in
                found = cursor.isName(member, UnsafeRawBufferPointer(utf8))
                if !found { cursor.skipValue() }
                return !found
            }
        }
        return found
    }

    /// Moves from the start of an array to an element. If it is missing, moves behind the array and returns false.
    mutating func enter(element index: Int) -> Bool {
        var left = index, found = false
        forEachElement { cursor in
            found = left == 0
            left -= 1
            if !found { cursor.skipValue() }
            return !found
        }
        return found
    }

    /// Moves from the start of a value to the one to which a pointer leads, or to the innermost around it that exists.
    /// Returns how many tokens were followed.
    mutating func follow(_ pointer: JSONPointer) -> Int {
        for (position, token) in pointer.tokens.enumerated() {
            let start = at
            let entered: Bool =
                switch peek {
                case .openBrace: enter(member: token)
                case .openBracket: JSONPointer.index(token).map { enter(element: $0) } ?? false
                default: false
                }
            guard entered else {
                at = start
                return position
            }
        }
        return pointer.tokens.count
    }

    mutating func rangeOfValue() -> Range<Int> {
        let start = at
        skipValue()
        return start..<at
    }
}

/// The kind of a JSON value.
public enum JSONKind: Sendable, Hashable {
    /// RFC 8259, section 3.
    case null, bool, number, string, array, object

    /// In messages and JSON-e's `typeof`, and the model type of a data source's models without `type`.
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

extension JSONText {
    /// O(1).
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

    /// Unescaped; `nil` for other kinds.
    public var stringValue: String? {
        guard kind == .string else { return nil }
        return withBytes {
            var cursor = JSONCursor($0)
            return cursor.string()
        }
    }

    /// `nil` for other kinds.
    public var boolValue: Bool? { kind == .bool ? count == 4 : nil }

    /// As written; `nil` for other kinds.
    public var numberValue: JSONNumber? { kind == .number ? JSONNumber(validLexeme: text) : nil }

    /// `nil` unless whole (`1.0` and `1e2` are) and within `Int`.
    public var intValue: Int? { numberValue?.intValue }

    /// The nearest; infinite if too large. `nil` for other kinds.
    public var doubleValue: Double? { numberValue?.doubleValue }
}

// Each access scans the text.
extension JSONText {
    /// An array's elements, sharing this text's bytes. `nil` for other kinds. O(bytes).
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

    /// An object's members in order, sharing this text's bytes. `nil` for other kinds. O(bytes).
    public func members() -> [(name: String, value: JSONText)]? {
        guard kind == .object else { return nil }
        var members: [(name: String, value: JSONText)] = []
        members.reserveCapacity(4)
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

    /// An object's member. O(bytes up to its end).
    public subscript(name: String) -> JSONText? {
        guard kind == .object else { return nil }
        return withBytes { bytes in
            var cursor = JSONCursor(bytes)
            return cursor.enter(member: name) ? part(cursor.rangeOfValue()) : nil
        }
    }

    /// The value that the pointer leads to. O(bytes up to its end).
    public subscript(pointer: JSONPointer) -> JSONText? {
        withBytes { bytes in
            var cursor = JSONCursor(bytes)
            return cursor.follow(pointer) == pointer.tokens.count ? part(cursor.rangeOfValue()) : nil
        }
    }

    /// 0 for a scalar, 1 for `[1]`; composed texts can exceed the parser's limit. O(bytes).
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
    /// Moves from an object's start to a member's value. If it is missing, moves past the object and returns false.
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

    /// Moves from an array's start to an element. If it is missing, moves past the array and returns false.
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

    /// Moves to the pointer's value or the innermost around it; returns how many tokens it followed.
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

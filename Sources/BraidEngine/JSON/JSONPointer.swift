/// A JSON Pointer (RFC 6901): the path from a document's root to one of its values.
///
/// Pointers are equal if the UTF-8 bytes of their tokens are.
public struct JSONPointer: Sendable {
    /// Member names and array indices from the root, unescaped.
    public let tokens: [String]

    /// Creates a pointer from unescaped tokens.
    public init(tokens: [String]) { self.tokens = tokens }

    /// Parses a pointer's text (RFC 6901, section 3): empty, or `/` before each token, and `~` only as `~0` or `~1`.
    public init?(_ text: String) {
        guard !text.isEmpty else {
            self = .root
            return
        }
        guard text.utf8.first == UInt8(ascii: "/") else { return nil }
        var tokens: [String] = []
        for part in text.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            guard let token = Self.unescaping(part) else { return nil }
            tokens.append(token)
        }
        self.tokens = tokens
    }

    /// The pointer to the whole document. Its text is empty.
    public static let root = JSONPointer(tokens: [])

    /// To a member, by its unescaped name.
    public func appending(_ token: String) -> JSONPointer { JSONPointer(tokens: tokens + [token]) }
    /// To an element of an array.
    public func appending(_ index: Int) -> JSONPointer { appending(String(index)) }
    /// This pointer followed by another.
    public func appending(_ pointer: JSONPointer) -> JSONPointer { JSONPointer(tokens: tokens + pointer.tokens) }

    /// Bytes, without escapes, of a pointer in a message.
    package static let longest = 8_192

    /// The pointer, or the pointer to the innermost value around it that fits into ``longest``.
    package var shortened: JSONPointer {
        var left = Self.longest
        let fitting = tokens.prefix { token in
            left -= token.utf8.count + 1
            return left >= 0
        }
        return fitting.count == tokens.count ? self : JSONPointer(tokens: Array(fitting))
    }

    /// The array index that a token spells (RFC 6901, section 4: no sign, no leading zeros).
    static func index(_ token: String) -> Int? {
        token.utf8.count > 1 && token.utf8.first == UInt8(ascii: "0") ? nil : Int(digits: token.utf8)
    }

    private static func unescaping(_ part: Substring.UTF8View) -> String? {
        guard part.contains(UInt8(ascii: "~")) else { return String(part) }
        var bytes: [UInt8] = [], rest = part
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "~") else {
                bytes.append(byte)
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "0"): bytes.append(UInt8(ascii: "~"))
            case UInt8(ascii: "1"): bytes.append(UInt8(ascii: "/"))
            default: return nil
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension JSONPointer: CustomStringConvertible {
    /// The pointer's text, with `~` and `/` of a token as `~0` and `~1`.
    public var description: String {
        var bytes: [UInt8] = []
        for token in tokens {
            bytes.append(UInt8(ascii: "/"))
            for byte in token.utf8 {
                switch byte {
                case UInt8(ascii: "~"): bytes += [byte, UInt8(ascii: "0")]
                case UInt8(ascii: "/"): bytes += [UInt8(ascii: "~"), UInt8(ascii: "1")]
                default: bytes.append(byte)
                }
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension JSONPointer: Hashable {
    public static func == (left: JSONPointer, right: JSONPointer) -> Bool {
        left.tokens.elementsEqual(right.tokens) { $0.hasSameBytes(as: $1) }
    }

    public func hash(into hasher: inout Hasher) {
        for token in tokens { hasher.combine(UTF8Key(token)) }
    }
}

extension JSONValue {
    /// The value to which a pointer leads (RFC 6901, section 4), if there is one. O(tokens).
    public subscript(pointer: JSONPointer) -> JSONValue? {
        var value = self
        for token in pointer.tokens {
            switch value {
            case .object(let object):
                guard let member = object[token] else { return nil }
                value = member
            case .array(let elements):
                guard let index = JSONPointer.index(token), index < elements.count else { return nil }
                value = elements[index]
            default: return nil
            }
        }
        return value
    }
}

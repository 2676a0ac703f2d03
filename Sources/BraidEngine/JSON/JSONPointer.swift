/// A path from a document's root to a value (RFC 6901): `JSONPointer("/rows/0/model")`. Compared by UTF-8 bytes.
public struct JSONPointer: Sendable {
    /// Names and indices, unescaped.
    public let tokens: [String]

    /// From unescaped tokens.
    public init(tokens: [String]) { self.tokens = tokens }

    /// `nil` unless empty or `/` before each token, with `~` only as `~0` or `~1`.
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

    /// The whole document; its text is empty.
    public static let root = JSONPointer(tokens: [])

    /// To a member, unescaped.
    public func appending(_ token: String) -> JSONPointer { JSONPointer(tokens: tokens + [token]) }
    /// To an element.
    public func appending(_ index: Int) -> JSONPointer { appending(String(index)) }
    /// This one, then the other.
    public func appending(_ pointer: JSONPointer) -> JSONPointer { JSONPointer(tokens: tokens + pointer.tokens) }

    /// Limit of a pointer in messages: bytes without escapes.
    package static let longest = 8_192

    /// Cut to the innermost value whose pointer fits into ``longest``.
    package var shortened: JSONPointer {
        var left = Self.longest
        let fitting = tokens.prefix { token in
            left -= token.utf8.count + 1
            return left >= 0
        }
        return fitting.count == tokens.count ? self : JSONPointer(tokens: Array(fitting))
    }

    /// A token as an array's index: no sign, no leading zeros (RFC 6901, section 4).
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
    /// Escaped with `~0` and `~1`.
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
    /// The value that the pointer leads to. O(tokens).
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

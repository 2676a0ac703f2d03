/// A JSON pointer (RFC 6901): the way from a document's root to a value in it. Compared byte by byte.
public struct JSONPointer: Sendable {
    /// Names and indices, unescaped.
    public let tokens: [String]

    public init(tokens: [String]) { self.tokens = tokens }

    /// Nil if malformed: it must be empty or start with `/`, and `~` must be followed by `0` or `1` (section 3).
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

    /// The whole document.
    public static let root = JSONPointer(tokens: [])

    public func appending(_ token: String) -> JSONPointer { JSONPointer(tokens: tokens + [token]) }
    public func appending(_ index: Int) -> JSONPointer { appending(String(index)) }
    public func appending(_ pointer: JSONPointer) -> JSONPointer { JSONPointer(tokens: tokens + pointer.tokens) }

    /// The array index that a token is (section 4: no sign, no leading zeros), or nil.
    static func index(_ token: String) -> Int? {
        guard token.utf8.allSatisfy(\.isDigit), token.utf8.count == 1 || token.utf8.first != UInt8(ascii: "0") else { return nil }
        return Int(token)
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
    /// The pointer's text: `~` and `/` in tokens stand as `~0` and `~1` (section 3).
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
    /// The value at a pointer (section 4); nil if a token leads nowhere (`-` does always).
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

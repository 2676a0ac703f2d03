/// A request's target, taken apart (RFC 9112, 3.2; RFC 3986, 2.1 and 3.2.2). Only a whole URI has an `authority`.
package struct HTTPTarget {
    package var path: [String]
    package var query: [(name: String, value: String)] = []
    package var authority: String?

    /// Throws 400, or 501 for CONNECT, which only a proxy serves. O(bytes).
    package init(_ bytes: ArraySlice<UInt8>, method: String) throws(HTTPFailure) {
        for byte in bytes where !byte.isVisible || byte == UInt8(ascii: "#") {
            throw HTTPFailure(
                status: 400,
                detail:
                    "The target has a byte that must be percent-encoded (a space, a control, a fragment's '#' or non-ASCII)."
            )
        }
        if method == "CONNECT" {
            throw HTTPFailure(status: 501, detail: "This server is not a proxy: CONNECT is not served.")
        }
        var rest = bytes
        if rest.first != UInt8(ascii: "/") {
            if method == "OPTIONS", rest.elementsEqual("*".utf8) {
                path = []
                return
            }
            guard let start = Self.endOfScheme(rest) else {
                throw HTTPFailure(
                    status: 400, detail: "The target must start with '/', or be '*' with OPTIONS, or be an http URI.")
            }
            let end = rest[start...].firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
            guard Self.isHost(rest[start..<end]) else {
                throw HTTPFailure(status: 400, detail: "The target's host is not a valid host with an optional port.")
            }
            authority = String(decoding: rest[start..<end], as: UTF8.self)
            rest = rest[end...]
        }
        let mark = rest.firstIndex(of: UInt8(ascii: "?"))
        var segments = rest[..<(mark ?? rest.endIndex)]
        if !segments.isEmpty { segments.removeFirst() }
        path = []
        path.reserveCapacity(4)
        while let slash = segments.firstIndex(of: UInt8(ascii: "/")) {
            path.append(try Self.decoded(segments[..<slash]))
            segments = segments[(slash + 1)...]
        }
        path.append(try Self.decoded(segments))
        if let mark { query = try Self.query(rest[(mark + 1)...]) }
    }

    /// Percent-encodes a malformed target's wrong bytes.
    static func wellFormed(_ bytes: ArraySlice<UInt8>) -> String {
        var text: [UInt8] = []
        for (index, byte) in zip(bytes.indices, bytes) {
            let isEncoding =
                bytes.endIndex - index > 2 && bytes[index + 1].hexValue != nil && bytes[index + 2].hexValue != nil
            let isWellFormed = byte == UInt8(ascii: "%") ? isEncoding : byte.isVisible && byte != UInt8(ascii: "#")
            if isWellFormed { text.append(byte) } else { text.append(text: byte.percentEncoded) }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Names and values, decoded. Without "=", a value is empty. Throws 400 for a wrong percent-encoding. O(bytes).
    package static func query(_ bytes: ArraySlice<UInt8>) throws(HTTPFailure) -> [(name: String, value: String)] {
        var query: [(name: String, value: String)] = []
        for item in bytes.split(separator: UInt8(ascii: "&")) {
            let equals = item.firstIndex(of: UInt8(ascii: "="))
            let name = try decoded(item[..<(equals ?? item.endIndex)], plusIsSpace: true)
            let value =
                try equals.map { at throws(HTTPFailure) in try decoded(item[(at + 1)...], plusIsSpace: true) } ?? ""
            query.append((name, value))
        }
        return query
    }

    /// host [ ":" port ], without user information. Not empty (RFC 9110, 4.2.1).
    package static func isHost(_ bytes: ArraySlice<UInt8>) -> Bool {
        var rest = bytes
        if rest.first == UInt8(ascii: "[") {
            guard let end = rest.firstIndex(of: UInt8(ascii: "]")), end > rest.startIndex + 2 else { return false }
            let literal = rest[(rest.startIndex + 1)..<end]
            guard literal.allSatisfy({ $0.hexValue != nil || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".") })
            else { return false }
            rest = rest[(end + 1)...]
            guard rest.isEmpty || rest.first == UInt8(ascii: ":") else { return false }
        } else {
            let end = rest.firstIndex(of: UInt8(ascii: ":")) ?? rest.endIndex
            let name = rest[..<end]
            guard !name.isEmpty, name.allSatisfy(isNameByte),
                !name.contains(UInt8(ascii: "%")) || (try? decoded(name)) != nil
            else { return false }
            rest = rest[end...]
        }
        guard !rest.isEmpty else { return true }
        return rest.count <= 6 && rest.dropFirst().allSatisfy(\.isDigit)
    }

    /// Of a reg-name (RFC 3986): unreserved, sub-delims, or an encoding's percent sign.
    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "="): true
        case UInt8(ascii: "#"), UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "|"): false
        default: byte.isTokenByte
        }
    }

    private static func endOfScheme(_ bytes: ArraySlice<UInt8>) -> Int? {
        let text = bytes.prefix(8).map(\.lowercased)
        if text.starts(with: "http://".utf8) { return bytes.startIndex + 7 }
        if text.starts(with: "https://".utf8) { return bytes.startIndex + 8 }
        return nil
    }

    private static func decoded(_ bytes: ArraySlice<UInt8>, plusIsSpace: Bool = false) throws(HTTPFailure) -> String {
        var plain = true
        for byte in bytes where byte == UInt8(ascii: "%") || byte == UInt8(ascii: "+") {
            plain = false
            break
        }
        if plain { return String(decoding: bytes, as: UTF8.self) }
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let byte = bytes[index]
            if byte == UInt8(ascii: "%") {
                guard bytes.endIndex - index > 2, let high = bytes[index + 1].hexValue,
                    let low = bytes[index + 2].hexValue,
                    high | low != 0
                else {
                    throw HTTPFailure(
                        status: 400,
                        detail: "The target has a '%' without two hexadecimal digits, or the encoding of NUL.")
                }
                result.append(high << 4 | low)
                index += 3
            } else {
                result.append(plusIsSpace && byte == UInt8(ascii: "+") ? .space : byte)
                index += 1
            }
        }
        guard let text = String(validating: result, as: UTF8.self) else {
            throw HTTPFailure(status: 400, detail: "The target's percent-encoding does not spell valid UTF-8.")
        }
        return text
    }
}

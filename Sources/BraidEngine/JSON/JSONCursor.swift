/// Reads bytes known to be valid JSON; checks no grammar.
struct JSONCursor {
    let input: UnsafeRawBufferPointer
    var at: Int

    @inline(__always)
    init(_ input: UnsafeRawBufferPointer, at: Int = 0) {
        self.input = input
        self.at = at
    }

    /// 0 at the end.
    @inline(__always) var peek: UInt8 { at < input.count ? input[at] : 0 }

    @inline(__always)
    mutating func skipSpace() {
        while peek.isJSONSpace { at += 1 }
    }

    mutating func skipValue() {
        switch peek {
        case .quote: _ = skipString()
        case .openBrace, .openBracket: skipContainer()
        default: skipScalar()
        }
    }

    /// A number, `true`, `false` or `null`.
    @inline(__always)
    mutating func skipScalar() {
        while at < input.count {
            switch input[at] {
            case .comma, .closeBrace, .closeBracket, 0x20, 0x0A, 0x0D, 0x09: return
            default: at += 1
            }
        }
    }

    private mutating func skipContainer() {
        var depth = 0
        while at < input.count {
            let byte = input[at]
            if byte == .quote {
                _ = skipString()
                continue
            }
            at += 1
            // A cheap filter: the four brackets differ only in the bits of 0x26, and no other byte outside strings
            // matches.
            if byte | 0x26 == 0x7F {
                if byte == .openBrace || byte == .openBracket {
                    depth += 1
                } else if byte == .closeBrace || byte == .closeBracket {
                    depth -= 1
                    if depth == 0 { return }
                }
            }
        }
    }

    /// Returns whether there are escapes.
    @inline(__always)
    mutating func skipString() -> Bool {
        at += 1
        var escaped = false
        while at < input.count {
            if at + 8 <= input.count {
                let marks = input.word(at: at).quoteOrBackslash
                if marks == 0 {
                    at += 8
                    continue
                }
                at += marks.firstMark
            }
            let byte = input[at]
            at += 1
            if byte == .quote { return escaped }
            if byte == .backslash {
                escaped = true
                at += 1
            }
        }
        return escaped
    }

    /// Reads a string, unescaped.
    mutating func string() -> String {
        let start = at
        let escaped = skipString()
        let content = input[part: start + 1..<max(start + 1, min(at, input.count) - 1)]
        return escaped ? Self.unescaping(content) : String(decoding: content, as: UTF8.self)
    }

    /// RFC 8259, section 7.
    private static func unescaping(_ content: UnsafeRawBufferPointer) -> String {
        String(unsafeUninitializedCapacity: content.count) { output in
            var read = 0, written = 0
            while read < content.count {
                let byte = content[read]
                read += 1
                guard byte == .backslash, read < content.count else {
                    output[written] = byte
                    written += 1
                    continue
                }
                let escape = content[read]
                read += 1
                switch escape {
                case 0x62: output[written] = 0x08
                case 0x66: output[written] = 0x0C
                case 0x6E: output[written] = 0x0A
                case 0x72: output[written] = 0x0D
                case 0x74: output[written] = 0x09
                case 0x75:
                    var scalar = unit(content, &read)
                    if scalar & 0xFC00 == 0xD800 {
                        read += 2
                        scalar = 0x10000 + (scalar & 0x3FF) << 10 + unit(content, &read) & 0x3FF
                    }
                    // `output` is large enough: the six bytes of `\u` become at most four of UTF-8.
                    for byte in UTF8.encode(Unicode.Scalar(scalar) ?? "\u{FFFD}")! {
                        output[written] = byte
                        written += 1
                    }
                    continue
                default: output[written] = escape
                }
                written += 1
            }
            return written
        }
    }

    private static func unit(_ content: UnsafeRawBufferPointer, _ read: inout Int) -> UInt32 {
        var unit: UInt32 = 0
        for _ in 0..<4 where read < content.count {
            unit = unit << 4 | (content[read].hexadecimalValue ?? 0)
            read += 1
        }
        return unit
    }
}

extension JSONCursor {
    /// `body` moves past the element and returns true, or false to stop.
    @inline(__always)
    mutating func forEachElement(_ body: (inout JSONCursor) -> Bool) {
        at += 1
        skipSpace()
        if peek == .closeBracket {
            at += 1
            return
        }
        while at < input.count, body(&self) {
            skipSpace()
            at += 1
            if input[at - 1] != .comma { return }
            skipSpace()
        }
    }

    /// `body` moves past the value and returns true, or false to stop.
    @inline(__always)
    mutating func forEachMember(_ body: (inout JSONCursor, JSONMemberName) -> Bool) {
        at += 1
        skipSpace()
        if peek == .closeBrace {
            at += 1
            return
        }
        while at < input.count {
            let start = at
            let escaped = skipString()
            let name = JSONMemberName(start: start, end: at, escaped: escaped)
            skipSpace()
            at += 1
            skipSpace()
            guard at < input.count, body(&self, name) else { return }
            skipSpace()
            at += 1
            if at > input.count || input[at - 1] != .comma { return }
            skipSpace()
        }
    }

    func string(_ name: JSONMemberName) -> String {
        var cursor = JSONCursor(input, at: name.start)
        return cursor.string()
    }

    @inline(__always)
    func isName(_ name: JSONMemberName, _ utf8: UnsafeRawBufferPointer) -> Bool {
        if !name.escaped { return input[part: name.start + 1..<name.end - 1].hasSameBytes(as: utf8) }
        var string = string(name)
        return string.withUTF8 { UnsafeRawBufferPointer($0).hasSameBytes(as: utf8) }
    }
}

/// A name's range in the text, quotes included.
struct JSONMemberName {
    var start: Int
    var end: Int
    var escaped: Bool
}

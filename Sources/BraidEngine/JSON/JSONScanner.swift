/// Checks that bytes are JSON (RFC 8259) and I-JSON (RFC 7493): UTF-8, no lone surrogates, no duplicate names. Removes
/// white space between tokens. One pass, no recursion.
struct JSONScanner {
    private struct Frame {
        /// Position in `names` of the object's first name; -1 for an array.
        var base: Int32
        /// Read so far: in an array, the index of the element.
        var commas: Int32 = 0

        @inline(__always) var isObject: Bool { base >= 0 }
    }

    private let input: UnsafeRawBufferPointer
    private let depthLimit: Int
    private var at = 0
    /// The innermost open array or object; outside of all, a placeholder.
    private var frame = Frame(base: -1)
    /// Those around `frame`: the placeholder, then the outermost first.
    private var outer: [Frame] = []
    private var names: JSONNames

    /// The compact text up to the last removed white space.
    private var kept: [UInt8] = []
    /// Where what is not yet in `kept` begins.
    private var runStart = 0

    private init(_ input: UnsafeRawBufferPointer, depthLimit: Int) {
        self.input = input
        self.depthLimit = depthLimit
        names = JSONNames(input)
        outer.reserveCapacity(8)
    }

    /// Where there is no white space to remove, the text is a part of the input.
    enum Finding {
        case part(Range<Int>)
        case compacted([UInt8])
        case failure(JSONError)
    }

    static func scan(_ input: UnsafeRawBufferPointer, depthLimit: Int) -> Finding {
        var scanner = JSONScanner(input, depthLimit: depthLimit)
        do throws(JSONScanError) {
            return try scanner.text()
        } catch {
            let (line, column) = lineAndColumn(of: error.offset, in: input)
            let message = error.message(in: input)
            return .failure(
                JSONError(
                    offset: error.offset, line: line, column: column, message: message, pointer: scanner.pointer(error))
            )
        }
    }

    // MARK: Grammar

    /// `JSON-text = ws value ws` (RFC 8259, section 2).
    private mutating func text() throws(JSONScanError) -> Finding {
        if input.count >= 3, input[0] == 0xEF, input[1] == 0xBB, input[2] == 0xBF {
            throw JSONScanError(0, .wrong("the text must not start with a byte order mark"))
        }
        while peek.isJSONSpace { at += 1 }
        runStart = at
        try value()
        let end = at
        while peek.isJSONSpace { at += 1 }
        guard at == input.count else { throw JSONScanError(at, .expected("the end of the text")) }
        if kept.isEmpty { return .part(runStart..<end) }
        keep(runStart..<end)
        return .compacted(kept)
    }

    private mutating func value() throws(JSONScanError) {
        while true {
            // A value must start here.
            switch peek {
            case .quote: _ = try string()
            case 0x2D, 0x30...0x39: try number()
            case .openBrace:
                try open(base: Int32(truncatingIfNeeded: names.count))
                if peek != .closeBrace {
                    try name("a member name in double quotes or `}`")
                    continue
                }
                close()
            case .openBracket:
                try open(base: -1)
                if peek != .closeBracket { continue }
                close()
            case 0x74: try literal("true")
            case 0x66: try literal("false")
            case 0x6E: try literal("null")
            case .closeBracket where frame.commas > 0 && !frame.isObject:
                throw JSONScanError(
                    at, .wrong("remove the comma before this `]`: JSON allows none after the last element"))
            default: throw JSONScanError(at, .expected("a value"))
            }
            // A value has just ended.
            while true {
                if outer.isEmpty { return }
                skipSpace()
                let byte = peek
                if byte == .comma {
                    at += 1
                    frame.commas &+= 1
                    skipSpace()
                    if frame.isObject {
                        guard peek != .closeBrace else {
                            throw JSONScanError(
                                at, .wrong("remove the comma before this `}`: JSON allows none after the last member"))
                        }
                        try name("a member name in double quotes")
                    }
                    break
                }
                if frame.isObject {
                    guard byte == .closeBrace else { throw JSONScanError(at, .expected("`,` or `}`")) }
                } else {
                    guard byte == .closeBracket else { throw JSONScanError(at, .expected("`,` or `]`")) }
                }
                close()
            }
        }
    }

    /// A bracket and the white space after it.
    @inline(__always)
    private mutating func open(base: Int32) throws(JSONScanError) {
        guard outer.count < depthLimit else { throw JSONScanError(at, .tooDeep(depthLimit)) }
        outer.append(frame)
        frame = Frame(base: base)
        at += 1
        skipSpace()
    }

    @inline(__always)
    private mutating func close() {
        if frame.isObject { names.close(Int(frame.base)) }
        frame = outer.removeLast()
        at += 1
    }

    /// A name and the colon after it.
    @inline(__always)
    private mutating func name(_ what: StaticString) throws(JSONScanError) {
        guard peek == .quote else { throw JSONScanError(at, .expected(what)) }
        let start = at
        let escaped = try string()
        guard names.insert(start + 1..<at - 1, escaped: escaped, base: Int(frame.base)) else {
            throw JSONScanError(start, .duplicateName)
        }
        skipSpace()
        guard peek == .colon else { throw JSONScanError(at, .expected("`:`")) }
        at += 1
        skipSpace()
    }

    @inline(never)
    private mutating func literal(_ text: StaticString) throws(JSONScanError) {
        for offset in 0..<text.utf8CodeUnitCount {
            guard peek == text.utf8Start[offset] else {
                throw JSONScanError(
                    at,
                    .expected(text.utf8CodeUnitCount == 5 ? "`false`" : text.utf8Start[0] == 0x74 ? "`true`" : "`null`")
                )
            }
            at += 1
        }
    }

    /// RFC 8259, section 6.
    @inline(__always)
    private mutating func number() throws(JSONScanError) {
        if peek == 0x2D { at += 1 }
        if peek == 0x30 {
            at += 1
            if peek.isDigit { throw JSONScanError(at, .wrong("a number must not start with a needless zero")) }
        } else {
            try digits()
        }
        if peek == 0x2E {
            at += 1
            try digits()
        }
        if peek | 0x20 == 0x65 {
            at += 1
            if peek == 0x2B || peek == 0x2D { at += 1 }
            try digits()
        }
    }

    @inline(__always)
    private mutating func digits() throws(JSONScanError) {
        guard peek.isDigit else { throw JSONScanError(at, .expected("a digit")) }
        repeat { at += 1 } while peek.isDigit
    }

    // MARK: Strings

    /// RFC 8259, section 7. Returns whether there are escapes.
    @inline(__always)
    private mutating func string() throws(JSONScanError) -> Bool {
        at += 1
        while at + 8 <= input.count {
            let marks = input.word(at: at).notPlain
            if marks == 0 {
                at += 8
                continue
            }
            at += marks.firstMark
            if input[at] == .quote {
                at += 1
                return false
            }
            break
        }
        return try restOfString()
    }

    /// The slow path: escapes, control characters, non-ASCII, the last bytes.
    @inline(never)
    private mutating func restOfString() throws(JSONScanError) -> Bool {
        var escaped = false
        while at < input.count {
            if at + 8 <= input.count {
                let marks = input.word(at: at).notPlain
                if marks == 0 {
                    at += 8
                    continue
                }
                at += marks.firstMark
            }
            switch input[at] {
            case .quote:
                at += 1
                return escaped
            case .backslash:
                escaped = true
                try escape()
            case 0..<0x20: throw JSONScanError(at, .controlCharacter)
            case 0x20..<0x80: at += 1
            default:
                repeat {
                    guard let length = Self.lengthOfSequence(in: input, at: at) else {
                        throw JSONScanError(at, .wrong("these bytes are no UTF-8"))
                    }
                    at += length
                } while peek >= 0x80
            }
        }
        throw JSONScanError(at, .endsInString)
    }

    private mutating func escape() throws(JSONScanError) {
        let start = at
        at += 1
        switch peek {
        case .quote, .backslash, 0x2F, 0x62, 0x66, 0x6E, 0x72, 0x74: at += 1
        case 0x75:
            let unit = try hexadecimal()
            if unit & 0xFC00 == 0xDC00 { throw JSONScanError(start, .wrong("a low surrogate must follow a high one")) }
            guard unit & 0xFC00 == 0xD800 else { return }
            let alone = JSONScanError(start, .wrong("a high surrogate must be followed by a low one"))
            guard peek == .backslash else { throw alone }
            at += 1
            guard peek == 0x75, try hexadecimal() & 0xFC00 == 0xDC00 else { throw alone }
        default:
            if at == input.count { throw JSONScanError(at, .endsInString) }
            throw JSONScanError(at, .expected("one of `\"\\/bfnrtu`"))
        }
    }

    /// The `u` and four digits: a UTF-16 unit.
    private mutating func hexadecimal() throws(JSONScanError) -> UInt32 {
        at += 1
        var unit: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = peek.hexadecimalValue else {
                throw JSONScanError(at, at == input.count ? .endsInString : .expected("a hexadecimal digit"))
            }
            unit = unit << 4 | digit
            at += 1
        }
        return unit
    }

    /// Bytes of the non-ASCII character at `offset`; `nil` if malformed (RFC 3629, section 4).
    static func lengthOfSequence(in input: UnsafeRawBufferPointer, at offset: Int) -> Int? {
        let length: Int, second: ClosedRange<UInt8>
        switch input[offset] {
        case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: (length, second) = (3, 0x80...0xBF)
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        default: return nil
        }
        guard offset + length <= input.count, second.contains(input[offset + 1]) else { return nil }
        for index in offset + 2..<max(offset + 2, offset + length) where input[index] & 0xC0 != 0x80 { return nil }
        return length
    }

    // MARK: White space

    /// 0 at the end: the grammar allows it nowhere.
    @inline(__always) private var peek: UInt8 { at < input.count ? input[at] : 0 }

    @inline(__always)
    private mutating func skipSpace() {
        if peek <= 0x20 { cutSpace() }
    }

    @inline(never)
    private mutating func cutSpace() {
        let start = at
        while peek.isJSONSpace { at += 1 }
        if at > start {
            keep(runStart..<start)
            runStart = at
        }
    }

    private mutating func keep(_ range: Range<Int>) {
        if kept.isEmpty { kept.reserveCapacity(input.count - range.lowerBound) }
        kept.append(contentsOf: input[part: range])
    }

    // MARK: Errors

    /// See ``JSONError/pointer``.
    private func pointer(_ fault: JSONScanError) -> JSONPointer {
        var pointer = JSONPointer.root
        let open = (outer + [frame]).dropFirst()
        for (index, frame) in zip(open.indices, open) {
            guard frame.isObject else {
                pointer = pointer.appending(Int(frame.commas))
                continue
            }
            let end = open[(index + 1)...].first(where: \.isObject).map { Int($0.base) } ?? names.count
            // As many names as commas: the next name is being read, so the object itself is the place.
            if end - Int(frame.base) > Int(frame.commas) { pointer = pointer.appending(names[end - 1]) }
        }
        if case .duplicateName = fault.reason {
            var cursor = JSONCursor(input, at: fault.offset)
            pointer = pointer.appending(cursor.string())
        }
        return pointer
    }
}

import Glibc

/// Parses HTTP requests from slices of any size (RFC 9112, 2 to 7; RFC 9110, 5).
///
/// - Refuses all that two implementations could read differently, so that no request is smuggled past a proxy.
/// - Holds at most one head, or its trailers.
/// - Stays failed after a failure, because the next request's start is unknown.
/// - Complexity: O(bytes), whatever the slices.
public struct HTTPParser {
    /// Beyond these, a request is refused.
    public struct Limits: Sendable {
        /// The request line and all fields, with their line ends.
        public var headBytes: Int
        /// Their number in one head, or in its trailers.
        public var fields: Int
        /// The length of the request's target.
        public var targetBytes: Int
        /// All trailers of one body.
        public var trailerBytes: Int
        /// All chunk extensions of one body. They are skipped.
        public var chunkExtensionBytes: Int

        /// The limits of a server that nothing else configures.
        public init(
            headBytes: Int = 32 * 1024, fields: Int = 100, targetBytes: Int = 8 * 1024, trailerBytes: Int = 8 * 1024,
            chunkExtensionBytes: Int = 16 * 1024
        ) {
            self.headBytes = headBytes
            self.fields = fields
            self.targetBytes = targetBytes
            self.trailerBytes = trailerBytes
            self.chunkExtensionBytes = chunkExtensionBytes
        }
    }

    /// What the parser has found next.
    public enum Event {
        /// Nothing more: all input is used.
        case needsBytes
        /// A request begins.
        case head(HTTPRequestHead)
        /// A part of its body, as a range of the input.
        case body(Range<Int>)
        /// The request is complete.
        case end
        /// The request is refused, and so is everything after it.
        case failed(HTTPFailure)
    }

    private enum State {
        case requestLine
        case fields
        case fixed(rest: Int)
        case chunkSize
        case chunkExtension
        case chunkSizeEnd
        case chunk(rest: Int)
        case chunkEnd
        case chunkEndLineFeed
        case trailers
        case complete
        case failed(HTTPFailure)
    }

    private let limits: Limits
    private var state = State.requestLine
    /// What has come of the head, later of the trailers.
    private var bytes: [UInt8] = []
    private var lineStart = 0
    private var requestLine = RequestLine()
    private var fields: [HTTPHeaders.Field] = []
    private var framingFields = FramingFields()
    private var skippedEmptyLine = false
    private var chunkSize = 0
    private var chunkDigits = 0
    private var chunkExtensionBytes = 0
    private var refusedHead: HTTPRequestHead?

    /// Begins before the first request of a connection.
    public init(limits: Limits = Limits()) {
        self.limits = limits
    }

    /// No byte of the next request has come.
    var isIdle: Bool {
        if case .requestLine = state { return bytes.isEmpty }
        return false
    }

    /// Reads on at `position`, and moves it past what is used. Call it until `needsBytes` or `failed`.
    public mutating func next(_ input: Span<UInt8>, _ position: inout Int) -> Event {
        do throws(HTTPFailure) {
            return try event(input, &position)
        } catch {
            refusedHead = unfinishedHead()
            state = .failed(error)
            bytes = []
            return .failed(error)
        }
    }

    /// What is known of an incomplete or failed head. `nil` before the request line and after the head; a failed head
    /// is returned once.
    public mutating func takeUnfinishedHead() -> HTTPRequestHead? {
        guard case .failed = state else { return unfinishedHead() }
        defer { refusedHead = nil }
        return refusedHead
    }

    private func unfinishedHead() -> HTTPRequestHead? {
        guard case .fields = state else { return nil }
        let method = String(decoding: bytes[requestLine.method], as: UTF8.self)
        let target = try? HTTPTarget(bytes[requestLine.target], method: method)
        return HTTPRequestHead(
            method: method,
            target: target == nil
                ? HTTPTarget.wellFormed(bytes[requestLine.target])
                : String(decoding: bytes[requestLine.target], as: UTF8.self),
            path: target?.path ?? [], query: target?.query ?? [], headers: HTTPHeaders(bytes: bytes, fields: fields),
            minor: requestLine.minor, keepsAlive: false, authority: target?.authority)
    }

    private mutating func event(_ input: Span<UInt8>, _ position: inout Int) throws(HTTPFailure) -> Event {
        while true {
            switch state {
            case .complete:
                startOver()
                return .end
            case .failed(let failure):
                return .failed(failure)
            case .fixed(let rest):
                guard position < input.count else { return .needsBytes }
                return .body(take(rest, input, &position) { $0 == 0 ? .complete : .fixed(rest: $0) })
            case .chunk(let rest):
                guard position < input.count else { return .needsBytes }
                return .body(take(rest, input, &position) { $0 == 0 ? .chunkEnd : .chunk(rest: $0) })
            case .requestLine, .fields, .trailers:
                guard position < input.count else { return .needsBytes }
                guard let line = try takeLine(input, &position) else { return .needsBytes }
                if let head = try read(line) { return .head(head) }
            case .chunkSize, .chunkExtension, .chunkSizeEnd, .chunkEnd, .chunkEndLineFeed:
                guard position < input.count else { return .needsBytes }
                let byte = input[position]
                position += 1
                try readChunkFraming(byte)
            }
        }
    }

    private mutating func take(_ rest: Int, _ input: Span<UInt8>, _ position: inout Int, _ next: (Int) -> State)
        -> Range<Int>
    {
        let count = min(rest, input.count - position)
        defer { position += count }
        state = next(rest - count)
        return position..<(position + count)
    }

    private mutating func startOver() {
        state = .requestLine
        bytes = []
        lineStart = 0
        fields = []
        framingFields = FramingFields()
        skippedEmptyLine = false
        chunkExtensionBytes = 0
    }
}

// MARK: - Lines

extension HTTPParser {
    /// Returns a line without its end, `nil` if incomplete.
    private mutating func takeLine(_ input: Span<UInt8>, _ position: inout Int) throws(HTTPFailure) -> Range<Int>? {
        let rest = input.count - position
        let start = position
        let found: Int? = input.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress, let hit = memchr(base + start, 10, rest) else { return nil }
            return UnsafeRawPointer(hit) - UnsafeRawPointer(base)
        }
        let end = found.map { $0 + 1 } ?? input.count
        try checkRoom(for: end - start)
        if bytes.isEmpty { bytes.reserveCapacity(min(rest, 512)) }
        input.withUnsafeBufferPointer { bytes.append(contentsOf: UnsafeBufferPointer(rebasing: $0[start..<end])) }
        position = end
        guard found != nil else { return nil }
        let last = bytes.count - 2
        guard last >= lineStart, bytes[last] == .carriageReturn else {
            throw HTTPFailure(
                status: 400, detail: "A line of the request ends in a bare line feed; lines end in CR LF.")
        }
        defer { lineStart = bytes.count }
        return lineStart..<last
    }

    private func checkRoom(for count: Int) throws(HTTPFailure) {
        let total = bytes.count + count
        switch state {
        case .requestLine where total > limits.targetBytes + 64:  // method, version, spaces, line end
            throw targetTooLong
        case .trailers where total > limits.trailerBytes:
            throw HTTPFailure(status: 431, detail: "The trailers are longer than \(limits.trailerBytes) bytes.")
        case .requestLine, .fields:
            guard total > limits.headBytes else { return }
            throw HTTPFailure(status: 431, detail: "The request's head is longer than \(limits.headBytes) bytes.")
        default:
            return
        }
    }

    private var targetTooLong: HTTPFailure {
        HTTPFailure(status: 414, detail: "The request's target is longer than \(limits.targetBytes) bytes.")
    }

    private mutating func read(_ line: Range<Int>) throws(HTTPFailure) -> HTTPRequestHead? {
        switch state {
        case .requestLine where line.isEmpty:
            // RFC 9112, 2.2.
            guard !skippedEmptyLine else {
                throw HTTPFailure(status: 400, detail: "Several empty lines precede the request line.")
            }
            skippedEmptyLine = true
            bytes.removeAll(keepingCapacity: true)
            lineStart = 0  // The `defer` of `takeLine` has moved it.
        case .requestLine:
            requestLine = try RequestLine(bytes, line)
            fields.reserveCapacity(8)
            guard requestLine.target.count <= limits.targetBytes else { throw targetTooLong }
            state = .fields
        case .fields where line.isEmpty:
            return try finishedHead()
        case .fields:
            guard fields.count < limits.fields else {
                throw HTTPFailure(status: 431, detail: "The request has more than \(limits.fields) header fields.")
            }
            let field = try field(in: line)
            fields.append(field)
            try framingFields.note(field, in: bytes)
        case .trailers where line.isEmpty:
            state = .complete
        default:
            _ = try field(in: line)  // The fields of the trailers are checked, but not kept (RFC 9112, 7.1.2).
        }
        return nil
    }

    /// field-name ":" OWS field-value OWS (RFC 9112, 5).
    private func field(in line: Range<Int>) throws(HTTPFailure) -> HTTPHeaders.Field {
        if bytes[line.lowerBound].isBlank {
            throw HTTPFailure(
                status: 400, detail: "A header field is folded over several lines; each field is one line.")
        }
        var colon = line.lowerBound
        while colon < line.upperBound, bytes[colon].isTokenByte { colon += 1 }
        guard colon > line.lowerBound, colon < line.upperBound, bytes[colon] == UInt8(ascii: ":") else {
            throw HTTPFailure(status: 400, detail: "A header field's name is not a token directly followed by a colon.")
        }
        var start = colon + 1
        var end = line.upperBound
        while start < end, bytes[start].isBlank { start += 1 }
        while end > start, bytes[end - 1].isBlank { end -= 1 }
        for index in start..<end where !bytes[index].isFieldByte {
            throw HTTPFailure(status: 400, detail: "A header field's value has a control byte.")
        }
        return HTTPHeaders.Field(name: Int32(line.lowerBound)..<Int32(colon), value: Int32(start)..<Int32(end))
    }

    private mutating func finishedHead() throws(HTTPFailure) -> HTTPRequestHead {
        let minor = requestLine.minor
        try framingFields.check(minor: minor)
        let method = String(decoding: bytes[requestLine.method], as: UTF8.self)
        let target = try HTTPTarget(bytes[requestLine.target], method: method)
        let headers = HTTPHeaders(bytes: bytes, fields: fields)
        if framingFields.hasExpectation, minor > 0, headers["expect"]?.lowercased() != "100-continue" {
            throw HTTPFailure(status: 417, detail: "The only expectation served is '100-continue'.")
        }
        let framing: HTTPRequestHead.Framing =
            framingFields.isChunked ? .chunked : framingFields.length.map { .length($0) } ?? .none
        switch framing {
        case .none, .length(0): state = .complete
        case .length(let length): state = .fixed(rest: length)
        case .chunked: startChunk()
        }
        let head = HTTPRequestHead(
            method: method, target: String(decoding: bytes[requestLine.target], as: UTF8.self),
            path: target.path, query: target.query, headers: headers, minor: minor,
            keepsAlive: !framingFields.saysClose && (minor > 0 || framingFields.saysKeepAlive),
            framing: framing, expectsContinue: framingFields.hasExpectation && minor > 0, authority: target.authority)
        bytes = []
        lineStart = 0
        return head
    }
}

// MARK: - Chunks

extension HTTPParser {
    private mutating func startChunk() {
        state = .chunkSize
        chunkSize = 0
        chunkDigits = 0
    }

    /// What surrounds the data (RFC 9112, 7.1).
    private mutating func readChunkFraming(_ byte: UInt8) throws(HTTPFailure) {
        switch state {
        case .chunkSize:
            if let digit = byte.hexValue {
                chunkDigits += 1
                guard chunkDigits <= 15 else {  // More could overflow `Int`.
                    throw HTTPFailure(status: 400, detail: "A chunk's size has more than 15 digits.")
                }
                chunkSize = chunkSize << 4 | Int(digit)
                return
            }
            guard chunkDigits > 0 else { throw badChunk }
            switch byte {
            case .carriageReturn: state = .chunkSizeEnd
            case UInt8(ascii: ";"): state = .chunkExtension
            default: throw badChunk
            }
        case .chunkExtension:
            guard byte != .carriageReturn else {
                state = .chunkSizeEnd
                return
            }
            chunkExtensionBytes += 1
            guard chunkExtensionBytes <= limits.chunkExtensionBytes else {
                throw HTTPFailure(
                    status: 400, detail: "The chunk extensions are longer than \(limits.chunkExtensionBytes) bytes.")
            }
            guard byte.isFieldByte else {
                throw HTTPFailure(status: 400, detail: "A chunk extension has a control byte.")
            }
        case .chunkSizeEnd:
            guard byte == .lineFeed else { throw badChunk }
            state = chunkSize == 0 ? .trailers : .chunk(rest: chunkSize)
        case .chunkEnd:
            guard byte == .carriageReturn else { throw badChunk }
            state = .chunkEndLineFeed
        default:
            guard byte == .lineFeed else { throw badChunk }
            startChunk()
        }
    }

    private var badChunk: HTTPFailure {
        HTTPFailure(status: 400, detail: "A chunk must be hexadecimal digits, CR LF, that number of bytes, CR LF.")
    }
}

// MARK: - The parts that the parser itself interprets

extension HTTPParser {
    /// method SP request-target SP HTTP-version (RFC 9112, 3).
    struct RequestLine {
        var method = 0..<0
        var target = 0..<0
        var minor = 1

        init() {}

        init(_ bytes: [UInt8], _ line: Range<Int>) throws(HTTPFailure) {
            // A target with a space is refused at the end of the head, like other malformed ones.
            guard let first = bytes[line].firstIndex(of: .space), let second = bytes[line].lastIndex(of: .space),
                second > first + 1
            else {
                throw HTTPFailure(
                    status: 400,
                    detail: "The request line is not a method, a target and a version with one space between them.")
            }
            method = line.lowerBound..<first
            target = first + 1..<second
            let version = second + 1..<line.upperBound
            let major = version.lowerBound + 5
            guard version.count == 8, bytes[version].starts(with: "HTTP/".utf8),
                bytes[major].isDigit, bytes[major + 1] == UInt8(ascii: "."), bytes[major + 2].isDigit
            else {
                throw HTTPFailure(status: 400, detail: "The request line does not end in a version such as 'HTTP/1.1'.")
            }
            guard bytes[major] == UInt8(ascii: "1") else {
                throw HTTPFailure(status: 505, detail: "This server speaks HTTP/1.1 and HTTP/1.0 only.")
            }
            // HTTP/1.2 to 1.9 count as the highest known version (RFC 9110, 2.5).
            minor = bytes[major + 2] == UInt8(ascii: "0") ? 0 : 1
            guard !method.isEmpty, bytes[method].allSatisfy(\.isTokenByte) else {
                throw HTTPFailure(status: 400, detail: "The method is not a token.")
            }
            guard method.count <= 32 else {
                throw HTTPFailure(status: 501, detail: "The server serves no method of this name.")
            }
        }
    }

    struct FramingFields {
        var length: Int?
        var isChunked = false
        var hasHost = false
        var saysClose = false
        var saysKeepAlive = false
        var hasExpectation = false

        mutating func note(_ field: HTTPHeaders.Field, in bytes: [UInt8]) throws(HTTPFailure) {
            let name = Int(field.name.lowerBound)..<Int(field.name.upperBound)
            let value = bytes[Int(field.value.lowerBound)..<Int(field.value.upperBound)]
            switch name.count {  // Comparing the length of the field's name first rules out most names.
            case 4 where bytes.equals("host", in: name):
                guard !hasHost else {
                    throw HTTPFailure(status: 400, detail: "The request has more than one Host field.")
                }
                guard HTTPTarget.isHost(value) else {
                    throw HTTPFailure(status: 400, detail: "The Host field is not a valid host with an optional port.")
                }
                hasHost = true
            case 6 where bytes.equals("expect", in: name):
                hasExpectation = true
            case 10 where bytes.equals("connection", in: name):
                for item in value.split(separator: UInt8(ascii: ",")) {
                    let word = String(decoding: item.filter { !$0.isBlank }.map(\.lowercased), as: UTF8.self)
                    if word == "close" { saysClose = true }
                    if word == "keep-alive" { saysKeepAlive = true }
                }
            case 14 where bytes.equals("content-length", in: name):
                guard length == nil else {
                    throw HTTPFailure(status: 400, detail: "The request has more than one Content-Length field.")
                }
                guard !value.isEmpty, value.allSatisfy(\.isDigit) else {
                    throw HTTPFailure(status: 400, detail: "Content-Length is not one run of decimal digits.")
                }
                // So that `Int(digits:)` cannot fail: `nil` would mean no body.
                guard value.count <= 18 else {
                    throw HTTPFailure(status: 413, detail: "Content-Length has more than 18 digits.")
                }
                length = Int(digits: value)
            case 17 where bytes.equals("transfer-encoding", in: name):
                guard !isChunked, bytes.equals("chunked", in: value.indices) else {
                    throw HTTPFailure(status: 400, detail: "Transfer-Encoding is not exactly 'chunked', once.")
                }
                isChunked = true
            default:
                break
            }
        }

        func check(minor: Int) throws(HTTPFailure) {
            if isChunked, minor == 0 { throw HTTPFailure(status: 400, detail: "HTTP/1.0 has no Transfer-Encoding.") }
            if isChunked, length != nil {
                throw HTTPFailure(
                    status: 400,
                    detail: "The request has both Transfer-Encoding and Content-Length; send only one of them.")
            }
            if !hasHost, minor > 0 {
                throw HTTPFailure(status: 400, detail: "The request has no Host field, which HTTP/1.1 requires.")
            }
        }
    }
}

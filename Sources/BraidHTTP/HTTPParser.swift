import Glibc

/// A parser of HTTP requests, which accepts bytes in slices of any size and does not depend on sockets.
///
/// - The parser is strict: it refuses everything that two implementations could read differently, so that no request
///   can be smuggled past a proxy.
/// - The parser holds at most the bytes of one request's head, or of its trailers.
/// - After a failure, every call of `next` returns the same failure, as the start of the next request is unknown.
/// - Complexity: O(bytes), whatever the sizes of the slices.
///
/// Source: RFC 9112, sections 2 to 7; RFC 9110, section 5.
public struct HTTPParser {
    /// The limits of a request's head and of the framing of its body. If a request exceeds a limit, the parser reports
    /// a failure.
    public struct Limits: Sendable {
        /// The most bytes of a request's head: the request line and the header fields, line ends included.
        public var headBytes: Int
        /// The most header fields that one request may have.
        public var fields: Int
        public var targetBytes: Int
        public var trailerBytes: Int
        /// The most bytes of all chunk extensions in one body.
        public var chunkExtensionBytes: Int

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

    /// What one call of `next` found in the input, for example the end of a request's head.
    public enum Event {
        /// The parser has used all of the input, and the request is still incomplete. Call `next` with more bytes.
        case needsBytes
        case head(HTTPRequestHead)
        /// A piece of the request's body. The range is the position of the piece's bytes within the input.
        case body(Range<Int>)
        /// The request is complete. The next call of `next` starts to parse the next request.
        case end
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
    /// The received bytes of the request's head. After the head is complete, this array holds the received bytes of the
    /// trailers.
    private var bytes: [UInt8] = []
    private var lineStart = 0
    private var requestLine = RequestLine()
    private var fields: [HTTPHeaders.Field] = []
    private var facts = Facts()
    private var skippedEmptyLine = false
    private var chunkSize = 0
    private var chunkDigits = 0
    private var chunkExtensionBytes = 0
    /// The parts of the request's head that the parser had parsed when the head failed as malformed or too large.
    private var refusedHead: HTTPRequestHead?

    public init(limits: Limits = Limits()) {
        self.limits = limits
    }

    /// Whether the parser is between two requests and has received no byte of the next request.
    var isIdle: Bool {
        if case .requestLine = state { return bytes.isEmpty }
        return false
    }

    /// Parses the input from the index `position` on, moves `position` past the parsed bytes, and returns the next
    /// event.
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

    /// Returns the known part of a request's head that failed or is incomplete: the method, the target and the fields
    /// so far.
    ///
    /// Returns `nil` before the parser has accepted the request line, and after the head is complete. For a failed
    /// head, only the first call returns the known part.
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
        facts = Facts()
        skippedEmptyLine = false
        chunkExtensionBytes = 0
    }
}

// MARK: - Lines

extension HTTPParser {
    /// Consumes the input up to and including the next line feed. Returns the line without its end, or `nil` if the
    /// line is incomplete.
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
        case .requestLine where total > limits.targetBytes + 64:
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
            // The parser tolerates one empty line before the request line (RFC 9112, 2.2).
            guard !skippedEmptyLine else {
                throw HTTPFailure(status: 400, detail: "Several empty lines precede the request line.")
            }
            skippedEmptyLine = true
            bytes.removeAll(keepingCapacity: true)
            lineStart = 0
        // For an empty line, the next line starts at index 0: `lineStart` was set above, after the `defer` of
        // `takeLine` had run.
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
            try facts.note(field, in: bytes)
        case .trailers where line.isEmpty:
            state = .complete
        default:
            _ = try field(in: line)  // The fields of the trailers are checked, but not kept (RFC 9112, 7.1.2).
        }
        return nil
    }

    /// Parses a header field: field-name ":" OWS field-value OWS (RFC 9112, 5).
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
        try facts.check(minor: minor)
        let method = String(decoding: bytes[requestLine.method], as: UTF8.self)
        let target = try HTTPTarget(bytes[requestLine.target], method: method)
        let headers = HTTPHeaders(bytes: bytes, fields: fields)
        if facts.hasExpectation, minor > 0, headers["expect"]?.lowercased() != "100-continue" {
            throw HTTPFailure(status: 417, detail: "The only expectation served is '100-continue'.")
        }
        let framing: HTTPRequestHead.Framing = facts.isChunked ? .chunked : facts.length.map { .length($0) } ?? .none
        switch framing {
        case .none, .length(0): state = .complete
        case .length(let length): state = .fixed(rest: length)
        case .chunked: startChunk()
        }
        let head = HTTPRequestHead(
            method: method, target: String(decoding: bytes[requestLine.target], as: UTF8.self),
            path: target.path, query: target.query, headers: headers, minor: minor,
            keepsAlive: !facts.saysClose && (minor > 0 || facts.saysKeepAlive),
            framing: framing, expectsContinue: facts.hasExpectation && minor > 0, authority: target.authority)
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

    /// Parses one byte of a chunk's framing (RFC 9112, 7.1). The framing is the size, extension and line end before the
    /// chunk's data, and the line end after the data.
    private mutating func readChunkFraming(_ byte: UInt8) throws(HTTPFailure) {
        switch state {
        case .chunkSize:
            if let digit = byte.hexValue {
                chunkDigits += 1
                guard chunkDigits <= 15 else {
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

import BraidHTTP
import BraidRuntime

/// Passes the bytes of an answer's body on to the client, in test mode. Counts the events of an event stream. If the
/// request meets a fault, sends the body slowly, with a pause, or only its start.
struct RelayedBody: Sendable {
    private let exchange: TestedExchange
    private let action: FaultAction?
    private var events = EventCount()
    /// The number of bytes that were passed on. With the action `cutStream`, only the bytes of the event in which the
    /// stream is cut.
    private var bytes = 0
    private var hasPaused = false

    init(_ exchange: TestedExchange) {
        self.exchange = exchange
        action = exchange.fault?.action
    }

    /// Returns the body to send for a response. The body is relayed if it is an event stream, or if the request's fault
    /// changes how the body is sent. Otherwise, returns the response's own body.
    static func body(of response: HTTPResponse, in exchange: TestedExchange) -> HTTPBody {
        let isChanged = exchange.fault?.action?.changesBody ?? false
        switch response.body {
        case .stream(let source) where isChanged || exchange.request.opensStream:
            return RelayedBody(exchange).passing(source)
        case .bytes, .shared:
            guard isChanged, let bytes = response.body.bytes, !bytes.isEmpty else { return response.body }
            return RelayedBody(exchange).passing(bytes)
        case .none, .stream: return response.body
        }
    }

    private func passing(_ bytes: [UInt8]) -> HTTPBody {
        let out = ByteStream(isEndless: false, length: bytes.count)
        out.onAttach {
            Task {
                var relay = self
                if await relay.pass(bytes, to: out) { relay.end(out) }
            }
        }
        return .stream(out)
    }

    private func passing(_ source: ByteStream) -> HTTPBody {
        let out = ByteStream(limit: source.limit, isEndless: source.isEndless, length: source.length)
        let (news, tell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        out.onClose {
            source.close()
            tell.finish()
        }
        out.onAttach {
            source.attach { tell.yield() }
            tell.yield()
            Task {
                var relay = self
                await relay.pass(source, news, to: out)
                source.close()
            }
        }
        return .stream(out)
    }

    /// Passes the bytes of the stream `source` on to `out`, until the stream ends or the fault cuts it.
    private mutating func pass(_ source: ByteStream, _ news: AsyncStream<Void>, to out: ByteStream) async {
        for await _ in news {
            let taken = source.take()
            for piece in taken.pieces { guard await pass(piece, to: out) else { return } }
            if taken.isBroken { return out.fail() }
            if taken.isLast { return end(out) }
        }
    }

    /// Ends the answer's body after its last byte. With the action `truncate`, breaks the connection instead.
    private func end(_ out: ByteStream) {
        if case .truncate? = action { out.fail() } else { out.finish() }
    }

    /// Passes a piece of the body on. Returns `false` if the fault has cut the body here, or if the client has
    /// disconnected.
    private mutating func pass(_ piece: [UInt8], to out: ByteStream) async -> Bool {
        var rest = piece[...]
        repeat {
            let part = rest.prefix(partLength(of: rest))
            while case let result = out.write(Array(part)), result != .accepted {
                if result == .closed { return false }
                await out.drained()
            }
            exchange.eventCount.store(events.count, ordering: .relaxed)
            rest = rest[part.endIndex...]
            if case .throttle(let rate)? = action {
                try? await Task.sleep(for: .seconds(Double(part.count) / Double(rate)))
            }
            guard isDue else { continue }
            guard case .pauseStream(_, let milliseconds)? = action else {
                out.fail()
                return false
            }
            hasPaused = true
            try? await Task.sleep(for: .milliseconds(milliseconds))
        } while !rest.isEmpty
        return true
    }

    /// Returns the number of bytes at the start of `piece` that can be passed on at once, before the fault acts. Counts
    /// these bytes as passed on.
    private mutating func partLength(of piece: ArraySlice<UInt8>) -> Int {
        var most = piece.count
        if case .throttle(let rate)? = action { most = min(most, max(1, rate / Self.partsInASecond)) }
        for (index, byte) in piece.prefix(most).enumerated() {
            if isDue { return index }
            add(byte)
        }
        return most
    }

    private mutating func add(_ byte: UInt8) {
        guard case .cutStream(let number, _)? = action else {
            _ = events.add(byte)
            bytes += 1
            return
        }
        let isNext = events.count >= number, isEnd = events.add(byte)
        if isNext, isEnd || events.isInEvent { bytes += 1 }
    }

    /// Whether the bytes so far have reached the place at which the fault cuts the body or pauses.
    private var isDue: Bool {
        switch action {
        case .truncate(let limit)?: bytes >= limit
        case .cutStream(let number, let limit)?: events.count > number || events.count == number && bytes >= limit
        case .pauseStream(let number, _)?: !hasPaused && events.count >= number
        default: false
        }
    }

    private static let partsInASecond = 20
}

/// Counts the events in the bytes of an event stream. Comments and the field `retry` are no events.
private struct EventCount {
    /// The number of complete events.
    private(set) var count = 0
    /// Whether the last byte belonged to an event that is not yet complete.
    private(set) var isInEvent = false
    private var isLineStart = true

    /// Adds a byte of the stream. Returns whether the byte completes an event.
    mutating func add(_ byte: UInt8) -> Bool {
        defer { isLineStart = byte == UInt8(ascii: "\n") }
        guard isLineStart else { return false }
        if byte == UInt8(ascii: "\n") {
            defer { isInEvent = false }
            if isInEvent { count += 1 }
            return isInEvent
        }
        // The server's events consist of the fields `id`, `event` and `data`. A line that starts with `:` is a comment,
        // and a line that starts with `r` is the field `retry`. Neither belongs to an event.
        if byte != UInt8(ascii: ":"), byte != UInt8(ascii: "r") { isInEvent = true }
        return false
    }
}

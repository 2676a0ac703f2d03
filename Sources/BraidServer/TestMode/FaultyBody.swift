import BraidHTTP
import BraidRuntime

/// Sends the bytes of an answer's body with a fault: slowly, or only the first ones.
struct FaultyBody: Sendable {
    private let action: FaultAction
    /// The number of bytes that are still sent: of the body, or of the event in which a stream is cut.
    private var bytesLeft = 0
    private var events = EventCount()
    private var hasPaused = false

    /// `nil` if the action does not change how a body is sent.
    init?(_ action: FaultAction?) {
        switch action {
        case .truncate(let bytes)?, .cutStream(_, let bytes)?: bytesLeft = bytes
        case .throttle?, .pauseStream?: break
        default: return nil
        }
        guard let action else { return nil }
        self.action = action
    }

    /// Returns the response with a body that is sent with the fault. A response without a body stays as it is.
    func sending(_ response: HTTPResponse) -> HTTPResponse {
        var response = response
        switch response.body {
        case .none: break
        case .bytes, .shared:
            let bytes = response.body.bytes ?? []
            guard !bytes.isEmpty else { break }
            let out = ByteStream(isEndless: false, length: bytes.count)
            out.onAttach { [self] in
                Task {
                    var body = self
                    if await body.send(bytes, to: out) { body.end(out) }
                }
            }
            response.body = .stream(out)
        case .stream(let source):
            let out = ByteStream(limit: source.limit, isEndless: source.isEndless, length: source.length)
            let (news, tell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            out.onClose {
                source.close()
                tell.finish()
            }
            out.onAttach { [self] in
                source.attach { tell.yield() }
                tell.yield()
                Task {
                    var body = self
                    await body.relay(source, news, to: out)
                    source.close()
                }
            }
            response.body = .stream(out)
        }
        return response
    }

    /// Sends the bytes of a stream, until it ends or the fault ends it.
    private mutating func relay(_ source: ByteStream, _ news: AsyncStream<Void>, to out: ByteStream) async {
        for await _ in news {
            let taken = source.take()
            for piece in taken.pieces { guard await send(piece, to: out) else { return } }
            if taken.isBroken { return out.fail() }
            if taken.isLast { return end(out) }
        }
    }

    /// Ends a body all of whose bytes are sent.
    private func end(_ out: ByteStream) {
        if case .truncate = action { out.fail() } else { out.finish() }
    }

    /// Sends a piece of the body. Returns `false` if the body ends here.
    private mutating func send(_ piece: [UInt8], to out: ByteStream) async -> Bool {
        var rest = piece[...]
        repeat {
            let part = rest.prefix(partLength(of: rest))
            while case let result = out.write(Array(part)), result != .accepted {
                if result == .closed { return false }
                await out.drained()
            }
            rest = rest[part.endIndex...]
            switch action {
            case .truncate where bytesLeft == 0: return broken(out)
            case .cutStream(let number, _) where isCut(after: number): return broken(out)
            case .throttle(let rate): try? await Task.sleep(for: .seconds(Double(part.count) / Double(rate)))
            case .pauseStream(let number, let milliseconds) where !hasPaused && events.count >= number:
                hasPaused = true
                try? await Task.sleep(for: .milliseconds(milliseconds))
            default: break
            }
        } while !rest.isEmpty
        return true
    }

    /// Returns the number of bytes of a piece that are sent before the fault acts, and counts these bytes.
    private mutating func partLength(of piece: ArraySlice<UInt8>) -> Int {
        switch action {
        case .truncate:
            let length = min(piece.count, bytesLeft)
            bytesLeft -= length
            return length
        case .throttle(let rate): return max(1, rate / Self.partsInASecond)
        case .cutStream(let number, _):
            for (index, byte) in piece.enumerated() {
                if isCut(after: number) { return index }
                let isInNext = events.count >= number, isEnd = events.add(byte)
                if isInNext, isEnd || events.isInEvent { bytesLeft -= 1 }
            }
        case .pauseStream(let number, _) where !hasPaused:
            for (index, byte) in piece.enumerated() {
                if events.count >= number { return index }
                _ = events.add(byte)
            }
        default: break
        }
        return piece.count
    }

    /// Returns whether a stream is at the place where it is cut: after `number` events and some bytes of the next one.
    private func isCut(after number: Int) -> Bool {
        events.count > number || events.count == number && bytesLeft == 0
    }

    private func broken(_ out: ByteStream) -> Bool {
        out.fail()
        return false
    }

    private static let partsInASecond = 20
}

/// Counts the events in the bytes of an event stream. Comments and the field `retry` are no events.
private struct EventCount {
    /// The number of complete events.
    private(set) var count = 0
    /// Whether the last byte was part of an event that is not complete.
    private(set) var isInEvent = false
    private var isLineStart = true

    /// Adds a byte. Returns whether it completes an event.
    mutating func add(_ byte: UInt8) -> Bool {
        defer { isLineStart = byte == UInt8(ascii: "\n") }
        guard isLineStart else { return false }
        if byte == UInt8(ascii: "\n") {
            defer { isInEvent = false }
            if isInEvent { count += 1 }
            return isInEvent
        }
        // The fields of an event are `id`, `event` and `data`.
        if byte != UInt8(ascii: ":"), byte != UInt8(ascii: "r") { isInEvent = true }
        return false
    }
}

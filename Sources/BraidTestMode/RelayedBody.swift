import BraidHTTP
import BraidRuntime
import BraidSessions

/// Passes a body on and counts its events; for a fault slowly, with a pause, or only in part.
struct RelayedBody: Sendable {
    private let sentEvents: Counter
    private let action: FaultAction?
    private var events = EventCount()
    /// Passed on; with `cutStream`, of the event that is cut.
    private var bytes = 0
    private var hasPaused = false

    init(_ request: TestedRequest) {
        sentEvents = request.sentEvents
        action = request.fault?.action
    }

    /// Relayed only for an event stream or a fault that changes it.
    static func body(of response: HTTPResponse, to request: TestedRequest) -> HTTPBody {
        let isChanged = request.fault?.action?.changesBody ?? false
        switch response.body {
        case .stream(let source) where isChanged || request.opensStream:
            return RelayedBody(request).passing(source)
        case .bytes, .shared:
            guard isChanged, let bytes = response.body.bytes, !bytes.isEmpty else { return response.body }
            return RelayedBody(request).passing(bytes)
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
        out.onClose { source.close() }
        out.onAttach {
            let (news, end) = source.attach()
            out.onClose {
                source.close()
                end()
            }
            Task {
                var relay = self
                await relay.pass(source, news, to: out)
                source.close()
            }
        }
        return .stream(out)
    }

    private mutating func pass(_ source: ByteStream, _ news: AsyncStream<Void>, to out: ByteStream) async {
        for await _ in news {
            let taken = source.take()
            for piece in taken.pieces { guard await pass(piece, to: out) else { return } }
            if taken.isBroken { return out.fail() }
            if taken.isLast { return end(out) }
        }
    }

    /// `truncate` breaks the connection here.
    private func end(_ out: ByteStream) {
        if case .truncate? = action { out.fail() } else { out.finish() }
    }

    /// `false`: cut, or the client has disconnected.
    private mutating func pass(_ piece: [UInt8], to out: ByteStream) async -> Bool {
        var rest = piece[...]
        repeat {
            let part = rest.prefix(partLength(of: rest))
            // Before the client has it, who may then ask for the number.
            sentEvents.add(events.count - sentEvents.value)
            while case let result = out.write(Array(part)), result != .accepted {
                if result == .closed { return false }
                await out.drained()
            }
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

    /// How many bytes can go at once before the fault acts. Counts them.
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
        // Bytes between events, such as comments, do not count.
        let isNext = events.count >= number, isEnd = events.add(byte)
        if isNext, isEnd || events.isInEvent { bytes += 1 }
    }

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

private struct EventCount {
    /// Complete events.
    private(set) var count = 0
    /// Whether the last byte belongs to an incomplete event.
    private(set) var isInEvent = false
    private var isLineStart = true

    /// Returns whether the byte completes an event.
    mutating func add(_ byte: UInt8) -> Bool {
        defer { isLineStart = byte == UInt8(ascii: "\n") }
        guard isLineStart else { return false }
        if byte == UInt8(ascii: "\n") {
            defer { isInEvent = false }
            if isInEvent { count += 1 }
            return isInEvent
        }
        // A comment starts with `:`, the field `retry` with `r`; events have `id`, `event` and `data`.
        if byte != UInt8(ascii: ":"), byte != UInt8(ascii: "r") { isInEvent = true }
        return false
    }
}

import Foundation

struct ServerEvent: Equatable {
    var type = ""
    var data: [UInt8] = []
    var id: String?
}

/// Parses server-sent events piece by piece (WHATWG HTML, 9.2.6).
struct EventParser {
    /// From `retry`.
    private(set) var retryTime: Duration?
    private var line: [UInt8] = []
    private var endedWithCR = false
    private var isFirstLine = true
    private var event = ServerEvent()
    private var hasData = false

    mutating func events(in bytes: Data) -> [ServerEvent] {
        var events: [ServerEvent] = []
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            if endedWithCR, rest.first == UInt8(ascii: "\n") { rest.removeFirst() }
            endedWithCR = false
            guard let end = rest.firstIndex(where: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) else {
                line += rest
                break
            }
            line += rest[..<end]
            endedWithCR = rest[end] == UInt8(ascii: "\r")
            rest = rest[(end + 1)...]
            if let event = endLine() { events.append(event) }
        }
        return events
    }

    /// An empty line ends an event, which counts only with data.
    private mutating func endLine() -> ServerEvent? {
        defer { line.removeAll(keepingCapacity: true) }
        if isFirstLine, line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }
        isFirstLine = false
        if line.isEmpty {
            defer {
                event = ServerEvent()
                hasData = false
            }
            return hasData ? event : nil
        }
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
        var value = line[colon...].dropFirst()
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        switch String(decoding: line[..<colon], as: UTF8.self) {
        case "event": event.type = String(decoding: value, as: UTF8.self)
        case "data":
            if hasData { event.data.append(UInt8(ascii: "\n")) }
            event.data += value
            hasData = true
        case "id" where !value.contains(0): event.id = String(decoding: value, as: UTF8.self)
        case "retry":
            // Digits only (ibid.): `Int` would accept a sign.
            let isNumber = value.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            if isNumber, let milliseconds = Int(String(decoding: value, as: UTF8.self)) {
                retryTime = .milliseconds(milliseconds)
            }
        default: break
        }
        return nil
    }
}

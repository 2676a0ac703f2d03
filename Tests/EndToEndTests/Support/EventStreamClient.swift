import Foundation
import Glibc
import TestSupport

/// By WHATWG HTML, 9.2.6, but an unknown field is an error.
final class EventStreamClient {
    struct Event: Equatable, CustomStringConvertible {
        /// The stream's last event ID then.
        var id: String
        var name: String
        var data: String
        var description: String { "\(name) \(id) \(data.prefix(200))" }
        var object: [String: Any] {
            (try? JSONSerialization.jsonObject(with: Data(data.utf8))) as? [String: Any] ?? [:]
        }
        var revision: Int { id.split(separator: ".").last.flatMap { Int($0) } ?? -1 }
    }

    struct Ended: Error {}
    struct Failed: Error, CustomStringConvertible { let description: String }

    let descriptor: Int32
    private(set) var head = ""
    private(set) var comments = 0
    private(set) var retry: String?
    private(set) var lastEventID = ""
    private var raw: [UInt8] = []
    private var text: [UInt8] = []
    private var textStart = 0
    private var hasEnded = false
    private let timeout: Int
    /// If there is a `Content-Encoding`.
    private var decompressor: Decompressor?
    /// Before decompression.
    private(set) var bodyBytes = 0
    /// Decompressed, and not read by `next` yet.
    var unread: String { String(decoding: text[textStart...], as: UTF8.self) }
    /// The stream has ended, and its compressed data was complete.
    var isComplete: Bool { hasEnded && decompressor?.isComplete == true }

    init(
        port: Int, _ target: String, lastEventID: String? = nil, headers: [String: String] = [:],
        receiveBuffer: Int32? = nil, timeout: Int = 120
    ) throws {
        self.timeout = timeout
        self.lastEventID = lastEventID ?? ""
        descriptor = clientSocket(receiveBuffer: receiveBuffer, timeout: timeout)
        guard connectToServer(descriptor, port: port) else { throw Failed(description: "cannot connect") }
        let last = lastEventID.map { "Last-Event-ID: \($0)\r\n" } ?? ""
        let fields = headers.map { "\($0): \($1)\r\n" }.joined()
        let request = Array(
            "GET \(target) HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\(last)\(fields)\r\n".utf8)
        guard Glibc.send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
            throw Failed(description: "cannot send")
        }
        while true {
            if let end = raw.firstRange(of: Array("\r\n\r\n".utf8)) {
                head = String(decoding: raw[..<end.lowerBound], as: UTF8.self)
                raw.removeFirst(end.upperBound)
                break
            }
            try fill()
        }
        guard head.hasPrefix("HTTP/1.1 200 ") else { throw Failed(description: head) }
        let coding = head.components(separatedBy: "\r\n").first { $0.hasPrefix("Content-Encoding: ") }
        decompressor = try Decompressor(coding.map { String($0.dropFirst("Content-Encoding: ".count)) })
    }

    deinit { close(descriptor) }

    private func fill() throws {
        var piece = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &piece, piece.count, 0)
        guard count > 0 else {
            throw Failed(description: count == 0 ? "closed without an end" : "nothing came: \(errno)")
        }
        raw += piece[..<count]
    }

    /// The next chunk (RFC 9112, 7.1), from `raw` to `text`. `false` at the end.
    private func fillText() throws -> Bool {
        if hasEnded { return false }
        while true {
            if let line = raw.firstRange(of: [13, 10]) {
                let size = Int(String(decoding: raw[..<line.lowerBound], as: UTF8.self), radix: 16) ?? -1
                guard size >= 0 else {
                    throw Failed(description: "no chunk: \(String(decoding: raw.prefix(40), as: UTF8.self))")
                }
                let end = line.upperBound + size
                if raw.count >= end + 2 {
                    guard raw[end] == 13, raw[end + 1] == 10 else {
                        throw Failed(description: "a chunk without its end")
                    }
                    text.removeFirst(textStart)
                    textStart = 0
                    bodyBytes += size
                    text += try decompressor?.add(Array(raw[line.upperBound..<end])) ?? []
                    raw.removeFirst(end + 2)
                    hasEnded = size == 0
                    return !hasEnded
                }
            }
            try fill()
        }
    }

    private func line() throws -> String {
        while true {
            if let end = text[textStart...].firstIndex(of: 10) {
                defer { textStart = end + 1 }
                return String(decoding: text[textStart..<end], as: UTF8.self)
            }
            guard try fillText() else { throw Ended() }
        }
    }

    /// Throws `Ended` after a proper end.
    func next() throws -> Event {
        var name = "message", data: [Substring] = []
        let start = ContinuousClock.now
        while true {
            let line = try line()
            if line.isEmpty {
                if data.isEmpty {
                    name = "message"
                    continue
                }
                return Event(id: lastEventID, name: name, data: data.joined(separator: "\n"))
            }
            if line.hasPrefix(":") {
                comments += 1
                if ContinuousClock.now - start > .seconds(timeout) {
                    throw Failed(description: "nothing but comments came")
                }
                continue
            }
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            let value = parts.count == 2 ? parts[1].first == " " ? parts[1].dropFirst() : parts[1] : ""
            switch parts[0] {
            case "id": lastEventID = String(value)
            case "event": name = String(value)
            case "data": data.append(value)
            case "retry": retry = String(value)
            default: throw Failed(description: "an unknown field: \(line)")
            }
        }
    }

    /// Up to and including the first of this name.
    func events(through name: String) throws -> [Event] {
        var events: [Event] = []
        repeat { events.append(try next()) } while events.last?.name != name
        return events
    }

    /// Up to and including the first at this revision or later.
    func events(throughRevision revision: Int) throws -> [Event] {
        var events: [Event] = []
        repeat { events.append(try next()) } while events.last.map { $0.revision < revision } ?? true
        return events
    }
}

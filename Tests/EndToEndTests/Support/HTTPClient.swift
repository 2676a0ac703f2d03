import Foundation
import Glibc

/// HTTP/1.1 on one blocking socket; `send` sends exactly what a test passes.
final class HTTPClient {
    private let descriptor: Int32
    private var buffer: [UInt8] = []

    /// `code` is `errno`, or 0 if the server has closed.
    struct Closed: Error {
        var code: Int32 = 0
    }

    struct Response {
        var status: Int
        var headers: [String: String]
        var body: [UInt8]

        var text: String { String(decoding: body, as: UTF8.self) }
        func header(_ name: String) -> String? { headers[name.lowercased()] }
        /// For tests of single members; `NSNull` if it is not JSON. Those of exact JSON use `text`.
        var json: Any {
            (try? JSONSerialization.jsonObject(with: Data(body), options: [.fragmentsAllowed])) ?? NSNull()
        }
        var object: [String: Any] { json as? [String: Any] ?? [:] }
    }

    init(port: Int, receiveBuffer: Int32? = nil, timeout: Int = 120) throws {
        descriptor = clientSocket(receiveBuffer: receiveBuffer, timeout: timeout)
        // Not closed here after an error: `deinit` does it, and a second `close` could hit another test's file.
        guard connectToServer(descriptor, port: port) else { throw Closed(code: errno) }
        var on: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    }

    deinit { close(descriptor) }

    func send(_ text: String) throws { try send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Closed(code: errno) }
            sent += count
        }
    }

    func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// On release, resets the connection instead of closing it properly.
    func vanish() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
    }

    private func fill() throws {
        var piece = [UInt8](repeating: 0, count: 65_536)
        let count = piece.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
        guard count > 0 else { throw Closed(code: count < 0 ? errno : 0) }
        buffer += piece[..<count]
    }

    /// Bytes not yet received from the socket; does not wait.
    var hasAnswer: Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) > 0
    }

    /// Leaves the bytes for `receive`.
    func waitForAnswer() -> Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK)) > 0
    }

    /// Waits. `false` if bytes come or are unread, `true` at the end or the timeout.
    var isClosed: Bool {
        do {
            if !buffer.isEmpty { return false }
            try fill()
            return false
        } catch { return true }
    }

    /// Until the end or the timeout.
    func receiveAll() -> [UInt8] {
        while (try? fill()) != nil {}
        defer { buffer = [] }
        return buffer
    }

    func receive(isHead: Bool = false) throws -> Response {
        let end = Array("\r\n\r\n".utf8)
        var headEnd: Int?
        while headEnd == nil {
            headEnd = buffer.count < 4 ? nil : (0...(buffer.count - 4)).first { buffer[$0..<$0 + 4].elementsEqual(end) }
            if headEnd == nil { try fill() }
        }
        let head = String(decoding: buffer[..<(headEnd ?? 0)], as: UTF8.self)
        buffer.removeFirst((headEnd ?? 0) + 4)
        let lines = head.components(separatedBy: "\r\n")
        let status = lines[0].split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            headers[parts[0].lowercased()] = parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : ""
        }
        if status == 100 { return try receive(isHead: isHead) }
        var body: [UInt8] = []
        if !isHead, status != 204, status != 304, let length = headers["content-length"].flatMap({ Int($0) }) {
            while buffer.count < length { try fill() }
            body = Array(buffer[..<length])
            buffer.removeFirst(length)
        } else if !isHead, headers["transfer-encoding"] == "chunked" {
            while true {
                let size = Int(try line().prefix { $0 != ";" }, radix: 16) ?? 0
                while buffer.count < size + 2 { try fill() }
                body += buffer[..<size]
                buffer.removeFirst(size + 2)
                if size == 0 { break }
            }
        }
        return Response(status: status, headers: headers, body: body)
    }

    private func line() throws -> String {
        while true {
            if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
                defer { buffer.removeFirst(end + 1) }
                return String(decoding: buffer[..<max(0, end - 1)], as: UTF8.self)
            }
            try fill()
        }
    }

    @discardableResult
    func request(_ method: String, _ target: String, _ body: String? = nil, headers: [String: String] = [:]) throws
        -> Response
    {
        var text = "\(method) \(target) HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        for (name, value) in headers { text += "\(name): \(value)\r\n" }
        if let body {
            if headers["Content-Type"] == nil { text += "Content-Type: application/json\r\n" }
            text += "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
        } else {
            text += "\r\n"
        }
        try send(text)
        return try receive(isHead: method == "HEAD")
    }

    func get(_ target: String, headers: [String: String] = [:]) throws -> Response {
        try request("GET", target, headers: headers)
    }
}

import BraidRuntime
import CEpoll
import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import BraidHTTP

/// Each route answers in a different way.
final class TestApplication: HTTPHandler {
    let requests = Watched<[String]>([])
    let streams = Watched<[ByteStream]>([])
    let closedStreams = Watched(0)
    let answeredSoon = Watched(0)
    /// Handlers that have begun to read a streamed body.
    let readers = Watched(0)
    let readFailures = Watched<[String]>([])
    /// Of the next answer for `/large`.
    let lease = Mutex<Quota.Lease?>(nil)
    /// `/held` is answered when a test has finished it.
    let gate = AsyncStream<Void>.makeStream()
    let bodyLimit = 100_000

    func receive(_ head: HTTPRequestHead) -> TestExchange { TestExchange(application: self, head: head) }

    func refusal(for failure: HTTPFailure, unreadable head: HTTPRequestHead) -> HTTPResponse {
        HTTPResponse(status: failure.status, body: .bytes([UInt8](failure.detail.utf8)))
    }

    fileprivate func reply(to head: HTTPRequestHead, _ body: [UInt8]) -> HTTPReply {
        requests.withLock { $0.append("\(head.method) \(head.target)") }
        let number = Int(head.query.first?.value ?? "") ?? 0
        switch head.path.first {
        case "echo":
            return .ready(HTTPResponse(status: 200, body: .bytes(body)))
        case "later":
            // Other answers overtake it, or the server stops before its end.
            return .task(on: Workers.shared.short) {
                try? await Task.sleep(for: .milliseconds(number))
                return HTTPResponse(status: 200, body: .bytes([UInt8]("later \(number)".utf8)))
            }
        case "held":
            return .task(on: Workers.shared.short) {
                for await _ in self.gate.stream {}
                return HTTPResponse(status: 200, body: .bytes([UInt8]("held".utf8)))
            }
        case "soon":
            return .task(on: Workers.shared.short) {
                try? await Task.sleep(for: .milliseconds(number))
                self.answeredSoon.withLock { $0 += 1 }
                return HTTPResponse(status: 200, body: .bytes([UInt8]("soon \(number)".utf8)))
            }
        case "large":
            var response = HTTPResponse(status: 200, body: .bytes([UInt8](repeating: 120, count: number)))
            response.lease = lease.withLock { lease in
                defer { lease = nil }
                return lease
            }
            return .ready(response)
        case "none":
            return .ready(HTTPResponse(status: number, body: .bytes([1])))
        case "stream":
            let stream = ByteStream(limit: 1_000)
            stream.onClose { self.closedStreams.withLock { $0 += 1 } }
            streams.withLock { $0.append(stream) }
            return .ready(HTTPResponse(status: 200, body: .stream(stream)))
        case "sized":
            let stream = ByteStream(limit: 1_000, length: number)
            streams.withLock { $0.append(stream) }
            return .ready(HTTPResponse(status: 200, body: .stream(stream)))
        case "withheld":
            var response = HTTPResponse(status: 200, body: .bytes([UInt8]("withheld".utf8)))
            response.isWithheld = true
            return .ready(response)
        case "download":
            let stream = ByteStream(limit: 64 * 1024, isEndless: false)
            stream.onClose { self.closedStreams.withLock { $0 += 1 } }
            Task {
                let piece = [UInt8](repeating: 121, count: 16 * 1024)
                var left = number
                while left > 0 {
                    switch stream.write(piece) {
                    case .accepted: left -= piece.count
                    case .full: await stream.drained()
                    case .closed: return
                    }
                }
                stream.finish()
            }
            return .ready(HTTPResponse(status: 200, body: .stream(stream)))
        default:
            return .ready(HTTPResponse(status: 200, body: .bytes([UInt8]("ready \(number)".utf8))))
        }
    }
}

struct TestExchange: HTTPExchange {
    let application: TestApplication
    let head: HTTPRequestHead

    var isProbe: Bool { head.path.first == "probe" }

    var disposition: HTTPBodyDisposition {
        ["count", "early", "slow-reader"].contains(head.path.first)
            ? .stream() : .gather(limit: application.bodyLimit)
    }

    func reply(to body: [UInt8]) -> HTTPReply { application.reply(to: head, body) }

    func respond(reading body: HTTPBodyReader) async -> HTTPResponse {
        if head.path.first == "early" { return HTTPResponse(status: 403, body: .bytes([UInt8]("no".utf8))) }
        var count = 0
        application.readers.withLock { $0 += 1 }
        do {
            if head.path.first == "slow-reader" { try await Task.sleep(for: .milliseconds(500)) }
            while let bytes = try await body.next() { count += bytes.count }
        } catch {
            application.readFailures.withLock { $0.append("\(error)") }
        }
        return HTTPResponse(status: 200, body: .bytes([UInt8]("counted \(count)".utf8)))
    }

    func refusal(for failure: HTTPFailure, isHandled: Bool) -> HTTPResponse {
        application.refusal(for: failure, unreadable: head)
    }
}

extension HTTPServer.Limits {
    /// So that tests need not wait long.
    static var short: Self {
        var limits = Self()
        limits.headTime = .milliseconds(400)
        limits.bodyGrace = .milliseconds(400)
        limits.streamedBodyPause = .milliseconds(400)
        limits.idleTime = .milliseconds(400)
        limits.writeTime = .milliseconds(600)
        limits.lingerTime = .milliseconds(400)
        limits.sweep = .milliseconds(50)
        return limits
    }

    /// Never reached, even if a thread stands still for seconds. Sweeps are rare, because a crowded server closes
    /// idle connections after two.
    static var patient: Self {
        var limits = Self()
        limits.headTime = .seconds(600)
        limits.bodyGrace = .seconds(600)
        limits.streamedBodyPause = .seconds(600)
        limits.idleTime = .seconds(600)
        limits.writeTime = .seconds(600)
        limits.lingerTime = .seconds(600)
        limits.reservedTime = .seconds(600)
        limits.sweep = .seconds(300)
        return limits
    }
}

extension HTTPHeaders {
    init(_ lines: [(name: String, value: String)]) {
        var bytes: [UInt8] = []
        func placed(_ text: String) -> Range<Int32> {
            let start = Int32(bytes.count)
            bytes += text.utf8
            return start..<Int32(bytes.count)
        }
        let fields = lines.map { Field(name: placed($0.name), value: placed($0.value)) }
        self.init(bytes: bytes, fields: fields)
    }

    var all: [(name: String, value: String)] {
        func text(_ range: Range<Int32>) -> String {
            String(decoding: bytes[Int(range.lowerBound)..<Int(range.upperBound)], as: UTF8.self)
        }
        return fields.map { (text($0.name), text($0.value)) }
    }
}

/// `body` blocks, so it must not run on a thread that the handlers need.
func withServer(
    _ limits: HTTPServer.Limits = .patient, address: HTTPAddress = .tcp(host: "127.0.0.1", port: 0),
    maxConnections: Int = 10_000, outgoing: Quota = Quota(256 << 20),
    _ body: @escaping @Sendable (HTTPServer, TestApplication) throws -> Void
) async throws {
    let application = TestApplication()
    let configuration = HTTPServer.Configuration(
        address: address, limits: limits, maxConnections: maxConnections, outgoing: outgoing, loops: 2)
    let server = HTTPServer(configuration: configuration, handler: application)
    try server.start()
    let result: Result<Void, any Error> = await onThread { Result { try body(server, application) } }
    await server.stop(grace: .milliseconds(100))
    try result.get()
}

func onThread<T: Sendable>(_ work: @escaping @Sendable () -> T) async -> T {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: work()) }
    }
}

struct ClientError: Error {
    var what: String
    var code = errno
}

/// Blocks, and sends exactly the given bytes.
final class Client: Sendable {
    let socket: Int32
    private let rest = Mutex<[UInt8]>([])
    /// SOCK_CLOEXEC: other tests' processes would inherit the socket, and keep it open.
    private static let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)

    init(_ server: HTTPServer, receiveBuffer: Int32? = nil) throws {
        guard let address = server.address else { throw ClientError(what: "the server does not run") }
        switch address {
        case .tcp(let host, let port):
            let isSix = host.contains(":")
            socket = Glibc.socket(isSix ? AF_INET6 : AF_INET, Self.kind, 0)
            if var size = receiveBuffer {
                setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
            }
            var hints = addrinfo()
            hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
            var list: UnsafeMutablePointer<addrinfo>?
            getaddrinfo(host, String(port), &hints, &list)
            defer { freeaddrinfo(list) }
            guard let info = list?.pointee, connect(socket, info.ai_addr, info.ai_addrlen) == 0 else {
                throw ClientError(what: "connect")
            }
        case .unix(let path):
            socket = Glibc.socket(AF_UNIX, Self.kind, 0)
            var name = sockaddr_un()
            name.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: path.utf8) }
            let socket = socket
            let result = withUnsafePointer(to: &name) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            guard result == 0 else { throw ClientError(what: "connect") }
        }
        var wait = timeval(tv_sec: 120, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &wait, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &wait, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(socket) }

    func send(_ text: String) throws { try send([UInt8](text.utf8)) }

    func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(socket, $0.baseAddress! + sent, $0.count - sent, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw ClientError(what: "send") }
            sent += count
        }
    }

    func get(_ target: String) throws { try send("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n") }

    func endSending() { shutdown(socket, Int32(SHUT_WR)) }

    /// What an earlier call left over, or at most `limit` new bytes. Empty at the end of the connection.
    func receive(_ limit: Int = 65_536) throws -> [UInt8] {
        let early = rest.withLock { rest in
            defer { rest = [] }
            return rest
        }
        if !early.isEmpty { return early }
        var buffer = [UInt8](repeating: 0, count: limit)
        let count = recv(socket, &buffer, limit, 0)
        guard count >= 0 else { throw ClientError(what: "receive") }
        return Array(buffer[..<count])
    }

    func receiveAll() throws -> String {
        var all: [UInt8] = []
        while case let bytes = try receive(), !bytes.isEmpty { all += bytes }
        return String(decoding: all, as: UTF8.self)
    }

    func receive(until mark: String) throws -> String {
        var all: [UInt8] = []
        let mark = [UInt8](mark.utf8)
        while true {
            let bytes = try receive()
            if bytes.isEmpty {
                throw ClientError(what: "ended before the mark: \(String(decoding: all, as: UTF8.self))")
            }
            // The mark can begin in an earlier piece, but not end there.
            let start = max(0, all.count - mark.count)
            all += bytes
            if let range = all[start...].firstRange(of: mark) {
                rest.withLock { $0 = Array(all[range.upperBound...]) }
                return String(decoding: all[..<range.upperBound], as: UTF8.self)
            }
        }
    }

    /// The body is empty for HEAD and without Content-Length.
    func answer(isHead: Bool = false) throws -> (head: String, body: String) {
        let head = try receive(until: "\r\n\r\n")
        let line = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
        let length = isHead ? 0 : line.flatMap { Int($0.dropFirst(15).trimmingCharacters(in: .whitespaces)) } ?? 0
        var body: [UInt8] = []
        while body.count < length {
            let bytes = try receive()
            if bytes.isEmpty { throw ClientError(what: "ended within a body") }
            body += bytes
        }
        rest.withLock { $0 = Array(body[length...]) }
        return (head, String(decoding: body[..<length], as: UTF8.self))
    }

    /// And sends no other byte.
    func isClosedByServer(within seconds: Double) -> Bool {
        var wait = timeval(tv_sec: Int(seconds), tv_usec: Int((seconds - seconds.rounded(.down)) * 1_000_000))
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &wait, socklen_t(MemoryLayout<timeval>.size))
        var byte: UInt8 = 0
        let count = recv(socket, &byte, 1, 0)
        return count == 0 || count < 0 && errno == ECONNRESET
    }
}

func status(_ answer: String) -> Int { Int(answer.dropFirst(9).prefix(3)) ?? 0 }

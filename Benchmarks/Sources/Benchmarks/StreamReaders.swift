import CSysEpoll
import Foundation
import Glibc

/// Many readers of event streams, and one connection that sends commands. All of them use a single thread, so that the
/// readers disturb the server as little as possible.
final class StreamReaders {
    private let port: Int
    private let epoll = epoll_create1(0)
    private var descriptors: [Int32] = []
    private let command: Int32
    private var buffer = [UInt8](repeating: 0, count: 1 << 18)
    private let mark: [UInt8]
    /// For each reader, the number of bytes of `mark` that the last received bytes match.
    private var matched: [Int] = []
    private(set) var events = 0
    private(set) var bytes = 0
    private(set) var closed = 0
    var onEvent: () -> Void = {}
    var onAnswer: () -> Void = {}

    /// Creates an object that has no readers yet. `mark` is a text that each event contains exactly once.
    init(port: Int, mark: String) throws {
        self.port = port
        self.mark = Array(mark.utf8)
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        command = try Self.connected(port)
        watch(command, .max)
    }

    deinit {
        for descriptor in descriptors + [command, epoll] { close(descriptor) }
    }

    static func connected(_ port: Int) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard descriptor >= 0, result == 0 else { throw Fault("cannot connect: \(String(cString: strerror(errno)))") }
        var on: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        return descriptor
    }

    private func watch(_ descriptor: Int32, _ number: UInt64) {
        var event = epoll_event()
        event.events = EPOLLIN.rawValue
        event.data.u64 = number
        epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event)
    }

    /// Opens `count` readers, and waits until each of them has received a text that contains `mark`.
    ///
    /// - Parameter port: the port for the readers. `nil` for the port to which the commands are sent.
    /// - Returns: for each reader, the text that it has received so far.
    @discardableResult
    func open(_ count: Int, _ request: [UInt8], until mark: String, at port: Int? = nil) throws -> [String] {
        try (0..<count).map { _ in
            let descriptor = try Self.connected(port ?? self.port)
            guard Glibc.send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
                throw Fault("cannot send")
            }
            var text = ""
            while !text.contains(mark) {
                let received = recv(descriptor, &buffer, buffer.count, 0)
                guard received > 0 else { throw Fault("a reader was turned away: \(text)") }
                text += String(decoding: buffer[..<received], as: UTF8.self)
            }
            watch(descriptor, UInt64(descriptors.count))
            descriptors.append(descriptor)
            matched.append(0)
            return text
        }
    }

    func send(command request: [UInt8]) throws {
        guard Glibc.send(command, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
            throw Fault("cannot send")
        }
    }

    /// Reads the available bytes of all connections. Returns the number of received answers to commands. Each answer
    /// must arrive in one piece.
    func pump(milliseconds: Int32) -> Int {
        var ready = [epoll_event](repeating: epoll_event(), count: 512)
        let count = Int(epoll_wait(epoll, &ready, 512, milliseconds))
        var answers = 0
        for index in 0..<max(0, count) {
            // The loop looks for an answer at every eighth reader, so that reading hundreds of readers does not delay
            // the answer's time.
            if index % 8 == 0, recv(command, &buffer, buffer.count, Int32(MSG_DONTWAIT)) > 0 {
                answers += 1
                onAnswer()
            }
            let number = ready[index].data.u64
            if number == .max { continue }
            let reader = Int(number)
            let received = recv(descriptors[reader], &buffer, buffer.count, 0)
            guard received > 0 else {
                closed += 1
                epoll_ctl(epoll, EPOLL_CTL_DEL, descriptors[reader], nil)
                continue
            }
            bytes += received
            scan(received, of: reader)
        }
        return answers
    }

    private func scan(_ count: Int, of reader: Int) {
        var at = matched[reader]
        buffer.withUnsafeBufferPointer { bytes in
            mark.withUnsafeBufferPointer { mark in
                for index in 0..<count {
                    let byte = bytes[index]
                    // The mark's first byte occurs only once in the mark, so after a mismatch the match starts again at
                    // the current byte.
                    at = byte == mark[at] ? at + 1 : byte == mark[0] ? 1 : 0
                    if at == mark.count {
                        at = 0
                        events += 1
                        onEvent()
                    }
                }
            }
        }
        matched[reader] = at
    }
}

import CSysEpoll
import Foundation
import Glibc

/// The result of a load: the number of answers per second, and the latencies of the answers.
struct LoadResult: Sendable {
    var rate = 0.0
    var bytes = 0
    /// The latencies of all answers in microseconds, in ascending order.
    var latencies: [UInt32] = []

    func latency(_ part: Double) -> Double {
        latencies.isEmpty ? 0 : Double(latencies[min(latencies.count - 1, Int(Double(latencies.count) * part))])
    }
}

/// Keeps all connections busy for a time. As in wrk, each connection sends its next request as soon as the previous one
/// was answered.
///
/// - Parameters:
///   - ports: the servers' ports. Connections are distributed over them in turn.
///   - request: returns the bytes of a request, for the number of the connection and the number of its round, both from
///     0.
func load(
    ports: [Int], connections: Int, threads: Int = 2, seconds: Double, expecting status: Int = 200,
    request: @escaping @Sendable (_ connection: Int, _ round: Int) -> [UInt8]
) throws -> LoadResult {
    let threads = min(threads, connections), seconds = Size.seconds(seconds)
    let results = UnsafeMutableBufferPointer<Result<LoadResult, any Error>>.allocate(capacity: threads)
    results.initialize(repeating: .success(LoadResult()))
    defer { results.deinitialize().deallocate() }
    nonisolated(unsafe) let shared = results
    DispatchQueue.concurrentPerform(iterations: threads) { thread in
        shared[thread] = Result {
            var generator = try LoadThread(
                ports: ports, numbers: (0..<connections).filter { $0 % threads == thread }, status: status,
                request: request)
            return try generator.run(seconds: seconds)
        }
    }
    var all = LoadResult()
    for result in results {
        let part = try result.get()
        all.rate += part.rate
        all.bytes += part.bytes
        all.latencies += part.latencies
    }
    all.latencies.sort()
    return all
}

private struct LoadThread {
    private struct Client {
        var number: Int
        var descriptor: Int32
        var round = 0
        var sent = 0
        /// The number of bytes of the answer that have not arrived yet. `nil` while the head of the answer is
        /// incomplete.
        var missing: Int?
        var head: [UInt8] = []
    }

    private let epoll = epoll_create1(0)
    private var clients: [Client]
    private let status: Int
    private let request: (Int, Int) -> [UInt8]
    private var buffer = [UInt8](repeating: 0, count: 1 << 18)
    private var result = LoadResult()

    init(ports: [Int], numbers: [Int], status: Int, request: @escaping (Int, Int) -> [UInt8]) throws {
        self.status = status
        self.request = request
        clients = try numbers.map {
            Client(number: $0, descriptor: try StreamReaders.connected(ports[$0 % ports.count]))
        }
        for (index, client) in clients.enumerated() {
            var event = epoll_event()
            event.events = EPOLLIN.rawValue
            event.data.u64 = UInt64(index)
            epoll_ctl(epoll, EPOLL_CTL_ADD, client.descriptor, &event)
        }
        result.latencies.reserveCapacity(1 << 20)
    }

    mutating func run(seconds: Double) throws -> LoadResult {
        defer {
            for client in clients { close(client.descriptor) }
            close(epoll)
        }
        let start = monotonicNanoseconds(), end = start + Int(seconds * 1e9)
        for index in clients.indices { try send(index) }
        var ready = [epoll_event](repeating: epoll_event(), count: 256)
        var done = 0, now = start
        while now < end {
            let count = Int(epoll_wait(epoll, &ready, 256, 1_000))
            for event in ready.prefix(max(0, count)) {
                let index = Int(event.data.u64)
                guard try receive(index) else { continue }
                now = monotonicNanoseconds()
                result.latencies.append(UInt32(clamping: (now - clients[index].sent) / 1_000))
                done += 1
                clients[index].round += 1
                if now < end { try send(index) }
            }
            now = monotonicNanoseconds()
        }
        result.rate = Double(done) / (Double(now - start) / 1e9)
        return result
    }

    private mutating func send(_ index: Int) throws {
        let bytes = request(clients[index].number, clients[index].round)
        clients[index].sent = monotonicNanoseconds()
        guard Glibc.send(clients[index].descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
            throw Fault("cannot send")
        }
    }

    /// Receives bytes of an answer. Returns whether the answer is complete.
    private mutating func receive(_ index: Int) throws -> Bool {
        let count = recv(clients[index].descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { throw Fault("the server closed a connection") }
        result.bytes += count
        if let missing = clients[index].missing {
            clients[index].missing = missing > count ? missing - count : nil
            return missing <= count
        }
        if let whole = try length(clients[index].head, count) {
            let missing = whole - clients[index].head.count - count
            clients[index].head = []
            clients[index].missing = missing > 0 ? missing : nil
            return missing <= 0
        }
        clients[index].head += buffer[..<count]
        return false
    }

    /// Returns the length of the answer whose head is in `head` and in the buffer. `nil` if the head is not complete
    /// yet.
    private func length(_ head: [UInt8], _ count: Int) throws -> Int? {
        if !head.isEmpty { return try Self.length(head + buffer[..<count], status) }
        return try buffer.withUnsafeBytes { try Self.length(UnsafeRawBufferPointer(rebasing: $0[..<count]), status) }
    }

    private static func length(_ bytes: [UInt8], _ status: Int) throws -> Int? {
        try bytes.withUnsafeBytes { try length($0, status) }
    }

    private static func length(_ bytes: UnsafeRawBufferPointer, _ status: Int) throws -> Int? {
        guard let end = csys_find(bytes.baseAddress!, bytes.count, "\r\n\r\n", 4) else { return nil }
        let head = end - bytes.baseAddress!
        let found = Int(bytes[9] - 48) * 100 + Int(bytes[10] - 48) * 10 + Int(bytes[11] - 48)
        guard found == status else {
            throw Fault("an answer has the status \(found): \(String(decoding: bytes.prefix(2_000), as: UTF8.self))")
        }
        var length = 0
        if let field = csys_find(bytes.baseAddress!, head, "\r\nContent-Length: ", 18) {
            var at = field - bytes.baseAddress! + 18
            while bytes[at] != 13 {
                length = length * 10 + Int(bytes[at]) - 48
                at += 1
            }
        }
        return head + 4 + (status == 304 ? 0 : length)
    }
}

func monotonicNanoseconds() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
}

func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

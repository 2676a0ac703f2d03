import CSysEpoll
import Foundation

/// A server process of the release binary on a free port.
final class Server {
    let port: Int
    private let process = Process()

    init(database: String, arguments: [String] = [], environment: [String: String] = [:]) throws {
        // A static binary would ignore it.
        let name = environment["LD_PRELOAD"] == nil ? "BRAID_SERVER_BINARY" : "BRAID_SHARED_BINARY"
        guard let binary = ProcessInfo.processInfo.environment[name] else {
            throw Fault("run this through Benchmarks/run, which sets \(name)")
        }
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: binary)
        process.arguments = ["serve", "--port", "0", "--database", database] + arguments
        // The server refuses to start if an environment variable `BRAID_…` is not one of its settings. So the server
        // does not inherit this program's variables `BRAID_…`.
        process.environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("BRAID_") }
            .merging(environment) { $1 }
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        var line = Data()
        while let byte = try output.fileHandleForReading.read(upToCount: 1), !byte.isEmpty, byte != Data("\n".utf8) {
            line += byte
        }
        guard let port = String(decoding: line, as: UTF8.self).split(separator: ":").last.flatMap({ Int($0) }) else {
            throw Fault("the server did not start")
        }
        self.port = port
    }

    var processIdentifier: Int32 { process.processIdentifier }

    func stop() {
        process.terminate()
        process.waitUntilExit()
    }
}

/// In seconds, from `/proc/pid/stat`, see proc(5).
struct ProcessorTime {
    var user = 0.0, system = 0.0
    var total: Double { user + system }

    static func - (one: Self, other: Self) -> Self {
        Self(user: one.user - other.user, system: one.system - other.system)
    }
}

/// `nil`: it has ended.
func processorTime(of process: Int32) -> (time: ProcessorTime, parent: Int32)? {
    guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
        let end = text.lastIndex(of: ")")
    else { return nil }
    let fields = text[end...].split(separator: " "), tick = Double(sysconf(Int32(_SC_CLK_TCK)))
    guard fields.count > 13, let parent = Int32(fields[2]), let user = Double(fields[12]),
        let system = Double(fields[13])
    else { return nil }
    return (ProcessorTime(user: user / tick, system: system / tick), parent)
}

struct Fault: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// A connection that sends one request at a time, and blocks until it has read the answer.
final class Connection {
    private let descriptor: Int32
    private var buffer = [UInt8](repeating: 0, count: 1 << 17)

    init(port: Int) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { throw Fault("cannot connect") }
        var on: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    }

    deinit { close(descriptor) }

    func send(_ request: [UInt8]) throws {
        var sent = 0
        while sent < request.count {
            let count = request[sent...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Fault("send failed") }
            sent += count
        }
    }

    /// Waits until the server has sent bytes.
    func waitForBytes() throws {
        var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&wait, 1, 60_000) == 1 else { throw Fault("no answer came") }
    }

    /// Reads one complete answer. Returns the status and the number of bytes of the answer.
    @discardableResult
    func receive() throws -> (status: Int, count: Int) {
        var count = 0
        var total: Int?
        while total == nil || count < total! {
            if count == buffer.count { buffer += [UInt8](repeating: 0, count: buffer.count) }
            let received = buffer.withUnsafeMutableBytes {
                recv(descriptor, $0.baseAddress! + count, $0.count - count, 0)
            }
            guard received > 0 else { throw Fault("the connection was closed") }
            count += received
            if total == nil { total = Self.length(buffer[..<count]) }
            // An empty chunk marks the end of a chunked answer. Its bytes cannot occur earlier, because compact JSON
            // contains no line ends.
            if total == .max, buffer[..<count].suffix(7).elementsEqual("\r\n0\r\n\r\n".utf8) { total = count }
        }
        return (Int(buffer[9] - 48) * 100 + Int(buffer[10] - 48) * 10 + Int(buffer[11] - 48), count)
    }

    /// Reads one complete answer, and keeps only its head. Returns the status.
    func discard() throws -> Int {
        var count = 0, total: Int?, tail: [UInt8] = [], status = 0
        while total == nil || count < total! {
            // Without a complete head, the next bytes go behind the first ones.
            let start = total == nil ? count : 0
            let received = buffer.withUnsafeMutableBytes {
                recv(descriptor, $0.baseAddress! + start, $0.count - start, 0)
            }
            guard received > 0 else { throw Fault("the connection was closed") }
            count += received
            if total == nil {
                total = Self.length(buffer[..<count])
                status = Int(buffer[9] - 48) * 100 + Int(buffer[10] - 48) * 10 + Int(buffer[11] - 48)
            }
            tail = Array((tail + buffer[start..<start + received].suffix(7)).suffix(7))
            if total == .max, tail.elementsEqual("\r\n0\r\n\r\n".utf8) { total = count }
        }
        return status
    }

    /// Returns the number of bytes of the answer's head and body together. `Int.max` if the body is chunked, and `nil`
    /// until the head is complete.
    private static func length(_ bytes: ArraySlice<UInt8>) -> Int? {
        let field = Array("\r\nContent-Length: ".utf8)
        var length = 0
        var index = bytes.startIndex
        while index + 3 < bytes.endIndex {
            guard bytes[index] == 13 else {
                index += 1
                continue
            }
            if bytes[index + 2] == 13 { return length == .max / 2 ? .max : index + 4 + length }
            if bytes[index...].starts(with: Array("\r\nTransfer-Encoding: chunked".utf8)) { length = .max / 2 }
            if bytes[index...].starts(with: field) {
                for digit in bytes[(index + field.count)...].prefix(while: { $0 != 13 }) {
                    length = length * 10 + Int(digit) - 48
                }
            }
            index += 2
        }
        return nil
    }

    func exchange(_ method: String, _ target: String, _ body: String = "") throws -> Int {
        try send(Self.request(method, target, body))
        return try receive().status
    }

    func get(_ target: String) throws -> Answer { try answer(to: Self.request("GET", target)) }

    func post(_ target: String, _ body: String, token: String) throws -> Answer {
        try answer(to: Self.request("POST", target, body, fields: ["Authorization: Bearer \(token)"]))
    }

    /// A new one of a session, by the server's token `secret`.
    func token(_ role: String, user: String? = nil, of session: String) throws -> String {
        let user = user.map { #","user":"\#($0)""# } ?? ""
        let answer = try post(
            "/v1/sessions/\(session)/tokens", #"{"role":"\#(role)","expiresIn":3600\#(user)}"#, token: "secret")
        guard let object = try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any],
            let text = object["token"] as? String
        else { throw Fault("no token was made") }
        return text
    }

    private func answer(to request: [UInt8]) throws -> Answer {
        try send(request)
        let count = try receive().count
        let end = buffer.withUnsafeBytes {
            csys_find($0.baseAddress!, count, "\r\n\r\n", 4)! - UnsafeRawPointer($0.baseAddress!)
        }
        let head = String(decoding: buffer[..<end], as: UTF8.self), body = Array(buffer[(end + 4)..<count])
        return Answer(head: head, body: head.contains("chunked") ? Self.joined(body) : body)
    }

    /// Joins the chunks of a body, and returns the body without the framing.
    private static func joined(_ body: [UInt8]) -> [UInt8] {
        var joined: [UInt8] = [], at = 0
        while let end = body[at...].firstIndex(of: 13),
            let size = Int(String(decoding: body[at..<end], as: UTF8.self), radix: 16), size > 0
        {
            joined += body[(end + 2)..<(end + 2 + size)]
            at = end + 4 + size
        }
        return joined
    }

    static func request(_ method: String, _ target: String, _ body: String = "", fields: [String] = []) -> [UInt8] {
        let content = body.isEmpty ? "" : "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n"
        return Array(
            "\(method) \(target) HTTP/1.1\r\nHost: localhost\r\n\(fields.map { $0 + "\r\n" }.joined())\(content)\r\n\(body)"
                .utf8)
    }
}

/// Measures requests per second over `connections` connections, from at most two threads.
///
/// Each thread keeps all of its connections busy. In each round, it sends a request on every connection and then reads
/// every answer.
func throughput(
    port: Int, connections: Int, seconds: Double, expecting status: Int = 200,
    request: @escaping @Sendable (_ connection: Int, _ round: Int) -> [UInt8]
) throws -> Double {
    let threads = min(2, connections), seconds = Size.seconds(seconds)
    let rates = UnsafeMutableBufferPointer<Double>.allocate(capacity: threads)
    rates.initialize(repeating: 0)
    defer { rates.deallocate() }
    nonisolated(unsafe) let results = rates
    DispatchQueue.concurrentPerform(iterations: threads) { thread in
        do {
            let mine = try (0..<connections).filter { $0 % threads == thread }.map { ($0, try Connection(port: port)) }
            var done = 0
            let start = ContinuousClock.now
            var round = 0
            while (ContinuousClock.now - start) / .seconds(1) < seconds {
                for (number, connection) in mine { try connection.send(request(number, round)) }
                for (_, connection) in mine {
                    guard try connection.receive().status == status else { throw Fault("an unexpected status") }
                    done += 1
                }
                round += 1
            }
            results[thread] = Double(done) / ((ContinuousClock.now - start) / .seconds(1))
        } catch {
            print("  failed: \(error)")
        }
    }
    return rates.reduce(0, +)
}

/// Measures the requests per second for two kinds of reads: `/healthz` and a snapshot.
func httpBenchmark() throws {
    print("\nHTTP: requests/s on 1, 32, 256 connections (median of 3 runs of 2 s; the load runs on the same cores)")
    let server = try Server(database: ":memory:")
    defer { server.stop() }
    let models = (0..<752).map { #"{"id":"row-\#($0)","name":"\#(String(repeating: "x", count: 24))"}"# }.joined(
        separator: ",")
    let table = #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[\#(models)]}]}"#
    let connection = try Connection(port: server.port)
    guard try connection.exchange("POST", "/v1/sessions", #"{"table":\#(table),"id":"s"}"#) == 201 else {
        throw Fault("the session was not opened")
    }
    try connection.send(Connection.request("GET", "/v1/sessions/s/snapshot"))
    print("  (the snapshot has \(try connection.receive().count) bytes)")
    for (name, target) in [("healthz", "/healthz"), ("snapshot", "/v1/sessions/s/snapshot")] {
        let bytes = Connection.request("GET", target)
        let rates = try [1, 32, 256].map { connections in
            try (0..<3).map { _ in
                try throughput(port: server.port, connections: connections, seconds: 2) { _, _ in bytes }
            }.sorted()[1]
        }
        print("  \(name): \(rates.map { String(Int($0)) }.joined(separator: " / "))")
    }
}

/// Measures durable commands per second. For comparison, it measures how many calls of fdatasync per second the file
/// system allows.
func commandBenchmark() throws {
    print("\ncommands: durable inserts/s on 1, 32, 256 sessions (synchronous=FULL; median of 3 runs of 3 s)")
    let directory = FileManager.default.currentDirectoryPath + "/.build/benchmark-\(getpid())"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    print("  fdatasync of 4 KiB appends: \(Int(syncRate(directory + "/sync")))/s")
    let server = try Server(database: directory + "/braid.sqlite")
    defer { server.stop() }
    let connection = try Connection(port: server.port)
    let table =
        #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[{"id":"first"}],"editing":"insert"}]}"#
    guard try connection.exchange("PUT", "/v1/tables/t", table) == 201 else {
        throw Fault("the table was not registered")
    }
    for run in 0..<3 {
        for number in 0..<256 {
            guard try connection.exchange("POST", "/v1/sessions", #"{"table":"t","id":"s\#(run)-\#(number)"}"#) == 201
            else { throw Fault("a session was not opened") }
        }
    }
    for sessions in [1, 32, 256] {
        let rates = try (0..<3).map { run in
            try throughput(port: server.port, connections: sessions, seconds: 3) { session, round in
                Connection.request(
                    "POST", "/v1/sessions/s\(run)-\(session)/edits",
                    #"{"insert":{"section":0,"row":0},"model":{"id":"\#(sessions)-\#(round)","name":"Some name"}}"#)
            }
        }
        print("  \(sessions) sessions: \(Int(rates.sorted()[1]))")
    }
    print("  fdatasync of 4 KiB appends: \(Int(syncRate(directory + "/sync")))/s")
}

func syncRate(_ path: String) -> Double {
    let descriptor = open(path, O_CREAT | O_WRONLY | O_APPEND, 0o600)
    defer { close(descriptor) }
    let page = [UInt8](repeating: 1, count: 4096)
    let start = ContinuousClock.now, seconds = Size.seconds(1)
    var count = 0
    while (ContinuousClock.now - start) / .seconds(1) < seconds {
        write(descriptor, page, page.count)
        fdatasync(descriptor)
        count += 1
    }
    return Double(count) / ((ContinuousClock.now - start) / .seconds(1))
}

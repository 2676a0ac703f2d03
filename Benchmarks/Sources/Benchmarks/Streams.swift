import Foundation

/// Returns the monotonic clock in nanoseconds.
func now() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
}

func milliseconds(_ sorted: [Int], _ part: Double) -> String {
    sorted.isEmpty
        ? "-" : String(format: "%.2f", Double(sorted[min(sorted.count - 1, Int(Double(sorted.count) * part))]) / 1e6)
}

struct FanOut {
    /// The times from sending a command, in nanoseconds and ascending order: `receipts` until a reader has received the
    /// event, and `answers` until the answer to the command.
    var receipts: [Int] = []
    var answers: [Int] = []

    /// Sends commands one at a time. The next command is sent `pause` seconds after the answer has arrived and all
    /// readers have received the event.
    init(
        _ readers: StreamReaders, commands: Int, readers count: Int, pause: Double = 0.005, command: (Int) -> [UInt8]
    ) throws {
        var sent = 0
        var receipts: [Int] = [], answers: [Int] = []
        receipts.reserveCapacity(commands * count)
        readers.onEvent = { receipts.append(now() - sent) }
        readers.onAnswer = { answers.append(now() - sent) }
        defer {
            readers.onEvent = {}
            readers.onAnswer = {}
        }
        for number in 0..<commands {
            let wanted = readers.events + count
            sent = now()
            try readers.send(command: command(number))
            while answers.count <= number || readers.events < wanted {
                _ = readers.pump(milliseconds: 10)
                if now() - sent > 5_000_000_000 {
                    throw Fault("only \(count - (wanted - readers.events)) of \(count) readers received the event")
                }
            }
            usleep(UInt32(pause * 1e6))
        }
        self.receipts = receipts.sorted()
        self.answers = answers.sorted()
    }

    var receiptText: String { "\(milliseconds(receipts, 0.5)) / \(milliseconds(receipts, 0.99)) ms" }
    var answerText: String { "\(milliseconds(answers, 0.5)) / \(milliseconds(answers, 0.99)) ms" }
}

/// Sends commands one after another: the next command is sent when the previous one was answered. Returns the commands
/// and the received events per second.
func hotSession(_ readers: StreamReaders, seconds: Double, command: (Int) -> [UInt8]) throws -> (
    commands: Double, events: Double
) {
    let start = now(), end = start + Int(Size.seconds(seconds) * 1e9), before = readers.events
    var done = 0, answers = 1
    while now() < end {
        if answers > 0 {
            try readers.send(command: command(done))
            done += 1
            answers = 0
        }
        answers += readers.pump(milliseconds: 100)
    }
    let time = Double(now() - start) / 1e9
    let rates = (Double(done) / time, Double(readers.events - before) / time)
    while readers.pump(milliseconds: 300) > 0 {}
    return rates
}

func residentKilobytes(_ process: Int32) -> Int {
    let status = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
    return status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }?.split(separator: " ").dropFirst().first
        .flatMap { Int($0) } ?? 0
}

/// Returns the resident memory of a process once it has settled: a server returns memory to the system for some seconds
/// after a large request, which would count as negative memory of what comes next.
func settledKilobytes(_ process: Int32) -> Int {
    var samples: [Int] = []
    // Two seconds without a change of more than half a megabyte, or at most a minute.
    for _ in 0..<120 {
        samples.append(residentKilobytes(process))
        if let low = samples.suffix(5).min(), let high = samples.suffix(5).max(), samples.count >= 5, high - low < 512 {
            break
        }
        usleep(500_000)
    }
    return samples[samples.count - 1]
}

/// Measures how followers slow down the server's commands, and how long events take to reach them.
func streamBenchmark() throws {
    print(
        "\nstreams: one session of 10 rows, one row changed by each command (synchronous=FULL); the readers run on the same cores"
    )
    let directory = FileManager.default.currentDirectoryPath + "/.build/benchmark-\(getpid())"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let models = (1..<10).map { #"{"id":"\#($0)","name":"Some name"}"# }.joined(separator: ",")
    let table =
        #"{"table":"t","sections":["a","b"],"cells":{"C":{}},"bindings":[{"on":{"sections":["a","b"]},"cell":"C","models":{"a":[{"id":"0"}],"b":[\#(models)]}}]}"#
    let stream = Array(
        "GET /v1/sessions/s/updates HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n".utf8)
    func command(_ number: Int) -> [UInt8] {
        Connection.request(
            "PATCH", "/v1/sessions/s/models", #"{"a":[{"id":"0","name":"Some name","number":\#(number)}]}"#)
    }
    for count in [0, 1, 100, 1_000] {
        let server = try Server(database: directory + "/\(count).sqlite")
        defer { server.stop() }
        guard
            try Connection(port: server.port).exchange("POST", "/v1/sessions", #"{"table":\#(table),"id":"s"}"#) == 201
        else { throw Fault("the session was not opened") }
        let readers = try StreamReaders(port: server.port, mark: "\nevent: update")
        _ = try FanOut(readers, commands: 20, readers: 0) { command(-1 - $0) }
        let before = residentKilobytes(server.processIdentifier)
        try readers.open(count, stream, until: "event: caught-up")
        let memory = residentKilobytes(server.processIdentifier) - before
        let result = try FanOut(readers, commands: Size.count(300, small: 10), readers: count) { command($0) }
        print("  \(count) readers: told after \(result.receiptText), answered after \(result.answerText) (p50 / p99)")
        let hot = try hotSession(readers, seconds: 3) { command(1_000 + $0) }
        print(
            "    without a pause: \(Int(hot.commands)) commands/s, \(Int(hot.events)) events/s; \(readers.closed) readers lost"
        )
        if count == 1_000 {
            print(
                "    memory: \(Double(memory) / Double(count)) KiB a reader at rest, \(residentKilobytes(server.processIdentifier) - before) KiB for all after the load"
            )
        }
    }
    try idleBenchmark(table, stream)
    try pocketBaseBenchmark(readers: [100, 1_000])
}

private func idleBenchmark(_ table: String, _ stream: [UInt8]) throws {
    // The server accepts 10,000 connections by default. The readers leave one for the commands and a few free ones.
    let count = 9_990
    let server = try Server(database: ":memory:", arguments: ["--max-subscribers", "\(count)"])
    defer { server.stop() }
    guard try Connection(port: server.port).exchange("POST", "/v1/sessions", #"{"table":\#(table),"id":"s"}"#) == 201
    else { throw Fault("the session was not opened") }
    let readers = try StreamReaders(port: server.port, mark: "\nevent: update")
    let before = residentKilobytes(server.processIdentifier)
    let start = now()
    try readers.open(count, stream, until: "event: caught-up")
    let time = Double(now() - start) / 1e9
    let memory = residentKilobytes(server.processIdentifier) - before
    let result = try FanOut(readers, commands: 20, readers: count) {
        Connection.request("PATCH", "/v1/sessions/s/models", #"{"a":[{"id":"0","number":\#($0)}]}"#)
    }
    print(
        "  \(count) idle readers: opened in \(String(format: "%.1f", time)) s, \(String(format: "%.1f", Double(memory) / Double(count))) KiB each; one command: told after \(result.receiptText), answered after \(result.answerText)"
    )
}

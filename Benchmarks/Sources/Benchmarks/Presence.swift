import Foundation

/// Measures what 1,000 people who are present in a session cost the commands of that session and of another one.
func presenceBenchmark() throws {
    print("\npresence: commands beside 1,000 streams of one session, answered after p50 / p99; all on the same cores")
    let count = Size.count(1_000, small: 10)
    for (name, query, moves) in [
        ("plain streams", "", 0), ("streams with presence", "?presence&client=", 0),
        ("and 20 moves a second", "?presence&client=", 20), ("and 100 moves a second", "?presence&client=", 100),
    ] {
        let server = try Server(database: ":memory:")
        defer { server.stop() }
        let connection = try Connection(port: server.port)
        for id in ["s", "other"] {
            guard
                try connection.exchange("POST", "/v1/sessions", #"{"rows":[{"id":"0"},{"id":"1"}],"id":"\#(id)"}"#)
                    == 201
            else { throw Fault("the session was not opened") }
        }
        let readers = try StreamReaders(port: server.port, mark: "\nevent: update")
        for number in 0..<count {
            let path = "/v1/sessions/s/updates\(query)\(query.isEmpty ? "" : "\(number)")"
            try readers.open(
                1, Array("GET \(path) HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n".utf8),
                until: "event: caught-up")
            guard moves > 0 else { continue }
            guard try connection.exchange("PUT", "/v1/sessions/s/presence?client=\(number)", "{}") == 200 else {
                throw Fault("not present")
            }
        }
        let mover = try Mover(port: server.port, clients: count, perSecond: moves)
        defer { mover.stop() }
        func command(_ session: String) -> (Int) -> [UInt8] {
            {
                Connection.request(
                    "PATCH", "/v1/sessions/\(session)/models", #"{"table":[{"id":"0","number":\#($0)},{"id":"1"}]}"#)
            }
        }
        let commands = Size.count(500, small: 10)
        let other = try FanOut(readers, commands: commands, readers: 0, command: command("other"))
        let own = try FanOut(readers, commands: commands, readers: count, command: command("s"))
        print(
            "  \(name): of another session \(other.answerText), of this one \(own.answerText), told after \(own.receiptText)"
        )
    }
}

/// Moves clients from row to row, in a thread of its own.
private final class Mover: @unchecked Sendable {
    private let thread: Thread
    private let isDone = DispatchSemaphore(value: 0)

    init(port: Int, clients: Int, perSecond: Int) throws {
        let connection = try Connection(port: port), isDone = isDone
        thread = Thread {
            defer { isDone.signal() }
            for number in 0... {
                if Thread.current.isCancelled { return }
                let path = "/v1/sessions/s/presence?client=\(number % clients)"
                guard (try? connection.exchange("PUT", path, #"{"at":{"id":"\#(number / clients % 2)"}}"#)) == 200
                else {
                    return
                }
                usleep(UInt32(1_000_000 / perSecond))
            }
        }
        if perSecond > 0 { thread.start() } else { isDone.signal() }
    }

    func stop() {
        thread.cancel()
        isDone.wait()
    }
}

import Foundation
import Synchronization

/// Measures what 1,000 people who are present in a session cost the commands of that session and of another one.
func presenceBenchmark() throws {
    print("\npresence: commands beside 1,000 streams of one session, answered after p50 / p99; all on the same cores")
    let count = Size.count(1_000, small: 10)
    for (name, isPresent, moves) in [
        ("plain streams", false, 0), ("streams with presence", true, 0), ("and 20 moves a second", true, 20),
        ("and 100 moves a second", true, 100),
    ] {
        let server = try Server(database: ":memory:", environment: ["BRAID_TOKEN": "secret"])
        defer { server.stop() }
        let connection = try Connection(port: server.port)
        for id in ["s", "other"] {
            let answer = try connection.post(
                "/v1/sessions", #"{"rows":[{"id":"0"},{"id":"1"}],"id":"\#(id)"}"#, token: "secret")
            guard answer.head.hasPrefix("HTTP/1.1 201") else { throw Fault("the session was not opened") }
        }
        let readers = try StreamReaders(port: server.port, mark: "\nevent: update")
        var people: [Person] = []
        for number in 0..<count {
            let token = try connection.token("participant", user: "\(number)", of: "s")
            let person = Person(number: number, token: token)
            people.append(person)
            let query = isPresent ? "?presence&client=\(number)" : ""
            try readers.open(1, person.request("GET", "updates\(query)"), until: "event: caught-up")
            if isPresent { try person.stay("{}", connection) }
        }
        let mover = moves > 0 ? Mover(port: server.port, people: people, perSecond: moves) : nil
        func command(_ session: String) -> (Int) -> [UInt8] {
            {
                Connection.request(
                    "PATCH", "/v1/sessions/\(session)/models", #"{"s1":[{"id":"0","number":\#($0)},{"id":"1"}]}"#,
                    fields: ["Authorization: Bearer secret"])
            }
        }
        let commands = Size.count(500, small: 10)
        let other = try FanOut(readers, commands: commands, readers: 0, command: command("other"))
        let own = try FanOut(readers, commands: commands, readers: count, command: command("s"))
        guard mover?.stop() ?? true else { throw Fault("not everybody could move") }
        print(
            "  \(name): of another session \(other.answerText), of this one \(own.answerText), told after \(own.receiptText)"
        )
    }
}

/// Has a token of their own: each token may have only a part of the clients present.
private struct Person: Sendable {
    let number: Int
    let token: String

    func request(_ method: String, _ path: String, _ body: String = "") -> [UInt8] {
        Connection.request(
            method, "/v1/sessions/s/\(path)", body,
            fields: ["Authorization: Bearer \(token)"] + (method == "GET" ? ["Accept: text/event-stream"] : []))
    }

    func stay(_ place: String, _ connection: Connection) throws {
        try connection.send(request("PUT", "presence?client=\(number)", place))
        guard try connection.receive().status == 200 else { throw Fault("not present") }
    }
}

/// Moves people from row to row, in a thread of its own.
private final class Mover: Sendable {
    private let isOver = Atomic(false), hasFailed = Atomic(false)
    private let isDone = DispatchSemaphore(value: 0)

    init(port: Int, people: [Person], perSecond: Int) {
        Thread.detachNewThread { [self] in
            defer { isDone.signal() }
            do {
                let connection = try Connection(port: port)
                for number in 0... {
                    if isOver.load(ordering: .relaxed) { return }
                    let place = #"{"at":{"id":"\#(number / people.count % 2)"}}"#
                    try people[number % people.count].stay(place, connection)
                    usleep(UInt32(1_000_000 / perSecond))
                }
            } catch {
                hasFailed.store(true, ordering: .relaxed)
            }
        }
    }

    /// Returns whether everybody could move.
    func stop() -> Bool {
        isOver.store(true, ordering: .relaxed)
        isDone.wait()
        return !hasFailed.load(ordering: .relaxed)
    }
}

// The driver program of the Swift client. It reads commands from standard input, and prints answers and reports to
// standard output, as lines of JSON.
import BraidClient
import Foundation

/// Runs the client under test on the main actor, so that the client's methods are called in the order of the kit's
/// commands.
@MainActor final class Driver {
    private var session: BraidSession?
    private var copy: Snapshot?
    private var windows: WindowSubscription?

    func perform(_ command: JSON) async {
        guard let id = command["id"] else { return }
        var answer: JSON
        do {
            answer = try await self.answer(to: command)
        } catch {
            answer = refusal(error)
        }
        report(["id": id, "answer": answer])
    }

    private func answer(to command: JSON) async throws -> JSON {
        let act = command["do"]?.string
        if act == "connect" { return try connect(command) }
        if act == "apply" {
            let before = try decoded(Snapshot.self, command["snapshot"])
            return ["copy": try JSON(encoding: decoded(Update.self, command["update"]).applied(to: before))]
        }
        guard let session else { throw Unknown() }
        switch act {
        case "read": try show(await session.snapshot(), by: "snapshot")
        case "poll": try await poll(session)
        case "follow":
            if let window = command["window"] {
                let subscription = session.subscribe(window: try tableWindow(window), from: copy)
                windows = subscription
                Task { await follow(subscription) }
            } else {
                let events = session.subscribe(from: copy)
                Task { await follow(events) }
            }
        case "move": windows?.move(to: try tableWindow(command["window"] ?? .null))
        case "send":
            let body = try sessionCommand(command["command"] ?? .null)
            let position = copy?.position
            return try JSON(
                encoding: Sent(
                    await session.perform(
                        body, base: command["base"]?.bool == true ? position : nil,
                        ifMatch: command["ifMatch"]?.bool == true ? position : nil)))
        default: throw Unknown()
        }
        return [:]
    }

    private func connect(_ command: JSON) throws -> JSON {
        guard let url = (command["url"]?.string).flatMap({ URL(string: $0) }) else { throw Unknown() }
        // The delays are short and the client may retry often, because some scenarios lose half of all connections.
        let retrying = BraidClient.Retrying(count: 1000, first: .milliseconds(10), longest: .milliseconds(50))
        session = BraidClient(url: url, token: command["token"]?.string, retrying: retrying)
            .session(command["session"]?.string ?? "")
        return ["client": "BraidClient", "levels": ["updates", "commands", "stream", "poll", "windows"]]
    }

    private func poll(_ session: BraidSession) async throws {
        guard let shown = copy else { throw Unknown() }
        switch try await session.updates(since: shown.position) {
        case .snapshot(let snapshot): try show(snapshot, by: "snapshot")
        case .updates(let updates, to: _):
            for update in updates { try show(update.applied(to: copy ?? shown), by: "update") }
        }
    }

    private func follow<Events: AsyncSequence>(_ events: Events) async where Events.Element == SessionEvent {
        do {
            for try await event in events {
                switch event {
                case .snapshot(let snapshot): try show(snapshot, by: "snapshot")
                case .update(_, _, let after): try show(after, by: "update")
                case .live: report(["live": true])
                case .cellEvent, .tap, .emitted, .presence, .interrupted: break
                }
            }
            report(["ended": [:]])
        } catch {
            report(["ended": refusal(error)])
        }
    }

    private func show(_ snapshot: Snapshot, by cause: String) throws {
        copy = snapshot
        report(["copy": try JSON(encoding: snapshot), "by": .string(cause)])
    }

    private func report(_ line: JSON) {
        guard var data = try? JSONEncoder().encode(line) else { return }
        data.append(UInt8(ascii: "\n"))
        FileHandle.standardOutput.write(data)
    }
}

private struct Unknown: Error {}

/// The part of a command's answer that the kit compares.
private struct Sent: Encodable {
    var revision: Int
    var outcome: Answer.Outcome

    init(_ answer: Answer) {
        revision = answer.revision
        outcome = answer.outcome
    }
}

private func refusal(_ error: any Error) -> JSON {
    guard let problem = error as? Problem else { return ["failure": .string("\(error)")] }
    return ["status": .integer(problem.status), "problem": .string(problem.kind)]
}

private func decoded<Value: Decodable>(_ type: Value.Type, _ json: JSON?) throws -> Value {
    try (json ?? .null).decoded(as: type)
}

private func sessionCommand(_ command: JSON) throws -> SessionCommand {
    if let row = command["edits"]?["delete"] { return .delete(try reference(row)) }
    if let row = command["edits"]?["insert"] { return .insert(command["edits"]?["model"], at: try reference(row)) }
    if let move = command["moves"] { return .move(try reference(move["from"]), to: try reference(move["to"])) }
    if let tap = command["taps"] { return .tap(try reference(tap["at"])) }
    throw Unknown()
}

private func tableWindow(_ json: JSON) throws -> TableWindow {
    let section = json["section"]?.string
    guard let anchor = json["around"]?.string else {
        return .rows(offset: json["offset"]?.integer ?? 0, limit: json["limit"]?.integer ?? 100, ofSection: section)
    }
    return .around(
        anchor, inSection: json["aroundSection"]?.string, before: json["before"]?.integer ?? 50,
        after: json["after"]?.integer ?? 50, ofSection: section)
}

private func reference(_ json: JSON?) throws -> RowReference {
    if let id = json?["id"]?.string { return .id(id) }
    if let section = json?["section"]?.string, let row = json?["row"]?.integer { return .row(row, in: section) }
    throw Unknown()
}

let driver = Driver()
let lines = AsyncStream<JSON> { continuation in
    Thread {
        while let line = readLine() {
            if let command = try? JSONDecoder().decode(JSON.self, from: Data(line.utf8)) { continuation.yield(command) }
        }
        continuation.finish()
    }.start()
}
// The loop does not await the task, because a program does not wait for the answers of its commands.
for await command in lines { Task { @MainActor in await driver.perform(command) } }

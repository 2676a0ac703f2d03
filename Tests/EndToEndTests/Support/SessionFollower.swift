import TestSupport
import Foundation

/// Follows a session at a random server, and goes on at another when the connection breaks; sometimes breaks it itself.
/// For one thread only.
final class SessionFollower: @unchecked Sendable {
    struct Wrong: Error, CustomStringConvertible { let description: String }

    let session: String
    /// `stages` or `sequential`.
    let form: String
    let isPoll: Bool
    private let servers: RunningServers
    private var random: SeededGenerator
    private var table: TableReplica?
    private var position = ""
    /// The newest revision's, until its last event has come.
    private var begun: [String] = []
    /// Received: the first snapshot's revision, those of updates, the markers of cell events.
    private(set) var start: Int?
    private(set) var revisions: [Int] = []
    private(set) var cellEvents: [String] = []
    private(set) var connections = 0
    private var emptyAnswers = 0

    init(_ session: String, form: String = "stages", isPoll: Bool = false, servers: RunningServers, seed: UInt64) {
        self.session = session
        self.form = form
        self.isPoll = isPoll
        self.servers = servers
        random = SeededGenerator(seed: seed)
    }

    var text: String { table?.text ?? "" }

    /// Until the state has `done`.
    func run() throws {
        var isDone = false
        while !isDone {
            guard let port = servers.any(using: &random) else {
                backOff()
                continue
            }
            do {
                isDone = isPoll ? try poll(port) : try stream(port)
            } catch is HTTPClient.Closed {
                backOff()
            } catch is EventStreamClient.Ended {
            } catch let failure as EventStreamClient.Failed {
                // The server may refuse or close it while there is no database: try again. A 4xx is an error, as is a
                // stream without an event until the timeout.
                guard
                    !["HTTP/1.1 4", "nothing but", "nothing came: \(EAGAIN)"].contains(
                        where: failure.description.hasPrefix)
                else { throw failure }
                backOff()
            }
        }
    }

    private func stream(_ port: Int) throws -> Bool {
        begun = []
        let stream = try EventStreamClient(
            port: port, "/v1/sessions/\(session)/updates?form=\(form)", lastEventID: table == nil ? nil : position,
            timeout: 120)
        connections += 1
        for _ in 0..<Int.random(in: 5...60, using: &random) {
            let event = try stream.next()
            switch event.name {
            case "snapshot": try begin(event.object, position: event.id)
            case "cellEvent":
                begun.append(
                    ((event.object["event"] as? [String: Any])?["go"] as? [String: Any])?["by"] as? String ?? "-")
            case "update": try apply(event.object)
            case "caught-up": break
            default: throw Wrong(description: "\(session): \(event)")
            }
            if event.id != position {
                if event.name == "update", event.revision != revisions.last {
                    throw Wrong(description: "\(session): \(event)")
                }
                cellEvents += begun
                begun = []
                position = event.id
            }
            if isDone(event.object) { return true }
        }
        return false
    }

    private func poll(_ port: Int) throws -> Bool {
        let client = try HTTPClient(port: port, timeout: 60)
        connections += 1
        if table == nil {
            let answer = try client.get("/v1/sessions/\(session)/snapshot")
            guard answer.status < 500 else { throw HTTPClient.Closed() }
            try begin(
                answer.object,
                position: "\(answer.object["epoch"] as? String ?? "-").\(answer.object["revision"] as? Int ?? -1)")
        }
        for _ in 0..<Int.random(in: 2...20, using: &random) {
            let answer = try client.get("/v1/sessions/\(session)/updates?since=\(position)&wait=5&form=\(form)")
            guard answer.status < 500 else { throw HTTPClient.Closed() }
            guard let updates = answer.object["updates"] as? [[String: Any]], let to = answer.object["to"] as? Int,
                answer.object["from"] as? Int == table?.revision
            else {
                throw Wrong(description: "\(session) after \(position): \(answer.status) \(answer.text.prefix(300))")
            }
            emptyAnswers = updates.isEmpty ? emptyAnswers + 1 : 0
            guard emptyAnswers < 12 else {
                throw Wrong(description: "\(session): \(form) after \(position): polls are told nothing any more")
            }
            for update in updates { try apply(update) }
            guard to == table?.revision else { throw Wrong(description: "\(session): \(answer.text.prefix(300))") }
            position = "\(position.prefix { $0 != "." }).\(to)"
            if updates.contains(where: isDone) { return true }
        }
        return false
    }

    private func begin(_ snapshot: [String: Any], position: String) throws {
        guard table == nil else {
            throw Wrong(description: "\(session): \(form) was at \(self.position), and told a snapshot at \(position)")
        }
        let table = TableReplica(snapshot: snapshot)
        self.table = table
        self.position = position
        start = table.revision
    }

    private func apply(_ update: [String: Any]) throws {
        do { try table?.apply(update) } catch {
            throw Wrong(description: "\(session): \(form) at \(position): \(error)")
        }
        if let to = update["to"] as? Int { revisions.append(to) }
    }

    private func isDone(_ update: [String: Any]) -> Bool { (update["state"] as? [String: Any])?["done"] != nil }
}

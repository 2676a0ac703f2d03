import TestSupport
import Foundation
import Synchronization

/// Sends commands to sessions that others change, too, each to a random server. Records the results for
/// `SessionLedger`, and checks that no answer contradicts an earlier one, as if there were one server. For one thread
/// only.
final class ContendingClient: @unchecked Sendable {
    struct Wrong: Error, CustomStringConvertible { let description: String }

    enum Fate: Equatable {
        case applied(revision: Int)
        /// Refused, or changed nothing.
        case nothing
        /// Without a key, and the answer was lost or `outcome-unknown`.
        case unknown
    }

    struct Sent {
        var session: String
        /// Only in this command, to find it in the journal. `nil` if the body has no member `by` for it.
        var marker: String?
        /// The resource: `edits`.
        var name: String
        var fate: Fate
    }

    private let name: String
    private let sessions: [String]
    private let servers: RunningServers
    private var random: SeededGenerator
    private var connections: [Int: HTTPClient] = [:]
    /// The newest revision seen, by session.
    private var seen: [String: Int] = [:]
    private var epochs: [String: String] = [:]
    private var numbers = 0
    private(set) var sent: [Sent] = []
    /// Attempts: `lost` without answer, `found` repeated and answered from the store, `replayed` after the answer.
    private(set) var lost = 0, found = 0, replayed = 0
    /// Finished commands (answered or given up) of all clients that share the counter.
    private let answered: Watched<Int>

    init(
        _ name: String, sessions: [String: String], servers: RunningServers, seed: UInt64, answered: Watched<Int>
    ) {
        self.answered = answered
        self.name = name
        self.sessions = sessions.keys.sorted()
        epochs = sessions
        self.servers = servers
        random = SeededGenerator(seed: seed)
    }

    /// Sends commands, sometimes reads a snapshot. Repeats those with a key until the answer is not 503 or
    /// `idempotency-key-in-use`.
    func run(until isOver: () -> Bool) throws {
        while !isOver() {
            let session = sessions[number(0..<sessions.count)]
            if number(0..<8) == 0 { try look(session) } else { try perform(next(session), on: session) }
        }
    }

    private func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &random) }

    // MARK: Commands for `table`

    static let table = #"""
        {"table":"shared","sections":["a","b","c"],"cells":{"C":{"events":{"go":{}}}},"bindings":[
          {"on":{"sections":["a","b"]},"cell":"C","models":{"a":[{"id":"1"},{"id":"2"}],"b":[{"id":"3"}]},"editing":"delete","moving":{"to":"anySection"}},
          {"on":{"section":"c"},"cell":"C","models":[],"editing":"insert","moving":{"to":"anySection"}}]}
        """#

    private struct Command {
        var method = "POST"
        var resource: String
        var query: [String] = []
        var body: String
        var marker: String?
        var headers: [String: String] = [:]
    }

    private func next(_ session: String) -> Command {
        numbers += 1
        let marker = "\(name)-\(numbers)", by = #""by":"\#(marker)""#,
            row = #"{"section":\#(number(0..<3)),"row":\#(number(0..<4))}"#
        var command: Command
        switch number(0..<12) {
        case 0, 1:
            command = Command(
                resource: "edits", body: #"{"insert":{"section":"c","row":0},"model":{"id":"r\#(marker)",\#(by)}}"#,
                marker: marker)
        case 2: command = Command(resource: "edits", body: #"{"delete":\#(row)}"#)
        case 3:
            command = Command(resource: "moves", body: #"{"from":\#(row),"to":{"section":\#(number(0..<3)),"row":0}}"#)
        case 4: command = Command(resource: "events", body: #"{"at":\#(row),"event":{"go":{\#(by)}}}"#, marker: marker)
        case 5, 6:
            let commands = [
                #"{"delete":\#(row)}"#, #"{"from":\#(row),"to":{"section":"a","row":0}}"#,
                #"{"displayedSections":["c","a","b"]}"#, #"{"displayedSections":["a","b","c"]}"#,
            ]
            command = Command(
                resource: "transactions", body: #"{"commands":[\#(commands[number(0..<4)]),{"patchState":{\#(by)}}]}"#,
                marker: marker)
        case 7, 8: command = Command(method: "PATCH", resource: "state", body: "{\(by)}", marker: marker)
        case 9:
            command = Command(
                resource: "rows", body: #"{"at":[\#(number(0..<3)),0],"model":{"id":"n\#(marker)",\#(by)}}"#,
                marker: marker)
            if number(0..<3) == 0 { command.query.append("notify=false") }
        case 10: command = Command(method: "PATCH", resource: "headers", body: #"{"a":"\#(marker)"}"#)
        default:
            let models = (0..<number(1..<4)).map { #"{"id":"\#($0)","n":\#(number(0..<3))}"# } + [#"{"id":"m",\#(by)}"#]
            command = Command(
                method: "PATCH", resource: "models",
                body: #"{"\#(["a", "b", "c"][number(0..<3)])":[\#(models.joined(separator: ","))]}"#, marker: marker)
        }
        let revision = seen[session] ?? 0
        if ["edits", "moves", "events"].contains(command.resource), number(0..<3) == 0 {
            command.query.append("base=\(max(0, revision - number(0..<5)))")
        }
        if number(0..<8) == 0, let epoch = epochs[session] { command.headers["If-Match"] = "\"\(epoch).\(revision)\"" }
        if number(0..<2) == 0 { command.headers["Idempotency-Key"] = marker }
        return command
    }

    // MARK: Sending

    /// To a random running server.
    private func connection() throws -> HTTPClient {
        guard let port = servers.any(using: &random) else { throw HTTPClient.Closed() }
        if let connection = connections[port] { return connection }
        let connection = try HTTPClient(port: port, timeout: 60)
        connections[port] = connection
        return connection
    }

    private func send(_ command: Command, on session: String) -> HTTPClient.Response? {
        do {
            let query = command.query.isEmpty ? "" : "?" + command.query.joined(separator: "&")
            return try connection().request(
                command.method, "/v1/sessions/\(session)/\(command.resource)\(query)", command.body,
                headers: command.headers)
        } catch {
            connections = [:]
            return nil
        }
    }

    private func perform(_ command: Command, on session: String) throws {
        var fate: Fate?, attempts = 0
        let hasKey = command.headers["Idempotency-Key"] != nil
        while fate == nil {
            attempts += 1
            guard let answer = send(command, on: session) else {
                lost += 1
                if hasKey { backOff() } else { fate = .unknown }
                continue
            }
            switch answer.status {
            case 200:
                fate = try accept(answer, of: command, on: session)
                if attempts > 1, answer.header("idempotent-replayed") != nil { found += 1 }
                if hasKey, number(0..<5) == 0 { try repeatElsewhere(command, on: session, first: answer) }
            case 503 where answer.text.contains("/problems/outcome-unknown"):
                if hasKey { backOff() } else { fate = .unknown }
            case 409 where answer.text.contains("/problems/idempotency-key-in-use"), 503:
                if hasKey { backOff() } else { fate = .nothing }
            // 507: the disk is full.
            case 403, 404, 409, 412, 422, 507: fate = .nothing
            default: throw Wrong(description: "\(name): \(command) on \(session): \(answer.status) \(answer.text)")
            }
        }
        sent.append(Sent(session: session, marker: command.marker, name: command.resource, fate: fate ?? .unknown))
        answered.withLock { $0 += 1 }
    }

    private func accept(_ answer: HTTPClient.Response, of command: Command, on session: String) throws -> Fate {
        guard let revision = answer.object["revision"] as? Int, let outcome = answer.object["outcome"] as? String else {
            throw Wrong(description: "\(name): \(command): \(answer.text)")
        }
        let isApplied = outcome == "applied", known = seen[session] ?? 0
        guard isApplied ? revision > known : revision >= known else {
            throw Wrong(
                description: "\(name): \(session) was at \(known), and \(command) led to \(revision): \(answer.text)")
        }
        if isApplied, command.headers["If-Match"] != nil, revision != known + 1 {
            throw Wrong(description: "\(name): \(command) was to meet \(session) at \(known), and led to \(revision)")
        }
        seen[session] = revision
        return isApplied ? .applied(revision: revision) : .nothing
    }

    /// Perhaps at another server: the answer must be the same, if it comes and is below 500.
    private func repeatElsewhere(_ command: Command, on session: String, first: HTTPClient.Response) throws {
        guard let again = send(command, on: session), again.status < 500 else { return }
        replayed += 1
        guard again.status == first.status, again.body == first.body, again.header("idempotent-replayed") == "true"
        else {
            throw Wrong(
                description: "\(name): \(command) was answered \(first.text), and then \(again.status) \(again.text)")
        }
    }

    /// No older than what this client has seen.
    private func look(_ session: String) throws {
        let answer: HTTPClient.Response
        do { answer = try connection().get("/v1/sessions/\(session)/snapshot") } catch {
            connections = [:]
            return
        }
        if answer.status >= 500 { return }
        guard answer.status == 200, let revision = answer.object["revision"] as? Int, revision >= seen[session] ?? 0
        else {
            throw Wrong(
                description: "\(name): \(session) was at \(seen[session] ?? 0): \(answer.status) \(answer.text)")
        }
        seen[session] = revision
    }
}

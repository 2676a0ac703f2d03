import TestSupport
import Foundation
import Synchronization

/// A session's only client, which repeats unanswered requests. It knows what the session must contain: all answered
/// requests, and perhaps the unanswered one. For one thread only.
final class SimulatedClient: @unchecked Sendable {
    struct Wrong: Error, CustomStringConvertible { let description: String }

    /// Sent, not answered.
    private enum Pending {
        case command(method: String, resource: String, body: String, key: String)
        case end
        case open(key: String)
    }

    let id: String
    /// 5xx are accepted and repeated: the test makes the database unavailable.
    private let mayBeUnavailable: Bool
    private var random: SeededGenerator
    private var commands: RandomCommands
    private var table: TableReplica?
    private var epoch = ""
    private var epochs: Set<String> = []
    private var pending: Pending?
    private var keys = 0
    /// Repeated by `check`: `found` was stored before, `repeated` was not.
    private(set) var found = 0
    private(set) var repeated = 0
    /// Acknowledged revisions of all clients that share the counter.
    private let acknowledged: Watched<Int>

    init(_ id: String, seed: UInt64, mayBeUnavailable: Bool = false, acknowledged: Watched<Int>) {
        self.id = id
        self.acknowledged = acknowledged
        self.mayBeUnavailable = mayBeUnavailable
        random = SeededGenerator(seed: seed)
        commands = RandomCommands(seed: seed ^ 0xC0FFEE)
    }

    /// Until the connection breaks, or `requests` are answered.
    func run(port: Int, requests: Int = .max) throws {
        guard let client = try? HTTPClient(port: port) else { return }
        do {
            for _ in 0..<requests {
                if pending == nil { pending = next() }
                try settle(client)
            }
        } catch is HTTPClient.Closed {}
    }

    private func next() -> Pending {
        keys += 1
        let key = "\(id)-\(keys)"
        guard table != nil else { return .open(key: key) }
        switch Int.random(in: 0..<60, using: &random) {
        case 0: return .end
        case 1: return .command(method: "POST", resource: "reset", body: "{}", key: key)
        case 2...8:
            let row =
                #"{"at":[\#(Int.random(in: 0..<3, using: &random)),0],"model":{"id":"u\#(Int.random(in: 0..<9, using: &random))"}}"#
            return .command(method: "POST", resource: "rows?notify=false", body: row, key: key)
        default:
            let command = commands.next()
            return .command(method: command.method, resource: command.resource, body: command.body, key: key)
        }
    }

    /// Sends the pending request. Returns whether the answer is an earlier attempt's.
    @discardableResult
    private func settle(_ client: HTTPClient) throws -> Bool {
        guard let pending else { return false }
        func asked(_ method: String, _ target: String, _ body: String? = nil, key: String? = nil) throws
            -> HTTPClient.Response
        {
            let answer = try client.request(method, target, body, headers: key.map { ["Idempotency-Key": $0] } ?? [:])
            // 507: the disk is full.
            if mayBeUnavailable,
                [503, 507].contains(answer.status) || answer.text.contains("/problems/idempotency-key-in-use")
            {
                throw HTTPClient.Closed()
            }
            return answer
        }
        let answer: HTTPClient.Response
        switch pending {
        case .command(let method, let resource, let body, let key):
            answer = try asked(method, "/v1/sessions/\(id)/\(resource)", body, key: key)
            guard answer.status < 500, !answer.text.contains("/problems/session-not-found") else {
                throw Wrong(description: "\(id): \(resource): \(answer.status) \(answer.text)")
            }
            if answer.status == 200, answer.object["outcome"] as? String == "applied" {
                guard let update = answer.object["update"] as? [String: Any] else {
                    throw Wrong(description: answer.text)
                }
                try table?.apply(update)
                acknowledged.withLock { $0 += 1 }
            }
        case .end:
            answer = try asked("DELETE", "/v1/sessions/\(id)")
            guard answer.status == 204 || answer.status == 404 else {
                throw Wrong(description: "\(id): ending: \(answer.status) \(answer.text)")
            }
            table = nil
        case .open(let key):
            answer = try asked("POST", "/v1/sessions", #"{"id":"\#(id)","table":\#(StreamTests.table)}"#, key: key)
            guard answer.status == 201, let epoch = answer.object["epoch"] as? String else {
                throw Wrong(description: "\(id): opening: \(answer.status) \(answer.text)")
            }
            guard epochs.insert(epoch).inserted else {
                throw Wrong(description: "\(id): the epoch \(epoch) came twice")
            }
            self.epoch = epoch
            table = TableReplica(snapshot: answer.object)
        }
        self.pending = nil
        return answer.header("idempotent-replayed") == "true"
    }

    /// After a restart: all acknowledged requests are there, the unanswered one completely or not at all. Repeats that
    /// one, which must be applied once in total.
    func check(port: Int) throws {
        let client = try HTTPClient(port: port)
        let stored = try client.get("/v1/sessions/\(id)/snapshot")
        if mayBeUnavailable, stored.status >= 500 { throw HTTPClient.Closed() }
        var wasDone = false
        switch (stored.status, pending) {
        case (404, .end), (404, .open): break
        case (404, nil) where table == nil: return
        case (200, .open): wasDone = true
        case (200, _):
            guard let table else { throw Wrong(description: "\(id): a session that was ended is back") }
            guard stored.object["epoch"] as? String == epoch, let revision = stored.object["revision"] as? Int else {
                throw Wrong(description: "\(id): the epoch was \(epoch): \(stored.text)")
            }
            if case .command = pending { wasDone = revision == table.revision + 1 }
            guard wasDone || revision == table.revision else {
                throw Wrong(description: "\(id): \(table.revision) was acknowledged, \(revision) is stored")
            }
            guard wasDone || TableReplica(snapshot: stored.object).text == table.text else {
                throw Wrong(description: "\(id): stored is \(stored.text), not \(table.text)")
            }
        default: throw Wrong(description: "\(id): \(stored.status) \(stored.text)")
        }
        let wasPending = pending != nil
        let isReplayed = try settle(client)
        if wasDone, !isReplayed { throw Wrong(description: "\(id): what was stored is done again") }
        if wasPending { if wasDone { found += 1 } else { repeated += 1 } }
        try checkHistory(client)
    }

    /// The table to which the answers have led, and a journal with every revision.
    private func checkHistory(_ client: HTTPClient) throws {
        guard let table else { return }
        let snapshot = try client.get("/v1/sessions/\(id)/snapshot")
        if mayBeUnavailable, snapshot.status >= 500 { throw HTTPClient.Closed() }
        guard TableReplica(snapshot: snapshot.object).text == table.text else {
            throw Wrong(description: "\(id): \(snapshot.text) is not \(table.text)")
        }
        let answer = try client.get("/v1/sessions/\(id)/updates?since=\(epoch).0"), updates = answer.object
        if mayBeUnavailable, answer.status >= 500 { throw HTTPClient.Closed() }
        let revisions = (updates["updates"] as? [[String: Any]])?.compactMap { $0["to"] as? Int }
        guard revisions == (0..<table.revision).map({ $0 + 1 }) else {
            throw Wrong(description: "\(id): the journal has \(revisions ?? [])")
        }
    }

    /// With the binary: the session's snapshot, byte for byte. The journal goes to a file at `path`.
    func checkReplay(port: Int, path: String) throws {
        let client = try HTTPClient(port: port)
        let snapshot = try client.get("/v1/sessions/\(id)/snapshot")
        guard snapshot.status == 200 else { return }
        let journal = try client.get("/v1/sessions/\(id)/journal", headers: ["Accept": "application/x-ndjson"])
        try journal.text.write(toFile: path, atomically: false, encoding: .utf8)
        let replayed = try CommandRun(["replay", path])
        guard replayed.status == 0, replayed.output == snapshot.text + "\n" else {
            throw Wrong(
                description:
                    "\(id): the journal leads to \(replayed.output)\(replayed.errors), and \(snapshot.text) is stored")
        }
    }
}

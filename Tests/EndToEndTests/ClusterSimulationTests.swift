import Foundation
import Synchronization
import TestSupport
import Testing

/// Clients of several servers on one PostgreSQL database, while servers are killed, suspended or cut off and the
/// database restarts. Some share sessions at all servers, some have their own, and followers change servers. In the
/// end, the sessions must agree with all answers and events.
///
/// `BRAID_CLUSTER_FAULTS` is the number of faults, `BRAID_CRASH_SEED` the random course.
@Suite(.serialized) struct ClusterSimulationTests {
    static let faults = ProcessInfo.processInfo.environment["BRAID_CLUSTER_FAULTS"].flatMap { Int($0) } ?? 8
    static let servers = ProcessInfo.processInfo.environment["BRAID_CLUSTER_SERVERS"].flatMap { Int($0) } ?? 3

    @Test(
        "Under faults, each acknowledged command is applied once, followers miss nothing, and all servers agree",
        .enabled(if: PostgresCluster.isPossible, PostgresCluster.needs))
    func nothingIsLostOrDoubled() async throws {
        let seed = CrashSimulationTests.seed
        let postgres = try PostgresCluster(), directory = try TemporaryDirectory()
        let cluster = try ServerCluster(
            Self.servers, database: postgres.address, ["--journal-limit", "1000000", "--session-idle-time", "1"])
        var course = ClusterCourse(cluster: cluster, clients: 4, seed: seed)
        try course.begin()
        for fault in 1...Self.faults {
            try await course.progress()
            switch fault % 6 {
            case 2: try postgres.control("restart")
            case 4: try await course.pauseOne()
            case 0: try postgres.cutConnections()
            default: try await course.killSome()
            }
        }
        try await course.progress()
        try course.end()
        print("\(Self.faults) faults: \(course.summary)")
        let wrong = course.wrong.withLock { $0 } + course.differences(in: directory)
        #expect(wrong.isEmpty, "seed \(seed): \(wrong.joined(separator: "\n"))\n\(cluster.logs)")
    }
}

/// Each client and follower has its thread.
struct ClusterCourse {
    let cluster: ServerCluster
    private var random: SeededGenerator
    private let sessions = ["x", "y"]
    private var clients: [ContendingClient] = [], owners: [SimulatedClient] = [], followers: [SessionFollower] = []
    private let isOver = Flag(), commands = DispatchGroup(), following = DispatchGroup()
    private let answered = Watched(0), acknowledged = Watched(0)
    private let clientCount: Int
    let wrong = Complaints()

    /// `clients`: those that share sessions.
    init(cluster: ServerCluster, clients: Int, seed: UInt64) {
        self.cluster = cluster
        clientCount = clients
        random = SeededGenerator(seed: seed)
    }

    mutating func begin() throws {
        let client = try cluster[0].client(), seed = random.next()
        var epochs: [String: String] = [:]
        for id in sessions {
            let opened = try client.request(
                "POST", "/v1/sessions", #"{"id":"\#(id)","table":\#(ContendingClient.table)}"#)
            epochs[id] = try #require(opened.object["epoch"] as? String, "\(opened.text)")
        }
        clients = (0..<clientCount).map {
            ContendingClient(
                "m\($0)", sessions: epochs, servers: cluster.running, seed: seed &+ UInt64($0), answered: answered)
        }
        owners = (0..<2).map {
            SimulatedClient(
                "own\($0)", seed: seed &+ 100 &+ UInt64($0), mayBeUnavailable: true, acknowledged: acknowledged)
        }
        for id in sessions {
            for form in ["stages", "sequential"] {
                followers.append(
                    SessionFollower(
                        id, form: form, servers: cluster.running, seed: seed &+ 200 &+ UInt64(followers.count)))
            }
        }
        followers.append(SessionFollower("x", isPoll: true, servers: cluster.running, seed: seed &+ 300))
        for client in clients { run(in: commands) { [isOver] in try client.run { isOver.isSet } } }
        for (index, owner) in owners.enumerated() {
            run(in: commands) { [isOver, servers = cluster.running] in
                var random = SeededGenerator(seed: seed &+ 400 &+ UInt64(index))
                while !isOver.isSet {
                    do {
                        guard let port = servers.any(using: &random) else { throw HTTPClient.Closed() }
                        try owner.check(port: port)
                        try owner.run(port: port, requests: Int.random(in: 1...30, using: &random))
                    } catch is HTTPClient.Closed { backOff() }
                }
            }
        }
        for follower in followers { run(in: following) { try follower.run() } }
    }

    private func run(in group: DispatchGroup, _ body: @escaping @Sendable () throws -> Void) {
        group.enter()
        Thread.detachNewThread { [wrong] in
            do { try body() } catch { wrong.withLock { $0.append("\(error)") } }
            group.leave()
        }
    }

    /// After a random number of further commands, or an error.
    mutating func progress() async throws {
        guard wrong.withLock({ $0.isEmpty }) else { return }
        let goal = answered.value + Int.random(in: 40...140, using: &random)
        if await !answered.wait(until: { $0 >= goal }) {
            wrong.withLock { $0.append("nothing is answered any more, at \(answered.value) commands") }
        }
    }

    /// One or two servers, shortly after each other. Clients go on at the others until these start again.
    mutating func killSome() async throws {
        let victims = cluster.indices.shuffled(using: &random).prefix(Int.random(in: 1...2, using: &random))
        for victim in victims {
            cluster.kill(victim)
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...20, using: &random)))
        }
        if victims.count < cluster.count { try await progress() }
        for victim in victims { try cluster.start(victim) }
    }

    /// At a random moment, perhaps while it holds locks: it continues with what may be outdated.
    mutating func pauseOne() async throws {
        let server = cluster[Int.random(in: cluster.indices, using: &random)]
        kill(server.processIdentifier, SIGSTOP)
        try await Task.sleep(for: .milliseconds(Int.random(in: 50...500, using: &random)))
        kill(server.processIdentifier, SIGCONT)
    }

    /// Waits for all clients and followers.
    func end() throws {
        isOver.set()
        commands.wait()
        for id in sessions {
            // A server may treat the database as unavailable for some seconds after it has come back.
            for index in cluster.indices {
                #expect(try eventually { try cluster[index].client().get("/v1/sessions/\(id)").status < 500 })
            }
            let isDone = try eventually {
                try cluster[0].client().request(
                    "PATCH", "/v1/sessions/\(id)/state", #"{"done":true}"#, headers: ["Idempotency-Key": "done"]
                ).status < 500
            }
            #expect(isDone)
        }
        following.wait()
    }

    /// Between the sessions and what clients and followers have received.
    func differences(in directory: TemporaryDirectory) -> [String] {
        var found: [String] = []
        func check(_ body: () throws -> Void) { do { try body() } catch { found.append("\(error)") } }
        for id in sessions {
            check {
                let snapshots = try cluster.clients().map { try $0.get("/v1/sessions/\(id)/snapshot") }
                let ledgers = try cluster.clients().map { try SessionLedger(id, at: $0.client) }, ledger = ledgers[0]
                for (index, snapshot) in snapshots.enumerated()
                where snapshot.body != snapshots[0].body || snapshot.header("etag") != snapshots[0].header("etag") {
                    found.append(
                        "\(id): the server \(index) shows \(snapshot.text), and the first \(snapshots[0].text)")
                }
                if Set(ledgers.map(\.journal)).count != 1 { found.append("\(id): the servers' journals differ") }
                check { try ledger.check(clients, others: 1) }
                for follower in followers where follower.session == id {
                    check { try ledger.check(follower) }
                    let text = TableReplica(snapshot: snapshots[0].object).text
                    if follower.text != text { found.append("\(id): \(follower.form) led to another table") }
                }
                let replayed = try ledger.replayed(in: directory)
                if replayed != snapshots[0].text + "\n" {
                    found.append("\(id): the journal leads to \(replayed), not \(snapshots[0].text)")
                }
            }
        }
        for owner in owners {
            for index in cluster.indices {
                check {
                    try owner.check(port: cluster[index].port)
                    try owner.checkReplay(port: cluster[index].port, path: directory.path("own.ndjson"))
                }
            }
        }
        return found
    }

    var summary: String {
        let sent = clients.flatMap(\.sent)
        let applied = sent.count { if case .applied = $0.fate { true } else { false } },
            unknown = sent.count { $0.fate == .unknown }
        return
            "\(sent.count) commands on shared sessions, of which \(applied) were applied and \(unknown) never answered; \(clients.reduce(0) { $0 + $1.lost }) answers lost, "
            + "\(clients.reduce(0) { $0 + $1.found }) found when asked again, \(clients.reduce(0) { $0 + $1.replayed }) asked again elsewhere; "
            + "\(acknowledged.value) revisions of sessions of one client; \(followers.reduce(0) { $0 + $1.connections }) connections of followers"
    }
}

final class Complaints: Sendable {
    private let list = Mutex<[String]>([])
    func withLock<Value: Sendable>(_ body: (inout sending [String]) -> sending Value) -> Value { list.withLock(body) }
}

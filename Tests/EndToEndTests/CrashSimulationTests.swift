import Foundation
import Synchronization
import TestSupport
import Testing

/// Each round, clients send commands until the server is killed at a random moment; sometimes further servers are
/// killed as they start. Then sessions and answers are compared. `BRAID_CRASHES` is the number of rounds.
@Suite(.serialized) struct CrashSimulationTests {
    static let crashes = ProcessInfo.processInfo.environment["BRAID_CRASHES"].flatMap { Int($0) } ?? 8
    static let seed = ProcessInfo.processInfo.environment["BRAID_CRASH_SEED"].flatMap { UInt64($0) } ?? 7

    @Test("After each crash, the sessions contain each acknowledged command exactly once")
    func randomKills() async throws {
        let directory = try TemporaryDirectory()
        let database = directory.path("braid.sqlite")
        var random = SeededGenerator(seed: Self.seed)
        let acknowledged = Watched(0)
        let clients = (0..<4).map {
            SimulatedClient("s\($0)", seed: Self.seed &* 100 &+ UInt64($0), acknowledged: acknowledged)
        }
        let wrong = Mutex<[String]>([])
        for crash in 1...Self.crashes {
            let server = try ServerProcess(database: database, ["--journal-limit", "1000000"])
            let port = server.port, group = DispatchGroup()
            for client in clients {
                DispatchQueue.global().async(group: group) {
                    do { try client.run(port: port) } catch { wrong.withLock { $0.append("\(error)") } }
                }
            }
            let goal = acknowledged.value + Int.random(in: 1...150, using: &random)
            _ = await acknowledged.wait { $0 >= goal }
            // The crash comes at a random moment.
            try await Task.sleep(for: .microseconds(Int.random(in: 0...3000, using: &random)))
            server.kill()
            group.wait()
            for _ in 0..<Int.random(in: 0...2, using: &random) { try await killWhileStarting(database, &random) }

            let again = try ServerProcess(database: database, ["--journal-limit", "1000000"])
            for client in clients {
                do {
                    try client.check(port: again.port)
                    if crash % 4 == 0 {
                        try client.checkReplay(port: again.port, path: directory.path("journal.ndjson"))
                    }
                } catch { wrong.withLock { $0.append("crash \(crash): \(error)") } }
            }
            again.kill()
            let found = wrong.withLock { $0 }
            try #require(found.isEmpty, "seed \(Self.seed): \(found.joined(separator: "\n"))")
        }
        let found = clients.reduce(0) { $0 + $1.found }, repeated = clients.reduce(0) { $0 + $1.repeated }
        print(
            "\(Self.crashes) crashes, \(acknowledged.value) revisions acknowledged; of the requests under way \(found) were stored, \(repeated) were not"
        )
        #expect(found + repeated > 0, "requests were under way")
    }

    /// A slow flush, so that many commits of a session are under way.
    @Test(
        "Commands of many clients on few sessions are stored once and in order, wherever a commit breaks off",
        .enabled(if: HeldFlush.compiler != nil, "needs a C compiler"), .enabled(if: TestDatabase.isSQLite))
    func brokenCommits() async throws {
        let disk = SmallDisk.isAvailable ? try SmallDisk(megabytes: 64) : nil
        let directory = try TemporaryDirectory(), flush = try HeldFlush(microseconds: 2_000)
        let cluster = try ServerCluster(
            1, database: (disk?.path ?? directory.url.path) + "/braid.sqlite", ["--journal-limit", "1000000"],
            environment: flush.environment)
        var random = SeededGenerator(seed: Self.seed)
        var course = ClusterCourse(cluster: cluster, clients: 16, seed: Self.seed)
        try course.begin()
        for crash in 1...2 * Self.crashes where course.wrong.withLock({ $0.isEmpty }) {
            try await course.progress()
            switch crash % 4 {
            case 0 where disk != nil:
                disk?.fill()
                try await course.progress()
                disk?.clear()
            case 2:
                try flush.strike(.failure, at: Int.random(in: 1...3, using: &random))
                #expect(cluster.waitForEnd(of: 0) == 74)
                flush.rest()
                try cluster.start(0)
            default:
                // A commit of one row is about ten writes and a flush.
                try flush.strike(.kill, at: Int.random(in: 1...60, using: &random))
                cluster.waitForEnd(of: 0)
                flush.rest()
                try cluster.start(0)
            }
        }
        try await course.progress()
        try course.end()
        print("\(2 * Self.crashes) broken commits: \(course.summary)")
        let wrong = course.wrong.withLock { $0 } + course.differences(in: directory)
        #expect(wrong.isEmpty, "seed \(Self.seed): \(wrong.joined(separator: "\n"))\n\(cluster.logs)")
    }

    /// Within about 60 ms, perhaps while it recovers the database.
    private func killWhileStarting(_ database: String, _ random: inout SeededGenerator) async throws {
        let process = Process()
        process.executableURL = ServerProcess.binary
        process.environment = ServerProcess.environment()
        process.arguments = [
            "serve", "--port", "0", "--database", try TestDatabase.address(of: database), "--log-level", "critical",
        ]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        try await Task.sleep(for: .microseconds(Int.random(in: 0...60_000, using: &random)))
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }
}

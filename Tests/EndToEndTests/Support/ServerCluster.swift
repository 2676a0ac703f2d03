import TestSupport
import Foundation
import Synchronization

/// Servers on one PostgreSQL database, or one on an SQLite database. The test kills and starts them; clients on other threads read the ports.
final class ServerCluster {
    let database: String
    let running: RunningServers
    private let options: [String]
    private let environment: [String: String]
    private var servers: [ServerProcess?] = []

    /// Without an address, in a new schema of the tests' cluster.
    init(_ count: Int = 3, database: String? = nil, _ options: [String] = [], environment: [String: String] = [:])
        throws
    {
        self.database = try database ?? TestDatabase.schema()
        self.options = options
        self.environment = environment
        running = RunningServers(count)
        servers = Array(repeating: nil, count: count)
        for index in 0..<count { try start(index) }
    }

    var count: Int { servers.count }
    var indices: Range<Int> { servers.indices }

    func start(_ index: Int) throws {
        let server = try ServerProcess(database: database, options, environment: environment)
        servers[index] = server
        running.set(server.port, of: index)
    }

    /// SIGKILL.
    func kill(_ index: Int) {
        servers[index]?.kill()
        running.set(nil, of: index)
    }

    /// The server ends by itself; the exit status. After two minutes, it is killed.
    @discardableResult
    func waitForEnd(of index: Int) -> Int32 {
        if !eventually({ !self[index].isRunning }) { kill(index) }
        running.set(nil, of: index)
        return self[index].ended()
    }

    subscript(_ index: Int) -> ServerProcess {
        guard let server = servers[index] else { preconditionFailure("the server \(index) was never started") }
        return server
    }

    /// One to each server.
    func clients() throws -> [KeptClient] { try indices.map { try self[$0].keptClient() } }

    /// The last 4,000 characters of each, for a failed test.
    var logs: String { indices.map { "server \($0):\n\(self[$0].log.suffix(4_000))" }.joined(separator: "\n") }
}

/// Of a cluster.
final class RunningServers: Sendable {
    private let ports: Mutex<[Int?]>

    init(_ count: Int) { ports = Mutex(Array(repeating: nil, count: count)) }

    func set(_ port: Int?, of index: Int) { ports.withLock { $0[index] = port } }

    /// `nil` while none runs.
    func any(using random: inout SeededGenerator) -> Int? {
        ports.withLock { $0.compactMap { $0 } }.randomElement(using: &random)
    }
}

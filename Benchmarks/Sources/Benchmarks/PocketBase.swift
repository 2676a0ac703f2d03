import Foundation

/// PocketBase on a free port, with a collection `t` that every client may read and write.
///
/// PocketBase writes with SQLite's synchronous=NORMAL.
final class PocketBase {
    let port: Int
    private let directory: String
    private let server: Process

    /// Starts PocketBase. The initializer returns `nil` if the environment variable POCKETBASE_BINARY does not name its
    /// binary.
    init?() throws {
        guard let binary = ProcessInfo.processInfo.environment["POCKETBASE_BINARY"] else {
            print("  (to compare with PocketBase, set POCKETBASE_BINARY to the path of its binary)")
            return nil
        }
        let directory = try scratchDirectory()
        func process(_ arguments: [String]) throws -> Process {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: binary)
            process.arguments = arguments + ["--dir", directory]
            process.standardOutput = FileHandle.nullDevice
            process.standardError = FileHandle.nullDevice
            try process.run()
            return process
        }
        self.directory = directory
        port = 20_000 + Int(getpid()) % 10_000
        try process(["superuser", "upsert", "a@example.com", "1234567890"]).waitUntilExit()
        server = try process(["serve", "--http", "127.0.0.1:\(port)"])
        for _ in 0..<100 where (try? Connection(port: port)) == nil { usleep(100_000) }
        let token =
            try call(
                "POST", "/api/collections/_superusers/auth-with-password",
                #"{"identity":"a@example.com","password":"1234567890"}"#)["token"] as? String ?? ""
        _ = try call(
            "POST", "/api/collections",
            #"{"name":"t","type":"base","listRule":"","viewRule":"","updateRule":"","createRule":"","fields":[{"name":"name","type":"text"},{"name":"number","type":"number"}]}"#,
            token: token)
    }

    var processIdentifier: Int32 { server.processIdentifier }

    func stop() {
        server.terminate()
        server.waitUntilExit()
        try? FileManager.default.removeItem(atPath: directory)
    }

    private func call(_ method: String, _ path: String, _ body: String, token: String = "") throws -> [String: Any] {
        let readers = try StreamReaders(port: port, mark: "\n{")
        let head = token.isEmpty ? "" : "Authorization: \(token)\r\n"
        let request =
            "\(method) \(path) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\(head)Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        let text = try readers.open(1, Array(request.utf8), until: "\r\n\r\n")[0]
        let json = text.components(separatedBy: "\r\n\r\n").dropFirst().joined()
        return try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any] ?? [:]
    }

    /// Creates a record in the collection `t`, and returns its id.
    func record() throws -> String {
        guard
            let id = try call("POST", "/api/collections/t/records", #"{"name":"Some name","number":0}"#)["id"]
                as? String
        else { throw Fault("no record") }
        return id
    }
}

/// Measures PocketBase's realtime API under the same load as the server's streams. Each command changes one record, and
/// all readers are subscribed to its collection.
func pocketBaseBenchmark(readers counts: [Int]) throws {
    for count in counts {
        guard let server = try PocketBase() else { return }
        defer { server.stop() }
        let port = server.port, id = try server.record()

        let readers = try StreamReaders(port: port, mark: "\nevent:t/")
        let before = residentKilobytes(server.processIdentifier)
        for text in try readers.open(
            count, Array("GET /api/realtime HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n".utf8),
            until: "clientId")
        {
            let client = text.components(separatedBy: #""clientId":""#).last?.prefix { $0 != "\"" } ?? ""
            let status = try Connection(port: port).exchange(
                "POST", "/api/realtime", #"{"clientId":"\#(client)","subscriptions":["t/*"]}"#)
            guard status == 204 else { throw Fault("PocketBase answered \(status) to a subscription") }
        }
        let memory = residentKilobytes(server.processIdentifier) - before
        func command(_ number: Int) -> [UInt8] {
            Connection.request(
                "PATCH", "/api/collections/t/records/\(id)", #"{"name":"Some name","number":\#(number + 1)}"#)
        }
        let result = try FanOut(readers, commands: Size.count(300, small: 10), readers: count, command: command)
        print(
            "  PocketBase, \(count) readers: told after \(result.receiptText), answered after \(result.answerText) (p50 / p99)"
        )
        let hot = try hotSession(readers, seconds: 3) { command(1_000 + $0) }
        print(
            "    without a pause: \(Int(hot.commands)) commands/s, \(Int(hot.events)) events/s; memory: \(Double(memory) / Double(count)) KiB a reader at rest, \((residentKilobytes(server.processIdentifier) - before) / 1024) MiB for all after the load"
        )
    }
}

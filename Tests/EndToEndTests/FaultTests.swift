import Foundation
import Glibc
import TestSupport
import Testing

/// A full disk, a removed or damaged file, too few file descriptors, clients that disappear. The server must report the
/// fault and acknowledge nothing that it could not store.
@Suite(.serialized) struct FaultTests {
    private static let insert = #"{"insert":{"section":"a","row":0},"model":{"id":"%ID%"%MORE%}}"#
    private static let table =
        #"{"table":"list","sections":["a"],"cells":{"C":{}},"bindings":[{"cell":"C","models":{"a":[{"id":"first"}]},"editing":"insert"}]}"#

    private func open(_ client: HTTPClient, _ id: String = "x") throws {
        try #require(
            try client.request("POST", "/v1/sessions", #"{"id":"\#(id)","table":\#(Self.table)}"#).status == 201)
    }

    private func insert(_ client: HTTPClient, _ id: Int, padding: Int = 0, headers: [String: String] = [:]) throws
        -> HTTPClient.Response
    {
        let more = padding == 0 ? "" : #","text":"\#(String(repeating: "x", count: padding))""#
        let body = Self.insert.replacingOccurrences(of: "%ID%", with: "\(id)").replacingOccurrences(
            of: "%MORE%", with: more)
        return try client.request("POST", "/v1/sessions/x/edits", body, headers: headers)
    }

    private func revision(_ client: HTTPClient, _ session: String = "x") throws -> Int? {
        try client.get("/v1/sessions/\(session)").object["revision"] as? Int
    }

    // MARK: A full disk

    @Test(
        "On a full disk, the server answers reads and refuses writes, and accepts writes when there is space again",
        .enabled(if: SmallDisk.isAvailable, "only root can mount a small disk"),
        .enabled(if: TestDatabase.isSQLite))
    func fullDisk() throws {
        let disk = try SmallDisk(megabytes: 10)
        let server = try ServerProcess(database: disk.path + "/braid.sqlite"), client = try server.client()
        try open(client)
        let stream = try EventStreamClient(port: server.port, "/v1/sessions/x/updates")
        _ = try stream.events(through: "caught-up")
        disk.fill()
        var done = 0, refused: HTTPClient.Response?
        while refused == nil, done < 1000 {
            let answer = try insert(client, done, padding: 40_000, headers: ["Idempotency-Key": "k\(done)"])
            if answer.status == 200 { done += 1 } else { refused = answer }
        }
        #expect(
            refused?.status == 507 && refused?.text.contains("/problems/storage-full") == true,
            "\(refused?.text ?? "never full")")
        #expect(try revision(client) == done)
        #expect(try client.get("/v1/sessions/x/snapshot").object["totalRowCount"] as? Int == done + 1)
        #expect(try client.get("/v1/sessions/x/updates?since=0").status == 200)
        #expect(try client.get("/healthz").status == 200)
        // Still ready: load balancers must send reads and deletes.
        let readiness = try server.readiness()
        #expect(readiness.status == 200 && readiness.object["status"] as? String == "ready, read-only")
        #expect(readiness.text.contains("disk is full"), "\(readiness.text)")
        func metrics() throws -> [String: Double] {
            let samples = try MetricsTests.parse(client.get("/metrics").text)
            return Dictionary(samples.map { ($0.name, $0.value) }) { first, _ in first }
        }
        let full = try metrics()
        #expect(full["braid_database_up"] == 1 && full["braid_database_read_only"] == 1)
        #expect(full["braid_database_disk_bytes"] == 10_485_760.0)
        #expect(try #require(full["braid_database_disk_free_bytes"]) < 5_000_000.0)
        let failures = full["braid_commit_failures_total"]
        for _ in 0..<3 { #expect(try server.readiness().status == 200) }
        #expect(try metrics()["braid_commit_failures_total"] == failures, "a probe is no write")
        // With space again, the same key succeeds.
        disk.clear()
        var again: HTTPClient.Response?
        _ = try eventually {
            again = try insert(client, done, padding: 40_000, headers: ["Idempotency-Key": "k\(done)"])
            return again?.status != 507
        }
        #expect(again?.status == 200 && again?.header("idempotent-replayed") == nil, "\(again?.text ?? "")")
        #expect(try revision(client) == done + 1)
        #expect(try server.readiness().object["status"] as? String == "ready")
        #expect(try metrics()["braid_database_read_only"] == 0)
        #expect(
            server.waitForLog { $0.contains("warning the database works again reason=disk-full\n") }, "\(server.log)")
        let failing = "error the database fails: The disk is full"
        #expect(server.log.ranges(of: failing).count == 1, "once, however many requests were refused: \(server.log)")
        // Each committed revision once, and nothing refused.
        var told: [Int] = []
        while told.last != done + 1 { told.append(try stream.next().revision) }
        #expect(told == (0...done).map { $0 + 1 })
        #expect(server.stop() == 0)
        let client2 = try ServerProcess(database: disk.path + "/braid.sqlite").keptClient()
        #expect(try client2.get("/v1/sessions/x").object["revision"] as? Int == done + 1)
    }

    /// Reads and deletes work, a change gets 507.
    private func expectReadOnly(_ server: ServerProcess, _ change: HTTPClient.Response) throws {
        let client = try server.client()
        #expect(change.status == 507 && change.text.contains("/problems/storage-full"), "\(change.text)")
        #expect(try server.readiness().object["status"] as? String == "ready, read-only")
        #expect(try client.get("/v1/sessions/x/snapshot").status == 200)
        #expect(try client.request("DELETE", "/v1/sessions/y").status == 204)
        #expect(server.isRunning)
    }

    @Test(
        "A used-up disk quota counts as a full disk, at the start and later",
        .enabled(if: HeldFlush.compiler != nil, "needs a C compiler"), .enabled(if: TestDatabase.isSQLite))
    func quota() throws {
        let directory = try TemporaryDirectory(), path = directory.path("braid.sqlite"),
            quota = try UsedUpQuota(of: path)
        for round in 0..<2 {
            if round == 1 { quota.useUp() }
            let server = try ServerProcess(database: path, environment: quota.environment),
                client = try server.client()
            if round == 0 {
                try open(client)
                quota.useUp()
            }
            var answer = try insert(client, 2 * round)
            #expect(answer.status == 507)
            try quota.end()
            _ = try eventually {
                answer = try insert(client, 2 * round)
                return answer.status != 507
            }
            #expect(answer.status == 200, "\(answer.text)")
            try open(client, "y")
            quota.useUp()
            try expectReadOnly(server, try insert(client, 2 * round + 1))
            try quota.end()
            #expect(try revision(client) == round + 1)
            #expect(server.stop() == 0)
        }
    }

    @Test(
        "A database of the largest size of a file counts as a full disk, at the start and later",
        .enabled(if: TestDatabase.isSQLite))
    func fileSize() throws {
        let directory = try TemporaryDirectory(), path = directory.path("braid.sqlite")
        // In units of 512 bytes.
        let launcher = ["/bin/sh", "-c", "ulimit -f 8192; exec \"$0\" \"$@\""]
        var done = 0
        for round in 0..<2 {
            let server = try ServerProcess(database: path, launcher: launcher), client = try server.client()
            if round == 0 { try open(client) }
            #expect(try revision(client) == done)
            if round == 0 { try open(client, "y") }
            var answer = try insert(client, done, padding: 100_000)
            while answer.status == 200, done < 1_000 {
                done += 1
                answer = try insert(client, done, padding: 100_000)
            }
            #expect(answer.status == 507, "\(answer.text)")
            if round == 0 { try expectReadOnly(server, answer) }
            #expect(try client.get("/v1/sessions/x/snapshot").object["totalRowCount"] as? Int == done + 1)
            if round == 1 { #expect(try client.request("DELETE", "/v1/sessions/x").status == 204) }
            #expect(server.stop() == 0)
        }
    }

    // MARK: A file that is gone

    @Test(
        "If the database file is removed, the server acknowledges no change and is not ready, and the log says why",
        .enabled(if: TestDatabase.isSQLite))
    func removed() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("braid.sqlite")
        let server = try ServerProcess(database: path), client = try server.client()
        try open(client)
        #expect(try insert(client, 1).status == 200)
        #expect(unlink(path) == 0)
        #expect(try insert(client, 2).status == 500)
        #expect(try client.get("/metrics").text.contains(#"outcome="failed"} 1"#))
        #expect(try client.get("/metrics").text.contains("\nbraid_database_up 0\n"))
        for _ in 0..<3 { #expect(try client.get("/readyz").status == 503) }
        #expect(try client.get("/healthz").status == 200)
        server.stop()
        #expect(
            server.log.ranges(of: "warning not ready: ").count == 1 && server.log.contains("\(path) was removed"),
            "\(server.log)")
        #expect(server.log.ranges(of: "error the database fails: ").count == 1, "\(server.log)")
    }

    // MARK: A damaged file

    @Test(
        "A damaged database file is refused and not changed, and the error mentions the backup",
        .enabled(if: TestDatabase.isSQLite))
    func damagedFile() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("braid.sqlite")
        do {
            let server = try ServerProcess(database: path), client = try server.client()
            try open(client)
            for number in 0..<60 { #expect(try insert(client, number, padding: 1000).status == 200) }
            #expect(server.stop() == 0)
        }
        #expect(truncate(path, 20_000) == 0)
        let damaged = FileManager.default.contents(atPath: path)
        do {
            _ = try ServerProcess(database: path)
            Issue.record("a damaged database was opened")
        } catch let failure as ServerProcess.StartFailure {
            #expect(failure.status != 0 && failure.output.isEmpty)
            #expect(
                failure.errors.contains(path) && failure.errors.contains("damaged")
                    && failure.errors.contains("backup"), "\(failure.errors)")
        }
        #expect(FileManager.default.contents(atPath: path) == damaged, "what is left of it stays as it is")
    }

    @Test(
        "A damaged page of the database makes only its session fail, and the error hides internal details",
        .enabled(if: TestDatabase.isSQLite))
    func damagedPage() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("braid.sqlite")
        do {
            let server = try ServerProcess(database: path), client = try server.client()
            try open(client)
            try open(client, "y")
            for number in 0..<60 { #expect(try insert(client, number, padding: 1000).status == 200) }
            #expect(server.stop() == 0)
        }
        var bytes = try #require(FileManager.default.contents(atPath: path))
        // All pages with row 30's text: its model and its journal record, both of session `x`.
        var search = bytes.startIndex
        while let place = bytes.range(of: Data(#"{"id":"30""#.utf8), in: search..<bytes.endIndex) {
            let page = place.lowerBound / 4096 * 4096
            bytes.replaceSubrange(page..<page + 4096, with: Data(repeating: 0xEE, count: 4096))
            search = page + 4096
        }
        try bytes.write(to: URL(fileURLWithPath: path))
        let server = try ServerProcess(database: path), client = try server.client()
        let broken = try client.get("/v1/sessions/x/snapshot")
        #expect(
            broken.status == 500 && !broken.text.contains("SQLite") && !broken.text.contains(path), "\(broken.text)")
        #expect(server.waitForLog { $0.contains("damaged") }, "\(server.log)")
        #expect(try client.get("/v1/sessions/y/snapshot").status == 200)
        #expect(try client.request("PATCH", "/v1/sessions/y/models", #"{"a":[]}"#).status == 200)
    }

    // MARK: Descriptors that run out

    @Test("If file descriptors run out, further connections are refused, and each accepted command is carried out once")
    func fewDescriptors() throws {
        let directory = try TemporaryDirectory()
        let server = try ServerProcess(
            database: directory.path("braid.sqlite"), launcher: ["/bin/sh", "-c", "ulimit -n 160; exec \"$0\" \"$@\""])
        try open(try server.client())
        // More than the server has descriptors.
        var crowd = try (0..<200).map { _ in
            let member = try server.client()
            try member.send(
                "POST /v1/sessions/x/observe HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            return member
        }
        // When full, the server closes a new connection whose request is late: repeat it.
        func get(_ path: String) throws -> HTTPClient.Response {
            while true {
                let client = try server.client()
                do { return try client.get(path) } catch is HTTPClient.Closed { continue }
            }
        }
        #expect(try eventually { try get("/v1/tables").status == 503 })
        #expect(try get("/readyz").status == 200)
        crowd.removeAll()
        // As long as it counts the 200 connections, it closes each further one after an answer.
        func connections() throws -> Double? {
            try MetricsTests.parse(get("/metrics").text).first { $0.name == "braid_http_connections" }?.value
        }
        #expect(try eventually { try #require(try connections()) <= 10 })
        let client = try server.keptClient()
        for number in 0..<50 {
            let body = Self.insert.replacing("%ID%", with: "\(number)").replacing("%MORE%", with: "")
            #expect(
                try client.request("POST", "/v1/sessions/x/edits", body, headers: ["Idempotency-Key": "k\(number)"])
                    .status == 200)
        }
        #expect(try client.get("/v1/sessions/x").object["revision"] as? Int == 50)
        #expect(server.stop() == 0)
    }

    // MARK: Clients that vanish

    @Test("If a client disappears, its command is applied if it was sent completely, and not at all otherwise")
    func vanishedClients() throws {
        let server = try ServerProcess(), client = try server.client()
        try open(client)
        let body = #"{"insert":{"section":"a","row":0},"model":{"id":"half"}}"#
        let request =
            "POST /v1/sessions/x/edits HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        for count in stride(from: 1, to: request.utf8.count, by: 5) {
            let visitor = try server.client()
            try visitor.send(Array(request.utf8.prefix(count)))
            visitor.vanish()
        }
        #expect(try revision(client) == 0)
        for number in 0..<20 {
            let visitor = try server.client()
            try visitor.send(
                request.replacingOccurrences(of: "half", with: "h\(number + 10)").replacingOccurrences(
                    of: "Length: \(body.utf8.count)", with: "Length: \(body.utf8.count - 1)"))
            // Only after the whole request, which must be carried out.
            visitor.finishSending()
            if number % 2 == 0 { _ = try visitor.receive() }
        }
        #expect(try eventually { try revision(client) == 20 })
        // They leave during a stream, or while sending models.
        for number in 0..<20 {
            let visitor = try server.client()
            if number % 2 == 0 {
                try visitor.send(
                    "GET /v1/sessions/x/updates HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
            } else {
                try visitor.send(
                    "POST /v1/sessions/x/observe HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{\"a\":[{\"\r\n"
                )
            }
            visitor.vanish()
        }
        #expect(try insert(client, 99).status == 200)
        #expect(try revision(client) == 21, "half a line is none")
    }
}

import Foundation
import TestSupport
import Testing

@Suite(.serialized) struct CompressionTests {
    private static let codings = ["gzip", "zstd"]

    /// About 100 bytes of snapshot per row.
    private static func table(_ count: Int) -> String {
        let names = ["Ada Lovelace", "Grace Hopper", "Barbara Liskov", "Radia Perlman", "Frances Allen"]
        let models = (0..<count).map {
            #"{"id":"\#($0)","name":"\#(names[$0 % 5])","email":"guest\#($0 * 7919 % 10_007)@example.org"}"#
        }
        return
            #"{"table":"guests","sections":["a"],"cells":{"C":{}},"bindings":[{"cell":"C","models":[\#(models.joined(separator: ","))]}]}"#
    }

    /// Opens `s`, changes it 20 times.
    private func start(rows: Int = 300, _ options: [String] = []) throws -> KeptClient {
        let client = try ServerProcess(options).keptClient()
        let opened = try client.request(
            "POST", "/v1/sessions", #"{"id":"s","table":\#(Self.table(rows))}"#)
        #expect(opened.status == 201)
        for number in 1...20 { try client.request("PATCH", "/v1/sessions/s/state", #"{"number":\#(number)}"#) }
        return client
    }

    private static let resources: [(path: String, accept: String)] = [
        ("/v1/sessions/s/snapshot", "application/json"), ("/v1/sessions/s/snapshot?pretty", "application/json"),
        ("/v1/sessions/s/snapshot?section=a&limit=50", "application/json"),
        ("/v1/sessions/s/updates?since=0", "application/json"),
        ("/v1/sessions/s/updates?since=0&form=sequential", "application/json"),
        ("/v1/sessions/s/updates?since=99", "application/json"),
        ("/v1/sessions/s/journal", "application/json"), ("/v1/sessions/s/journal", "application/x-ndjson"),
        ("/openapi.json", "application/json"), ("/openapi.json?pretty", "application/json"), ("/", "text/html"),
        ("/braid.js", "text/javascript"),
    ]

    @Test("Every answer of more than 1 KB is smaller in each compression, with the same content", arguments: codings)
    func roundTrip(coding: String) throws {
        let client = try start()
        for (path, accept) in Self.resources {
            let plain = try client.get(path, headers: ["Accept": accept])
            #expect(plain.status == 200 && plain.header("content-encoding") == nil)
            #expect(plain.header("vary")?.contains("Accept-Encoding") == true, "\(path)")
            for _ in 0..<2 {
                let headers = ["Accept": accept, "Accept-Encoding": coding]
                let answer = try client.get(path, headers: headers)
                #expect(answer.status == 200 && answer.header("content-encoding") == coding, "\(path)")
                #expect(try decompressed(answer.body, coding) == plain.body, "\(path)")
                #expect(answer.body.count < plain.body.count * 3 / 5, "\(path): \(answer.body.count)")
                #expect(answer.header("vary") == plain.header("vary"))
                #expect(answer.header("content-type") == plain.header("content-type"))
                #expect(
                    answer.header("etag") == plain.header("etag").map { "\($0.dropLast())-\(coding)\"" }, "\(path)")
                let head = try client.request("HEAD", path, headers: headers)
                for (name, value) in answer.headers where !["date", "x-request-id"].contains(name) {
                    #expect(head.header(name) == value, "HEAD \(path): \(name)")
                }
            }
        }
    }

    @Test("A snapshot of 331 KB is compressed to at most 49 KB", arguments: codings)
    func size(coding: String) throws {
        let client = try start(rows: 3_280)
        let plain = try client.get("/v1/sessions/s/snapshot").body.count
        #expect((330_000...332_000).contains(plain), "\(plain) bytes")
        let compressed = try client.get("/v1/sessions/s/snapshot", headers: ["Accept-Encoding": coding]).body.count
        #expect(compressed <= 49_000, "\(compressed) bytes")
    }

    @Test(
        "A snapshot that is too large for the cache of compressed answers is compressed while it is sent",
        arguments: codings)
    func largeSnapshot(coding: String) throws {
        let client = try start(rows: 30_000)
        let plain = try client.get("/v1/sessions/s/snapshot")
        #expect(plain.body.count > 2 << 20)
        let answer = try client.get("/v1/sessions/s/snapshot", headers: ["Accept-Encoding": coding])
        #expect(answer.header("transfer-encoding") == "chunked" && answer.body.count < plain.body.count / 3)
        #expect(try decompressed(answer.body, coding) == plain.body)
        let pretty = try client.get("/v1/sessions/s/snapshot?pretty", headers: ["Accept-Encoding": coding])
        #expect(try decompressed(pretty.body, coding) == client.get("/v1/sessions/s/snapshot?pretty").body)
    }

    @Test("If-None-Match and If-Match accept the ETag of the plain body and of each compressed body")
    func conditions() throws {
        let client = try start()
        func get(_ path: String, _ headers: [String: String]) throws -> HTTPClient.Response {
            try client.get(path, headers: headers)
        }
        for path in ["/v1/sessions/s/snapshot", "/v1/sessions/s/updates?since=0", "/openapi.json", "/braid.js"] {
            for coding in [nil] + Self.codings.map(Optional.some) {
                let encodings = coding.map { ["Accept-Encoding": $0] } ?? [:]
                let etag = try #require(try get(path, encodings).header("etag"))
                let known = try get(path, encodings.merging(["If-None-Match": etag]) { $1 })
                #expect(known.status == 304 && known.body.isEmpty && known.header("etag") == etag, "\(path)")
                #expect(known.header("vary")?.contains("Accept-Encoding") == true)
                #expect(known.header("content-encoding") == nil)
                // No 304 if the client excludes the coding of its cached body: the server would not send it now.
                if let coding {
                    let other = ["If-None-Match": etag, "Accept-Encoding": "\(coding);q=0"]
                    #expect(try get(path, other).status == 200)
                }
            }
        }
        for (number, coding) in Self.codings.enumerated() {
            let tag = { try #require(try get("/v1/sessions/s/snapshot", ["Accept-Encoding": coding]).header("etag")) }
            let before = try tag(), path = "/v1/sessions/s/state"
            let changed = try client.request("PATCH", path, #"{"n":\#(number)}"#, headers: ["If-Match": before])
            #expect(changed.status == 200, "\(changed.text)")
            let late = try client.request("PATCH", path, #"{"n":"late"}"#, headers: ["If-Match": before])
            #expect(late.status == 412)
            let either = ["If-Match": "\(before), \(try tag())"]
            #expect(try client.request("PATCH", path, #"{"m":\#(number)}"#, headers: either).status == 200)
        }
    }

    @Test("A command's answer can be compressed, and its ETag is still the session's position")
    func commandAnswers() throws {
        let client = try start()
        let body = #"{"n":1}"#, headers = ["Accept-Encoding": "gzip", "Prefer": "return=representation"]
        let answer = try client.request("PATCH", "/v1/sessions/s/state", body, headers: headers)
        #expect(answer.header("content-encoding") == "gzip" && answer.header("vary") == nil)
        let snapshot = try client.get("/v1/sessions/s/snapshot")
        #expect(try decompressed(answer.body, "gzip") == snapshot.body)
        #expect(answer.header("etag") == snapshot.header("etag"))
    }

    @Test(
        "Small answers are compressed only for a client that excludes plain bodies, and 406 names the supported codings"
    )
    func excludedIdentity() throws {
        let client = try start()
        let path = "/v1/sessions/s"
        #expect(try client.get(path, headers: ["Accept-Encoding": "gzip"]).header("content-encoding") == nil)
        let plain = try client.get(path).body
        for field in ["gzip, identity;q=0", "gzip, *;q=0"] {
            let answer = try client.get(path, headers: ["Accept-Encoding": field])
            #expect(answer.header("content-encoding") == "gzip")
            #expect(try decompressed(answer.body, "gzip") == plain)
        }
        for field in ["identity;q=0", "*;q=0", "br, identity;q=0"] {
            let refused = try client.request(
                "PATCH", "/v1/sessions/s/state", #"{"n":1}"#, headers: ["Accept-Encoding": field])
            #expect(refused.status == 406 && refused.object["type"] as? String == "/problems/not-acceptable")
            #expect((refused.object["detail"] as? String)?.contains("Accept-Encoding: \(field)") == true)
        }
        #expect(try client.get(path).body == plain, "a refused command changes nothing")
        let missing = try client.get("/v1/none", headers: ["Accept-Encoding": "gzip, identity;q=0"])
        #expect(missing.status == 404)
        #expect(
            try String(decoding: decompressed(missing.body, missing.header("content-encoding")), as: UTF8.self)
                .contains("/problems/no-such-resource"))
    }

    @Test("The header Range is ignored: the answer is the whole compressed body", arguments: codings)
    func ranges(coding: String) throws {
        let client = try start()
        let headers = ["Accept-Encoding": coding, "Range": "bytes=0-99"]
        let answer = try client.get("/v1/sessions/s/snapshot", headers: headers)
        #expect(answer.status == 200 && answer.header("content-range") == nil)
        #expect(try decompressed(answer.body, coding) == client.get("/v1/sessions/s/snapshot").body)
    }

    // MARK: Streams

    @Test(
        "A compressed stream delivers each event at once, and its compressed data is complete at its end",
        arguments: codings)
    func streams(coding: String) throws {
        let client = try start()
        let target = "/v1/sessions/s/updates"
        let plain = try EventStreamClient(port: client.server.port, target)
        let streams = try (0..<3).map { _ in
            try EventStreamClient(
                port: client.server.port, target, headers: ["Accept-Encoding": "\(coding), identity;q=0.1"])
        }
        #expect(streams.allSatisfy { $0.head.contains("Content-Encoding: \(coding)\r\n") })
        #expect(streams.allSatisfy { $0.head.contains("Vary: Accept, Accept-Encoding\r\n") })
        let first = try plain.events(through: "caught-up")
        for stream in streams { #expect(try stream.events(through: "caught-up") == first) }
        for number in 1...30 {
            // Each stream must have the event before the next command.
            try client.request(
                "PATCH", "/v1/sessions/s/state",
                #"{"number":"\#(number)","large":"\#(String(repeating: "x", count: number * 500))"}"#)
            let event = try plain.next()
            for stream in streams { #expect(try stream.next() == event) }
        }
        let late = try EventStreamClient(
            port: client.server.port, target + "?since=3", headers: ["Accept-Encoding": coding])
        let history = try EventStreamClient(port: client.server.port, target + "?since=3")
        #expect(try late.events(through: "caught-up") == history.events(through: "caught-up"))
        #expect(streams[0].bodyBytes < plain.bodyBytes / 5, "\(streams[0].bodyBytes) of \(plain.bodyBytes) bytes")
        #expect(try client.request("DELETE", "/v1/sessions/s").status == 204)
        for stream in streams + [late] {
            #expect(try stream.next().name == "ended")
            #expect(throws: EventStreamClient.Ended.self) { try stream.next() }
            #expect(stream.isComplete)
        }
    }

    @Test("When the server stops, the data of a compressed stream is complete", arguments: codings)
    func stoppedServer(coding: String) throws {
        let server = try ServerProcess()
        #expect(
            try server.client().request("POST", "/v1/sessions", #"{"id":"s","table":\#(Self.table(3))}"#).status == 201)
        let stream = try EventStreamClient(
            port: server.port, "/v1/sessions/s/updates", headers: ["Accept-Encoding": coding])
        #expect(try stream.events(through: "caught-up").count == 2)
        #expect(server.stop() == 0)
        #expect(throws: EventStreamClient.Ended.self) { try stream.next() }
        #expect(stream.isComplete)
    }

    @Test("A compressed stream needs as little memory as a plain one", arguments: codings)
    func memoryOfStreams(coding: String) throws {
        // One arena: otherwise glibc keeps freed memory for each thread, and the test would measure that.
        let server = try ServerProcess(environment: ["MALLOC_ARENA_MAX": "1"])
        let client = try server.client()
        #expect(try client.request("POST", "/v1/sessions", #"{"id":"s","table":\#(Self.table(3))}"#).status == 201)
        func open(_ count: Int) throws -> [EventStreamClient] {
            let streams = try (0..<count).map { _ in
                try EventStreamClient(
                    port: server.port, "/v1/sessions/s/updates", headers: ["Accept-Encoding": coding])
            }
            for stream in streams { #expect(try stream.events(through: "caught-up").count == 2) }
            return streams
        }
        let warmUp = try open(50), before = try server.residentBytes()
        let streams = try open(400)
        try client.request("PATCH", "/v1/sessions/s/state", #"{"n":1}"#)
        for stream in warmUp + streams { #expect(try stream.next().name == "update") }
        let growth = (try server.residentBytes() - before) / streams.count
        #expect(growth < 8 * 1_024, "\(growth) bytes for each stream; a window of zlib has 256 KB")
    }

    // MARK: Request bodies

    private func send(
        _ client: KeptClient, _ method: String = "PATCH", _ path: String = "/v1/sessions/s/state", body: [UInt8],
        coding: String = "gzip", fields: String = "Content-Type: application/json\r\n"
    ) throws -> HTTPClient.Response {
        let head =
            "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\n\(fields)Content-Encoding: \(coding)\r\nContent-Length: \(body.count)\r\n\r\n"
        try client.client.send(Array(head.utf8) + body)
        return try client.client.receive()
    }

    @Test("A command compressed with gzip is carried out, and its plain repetition counts as the same request")
    func commandsInGzip() throws {
        let client = try start()
        let body = #"{"text":"\#(String(repeating: "long ", count: 40_000))"}"#
        let fields = "Content-Type: application/json\r\nIdempotency-Key: k\r\n"
        let first = try send(client, body: gzipMember(Array(body.utf8)), fields: fields)
        #expect(first.status == 200, "\(first.text)")
        // A retry may be compressed differently, or not at all.
        let members = gzipMember(Array(body.utf8.prefix(10))) + gzipMember(Array(body.utf8.dropFirst(10)))
        let retry = try send(client, body: members, fields: fields)
        #expect(retry.header("idempotent-replayed") == "true" && retry.body == first.body)
        let plain = try client.request("PATCH", "/v1/sessions/s/state", body, headers: ["Idempotency-Key": "k"])
        #expect(plain.header("idempotent-replayed") == "true" && plain.body == first.body)
        #expect(try client.get("/v1/sessions/s/snapshot").text.contains("long long long"))
        let table = try send(client, "PUT", "/v1/tables/guests", body: gzipMember(Array(Self.table(2_000).utf8)))
        #expect(table.status == 201, "\(table.text)")
    }

    @Test("A request with an unknown coding gets 415, and one with a faulty gzip body gets 400. Both change nothing")
    func faultyBodies() throws {
        let client = try start()
        let before = try client.get("/v1/sessions/s").text, body = gzipMember(Array(#"{"n":1}"#.utf8))
        for coding in ["zstd", "br", "deflate", "gzip, gzip"] {
            let refused = try send(client, body: body, coding: coding)
            #expect(refused.status == 415 && refused.header("accept-encoding") == "gzip, identity", "\(refused.text)")
            #expect(refused.object["type"] as? String == "/problems/unsupported-media-type")
        }
        for faulty in [Array(body.dropLast()), Array(body.dropFirst()), body + [0], Array(#"{"n":1}"#.utf8)] {
            let refused = try send(client, body: faulty)
            #expect(refused.status == 400 && refused.object["type"] as? String == "/problems/bad-request")
            #expect((refused.object["detail"] as? String)?.contains("gzip") == true, "\(refused.text)")
        }
        #expect(try client.get("/v1/sessions/s").text == before)
        #expect(try send(client, body: Array(#"{"n":1}"#.utf8), coding: "identity").status == 200)
    }

    @Test(
        "A small gzip body that expands beyond the limit gets 413, and the server needs no more memory than the limit"
    )
    func bombs() throws {
        let server = try ServerProcess(
            ["--max-body-bytes", "4000000"],
            environment: ["MALLOC_ARENA_MAX": "1", "BRAID_TOKEN": "controller-token-of-the-test"])
        let token = "Authorization: Bearer controller-token-of-the-test\r\nContent-Type: application/json\r\n"
        let client = try server.keptClient()
        let bomb = gzipMember(Array(#"{"template":""#.utf8) + [UInt8](repeating: 32, count: 256 << 20))
        #expect(bomb.count < 300_000)
        let fits = gzipMember(
            Array(#"{"template":""#.utf8) + [UInt8](repeating: 32, count: 3_900_000) + Array("\"}".utf8))
        #expect(try send(client, "POST", "/v1/render", body: fits, fields: token).status == 200)
        let before = try server.peakBytes()
        for _ in 0..<5 {
            let refused = try send(client, "POST", "/v1/render", body: bomb, fields: token)
            #expect(refused.status == 413 && refused.object["type"] as? String == "/problems/content-too-large")
            #expect((refused.object["detail"] as? String)?.contains("4000000") == true, "\(refused.text)")
        }
        let growth = try server.peakBytes() - before
        #expect(growth < 24 << 20, "\(growth) bytes for a bomb of 256 MB")
        #expect(try send(server.keptClient(), "POST", "/v1/render", body: bomb).status == 401)
    }

    @Test("With a limit that is larger than the machine's memory, a body in gzip is decompressed")
    func hugeLimit() throws {
        let most = "1099511627776"
        let client = try ServerProcess(["--max-buffered-bytes", most, "--max-body-bytes", most]).keptClient()
        let body = #"{"template":"\#(String(repeating: "x", count: 300_000))"}"#
        let answer = try send(client, "POST", "/v1/render", body: gzipMember(Array(body.utf8)))
        #expect(answer.status == 200 && answer.body.count > 300_000)
    }

    @Test("Lines of models in gzip are applied as they arrive, and have the same limit as plain lines")
    func observedLines() throws {
        let server = try ServerProcess(["--max-body-bytes", "1000000"])
        let client = try server.keptClient()
        #expect(try client.request("POST", "/v1/sessions", #"{"id":"s","table":\#(Self.table(1))}"#).status == 201)
        let lines = (1...500).map { #"{"a":[{"id":"1","n":\#($0)}]}"# + "\n" }
        let fields = "Content-Type: application/x-ndjson\r\n"
        let path = "/v1/sessions/s/observe"
        let all = try send(client, "POST", path, body: gzipMember(Array(lines.joined().utf8)), fields: fields)
        #expect(all.text == #"{"applied":500,"unchanged":0,"revision":500}"#)
        // Each line as a gzip member, while a stream follows.
        let stream = try EventStreamClient(port: server.port, "/v1/sessions/s/updates?since=500")
        #expect(try stream.next().name == "caught-up")
        let sender = try server.client()
        try sender.send(
            "POST \(path) HTTP/1.1\r\nHost: localhost\r\n\(fields)Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        for number in 1...5 {
            let member = gzipMember(Array(lines[number].utf8))
            try sender.send(Array("\(String(member.count, radix: 16))\r\n".utf8) + member + Array("\r\n".utf8))
            #expect(try stream.next().revision == 500 + number, "before the next line is sent")
        }
        try sender.send("0\r\n\r\n")
        #expect(try sender.receive().text == #"{"applied":5,"unchanged":0,"revision":505}"#)
        for (body, status, line) in [
            (gzipMember(Array(lines[0].utf8) + [UInt8](repeating: 32, count: 64 << 20)), 413, "line 2"),
            (Array(gzipMember(Array(lines[0].utf8)).dropLast(4)), 400, "line 2"),
            (Array("plain\n".utf8), 400, "line 1"),
        ] {
            let refused = try send(server.keptClient(), "POST", path, body: body, fields: fields)
            #expect(refused.status == status, "\(refused.text)")
            #expect((refused.object["detail"] as? String)?.contains(line) == true, "\(refused.text)")
        }
    }
}

extension ServerProcess {
    /// `VmHWM` of proc(5).
    fileprivate func peakBytes() throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(processIdentifier)/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return (line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 1_024
    }
}

import Foundation
import Synchronization
import TestSupport
import Testing

/// `If-Match` and `If-None-Match` (RFC 9110, 13).
@Suite(.serialized) struct ConditionTests {
    /// With the session `s` and its ETag.
    private func start() throws -> (KeptClient, etag: String) {
        let client = try ServerProcess().keptClient()
        let opened = try client.request("POST", "/v1/sessions", #"{"id":"s","table":\#(APITests.list)}"#)
        return (client, try #require(opened.header("etag"), "\(opened.text)"))
    }

    private func observe(_ client: KeptClient, _ lines: String, ifMatch: String) throws -> HTTPClient.Response {
        try client.server.client().request(
            "POST", "/v1/sessions/s/observe", lines,
            headers: ["Content-Type": "application/x-ndjson", "If-Match": ifMatch])
    }

    @Test("DELETE with If-Match ends a session only if the session still has the ETag of the condition")
    func conditionalEnd() throws {
        let (client, etag) = try start()
        let changed = try client.request("PATCH", "/v1/sessions/s/state", #"{"n":1}"#)
        let refused = try client.request("DELETE", "/v1/sessions/s", headers: ["If-Match": etag])
        #expect(
            refused.status == 412 && refused.object["type"] as? String == "/problems/etag-mismatch", "\(refused.text)")
        let present = try #require(refused.header("etag"))
        #expect(present == changed.header("etag"))
        #expect(try client.get("/v1/sessions/s").status == 200)
        #expect(
            try client.request("DELETE", "/v1/sessions/s", headers: ["If-Match": "\"other\", \(present)"]).status == 204
        )
        #expect(
            try client.request("DELETE", "/v1/sessions/s", headers: ["If-Match": present]).status == 404,
            "what is not there is 404, whatever the condition")
        #expect(try client.request("POST", "/v1/sessions", #"{"id":"s","rows":[]}"#).status == 201)
        #expect(
            try client.request("DELETE", "/v1/sessions/s", headers: ["If-Match": present]).status == 412,
            "another session under the id")
        #expect(try client.request("DELETE", "/v1/sessions/s", headers: ["If-Match": "*"]).status == 204)
    }

    @Test("If a session is changed and conditionally ended at the same time, exactly one of the requests succeeds")
    func endDuringChange() throws {
        let server = try ServerProcess()
        try Self.raceAnEnd([server.keptClient(), server.keptClient()])
    }

    /// One client ends a session if it is unchanged, while another changes it: exactly one is refused.
    static func raceAnEnd(_ clients: [KeptClient], rounds: Int = 60) throws {
        var ended = 0, round = 0
        // On a busy machine the same client can be first for long: until each was first once.
        while round < rounds || (ended == 0 || ended == round) && round < 20 * rounds {
            defer { round += 1 }
            let session = "/v1/sessions/s\(round)"
            let opened = try clients[0].request("POST", "/v1/sessions", #"{"id":"s\#(round)","rows":[]}"#)
            let etag = try #require(opened.header("etag"))
            // Then each client's server has the session in memory.
            for client in clients { #expect(try client.get("\(session)/snapshot").status == 200) }
            let change = Watched<Int?>(nil), isRunning = Flag()
            nonisolated(unsafe) let other = clients[1]
            let thread = Thread {
                isRunning.set()
                usleep(UInt32.random(in: 0..<1_500))
                let status = try? other.request("PATCH", "\(session)/state", #"{"n":1}"#).status
                change.withLock { $0 = status ?? 0 }
            }
            thread.start()
            isRunning.wait()
            // Random, so that each can be first.
            usleep(UInt32.random(in: 0..<1_500))
            let end = try clients[0].request("DELETE", session, headers: ["If-Match": etag]).status
            _ = change.wait { $0 != nil }
            let changed = change.value
            #expect(
                end == 204 && changed == 404 || end == 412 && changed == 200, "round \(round): \(end), \(changed ?? -1)"
            )
            if end == 204 { ended += 1 }
        }
        #expect(ended > 0 && ended < round, "\(ended) of \(round): there was no race")
    }

    @Test("`observe` with If-Match applies its lines only if the session has the ETag of the condition at the start")
    func conditionalObserve() throws {
        let (client, etag) = try start()
        let lines = #"{"a":[]}"# + "\n" + #"{"b":[{"id":"9"}]}"#
        for body in [lines, ""] {
            let refused = try observe(client, body, ifMatch: "\"other\"")
            #expect(
                refused.status == 412 && refused.object["type"] as? String == "/problems/etag-mismatch"
                    && refused.header("etag") == etag, "\(refused.text)")
        }
        #expect(try client.get("/v1/sessions/s").object["revision"] as? Int == 0)
        #expect(
            try observe(client, lines, ifMatch: etag).text == #"{"applied":2,"unchanged":0,"revision":2}"#,
            "its own lines are no reason to stop")
        #expect(try observe(client, lines, ifMatch: etag).status == 412)
    }

    @Test("`observe` is refused if the session changes after the start of the request and before the first line")
    func changeBeforeFirstLine() throws {
        let (client, etag) = try start()
        let sender = try client.server.client()
        try sender.send(
            "POST /v1/sessions/s/observe HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nIf-Match: \(etag)\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        // `100 Continue`: `observe` has begun.
        #expect(sender.waitForAnswer())
        #expect(try client.request("PATCH", "/v1/sessions/s/state", #"{"n":1}"#).status == 200)
        try sender.send("9\r\n{\"a\":[]}\n\r\n0\r\n\r\n")
        let refused = try sender.receive()
        #expect(refused.status == 412, "\(refused.text)")
        #expect(try client.get("/v1/sessions/s").object["revision"] as? Int == 1)
    }

    @Test(
        "With conditions, a table is created only if it is new, and replaced only if the client has its latest version"
    )
    func tables() throws {
        let client = try ServerProcess().keptClient()
        func put(_ description: String, _ headers: [String: String]) throws -> HTTPClient.Response {
            try client.request("PUT", "/v1/tables/list", description, headers: headers)
        }
        let other = APITests.list.replacingOccurrences(of: "1.10", with: "7")
        #expect(try put(APITests.list, ["If-Match": "*"]).status == 412, "the table does not exist yet")
        let created = try put(APITests.list, ["If-None-Match": "*"])
        #expect(created.status == 201 && created.object["version"] as? Int == 1)
        let first = try #require(created.header("etag"))
        for (body, headers) in [
            (other, ["If-None-Match": "*"]), (APITests.list, ["If-None-Match": "*"]), (other, ["If-Match": "\"1\""]),
            (other, ["If-None-Match": first]),
        ] {
            let refused = try put(body, headers)
            #expect(refused.status == 412 && refused.object["type"] as? String == "/problems/etag-mismatch")
            #expect(refused.header("etag") == first)
        }
        #expect(try client.get("/v1/tables/list").text == APITests.list)
        let replaced = try put(other, ["If-Match": first]), second = try #require(replaced.header("etag"))
        #expect(replaced.status == 200 && replaced.object["version"] as? Int == 2 && second != first)
        #expect(try put(APITests.list, ["If-Match": first]).status == 412)
        #expect(try put(other, [:]).header("etag") == second, "nothing has changed, so the version stays")
        // Deleted and registered again, the table has version 1 and another ETag.
        #expect(try client.request("DELETE", "/v1/tables/list").status == 204)
        let again = try put(APITests.list, [:])
        #expect(again.object["version"] as? Int == 1 && again.header("etag") != first)
        #expect(try put(other, ["If-Match": first]).status == 412)
    }

    @Test("Each version of a table can be read with its ETag, and each session names its version")
    func versionsOfATable() throws {
        let client = try ServerProcess().keptClient()
        let other = APITests.list.replacingOccurrences(of: "1.10", with: "7")
        try client.request("PUT", "/v1/tables/list", APITests.list)
        try client.request("POST", "/v1/sessions", #"{"id":"old","table":"list"}"#)
        try client.request("PUT", "/v1/tables/list", other)
        try client.request("POST", "/v1/sessions", #"{"id":"new","table":"list"}"#)
        try client.request("POST", "/v1/sessions", #"{"id":"inline","table":\#(other)}"#)
        try client.request("POST", "/v1/sessions", #"{"id":"none","rows":[]}"#)
        let latest = try client.get("/v1/tables/list"), etag = try #require(latest.header("etag"))
        #expect(latest.text == other && latest.header("table-version") == "2")
        let second = try client.get("/v1/tables/list/versions/2")
        #expect(second.text == other && second.header("etag") == etag)
        let first = try client.get("/v1/tables/list/versions/1")
        #expect(first.text == APITests.list && first.header("table-version") == "1" && first.header("etag") != etag)
        for path in ["/v1/tables/list", "/v1/tables/list/versions/2"] {
            let known = try client.get(path, headers: ["If-None-Match": etag])
            #expect(known.status == 304 && known.header("table-version") == "2")
        }
        let versions = try client.get("/v1/tables/list/versions").object["versions"] as? [[String: Any]]
        #expect(versions?.compactMap { $0["version"] as? Int } == [1, 2])
        for (path, status) in [("list/versions/3", 404), ("list/versions/x", 400), ("no/versions", 404)] {
            #expect(try client.get("/v1/tables/\(path)").status == status)
        }
        func version(_ id: String) throws -> Int? {
            try client.get("/v1/sessions/\(id)").object["tableVersion"] as? Int
        }
        #expect(try ["old", "new", "inline", "none"].map { try version($0) } == [1, 2, nil, nil])
        let page = try client.get("/v1/sessions?table=list&limit=2").object
        #expect((page["sessions"] as? [[String: Any]])?.compactMap { $0["id"] as? String } == ["inline", "new"])
        let rest = try client.get("/v1/sessions?table=list&after=\(page["next"] as? String ?? "")").object
        #expect((rest["sessions"] as? [[String: Any]])?.compactMap { $0["id"] as? String } == ["old"])
    }

    @Test("A request with a condition that the server does not support is refused and changes nothing")
    func unsupportedConditions() throws {
        let (client, etag) = try start()
        try client.request("PUT", "/v1/tables/list", APITests.list)
        let tokens = try client.request("POST", "/v1/sessions/s/tokens", #"{"role":"viewer","expiresIn":600}"#).object
        let before = try client.get("/v1/sessions/s/snapshot").text, tables = try client.get("/v1/tables").text
        let requests: [(method: String, path: String, body: String?, conditions: [String])] = [
            ("PATCH", "/v1/sessions/s/headers", #"{"a":"A"}"#, ["If-None-Match"]),
            ("PATCH", "/v1/sessions/s/state", #"{"n":1}"#, ["If-None-Match"]),
            ("POST", "/v1/sessions/s/reset", nil, ["If-None-Match"]),
            ("POST", "/v1/sessions/s/sections", #"{"section":{"rows":[]},"at":null}"#, ["If-None-Match"]),
            ("DELETE", "/v1/sessions/s", nil, ["If-None-Match"]),
            ("POST", "/v1/sessions", #"{"id":"new","rows":[]}"#, ["If-Match", "If-None-Match"]),
            ("POST", "/v1/tables/validate", APITests.list, ["If-Match", "If-None-Match"]),
            ("DELETE", "/v1/tables/list", nil, ["If-Match", "If-None-Match"]),
            ("POST", "/v1/sessions/s/tokens", #"{"role":"viewer","expiresIn":600}"#, ["If-Match", "If-None-Match"]),
            (
                "DELETE", "/v1/sessions/s/tokens/\(tokens["tokenId"] as? String ?? "")", nil,
                ["If-Match", "If-None-Match"]
            ),
            ("POST", "/v1/render", #"{"template":1}"#, ["If-Match", "If-None-Match"]),
        ]
        for (method, path, body, conditions) in requests {
            for condition in conditions {
                for value in ["*", "\"nope\"", etag] {
                    let refused = try client.request(method, path, body, headers: [condition: value])
                    #expect(
                        refused.status == 412 && refused.object["type"] as? String == "/problems/precondition-failed",
                        "\(method) \(path) \(condition): \(value): \(refused.text)")
                    #expect((refused.object["detail"] as? String)?.contains(condition) == true)
                }
            }
        }
        #expect(
            try client.server.client().request(
                "POST", "/v1/sessions/s/observe", "{}",
                headers: ["Content-Type": "application/x-ndjson", "If-None-Match": "*"]
            ).status == 412)
        #expect(try client.get("/v1/sessions/s/snapshot").text == before && client.get("/v1/tables").text == tables)
        #expect(try client.get("/v1/sessions/new").status == 404)
        #expect((try client.get("/v1/sessions/s/tokens").object["tokens"] as? [Any])?.count == 1)
        #expect(
            try client.get("/v1/tables", headers: ["If-Match": "\"nope\"", "If-None-Match": "\"nope\""]).status == 200,
            "reading changes nothing")
        // Ignored: sessions have no modification date (RFC 9110, 13.1.4).
        #expect(
            try client.request(
                "PATCH", "/v1/sessions/s/state", "{}", headers: ["If-Unmodified-Since": "Sat, 01 Jan 2000 00:00:00 GMT"]
            ).status == 200)
    }

    @Test(
        "A request for updates whose ETag the client already has gets 304",
        arguments: [
            "since=0", "since=0&coalesce", "since=0&form=sequential", "since=0&wait=30", "since=2", "since=other.1",
            "since=99",
        ])
    func knownUpdates(query: String) throws {
        let (client, _) = try start()
        for number in 1...2 { _ = try client.request("PATCH", "/v1/sessions/s/state", #"{"n":\#(number)}"#) }
        let target = "/v1/sessions/s/updates?\(query)"
        let first = try client.get(target)
        let etag = try #require(first.header("etag"))
        for match in [etag, "W/\(etag)", "\"x\", \(etag)", "*"] {
            let known = try client.get(target, headers: ["If-None-Match": match])
            #expect(
                known.status == 304 && known.body.isEmpty && known.header("etag") == etag
                    && known.header("vary") == "Accept, Accept-Encoding", "\(match): \(known.text)")
        }
        #expect(try client.request("HEAD", target, headers: ["If-None-Match": etag]).status == 304)
        #expect(try client.get(target, headers: ["If-None-Match": "\"x\""]).text == first.text)
        _ = try client.request("PATCH", "/v1/sessions/s/state", #"{"n":3}"#)
        let changed = try client.get(target, headers: ["If-None-Match": etag])
        #expect(changed.status == 200 && changed.header("etag") != etag, "\(changed.text)")
        #expect(try client.get("/v1/sessions/none/updates?\(query)", headers: ["If-None-Match": "*"]).status == 404)
    }

    @Test("A long poll without news gets 304 at the end of its wait, and 200 as soon as there is an update")
    func conditionalPoll() throws {
        let (client, etag) = try start()
        let start = ContinuousClock.now
        #expect(try client.get("/v1/sessions/s/updates?since=0&wait=1", headers: ["If-None-Match": etag]).status == 304)
        #expect(ContinuousClock.now - start >= .seconds(1))
        let poll = try client.server.client()
        try poll.send(
            "GET /v1/sessions/s/updates?since=0&wait=60 HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: \(etag)\r\n\r\n")
        #expect(try client.server.waitForMetric(#"braid_subscribers{by="poll"} 1"#))
        _ = try client.request("PATCH", "/v1/sessions/s/state", #"{"n":1}"#)
        let answer = try poll.receive()
        #expect(answer.status == 200 && answer.object["to"] as? Int == 1, "\(answer.text)")
    }

    @Test("A request for a stream of events ignores If-None-Match")
    func aStreamHasNoCondition() throws {
        let (client, etag) = try start()
        for match in [etag, "*"] {
            let stream = try EventStreamClient(
                port: client.server.port, "/v1/sessions/s/updates", headers: ["If-None-Match": match])
            #expect(
                stream.head.hasPrefix("HTTP/1.1 200 ") && !stream.head.lowercased().contains("\r\netag:"),
                "\(stream.head)")
            #expect(try stream.next().name == "snapshot")
        }
    }

    @Test("If-Match accepts a star only as the whole value, and ETags only in quotes and without `W/`")
    func ifMatchSyntax() throws {
        let (client, etag) = try start()
        func status(_ ifMatch: String) throws -> Int {
            try client.request("PATCH", "/v1/sessions/s/state?dryRun", #"{"n":1}"#, headers: ["If-Match": ifMatch])
                .status
        }
        for right in ["*", etag, "\"a,b\", \(etag)", "\"x\",\(etag)", ", \(etag) ,"] {
            #expect(try status(right) == 200, "\(right)")
        }
        for wrong in [
            "\"x,*,y\"", "\"x\", *", "*, *", "W/\(etag)", "\"x,\(etag.dropFirst())",
            String(etag.dropFirst().dropLast()), "",
        ] { #expect(try status(wrong) == 412, "\(wrong)") }
    }
}

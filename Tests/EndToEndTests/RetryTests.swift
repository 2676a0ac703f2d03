import Foundation
import Testing

/// Requests repeated because their answer was lost: applied once, and normally answered as before.
@Suite(.serialized) struct RetryTests {
    static let models = #"{"a":[{"id":"1"},{"id":"2"},{"id":"3"}]}"#

    static func open(_ client: KeptClient, id: String = "x") throws {
        try #require(
            try client.request(
                "POST", "/v1/sessions", #"{"id":"\#(id)","table":\#(APITests.list),"models":\#(models)}"#
            ).status == 201)
    }

    private func delete(
        _ client: KeptClient, _ row: Int = 0, key: String, query: String = "", session: String = "x",
        prefer: String? = nil
    ) throws -> HTTPClient.Response {
        var headers = ["Idempotency-Key": key]
        headers["Prefer"] = prefer
        return try client.request(
            "POST", "/v1/sessions/\(session)/edits\(query)", #"{"delete":{"section":"a","row":\#(row)}}"#,
            headers: headers)
    }

    @Test("A command that is repeated with its key is applied once and gets the first answer, also after a restart")
    func repeatedCommand() throws {
        let directory = try TemporaryDirectory()
        let database = directory.path("braid.sqlite")
        let first: HTTPClient.Response
        do {
            let server = try ServerProcess(database: database), client = try server.keptClient()
            try Self.open(client)
            try Self.open(client, id: "y")
            first = try delete(client, key: "k1")
            #expect(first.status == 200 && first.header("idempotent-replayed") == nil)
            let again = try delete(client, key: "k1")
            #expect(again.status == 200 && again.text == first.text && again.header("etag") == first.header("etag"))
            #expect(again.header("idempotent-replayed") == "true")
            #expect(try client.get("/v1/sessions/x").object["revision"] as? Int == 1)
            // In quotation marks (RFC 9651) it is the same key; in another session, another one.
            #expect(try delete(client, key: "\"k1\"").text == first.text)
            #expect(try delete(client, key: "k1", session: "y").header("idempotent-replayed") == nil)
            // Not for another request.
            let reused = try delete(client, 1, key: "k1")
            #expect(reused.status == 422 && reused.text.contains("/problems/idempotency-key-reused"))
            #expect(try delete(client, key: "k1", query: "?form=sequential").status == 422)
            server.kill()
        }
        // Stored with the command's change, so it survives the kill.
        let client = try ServerProcess(database: database).keptClient()
        let again = try delete(client, key: "k1")
        #expect(again.text == first.text && again.header("idempotent-replayed") == "true")
        #expect(try client.get("/v1/sessions/x").object["revision"] as? Int == 1)
    }

    @Test("The server keeps answers of each form and refusals for repeated commands, but not refusals with 412")
    func kindsOfAnswers() throws {
        let client = try ServerProcess().keptClient()
        try Self.open(client)
        for (query, prefer) in [("", "return=minimal"), ("", "return=representation"), ("?form=sequential", nil)]
            as [(String, String?)]
        {
            let key = UUID().uuidString
            let first = try delete(client, key: key, query: query, prefer: prefer),
                again = try delete(client, key: key, query: query, prefer: prefer)
            #expect(first.status == again.status)
            #expect(first.text == again.text)
            #expect(first.header("etag") == again.header("etag"))
            #expect(again.header("preference-applied") == prefer && again.header("idempotent-replayed") == "true")
        }
        // A 412 is not kept: the same key may come without the condition.
        let edit = #"{"delete":{"section":"a","row":9}}"#
        let stale = try client.request(
            "POST", "/v1/sessions/x/edits", edit, headers: ["Idempotency-Key": "m", "If-Match": "\"other.1\""])
        #expect(stale.status == 412)
        #expect(
            try client.request("POST", "/v1/sessions/x/edits", edit, headers: ["Idempotency-Key": "m"]).status == 404)
        // A 404 is kept, and so is an answer that changed nothing.
        let refused = try delete(client, 9, key: "refused")
        #expect(refused.status == 404)
        #expect(try delete(client, 9, key: "refused").text == refused.text)
        let state = #"{}"#
        let unchanged = try client.request("PATCH", "/v1/sessions/x/state", state, headers: ["Idempotency-Key": "u"])
        #expect(unchanged.text.contains("unchanged"))
        let again = try client.request("PATCH", "/v1/sessions/x/state", state, headers: ["Idempotency-Key": "u"])
        #expect(again.text == unchanged.text && again.header("idempotent-replayed") == "true")
    }

    @Test("A refusal with 400 is not kept, so the same key is accepted later, or with a corrected body")
    func badRequests() throws {
        let client = try ServerProcess().keptClient()
        try Self.open(client)
        #expect(try delete(client, key: "early", query: "?base=1").status == 400)
        #expect(try delete(client, key: "other").status == 200)
        let now = try delete(client, key: "early", query: "?base=1")
        #expect(now.status == 200 && now.header("idempotent-replayed") == nil, "\(now.text)")
        for (cell, status) in [("none", 400), ("C", 200)] {
            let path = "/v1/sessions/x/cells-for-model-types/T"
            #expect(
                try client.request("PUT", path, #"{"cell":"\#(cell)"}"#, headers: ["Idempotency-Key": "cell"]).status
                    == status)
        }
    }

    @Test("A repeated request to open a session opens only one session, and gets the first answer")
    func repeatedOpening() throws {
        let client = try ServerProcess().keptClient()
        let body = #"{"table":\#(APITests.list)}"#
        let first = try client.request("POST", "/v1/sessions", body, headers: ["Idempotency-Key": "o"])
        let again = try client.request("POST", "/v1/sessions", body, headers: ["Idempotency-Key": "o"])
        #expect(first.status == 201 && again.status == 201 && first.text == again.text)
        #expect(again.header("location") == first.header("location") && again.header("etag") == first.header("etag"))
        #expect((try client.get("/v1/sessions").object["sessions"] as? [Any])?.count == 1)
        #expect(
            try client.request(
                "POST", "/v1/sessions", #"{"id":"z","table":\#(APITests.list)}"#, headers: ["Idempotency-Key": "o"]
            ).status == 422)
    }

    @Test("A repeated request with `Prefer: return=representation` gets the current snapshot, with its ETag")
    func aSnapshotIsNotKept() throws {
        let directory = try TemporaryDirectory(), database = directory.path("braid.sqlite")
        let path = "/v1/sessions/x", prefer = "return=representation"
        do {
            let server = try ServerProcess(database: database), client = try server.keptClient()
            let rows = (0..<2_000).map { #"{"id":"\#($0)","text":"\#(String(repeating: "x", count: 500))"}"# }.joined(
                separator: ",")
            try #require(
                try client.request(
                    "POST", "/v1/sessions", #"{"id":"x","table":\#(APITests.list),"models":{"a":[\#(rows)]}}"#,
                    headers: ["Idempotency-Key": "open"]
                ).status == 201)
            for index in 0..<50 { try #require(try delete(client, key: "k\(index)", prefer: prefer).status == 200) }
            server.kill()
        }
        if TestDatabase.isSQLite {
            let size = try ["", "-wal"].reduce(0) {
                try $0 + (FileManager.default.attributesOfItem(atPath: database + $1)[.size] as? Int ?? 0)
            }
            #expect(size < 15 << 20, "50 snapshots of 1 MB are not in the database: \(size) bytes")
        }

        let server = try ServerProcess(database: database), client = try server.keptClient()
        func now() throws -> HTTPClient.Response { try client.get("\(path)/snapshot") }
        for key in ["k49", "k0"] {
            let again = try delete(client, key: key, prefer: prefer), now = try now()
            #expect(again.status == 200 && again.text == now.text && again.header("etag") == now.header("etag"))
            #expect(
                again.header("preference-applied") == prefer && again.header("idempotent-replayed") == "true"
                    && again.header("content-type") == "application/json")
        }
        #expect(try delete(client, key: "k50").status == 200)
        #expect(try delete(client, key: "k49", prefer: prefer).text == now().text)
        // Openings, too, get the current snapshot while the session exists.
        let opening = #"{"id":"y","table":\#(APITests.list)}"#
        func open() throws -> HTTPClient.Response {
            try client.request("POST", "/v1/sessions", opening, headers: ["Idempotency-Key": "y"])
        }
        let first = try open()
        #expect(try first.status == 201 && open().text == first.text)
        try #require(try client.request("PATCH", "/v1/sessions/y/models", Self.models).status == 200)
        let again = try open(), snapshot = try client.get("/v1/sessions/y/snapshot")
        #expect(again.status == 201 && again.text == snapshot.text && again.header("etag") == snapshot.header("etag"))
        #expect(again.header("location") == "/v1/sessions/y" && again.header("idempotent-replayed") == "true")
        for isOpenedAgain in [false, true] {
            if isOpenedAgain {
                try Self.open(client, id: "y")
            } else {
                try #require(try client.request("DELETE", "/v1/sessions/y").status == 204)
            }
            let gone = try open()
            #expect(
                gone.status == 404 && gone.object["type"] as? String == "/problems/session-not-found", "\(gone.text)")
        }
    }

    @Test("Two requesters can use the same idempotency key for different requests")
    func keysBelongToTheirRequester() throws {
        let server = try AccessTests.server(), client = try server.client()
        let one = AccessTests.bearer(try AccessTests.token("participant", on: server).token),
            other = AccessTests.bearer(try AccessTests.token("participant", on: server).token)
        func delete(_ row: String, _ requester: [String: String]) throws -> HTTPClient.Response {
            try client.request(
                "POST", "/v1/sessions/mine/edits", #"{"delete":{"id":"\#(row)"}}"#,
                headers: requester.merging(["Idempotency-Key": "k"]) { $1 })
        }
        for (row, requester) in [("1", one), ("2", AccessTests.controller), ("3", other)] {
            let answer = try delete(row, requester)
            #expect(answer.status == 200 && answer.header("idempotent-replayed") == nil, "\(answer.text)")
        }
        for (row, requester) in [("1", one), ("2", AccessTests.controller), ("3", other)] {
            #expect(try delete(row, requester).header("idempotent-replayed") == "true")
        }
        #expect(try delete("2", one).status == 422, "of one requester another request is still a mistake")
    }

    @Test("A dry run with an idempotency key is computed each time, and its answer is not kept")
    func dryRuns() throws {
        let client = try ServerProcess().keptClient()
        try Self.open(client)
        #expect(try delete(client, key: "d", query: "?dryRun").status == 200)
        #expect(try delete(client, key: "d", query: "?dryRun").header("idempotent-replayed") == nil)
        #expect(try delete(client, key: "d").header("idempotent-replayed") == nil)
        #expect(try client.get("/v1/sessions/x").object["revision"] as? Int == 1)
    }

    @Test(
        "An idempotency key that is empty, too long or contains a space is refused",
        arguments: ["", "\"\"", String(repeating: "k", count: 256), "a b"])
    func invalidKeys(key: String) throws {
        let client = try ServerProcess().keptClient()
        try Self.open(client)
        #expect(try delete(client, key: key).status == 400)
        #expect(try client.get("/v1/sessions/x").object["revision"] as? Int == 0)
        #expect(try delete(client, key: String(repeating: "k", count: 255)).status == 200)
    }

    @Test("If several clients send a command with the same key at the same time, the command is applied once")
    func simultaneousCommands() throws {
        let server = try ServerProcess()
        try Self.open(try server.keptClient())
        let clients = try (0..<8).map { _ in try server.client() }
        let command = #"{"delete":{"section":"a","row":0}}"#
        for client in clients {
            try client.send(
                "POST /v1/sessions/x/edits HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nIdempotency-Key: same\r\nContent-Length: \(command.utf8.count)\r\n\r\n\(command)"
            )
        }
        var statuses: [Int: Int] = [:]
        for client in clients { statuses[try client.receive().status, default: 0] += 1 }
        #expect(
            statuses[200, default: 0] >= 1 && statuses[200, default: 0] + statuses[409, default: 0] == 8, "\(statuses)")
        #expect(try server.client().get("/v1/sessions/x").object["revision"] as? Int == 1)
    }
}

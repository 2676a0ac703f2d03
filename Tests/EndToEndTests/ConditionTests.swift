import Foundation
import Synchronization
import Testing

/// Requests that are to be carried out under a condition alone: `If-Match`, `If-None-Match` (RFC 9110, 13).
@Suite(.serialized) struct ConditionTests {
    /// A server with the session `s`, and its entity tag.
    private func start() throws -> (KeptClient, etag: String) {
        let client = try ServerProcess().keptClient()
        let opened = try client.request("POST", "/v1/sessions", #"{"id":"s","table":\#(APITests.list)}"#)
        return (client, try #require(opened.header("etag"), "\(opened.text)"))
    }

    private func observe(_ client: KeptClient, _ lines: String, ifMatch: String) throws -> HTTPClient.Response {
        try client.server.client().request("POST", "/v1/sessions/s/observe", lines, headers: ["Content-Type": "application/x-ndjson", "If-Match": ifMatch])
    }

    @Test func aSessionIsEndedOnlyWhileItIsWhatTheClientSaw() throws {
        let (client, etag) = try start()
        let changed = try client.request("PATCH", "/v1/sessions/s/state", #"{"n":1}"#)
        let refused = try client.request("DELETE", "/v1/sessions/s", headers: ["If-Match": etag])
        #expect(refused.status == 412 && refused.object["type"] as? String == "/problems/etag-mismatch", "\(refused.text)")
        let present = try #require(refused.header("etag"))
        #expect(present == changed.header("etag"))
        #expect(try client.get("/v1/sessions/s").status == 200)
        #expect(try client.request("DELETE", "/v1/sessions/s", headers: ["If-Match": "\"other\", \(present)"]).status == 204)
        #expect(try client.request("DELETE", "/v1/sessions/s", headers: ["If-Match": present]).status == 404, "what is not there is 404, whatever the condition")
        #expect(try client.request("POST", "/v1/sessions", #"{"id":"s","rows":[]}"#).status == 201)
        #expect(try client.request("DELETE", "/v1/sessions/s", headers: ["If-Match": present]).status == 412, "another session under the id")
        #expect(try client.request("DELETE", "/v1/sessions/s", headers: ["If-Match": "*"]).status == 204)
    }

    @Test func aSessionIsNotEndedUnderAChangeThatWasAcknowledged() throws {
        let server = try ServerProcess()
        try Self.raceAnEnd([server.keptClient(), server.keptClient()])
    }

    /// One client ends a session as it was opened, the other changes it at that moment: one of the two is refused.
    static func raceAnEnd(_ clients: [KeptClient], rounds: Int = 60) throws {
        var ended = 0
        for round in 0..<rounds {
            let opened = try clients[0].request("POST", "/v1/sessions", #"{"id":"s\#(round)","rows":[]}"#)
            let etag = try #require(opened.header("etag")), start = ContinuousClock.now
            // Both have the session in memory.
            for client in clients { #expect(try client.get("/v1/sessions/s\(round)/snapshot").status == 200) }
            let change = Mutex<Int?>(nil)
            nonisolated(unsafe) let other = clients[1]
            let thread = Thread {
                usleep(UInt32.random(in: 0..<1_500))
                let status = try? other.request("PATCH", "/v1/sessions/s\(round)/state", #"{"n":1}"#).status
                change.withLock { $0 = status ?? 0 }
            }
            thread.start()
            usleep(UInt32.random(in: 0..<1_500))
            let end = try clients[0].request("DELETE", "/v1/sessions/s\(round)", headers: ["If-Match": etag]).status
            while change.withLock({ $0 == nil }), .now - start < .seconds(60) { usleep(100) }
            let changed = change.withLock { $0 }
            #expect(end == 204 && changed == 404 || end == 412 && changed == 200, "round \(round): \(end), \(changed ?? -1)")
            if end == 204 { ended += 1 }
        }
        #expect(ended > 0 && ended < rounds, "\(ended) of \(rounds): there was no race")
    }

    @Test func modelsAreObservedOnlyFromWhatTheClientSaw() throws {
        let (client, etag) = try start()
        let lines = #"{"a":[]}"# + "\n" + #"{"b":[{"id":"9"}]}"#
        for body in [lines, ""] {
            let refused = try observe(client, body, ifMatch: "\"other\"")
            #expect(refused.status == 412 && refused.object["type"] as? String == "/problems/etag-mismatch" && refused.header("etag") == etag, "\(refused.text)")
        }
        #expect(try client.get("/v1/sessions/s").object["revision"] as? Int == 0)
        #expect(try observe(client, lines, ifMatch: etag).text == #"{"applied":2,"unchanged":0,"revision":2}"#, "its own lines are no reason to stop")
        #expect(try observe(client, lines, ifMatch: etag).status == 412)
    }

    @Test func whatTheFirstLineDoesIsUnderTheConditionToo() throws {
        let (client, etag) = try start()
        let sender = try client.server.client()
        try sender.send("POST /v1/sessions/s/observe HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nIf-Match: \(etag)\r\nTransfer-Encoding: chunked\r\n\r\n")
        usleep(200_000)  // it has begun
        #expect(try client.request("PATCH", "/v1/sessions/s/state", #"{"n":1}"#).status == 200)
        try sender.send("9\r\n{\"a\":[]}\n\r\n0\r\n\r\n")
        let refused = try sender.receive()
        #expect(refused.status == 412, "\(refused.text)")
        #expect(try client.get("/v1/sessions/s").object["revision"] as? Int == 1)
    }

    @Test func aConditionThatIsNotLookedAtIsRefusedAndNothingIsDone() throws {
        let (client, etag) = try start()
        try client.request("PUT", "/v1/tables/list", APITests.list)
        let tokens = try client.request("POST", "/v1/sessions/s/tokens", #"{"role":"viewer","expiresIn":600}"#).object
        let before = try client.get("/v1/sessions/s/snapshot").text, tables = try client.get("/v1/tables").text
        let other = APITests.list.replacingOccurrences(of: "1.10", with: "7")
        let requests: [(method: String, path: String, body: String?, conditions: [String])] = [
            ("PUT", "/v1/sessions/s/headers", #"{"a":"A"}"#, ["If-None-Match"]),
            ("PATCH", "/v1/sessions/s/state", #"{"n":1}"#, ["If-None-Match"]),
            ("POST", "/v1/sessions/s/reset", nil, ["If-None-Match"]),
            ("POST", "/v1/sessions/s/sections", #"{"section":{"rows":[]},"at":null}"#, ["If-None-Match"]),
            ("DELETE", "/v1/sessions/s", nil, ["If-None-Match"]),
            ("POST", "/v1/sessions", #"{"id":"new","rows":[]}"#, ["If-Match", "If-None-Match"]),
            ("PUT", "/v1/tables/list", other, ["If-Match", "If-None-Match"]),
            ("PUT", "/v1/tables/new", APITests.list.replacingOccurrences(of: #""table":"list""#, with: #""table":"new""#), ["If-Match", "If-None-Match"]),
            ("DELETE", "/v1/tables/list", nil, ["If-Match", "If-None-Match"]),
            ("POST", "/v1/sessions/s/tokens", #"{"role":"viewer","expiresIn":600}"#, ["If-Match", "If-None-Match"]),
            ("DELETE", "/v1/sessions/s/tokens/\(tokens["tokenId"] as? String ?? "")", nil, ["If-Match", "If-None-Match"]),
            ("POST", "/v1/render", #"{"template":1}"#, ["If-Match", "If-None-Match"]),
        ]
        for (method, path, body, conditions) in requests {
            for condition in conditions {
                for value in ["*", "\"nope\"", etag] {
                    let refused = try client.request(method, path, body, headers: [condition: value])
                    #expect(refused.status == 412 && refused.object["type"] as? String == "/problems/precondition-failed", "\(method) \(path) \(condition): \(value): \(refused.text)")
                    #expect((refused.object["detail"] as? String)?.contains(condition) == true)
                }
            }
        }
        #expect(try client.server.client().request("POST", "/v1/sessions/s/observe", "{}", headers: ["Content-Type": "application/x-ndjson", "If-None-Match": "*"]).status == 412)
        #expect(try client.get("/v1/sessions/s/snapshot").text == before && client.get("/v1/tables").text == tables)
        #expect(try client.get("/v1/sessions/new").status == 404)
        #expect((try client.get("/v1/sessions/s/tokens").object["tokens"] as? [Any])?.count == 1)
        #expect(try client.get("/v1/tables", headers: ["If-Match": "\"nope\"", "If-None-Match": "\"nope\""]).status == 200, "reading changes nothing")
        // What has no date of modification is not unmodified since any (RFC 9110, 13.1.4).
        #expect(try client.request("PATCH", "/v1/sessions/s/state", "{}", headers: ["If-Unmodified-Since": "Sat, 01 Jan 2000 00:00:00 GMT"]).status == 200)
    }

    @Test func anythingIsTheWholeValueAlone() throws {
        let (client, etag) = try start()
        func status(_ ifMatch: String) throws -> Int { try client.request("PATCH", "/v1/sessions/s/state?dryRun", #"{"n":1}"#, headers: ["If-Match": ifMatch]).status }
        for right in ["*", etag, "\"a,b\", \(etag)", "\"x\",\(etag)", ", \(etag) ,"] { #expect(try status(right) == 200, "\(right)") }
        for wrong in ["\"x,*,y\"", "\"x\", *", "*, *", "W/\(etag)", "\"x,\(etag.dropFirst())", String(etag.dropFirst().dropLast()), ""] { #expect(try status(wrong) == 412, "\(wrong)") }
    }
}

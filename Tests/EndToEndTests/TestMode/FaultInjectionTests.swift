import BraidClient
import Foundation
import Glibc
import TestSupport
import Testing

/// What each fault does to an answer, and how the Swift client recovers.
@Suite(.serialized, .enabled(if: TestDatabase.isSQLite)) struct FaultInjectionTests {
    private static let session = "/v1/sessions/party"
    private static let state = session + "/state"

    private func started(_ rules: String...) throws -> ServerProcess {
        let server = try TestModeTests.server()
        try TestModeTests.setFaults(server, rules.joined(separator: ","))
        return server
    }

    /// Also removes all rules.
    private func revision(_ server: ServerProcess) throws -> Int? {
        try #require(try server.client().request("DELETE", TestModeTests.path).status == 204)
        return try server.client().get(Self.session).object["revision"] as? Int
    }

    // MARK: Requests

    @Test("The fault `respond` answers with a problem document of its status, and the request has no effect")
    func respond() throws {
        let server = try started(
            #"{"id":"busy","times":1,"action":{"respond":{"status":503,"retryAfter":9}}}"#,
            #"{"times":1,"action":{"respond":{"status":401}}}"#, #"{"action":{"respond":{"status":418}}}"#)
        let client = try server.client()
        let busy = try client.request("PATCH", Self.state, #"{"a":1}"#)
        #expect(busy.status == 503 && busy.header("retry-after") == "9")
        #expect(busy.object["type"] as? String == "/problems/unavailable" && busy.object["status"] as? Int == 503)
        #expect((busy.object["detail"] as? String)?.contains("\"busy\"") == true)
        let unauthorized = try client.get(Self.session)
        #expect(unauthorized.status == 401 && unauthorized.header("www-authenticate") != nil)
        let other = try client.get(Self.session)
        #expect(other.status == 418 && other.object["type"] as? String == "/problems/injected-fault")
        #expect(other.object["status"] as? Int == 418)
        #expect(try revision(server) == 0)
    }

    @Test(
        "With the fault `close` a request is not carried out, and with `loseAnswer` it is",
        arguments: [
            ("close", 0), ("loseAnswer", 1),
        ])
    func lostAnswers(action: String, applied: Int) throws {
        let server = try started(#"{"action":{"\#(action)":{}}}"#)
        #expect(throws: HTTPClient.Closed.self) { try server.client().request("PATCH", Self.state, #"{"a":1}"#) }
        #expect(try TestModeTests.counters(server).map(\.applied) == [1])
        #expect(try revision(server) == applied)
    }

    @Test(
        "The faults `close` and `loseAnswer` also apply to a body that is read line by line",
        arguments: [("close", 0), ("loseAnswer", 1)])
    func streamedBodies(action: String, applied: Int) throws {
        let server = try started(#"{"match":{"path":"/v1/sessions/party/observe"},"action":{"\#(action)":{}}}"#)
        #expect(throws: HTTPClient.Closed.self) {
            try server.client().request(
                "POST", Self.session + "/observe", #"{"invited":[{"name":"Ann"}]}"# + "\n",
                headers: ["Content-Type": "application/x-ndjson"])
        }
        #expect(try revision(server) == applied)
    }

    @Test("With the fault `delay`, a request is carried out after its delay")
    func delay() throws {
        let server = try started(#"{"delay":{"milliseconds":300,"jitter":100}}"#), client = try server.client()
        for _ in 0..<3 {
            let start = ContinuousClock.now
            #expect(try client.get(Self.session).status == 200)
            #expect(.now - start >= .milliseconds(200))
        }
    }

    @Test("When the server stops, it closes the connections of delayed requests, and does not carry them out")
    func stoppedDelays() throws {
        let directory = try TemporaryDirectory(), database = directory.path("braid.sqlite")
        let options = ServerProcess.attendees + ["--test-mode"]
        let server = try ServerProcess(database: database, options), client = try server.client()
        try TestModeTests.setFaults(server, #"{"match":{"method":"PATCH"},"delay":{"milliseconds":600000}}"#)
        try client.send("PATCH \(Self.state) HTTP/1.1\r\nHost: localhost\r\nContent-Length: 7\r\n\r\n{\"a\":1}")
        #expect(try eventually { try TestModeTests.counters(server).map(\.applied) == [1] })
        #expect(server.stop() == 0)
        #expect(client.receiveAll() == [])
        #expect(try revision(ServerProcess(database: database, options)) == 0)
    }

    @Test("A fault rule can depend on the sender's role, on its token, and on a body that may be compressed")
    func conditions() throws {
        let server = try AccessTests.server(["--test-mode"])
        let viewer = try AccessTests.token("viewer", on: server), other = try AccessTests.token("viewer", on: server)
        try TestModeTests.setFaults(
            server, #"{"match":{"token":"\#(viewer.id)"},"action":{"respond":{"status":418}}}"#,
            #"{"match":{"role":"viewer"},"action":{"respond":{"status":419}}}"#,
            #"{"match":{"body":{"a":{"b":1}}},"action":{"respond":{"status":420}}}"#, headers: AccessTests.controller)
        func status(_ headers: [String: String]) throws -> Int {
            try server.client().get("/v1/sessions/mine", headers: headers).status
        }
        #expect(try status(AccessTests.bearer(viewer.token)) == 418)
        #expect(try status(AccessTests.bearer(other.token)) == 419)
        #expect(try status(AccessTests.controller) == 200)
        #expect(try status([:]) == 401)
        let client = try server.client(), body = gzipMember(Array(#"{"a":{"b":1,"c":2}}"#.utf8))
        let head =
            "PATCH /v1/sessions/mine/state HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer secret-of-the-controller\r\nContent-Encoding: gzip\r\nContent-Length: \(body.count)\r\n\r\n"
        try client.send(Array(head.utf8) + body)
        #expect(try client.receive().status == 420)
    }

    // MARK: Bodies

    @Test(
        "With the fault `truncate`, an answer announces its whole length but ends after the rule's number of bytes",
        arguments: [0, 1, 100])
    func truncate(bytes: Int) throws {
        let server = try started(#"{"action":{"truncate":{"bytes":\#(bytes)}}}"#)
        let client = try server.client()
        try client.send("GET \(Self.session)/snapshot HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n")
        let all = client.receiveAll(), end = try #require(all.firstRange(of: Array("\r\n\r\n".utf8)))
        let head = String(decoding: all[..<end.upperBound], as: UTF8.self), body = Array(all[end.upperBound...])
        _ = try revision(server)
        let whole = try server.client().get(Self.session + "/snapshot").body
        #expect(head.hasPrefix("HTTP/1.1 200 ") && head.contains("\r\nContent-Length: \(whole.count)\r\n"), "\(head)")
        #expect(!head.contains("Content-Encoding"))
        #expect(body == Array(whole.prefix(bytes)))
    }

    @Test(
        "With the fault `throttle`, an answer is complete but not faster than its rate, and its connection stays open"
    )
    func throttle() throws {
        let server = try started(#"{"times":1,"action":{"throttle":{"bytesPerSecond":2000}}}"#)
        let client = try server.client(), start = ContinuousClock.now
        let slow = try client.get(Self.session + "/snapshot"), time = ContinuousClock.now - start
        #expect(try client.get(Self.session + "/snapshot").body == slow.body)
        // The first part comes at once: 100 bytes less.
        #expect(time >= .seconds(Double(slow.body.count - 100) / 2_000))
    }

    // MARK: Streams

    private func change(_ server: ServerProcess, _ number: Int) throws {
        #expect(try server.client().request("PATCH", Self.state, #"{"n":\#(number)}"#).status == 200)
    }

    @Test(
        "With the fault `cutStream`, a stream ends after the rule's number of events and bytes, compressed or not",
        arguments: [nil, "gzip", "zstd"])
    func cutStream(coding: String?) throws {
        let server = try started(
            #"{"times":1,"action":{"cutStream":{"events":3}}}"#,
            #"{"action":{"cutStream":{"events":2,"bytes":10}}}"#)
        let headers = coding.map { ["Accept-Encoding": $0] } ?? [:]
        let whole = try EventStreamClient(port: server.port, Self.session + "/updates", headers: headers)
        let live = try whole.events(through: "caught-up")
        #expect(live.map(\.name) == ["snapshot", "caught-up"])
        try change(server, 1)
        #expect(try whole.next().name == "update")
        #expect(throws: EventStreamClient.Failed.self) { try whole.next() }

        let half = try EventStreamClient(
            port: server.port, Self.session + "/updates", lastEventID: live.last?.id, headers: headers)
        let again = [try half.next(), try half.next()]
        #expect(again.map(\.name) == ["update", "caught-up"])
        try change(server, 2)
        #expect(throws: EventStreamClient.Failed.self) { try half.next() }
        // After the last complete event comes the next one's beginning, its id.
        let id = "id: " + again[1].id.dropLast() + "2"
        #expect(half.unread == String(id.prefix(10)))
    }

    @Test("With the fault `pauseStream`, a stream delivers nothing for the rule's time, and then continues")
    func pauseStream() throws {
        let server = try started(#"{"action":{"pauseStream":{"events":2,"milliseconds":600}}}"#)
        let start = ContinuousClock.now
        let stream = try EventStreamClient(port: server.port, Self.session + "/updates")
        _ = try stream.events(through: "caught-up")
        try change(server, 1)
        #expect(try stream.next().revision == 1)
        #expect(.now - start >= .milliseconds(600))
        try change(server, 2)
        #expect(try stream.next().revision == 2)
    }

    @Test("With the fault `snapshot`, requests for updates get a snapshot: as a list, as a long poll and as a stream")
    func snapshot() throws {
        let server = try started(#"{"action":{"snapshot":{}}}"#), client = try server.client()
        try change(server, 1)
        let etag = try #require(client.get(Self.session + "/snapshot").header("etag"))
        for query in ["since=0", "since=1", "since=1&wait=60", "since=0&coalesce", "since=1&limit=1"] {
            let answer = try client.get(Self.session + "/updates?\(query)", headers: ["If-None-Match": etag])
            #expect(answer.status == 200 && answer.object["reset"] as? Bool == true, "\(query): \(answer.text)")
        }
        #expect(try client.get(Self.session + "/updates?since=x").status == 400)
        #expect(try client.get("/v1/fixtures?since=0").status == 200, "fixtures also wait for changes")
        let position = String(etag.dropFirst().dropLast())
        for query in ["", "?limit=2&since=\(position)"] {
            let stream = try EventStreamClient(
                port: server.port, Self.session + "/updates" + query, lastEventID: position)
            #expect(try stream.events(through: "caught-up").map(\.name) == ["snapshot", "caught-up"])
        }
    }

    @Test("The fault `newEpoch` ends the session's streams, and makes all earlier positions invalid")
    func newEpoch() throws {
        let server = try TestModeTests.server(), client = try server.client()
        try change(server, 1)
        let etag = try #require(client.get(Self.session + "/snapshot").header("etag"))
        let stream = try EventStreamClient(port: server.port, Self.session + "/updates")
        _ = try stream.events(through: "caught-up")
        try TestModeTests.setFaults(server, #"{"match":{"method":"PATCH"},"times":1,"action":{"newEpoch":{}}}"#)
        let refused = try client.request("PATCH", Self.state, #"{"n":2}"#, headers: ["If-Match": etag])
        #expect(refused.status == 412)
        #expect(throws: EventStreamClient.Ended.self) { try stream.next() }
        let snapshot = try client.get(Self.session + "/snapshot")
        #expect(snapshot.object["revision"] as? Int == 1 && snapshot.header("etag") != etag)
        let position = etag.dropFirst().dropLast()
        #expect(try client.get(Self.session + "/updates?since=\(position)").object["reset"] as? Bool == true)
        #expect(
            try client.get(Self.session + "/updates?since=0").text.contains(#""updates":[{"#), "the journal remains")
        try change(server, 3)
        #expect(try revision(server) == 2)
    }

    @Test("A repeated request that opened a session gets the session's snapshot, even if the session has a new epoch")
    func retryAfterNewEpoch() throws {
        let server = try TestModeTests.server(), client = try server.client(), key = ["Idempotency-Key": "k"]
        let body = #"{"id":"kept","rows":[{"id":"a"}]}"#
        let first = try client.request("POST", "/v1/sessions", body, headers: key)
        #expect(first.status == 201)
        try TestModeTests.setFaults(server, #"{"match":{"method":"PATCH"},"times":1,"action":{"newEpoch":{}}}"#)
        #expect(try client.request("PATCH", "/v1/sessions/kept/state", #"{"n":1}"#).status == 200)
        let retry = try client.request("POST", "/v1/sessions", body, headers: key)
        #expect(retry.status == 201 && retry.header("idempotent-replayed") == "true", "\(retry.text)")
        #expect(
            retry.object["revision"] as? Int == 1
                && retry.object["epoch"] as? String != first.object["epoch"] as? String)
        #expect(try client.request("DELETE", "/v1/sessions/kept").status == 204)
        #expect(try client.request("POST", "/v1/sessions", body).status == 201)
        #expect(try client.request("POST", "/v1/sessions", body, headers: key).status == 404, "it is another session")
    }

    @Test("The fault `newEpoch` has no effect if the session does not exist")
    func newEpochOfNothing() throws {
        let server = try started(#"{"action":{"newEpoch":{}}}"#)
        #expect(try server.client().get("/v1/sessions/nobody").status == 404)
    }

    // MARK: Connections

    @Test("The fault `refuseConnections` closes all connections, and refuses new ones for the rule's time")
    func refuseConnections() throws {
        for milliseconds in [3_600_000, 20] {
            let server = try TestModeTests.server(), idle = try server.client()
            #expect(try idle.get(Self.session).status == 200)
            let stream = try EventStreamClient(port: server.port, Self.session + "/updates")
            _ = try stream.events(through: "caught-up")
            try TestModeTests.setFaults(
                server, #"{"times":1,"action":{"refuseConnections":{"milliseconds":\#(milliseconds)}}}"#)
            #expect(throws: HTTPClient.Closed.self) { try server.client().request("PATCH", Self.state, #"{"n":1}"#) }
            #expect(idle.isClosed)
            #expect(throws: EventStreamClient.Failed.self) { try stream.next() }
            if milliseconds > 1_000 {
                for _ in 0..<3 {
                    let refused = #expect(throws: HTTPClient.Closed.self) { try server.client() }
                    #expect(refused?.code == ECONNREFUSED)
                }
                #expect(server.stop() == 0, "a server that refuses connections stops like any other")
            } else {
                #expect(eventually { (try? server.client()) != nil })
                #expect(try revision(server) == 0)
            }
        }
    }

    // MARK: The client for Swift

    @Test(
        "The Swift client repeats a command whose answer was lost completely or partly, and it is applied once",
        arguments: [
            #"{"close":{}}"#, #"{"loseAnswer":{}}"#, #"{"truncate":{"bytes":20}}"#, #"{"respond":{"status":503}}"#,
            #"{"refuseConnections":{"milliseconds":50}}"#,
        ])
    func swiftCommands(action: String) async throws {
        let server = try started(#"{"match":{"method":"PATCH"},"times":2,"action":\#(action)}"#)
        let party = try SwiftClientTests.client(server, retries: 1_000).session("party")
        let answer = try await party.perform(.patchModels(["invited": [["name": "Ann"]]]))
        #expect(answer.revision == 1)
        #expect(try TestModeTests.counters(server).map(\.applied) == [2])
        #expect(try await party.journal().records.count == 1)
    }

    @Test(
        "The Swift client follows a session through cut and paused streams, resets and new epochs",
        arguments: [
            #"{"cutStream":{"events":2}}"#, #"{"cutStream":{"events":1,"bytes":7}}"#,
            #"{"pauseStream":{"events":1,"milliseconds":50}}"#, #"{"snapshot":{}}"#, #"{"newEpoch":{}}"#,
            #"{"refuseConnections":{"milliseconds":50}}"#, #"{"throttle":{"bytesPerSecond":20000}}"#,
        ])
    func swiftStreams(action: String) async throws {
        let server = try started(
            #"{"match":{"path":"/v1/sessions/*/updates"},"skip":1,"times":5,"action":\#(action)}"#,
            #"{"match":{"path":"/v1/sessions/*/updates"},"times":6,"action":{"cutStream":{"events":3}}}"#)
        let party = try SwiftClientTests.client(server, retries: 1_000).session("party"), last = 20
        // After the first snapshot: otherwise the first stream could show the last command already, and there would be
        // no second stream for the fault.
        var shown: Snapshot?, commands: Task<Void, any Error>?
        for try await event in party.subscribe() {
            switch event {
            case .snapshot(let snapshot):
                shown = snapshot
                if commands == nil {
                    commands = Task {
                        for number in 1...last {
                            try await party.perform(.patchModels(["invited": [["name": .string("guest \(number)")]]]))
                        }
                    }
                }
            case .update(_, let before, let after):
                #expect(before == shown)
                shown = after
            default: break
            }
            if shown?.revision == last { break }
        }
        try await commands?.value
        #expect(try await party.snapshot() == shown)
        #expect(try TestModeTests.counters(server)[0].applied >= 1)
    }
}

import Foundation
import Testing

/// `Accept` chooses the media type, `Idempotency-Key` keeps the answer for a retry.
@Suite(.serialized) struct AcceptTests {
    private static let json = "application/json", stream = "text/event-stream", lines = "application/x-ndjson"

    @Test(
        "The weights in Accept decide between JSON and the other media type, and a named type precedes a wildcard",
        arguments: [
            ("application/json, text/event-stream;q=0.1", json), ("text/event-stream;q=0.1, application/json", json),
            ("application/json;q=0.9, text/event-stream", stream), ("application/json, text/event-stream", stream),
            ("application/json;q=0.5, text/event-stream;q=0.500", stream),
            ("text/event-stream;q=0.499, application/json;q=0.5", json),
            ("text/event-stream, */*;q=0.1", stream), ("text/event-stream;q=0.1, */*", json),
            ("text/event-stream;q=0, */*", json),
            ("*/*", json), ("text/*", stream), ("text/*, application/json;q=0.2", stream),
            ("text/*;q=0.2, application/json", json),
            ("TEXT/Event-Stream ; Q=1.0 , application/json ; q=0.9", stream), ("application/json;q=0, */*", stream),
            ("application/problem+json", json),
        ])
    func weightsDecide(accept: String, type: String) throws {
        let (client, _) = try StreamTests.start()
        #expect(
            try client.request("HEAD", "/v1/sessions/s/updates?since=0", headers: ["Accept": accept]).header(
                "content-type") == type)
        let ofJournal = accept.replacingOccurrences(of: Self.stream, with: Self.lines, options: .caseInsensitive)
            .replacingOccurrences(of: "text/*", with: Self.lines)
        #expect(
            try client.request("HEAD", "/v1/sessions/s/journal", headers: ["Accept": ofJournal]).header("content-type")
                == (type == Self.stream ? Self.lines : type))
    }

    @Test(
        "If Accept excludes all media types of an answer with the weight 0, the answer is 406",
        arguments: [
            "application/json;q=0, text/event-stream;q=0.0, */*;q=0", "application/json;q=0.000, text/event-stream;q=0",
            "*/*;q=0", "text/html",
        ])
    func nothingAcceptable(accept: String) throws {
        let (client, _) = try StreamTests.start()
        #expect(try client.get("/v1/sessions/s/updates?since=0", headers: ["Accept": accept]).status == 406)
    }

    @Test("A request that does not support Idempotency-Key is refused if it has this header")
    func keysWhereNoneIsTaken() throws {
        let (client, _) = try StreamTests.start()
        let key = ["Idempotency-Key": "k1"]
        let before = try client.get("/v1/sessions/s").text
        for (method, path, body) in [
            ("PUT", "/v1/tables/list", StreamTests.table), ("DELETE", "/v1/sessions/s", ""),
            ("POST", "/v1/sessions/s/tokens", #"{"role":"viewer","expiresIn":60}"#),
            ("GET", "/v1/sessions/s/snapshot", ""),
        ] {
            let answer = try client.request(method, path, body.isEmpty ? nil : body, headers: key)
            #expect(
                answer.status == 400 && answer.object["type"] as? String == "/problems/bad-request",
                "\(method) \(path): \(answer.text)")
            #expect(
                (answer.object["detail"] as? String)?.hasPrefix("\(method) \(path) takes no Idempotency-Key") == true,
                "\(answer.text)")
        }
        let observed = try client.server.client().request(
            "POST", "/v1/sessions/s/observe", "{}\n", headers: key.merging(["Content-Type": Self.lines]) { $1 })
        #expect(observed.status == 400)
        #expect(try client.get("/v1/sessions/s").text == before)
        #expect(try client.get("/v1/tables/list").status == 404)
        #expect(try client.request("POST", "/v1/sessions/s/reset", headers: key).status == 200, "a command takes one")
    }
}

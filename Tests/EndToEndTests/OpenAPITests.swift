import Foundation
import Testing

/// `GET /openapi.json` and the inspector's files. BraidServerTests and schemathesis test the content.
@Suite struct OpenAPITests {
    @Test("Clients without a token can read the OpenAPI document, which has a strong ETag and is not sent twice")
    func theDescriptionIsForEveryone() throws {
        let client = try AccessTests.server().keptClient()
        let response = try client.get("/openapi.json")
        #expect(response.status == 200 && response.header("content-type") == "application/json")
        #expect(response.object["openapi"] as? String == "3.1.0")
        let etag = try #require(response.header("etag"))
        #expect(etag.wholeMatch(of: /"[0-9a-f]{1,16}"/) != nil)
        let known = try client.get("/openapi.json", headers: ["If-None-Match": "\"x\", W/\(etag)"])
        #expect(known.status == 304 && known.header("etag") == etag && known.text.isEmpty)
        let other = try client.get("/openapi.json?pretty", headers: ["If-None-Match": "\"x\""])
        #expect(other.status == 200 && other.text.hasPrefix("{\n"))
        #expect(try client.request("POST", "/openapi.json", "{}").status == 405)
    }

    @Test(
        "Pages, scripts and style sheets need no token, and a browser asks for each again and gets 304 or new content",
        arguments: [
            "/": "text/html; charset=utf-8", "/inspector.js": "text/javascript; charset=utf-8",
            "/inspector/dom.js": "text/javascript; charset=utf-8", "/inspector.css": "text/css; charset=utf-8",
            "/braid.js": "text/javascript; charset=utf-8", "/braid.d.ts": "application/typescript; charset=utf-8",
        ])
    func assetsAreForEveryone(path: String, type: String) throws {
        let client = try AccessTests.server().keptClient()
        // What browsers accept for a page, a style sheet, a script.
        for accept in ["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "text/css,*/*;q=0.1", "*/*"] {
            let response = try client.get(path, headers: ["Accept": accept])
            #expect(response.status == 200 && response.header("content-type") == type && response.text.hasSuffix("\n"))
            #expect(
                response.header("x-content-type-options") == "nosniff" && response.header("cache-control") == "no-cache"
            )
            #expect((response.header("content-security-policy") != nil) == (path == "/"))
            let etag = try #require(response.header("etag"))
            let head = try client.request("HEAD", path)
            #expect(
                head.status == 200 && head.header("content-length") == String(response.body.count)
                    && head.header("etag") == etag)
            let known = try client.get(path, headers: ["If-None-Match": etag])
            #expect(known.status == 304 && known.header("etag") == etag && known.text.isEmpty)
        }
        #expect(try client.request("POST", path, "{}").status == 405)
        #expect(try client.get(path, headers: ["Accept": "image/png"]).status == 406)
    }

    @Test("A cache may reuse no answer to a GET without asking the server")
    func cachesAsk() throws {
        let client = try AccessTests.server().keptClient()
        for path in [
            "/readyz", "/openapi.json", "/problems/role", "/v1/sessions/mine/snapshot",
            "/v1/sessions/mine/updates?since=0", "/v1/tables", "/v1/nothing",
        ] {
            let response = try client.get(path, headers: AccessTests.controller)
            #expect(response.header("cache-control") == "no-cache", "\(path)")
            #expect(
                try client.request("HEAD", path, headers: AccessTests.controller).header("cache-control") == "no-cache",
                "\(path)")
            if let etag = response.header("etag"), path.hasSuffix("snapshot") {
                let known = try client.get(
                    path, headers: AccessTests.controller.merging(["If-None-Match": etag]) { $1 })
                #expect(known.status == 304 && known.header("cache-control") == "no-cache")
            }
        }
        // Also on refusals that no handler has seen: caches might keep a 414 forever.
        for (target, field, status) in [
            ("/\(String(repeating: "a", count: 9_000))", "", 414),
            ("/readyz", "X: \(String(repeating: "a", count: 40_000))\r\n", 431), ("/readyz", "Expect: none\r\n", 417),
        ] {
            let client = try client.server.client()
            try client.send("GET \(target) HTTP/1.1\r\nHost: localhost\r\n\(field)\r\n")
            let response = try client.receive()
            #expect(response.status == status && response.header("cache-control") == "no-cache", "\(response.status)")
        }
    }

    @Test("If Accept decides the form of an answer, the answer and its refusals have the header `Vary: Accept`")
    func whatAcceptDecidesIsSaid() throws {
        let client = try AccessTests.server().keptClient()
        for resource in ["updates?since=0", "journal"] {
            for accept in ["application/json", "application/x-ndjson", "image/png"] {
                let headers = AccessTests.controller.merging(["Accept": accept]) { $1 }
                let vary = try client.get("/v1/sessions/mine/\(resource)", headers: headers).header("vary")
                #expect(vary == "Accept" || vary == "Accept, Accept-Encoding", "\(resource) \(accept)")
            }
        }
        #expect(try client.get("/v1/sessions/mine/snapshot", headers: AccessTests.controller).header("vary") == nil)
        let stream = try EventStreamClient(
            port: client.server.port, "/v1/sessions/mine/updates", headers: AccessTests.controller)
        #expect(stream.head.contains("\r\nVary: Accept, Accept-Encoding\r\n"))
    }

    @Test("A dry run refuses a malformed Idempotency-Key, and an index may be written as 0.0 or 1e0")
    func requestsAreReadAsDescribed() throws {
        let client = try AccessTests.server().keptClient()
        let edits = "/v1/sessions/mine/edits?dryRun"
        let place = #"{"delete":{"section":0.0,"row":1e0}}"#
        #expect(try client.request("POST", edits, place, headers: AccessTests.controller).status == 200)
        #expect(
            try client.request(
                "POST", edits, place, headers: AccessTests.controller.merging(["Idempotency-Key": "a b"]) { $1 }
            ).status == 400)
        #expect(
            try client.request("POST", edits, #"{"delete":{"section":0,"row":1.5}}"#, headers: AccessTests.controller)
                .status == 400)
    }

    @Test("The snapshots in a request to `/v1/diff` have headers in the same form as the server's snapshots")
    func headersAreThoseOfSnapshots() throws {
        let client = try AccessTests.server().keptClient()
        func response(_ header: String) throws -> (status: Int, text: String) {
            let snapshot = #"{"sections":[{"id":"a","header":\#(header),"rows":[]}]}"#
            let response = try client.request(
                "POST", "/v1/diff", #"{"from":{"sections":[]},"to":\#(snapshot)}"#, headers: AccessTests.controller)
            return (response.status, response.text)
        }
        for right in [
            "null", #"{"title":"A","height":3}"#, #"{"view":"V","viewModel":{"x":1},"estimatedHeight":"automatic"}"#,
        ] { #expect(try response(right).status == 200, "\(right)") }
        for wrong in ["{}", "1", #"{"title":1}"#, #"{"title":"A","view":"V"}"#, #"{"title":"A","height":"x"}"#] {
            let refused = try response(wrong)
            #expect(refused.status == 400 && refused.text.contains("/to/sections/0/header"), "\(wrong)")
        }
    }
}

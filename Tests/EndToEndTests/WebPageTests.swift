import Foundation
import Testing

/// CORS, and what a server without a token refuses to pages.
@Suite(.serialized) struct WebPageTests {
    static let origin = "http://localhost:3000"

    @Test("By default CORS is off: no answer has a CORS header")
    func offByDefault() throws {
        let server = try AccessTests.server()
        let client = try server.client()
        for (method, path) in [
            ("GET", "/v1/tables"), ("OPTIONS", "/v1/tables"), ("GET", "/healthz"), ("GET", "/v1/none"),
        ] {
            let response = try client.request(
                method, path,
                headers: AccessTests.controller.merging(["Origin": Self.origin, "Access-Control-Request-Method": "PUT"])
                { $1 })
            #expect(!response.headers.keys.contains { $0.hasPrefix("access-control-") || $0 == "vary" }, "\(path)")
        }
    }

    @Test("Pages of an allowed origin may use the API, and may read its answers, errors and streams")
    func allowedOrigins() throws {
        let server = try AccessTests.server([
            "--allow-origin", Self.origin, "--allow-origin", "https://App.example:443",
        ])
        for origin in [Self.origin, "https://app.example"] {
            let preflight = try server.client().request(
                "OPTIONS", "/v1/sessions/mine/edits",
                headers: [
                    "Origin": origin, "Access-Control-Request-Method": "POST",
                    "Access-Control-Request-Headers": "authorization,content-type,idempotency-key",
                ])
            #expect(preflight.status == 204, "it needs no token: browsers send none")
            #expect(preflight.header("access-control-allow-origin") == origin && preflight.header("vary") == "Origin")
            #expect(preflight.header("access-control-allow-methods")?.contains("PATCH") == true)
            let fields = try #require(
                preflight.header("access-control-allow-headers")?.lowercased().components(separatedBy: ", "))
            for field in ["authorization", "content-type", "idempotency-key", "if-match", "last-event-id"] {
                #expect(fields.contains(field))
            }
            #expect(Int(preflight.header("access-control-max-age") ?? "") ?? 0 > 0)
        }
        let headers = AccessTests.controller.merging(["Origin": Self.origin]) { $1 }
        func check(_ response: HTTPClient.Response, _ what: String) {
            #expect(
                response.header("access-control-allow-origin") == Self.origin && response.header("vary") == "Origin",
                "\(what)")
            let exposed = response.header("access-control-expose-headers")?.components(separatedBy: ", ") ?? []
            for field in ["ETag", "Location", "Idempotent-Replayed", "X-Request-Id", "Retry-After"] {
                #expect(exposed.contains(field), "\(what): \(field)")
            }
        }
        check(try server.client().get("/v1/sessions/mine/snapshot", headers: headers), "an answer")
        check(try server.client().get("/v1/sessions/none", headers: headers), "an error")
        check(try server.client().get("/v1/tables", headers: ["Origin": Self.origin]), "401")
        check(
            try server.client().request("POST", "/v1/sessions", #"{"table":\#(AccessTests.table)}"#, headers: headers),
            "201")
        let tooLarge = try server.client()
        try tooLarge.send(
            "POST /v1/diff HTTP/1.1\r\nHost: localhost\r\nOrigin: \(Self.origin)\r\nAuthorization: Bearer secret-of-the-controller\r\nContent-Length: 99999999\r\n\r\n"
        )
        let refused = try tooLarge.receive()
        #expect(refused.status == 413)
        check(refused, "413")
        let stream = try EventStreamClient(port: server.port, "/v1/sessions/mine/updates", headers: headers)
        #expect(stream.head.contains("Access-Control-Allow-Origin: \(Self.origin)"))
        for other in ["https://evil.example", "null", "http://localhost:3001", "https://localhost:3000"] {
            let response = try server.client().get(
                "/v1/sessions/mine", headers: AccessTests.controller.merging(["Origin": other]) { $1 })
            #expect(
                response.status == 200 && response.header("access-control-allow-origin") == nil
                    && response.header("vary") == "Origin", "\(other)")
            #expect(
                try server.client().request(
                    "OPTIONS", "/v1/tables", headers: ["Origin": other, "Access-Control-Request-Method": "PUT"]
                ).header("access-control-allow-methods") == nil)
        }
        #expect(
            try server.client().get("/v1/sessions/mine", headers: AccessTests.controller).header("vary") == "Origin",
            "caches must know also of answers to others")
    }

    @Test("The option --allow-origin * allows all origins")
    func allOrigins() throws {
        let server = try AccessTests.server(["--allow-origin", "*"])
        let response = try server.client().get(
            "/v1/sessions/mine", headers: AccessTests.controller.merging(["Origin": "https://any.example"]) { $1 })
        #expect(response.header("access-control-allow-origin") == "*" && response.header("vary") == nil)
    }

    @Test("A foreign web page can neither read nor change a server without a token on the user's machine")
    func pagesFromElsewhere() throws {
        let server = try ServerProcess(ServerProcess.attendees)
        let before = try server.client().get("/v1/sessions/party/snapshot").text
        let edit = #"{"delete":{"section":"attending","row":1}}"#
        // What a page can send without a preflight: a form, an image, `fetch` with no-cors.
        for fields in [
            ["Origin": "https://evil.example", "Content-Type": "text/plain"], ["Origin": "https://evil.example"],
            ["Origin": "null"], ["Sec-Fetch-Site": "cross-site"],
            ["Sec-Fetch-Site": "same-site", "Origin": "http://localhost:3000"],
        ] {
            for (method, path, body) in [
                ("POST", "/v1/sessions/party/edits", edit), ("GET", "/v1/sessions/party/snapshot", nil),
                ("GET", "/v1/sessions/none", nil), ("DELETE", "/v1/sessions/party", nil),
                ("POST", "/v1/sessions/party/observe", #"{"invited":[]}"#),
            ] {
                let response = try server.client().request(method, path, body, headers: fields)
                #expect(
                    response.status == 403 && response.object["type"] as? String == "/problems/origin-not-allowed",
                    "\(fields) \(method) \(path): \(response.text)")
            }
        }
        for host in ["evil.example", "evil.example:\(server.port)"] {
            let client = try server.client()
            try client.send(
                "POST /v1/sessions/party/edits HTTP/1.1\r\nHost: \(host)\r\nOrigin: http://\(host)\r\nSec-Fetch-Site: same-origin\r\nContent-Type: application/json\r\nContent-Length: \(edit.utf8.count)\r\n\r\n\(edit)"
            )
            let response = try client.receive()
            #expect(
                response.status == 421 && response.object["type"] as? String == "/problems/misdirected-request",
                "\(host): \(response.text)")
        }
        #expect(try server.client().get("/v1/sessions/party/snapshot").text == before)
        // Every page may read documents without session data; the server's own pages and other programs use the API.
        #expect(try server.client().get("/openapi.json", headers: ["Origin": "https://evil.example"]).status == 200)
        let own = "http://127.0.0.1:\(server.port)"
        let client = try server.client()
        try client.send(
            "POST /v1/sessions/party/edits HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\nOrigin: \(own)\r\nContent-Type: application/json\r\nContent-Length: \(edit.utf8.count)\r\n\r\n\(edit)"
        )
        #expect(try client.receive().object["outcome"] as? String == "applied")
        let allowing = try ServerProcess(ServerProcess.attendees + ["--allow-origin", "http://localhost:3000"])
        let allowed = try allowing.client().get(
            "/v1/sessions/party", headers: ["Origin": "http://localhost:3000", "Sec-Fetch-Site": "same-site"])
        #expect(allowed.status == 200 && allowed.header("access-control-allow-origin") == "http://localhost:3000")
    }
}

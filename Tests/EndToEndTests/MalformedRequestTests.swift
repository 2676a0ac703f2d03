import Foundation
import Testing

/// Each fault gets its problem document, and the server goes on.
@Suite(.serialized) struct MalformedRequestTests {
    struct Case: Sendable {
        var name: String
        var request: String
        var status: Int
        var type: String
    }

    /// Correctly framed.
    static func sent(
        _ method: String, _ target: String, _ body: String? = nil, type: String = "application/json", extra: String = ""
    ) -> String {
        var text = "\(method) \(target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\(extra)"
        if let body {
            text += "Content-Type: \(type)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        } else {
            text += "\r\n"
        }
        return text
    }

    static func framed(_ lines: String) -> String { lines.replacingOccurrences(of: "|", with: "\r\n") }

    static let framing: [Case] = [
        .init(
            name: "both lengths",
            request: framed("POST /v1/diff HTTP/1.1|Host: x|Content-Length: 4|Transfer-Encoding: chunked||0||"),
            status: 400, type: "bad-request"),
        .init(
            name: "two lengths",
            request: framed("POST /v1/diff HTTP/1.1|Host: x|Content-Length: 4|Content-Length: 5||abcd"), status: 400,
            type: "bad-request"),
        .init(
            name: "length with a sign", request: framed("POST /v1/diff HTTP/1.1|Host: x|Content-Length: +4||abcd"),
            status: 400, type: "bad-request"),
        .init(
            name: "negative length", request: framed("POST /v1/diff HTTP/1.1|Host: x|Content-Length: -4||abcd"),
            status: 400, type: "bad-request"),
        .init(
            name: "hexadecimal length", request: framed("POST /v1/diff HTTP/1.1|Host: x|Content-Length: 0x4||abcd"),
            status: 400, type: "bad-request"),
        .init(
            name: "length of 30 digits",
            request: framed("POST /v1/diff HTTP/1.1|Host: x|Content-Length: 999999999999999999999999999999||"),
            status: 413, type: "content-too-large"),
        .init(
            name: "space before a colon", request: framed("POST /v1/diff HTTP/1.1|Host: x|Content-Length : 4||abcd"),
            status: 400, type: "bad-request"),
        .init(
            name: "space before the coding's colon",
            request: framed("POST /v1/diff HTTP/1.1|Host: x|Transfer-Encoding : chunked||0||"), status: 400,
            type: "bad-request"),
        .init(
            name: "two codings",
            request: framed("POST /v1/diff HTTP/1.1|Host: x|Transfer-Encoding: gzip, chunked||0||"), status: 400,
            type: "bad-request"),
        .init(
            name: "chunk size with a sign",
            request: framed("POST /v1/diff HTTP/1.1|Host: x|Transfer-Encoding: chunked||+4|abcd|0||"), status: 400,
            type: "bad-request"),
        .init(
            name: "chunk size with 0x",
            request: framed("POST /v1/diff HTTP/1.1|Host: x|Transfer-Encoding: chunked||0x4|abcd|0||"), status: 400,
            type: "bad-request"),
        .init(
            name: "chunk longer than its size",
            request: framed("POST /v1/diff HTTP/1.1|Host: x|Transfer-Encoding: chunked||2|abcd|0||"), status: 400,
            type: "bad-request"),
        .init(
            name: "obs-fold", request: framed("GET /healthz HTTP/1.1|Host: x|A: b| c||"), status: 400,
            type: "bad-request"),
        .init(name: "bare line feeds", request: "GET /healthz HTTP/1.1\nHost: x\n\n", status: 400, type: "bad-request"),
        .init(
            name: "bare carriage return", request: "GET /healthz HTTP/1.1\r\nHost: localhost\rA: b\r\n\r\n",
            status: 400, type: "bad-request"),
        .init(
            name: "NUL in a field", request: "GET /healthz HTTP/1.1\r\nHost: localhost\r\nA: b\0c\r\n\r\n", status: 400,
            type: "bad-request"),
        .init(name: "no Host", request: framed("GET /healthz HTTP/1.1||"), status: 400, type: "bad-request"),
        .init(
            name: "two Hosts", request: framed("GET /healthz HTTP/1.1|Host: x|Host: y||"), status: 400,
            type: "bad-request"),
        .init(
            name: "HTTP/9.9", request: framed("GET /healthz HTTP/9.9|Host: x||"), status: 505,
            type: "http-version-not-supported"),
        .init(
            name: "a proxy's method", request: framed("CONNECT a:80 HTTP/1.1|Host: a:80||"), status: 501,
            type: "not-implemented"),
        .init(
            name: "method of 40 letters", request: framed("\(String(repeating: "A", count: 40)) / HTTP/1.1|Host: x||"),
            status: 501, type: "not-implemented"),
        .init(name: "not HTTP", request: framed("hello there||"), status: 400, type: "bad-request"),
        .init(
            name: "field without a name", request: framed("GET /healthz HTTP/1.1|Host: x|: b||"), status: 400,
            type: "bad-request"),
        .init(
            name: "percent without digits", request: framed("GET /v1/tables/%zz HTTP/1.1|Host: x||"), status: 400,
            type: "bad-request"),
        .init(
            name: "percent at the end", request: framed("GET /v1/tables/%4 HTTP/1.1|Host: x||"), status: 400,
            type: "bad-request"),
        .init(
            name: "fragment", request: framed("GET /v1/tables#x HTTP/1.1|Host: x||"), status: 400, type: "bad-request"),
        .init(
            name: "unknown expectation",
            request: framed("POST /v1/diff HTTP/1.1|Host: x|Expect: tea|Content-Length: 2||{}"), status: 417,
            type: "expectation-failed"),
        .init(
            name: "long target",
            request: "GET /\(String(repeating: "a", count: 20_000)) HTTP/1.1\r\nHost: localhost\r\n\r\n", status: 414,
            type: "target-too-long"),
        .init(
            name: "long field",
            request: "GET / HTTP/1.1\r\nHost: localhost\r\nA: \(String(repeating: "a", count: 60_000))\r\n\r\n",
            status: 431, type: "headers-too-large"),
        .init(
            name: "many fields",
            request: "GET / HTTP/1.1\r\nHost: localhost\r\n\((0..<200).map { "A\($0): b\r\n" }.joined())\r\n",
            status: 431, type: "headers-too-large"),
        .init(
            name: "long body", request: framed("POST /v1/diff HTTP/1.1|Host: x|Content-Length: 999999999||"),
            status: 413, type: "content-too-large"),
    ]

    static let json: [Case] = [
        "", "{", "[1,]", #"{"a":1,}"#, "{'a':1}", #"{"a":1 "b":2}"#, "01", "+1", "1.", ".5", "NaN", "tru", "\"\u{1}\"",
        #""\x""#, #""\ud800""#,
        #"{"a":1,"a":2}"#, #"{"a":1,"\u0061":2}"#, "[1] 2", "\u{FEFF}{}",
        String(repeating: "[", count: 200) + String(repeating: "]", count: 200),
    ].map {
        .init(name: "JSON: \($0.prefix(20))", request: sent("POST", "/v1/diff", $0), status: 400, type: "invalid-json")
    }

    static let shapes: [Case] = [
        .init(name: "unknown path", request: sent("GET", "/v2/sessions"), status: 404, type: "no-such-resource"),
        .init(
            name: "path with a slash too many", request: sent("GET", "/v1/tables/"), status: 404,
            type: "no-such-resource"),
        .init(name: "encoded slash", request: sent("GET", "/v1%2Ftables"), status: 404, type: "no-such-resource"),
        .init(
            name: "table without a name", request: sent("PUT", "/v1/tables/", "{}"), status: 404,
            type: "no-such-resource"),
        .init(name: "unknown method", request: sent("BREW", "/v1/tables"), status: 405, type: "method-not-allowed"),
        .init(name: "wrong method", request: sent("DELETE", "/v1/tables"), status: 405, type: "method-not-allowed"),
        .init(
            name: "unknown session", request: sent("GET", "/v1/sessions/none/snapshot"), status: 404,
            type: "session-not-found"),
        .init(
            name: "command on an unknown session",
            request: sent("POST", "/v1/sessions/none/edits", #"{"delete":{"section":0,"row":0}}"#), status: 404,
            type: "session-not-found"),
        .init(name: "unknown query", request: sent("GET", "/v1/sessions?limits=1"), status: 400, type: "bad-request"),
        .init(name: "limit of zero", request: sent("GET", "/v1/sessions?limit=0"), status: 400, type: "bad-request"),
        .init(
            name: "limit with a sign", request: sent("GET", "/v1/sessions?limit=%2B5"), status: 400, type: "bad-request"
        ),
        .init(
            name: "limit of words", request: sent("GET", "/v1/sessions?limit=many"), status: 400, type: "bad-request"),
        .init(
            name: "since missing", request: sent("GET", "/v1/sessions/party/updates"), status: 400, type: "bad-request"),
        .init(
            name: "since of words", request: sent("GET", "/v1/sessions/party/updates?since=now"), status: 400,
            type: "bad-request"),
        .init(
            name: "since without its epoch", request: sent("GET", "/v1/sessions/party/updates?since=.0"), status: 400,
            type: "bad-request"),
        .init(
            name: "flag with a value", request: sent("GET", "/v1/tables?pretty=perhaps"), status: 400,
            type: "bad-request"),
        .init(
            name: "window of too many rows", request: sent("GET", "/v1/sessions/party/snapshot?limit=10001"),
            status: 400,
            type: "bad-request"),
        .init(
            name: "window of an unknown section", request: sent("GET", "/v1/sessions/party/snapshot?section=none"),
            status: 404, type: "section-not-found"),
        .init(
            name: "form unknown",
            request: sent("POST", "/v1/sessions/party/edits?form=xml", #"{"delete":{"section":1,"row":0}}"#),
            status: 400, type: "bad-request"),
        .init(
            name: "text body", request: sent("POST", "/v1/diff", "{}", type: "text/plain"), status: 415,
            type: "unsupported-media-type"),
        .init(
            name: "form body", request: sent("POST", "/v1/diff", "{}", type: "application/x-www-form-urlencoded"),
            status: 415, type: "unsupported-media-type"),
        .init(
            name: "only HTML accepted", request: sent("GET", "/v1/tables", extra: "Accept: text/html\r\n"), status: 406,
            type: "not-acceptable"),
        .init(
            name: "JSON refused", request: sent("GET", "/v1/tables", extra: "Accept: application/json;q=0\r\n"),
            status: 406, type: "not-acceptable"),
        .init(
            name: "JSON refused with a fraction",
            request: sent("GET", "/v1/tables", extra: "Accept: application/json;q=0.000\r\n"), status: 406,
            type: "not-acceptable"),
        .init(
            name: "only images accepted", request: sent("GET", "/v1/tables", extra: "Accept: image/*\r\n"), status: 406,
            type: "not-acceptable"),
        .init(name: "body for a GET", request: sent("GET", "/v1/tables", "{}"), status: 400, type: "bad-request"),
        .init(
            name: "edit of nothing", request: sent("POST", "/v1/sessions/party/edits", "{}"), status: 400,
            type: "bad-request"),
        .init(
            name: "edit and edit",
            request: sent(
                "POST", "/v1/sessions/party/edits", #"{"delete":{"section":1,"row":0},"insert":{"section":1,"row":0}}"#),
            status: 400, type: "bad-request"),
        .init(
            name: "edit with a typo",
            request: sent("POST", "/v1/sessions/party/edits", #"{"delete":{"section":1,"rows":0}}"#), status: 400,
            type: "bad-request"),
        .init(
            name: "edit as an array", request: sent("POST", "/v1/sessions/party/edits", "[]"), status: 400,
            type: "bad-request"),
        .init(
            name: "negative row",
            request: sent("POST", "/v1/sessions/party/edits", #"{"delete":{"section":1,"row":-1}}"#), status: 400,
            type: "bad-request"),
        .init(
            name: "fractional row",
            request: sent("POST", "/v1/sessions/party/edits", #"{"delete":{"section":1,"row":0.5}}"#), status: 400,
            type: "bad-request"),
        .init(
            name: "row beyond 64 bits",
            request: sent("POST", "/v1/sessions/party/edits", #"{"delete":{"section":1,"row":99999999999999999999}}"#),
            status: 400, type: "bad-request"),
        .init(
            name: "row that is not there",
            request: sent("POST", "/v1/sessions/party/edits", #"{"delete":{"section":1,"row":99}}"#), status: 404,
            type: "row-not-found"),
        .init(
            name: "largest row",
            request: sent("POST", "/v1/sessions/party/edits", #"{"delete":{"section":1,"row":9223372036854775807}}"#),
            status: 404, type: "row-not-found"),
        .init(
            name: "section that is not there",
            request: sent("POST", "/v1/sessions/party/edits", #"{"delete":{"section":"none","row":0}}"#), status: 404,
            type: "section-not-found"),
        .init(
            name: "id that is not there",
            request: sent("POST", "/v1/sessions/party/edits", #"{"delete":{"id":"none"}}"#), status: 404,
            type: "row-not-found"),
        .init(
            name: "move without to",
            request: sent("POST", "/v1/sessions/party/moves", #"{"from":{"section":1,"row":0}}"#), status: 400,
            type: "bad-request"),
        .init(
            name: "move beyond the end",
            request: sent(
                "POST", "/v1/sessions/party/moves", #"{"from":{"section":1,"row":0},"to":{"section":1,"row":3}}"#),
            status: 404, type: "row-not-found"),
        .init(
            name: "move of what may not move",
            request: sent(
                "POST", "/v1/sessions/party/moves", #"{"from":{"section":0,"row":0},"to":{"section":1,"row":0}}"#),
            status: 403, type: "move-not-allowed"),
        .init(
            name: "delete of what may not be deleted",
            request: sent("POST", "/v1/sessions/party/edits", #"{"delete":{"section":2,"row":0}}"#), status: 403,
            type: "editing-not-allowed"),
        .init(
            name: "models of an unknown section", request: sent("PATCH", "/v1/sessions/party/models", #"{"none":[]}"#),
            status: 404, type: "section-not-found"),
        .init(
            name: "models that are no array", request: sent("PATCH", "/v1/sessions/party/models", #"{"invited":{}}"#),
            status: 400, type: "bad-request"),
        .init(
            name: "model without an id",
            request: sent("PATCH", "/v1/sessions/party/models", #"{"invited":[{"nom":"x"}]}"#), status: 422,
            type: "model-invalid"),
        .init(
            name: "model with an id of the wrong type",
            request: sent("PATCH", "/v1/sessions/party/models", #"{"invited":[{"name":[]}]}"#), status: 422,
            type: "model-invalid"),
        .init(
            name: "models with one id twice",
            request: sent("PATCH", "/v1/sessions/party/models", #"{"invited":[{"name":"x"},{"name":"x"}]}"#),
            status: 422,
            type: "duplicate-row-id"),
        .init(
            name: "header of the wrong type", request: sent("PATCH", "/v1/sessions/party/headers", #"{"invited":5}"#),
            status: 400, type: "bad-request"),
        .init(
            name: "displayed sections of the wrong type",
            request: sent("PUT", "/v1/sessions/party/displayed-sections", #"{"a":1}"#), status: 400, type: "bad-request"
        ),
        .init(
            name: "state that is no object", request: sent("PATCH", "/v1/sessions/party/state", "[]"), status: 400,
            type: "bad-request"),
        .init(
            name: "transaction without commands", request: sent("POST", "/v1/sessions/party/transactions", "{}"),
            status: 400, type: "bad-request"),
        .init(
            name: "transaction in a transaction",
            request: sent(
                "POST", "/v1/sessions/party/transactions", #"{"commands":[{"transactions":{"commands":[]}}]}"#),
            status: 400, type: "bad-request"),
        .init(
            name: "transaction with an unknown command",
            request: sent("POST", "/v1/sessions/party/transactions", #"{"commands":[{"dance":{}}]}"#), status: 400,
            type: "bad-request"),
        .init(
            name: "session without a table", request: sent("POST", "/v1/sessions", "{}"), status: 400,
            type: "bad-request"),
        .init(
            name: "session of an unknown table", request: sent("POST", "/v1/sessions", #"{"table":"none"}"#),
            status: 404, type: "table-not-found"),
        .init(
            name: "session with a table and cells",
            request: sent("POST", "/v1/sessions", #"{"table":"attendees","cellsForModelTypes":{}}"#), status: 400,
            type: "bad-request"),
        .init(
            name: "session with a bad id", request: sent("POST", "/v1/sessions", #"{"table":"attendees","id":"a b"}"#),
            status: 400, type: "bad-request"),
        .init(
            name: "session that exists", request: sent("POST", "/v1/sessions", #"{"table":"attendees","id":"party"}"#),
            status: 409, type: "session-exists"),
        .init(
            name: "session with a faulty description",
            request: sent("POST", "/v1/sessions", #"{"table":{"table":"x"}}"#), status: 422, type: "description-invalid"
        ),
        .init(
            name: "description of another name",
            request: sent(
                "PUT", "/v1/tables/other",
                #"{"table":"x","cells":{"C":{}},"bindings":[{"cell":"C","models":[]}]}"#), status: 422,
            type: "description-invalid"),
        .init(
            name: "table name too long", request: sent("PUT", "/v1/tables/\(String(repeating: "a", count: 65))", "{}"),
            status: 400, type: "bad-request"),
        .init(
            name: "deletion of a table in use", request: sent("DELETE", "/v1/tables/attendees"), status: 409,
            type: "table-in-use"),
        .init(
            name: "diff without to", request: sent("POST", "/v1/diff", #"{"from":{}}"#), status: 400,
            type: "bad-request"),
        .init(
            name: "If-Match of another revision",
            request: sent(
                "POST", "/v1/sessions/party/edits", #"{"delete":{"section":1,"row":0}}"#, extra: "If-Match: \"x.1\"\r\n"
            ), status: 412, type: "etag-mismatch"),
    ]

    @Test("Each malformed request gets its problem document and changes nothing, and the server continues")
    func malformedRequests() throws {
        let server = try ServerProcess(ServerProcess.attendees)
        let before = try server.client().get("/v1/sessions/party/snapshot").text
        let cases = Self.framing + Self.json + Self.shapes
        #expect(cases.count >= 60)
        for test in cases {
            let client = try server.client()
            try client.send(test.request)
            let response = try #require(try? client.receive(), "\(test.name): no answer")
            #expect(response.status == test.status, "\(test.name): \(response.text)")
            #expect(response.header("content-type") == "application/problem+json", "\(test.name)")
            let problem = response.object
            #expect(problem["type"] as? String == "/problems/\(test.type)", "\(test.name): \(response.text)")
            #expect(problem["status"] as? Int == test.status, "\(test.name)")
            #expect((problem["detail"] as? String)?.isEmpty == false, "\(test.name)")
            #expect(problem["requestId"] as? String == response.header("x-request-id"), "\(test.name)")
            #expect(try server.client().get("/problems/\(test.type)").status == 200, "\(test.name)")
        }
        // The connection must close: nobody knows where the next request starts.
        for test in Self.framing {
            let client = try server.client()
            try client.send(test.request + "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            _ = try? client.receive()
            #expect(client.isClosed, "\(test.name)")
        }
        #expect(try server.client().get("/healthz").status == 200)
        #expect(try server.client().get("/v1/sessions/party/snapshot").text == before)
    }

    @Test("A body that is not valid UTF-8 is refused as invalid JSON")
    func invalidUTF8() throws {
        let server = try ServerProcess(ServerProcess.attendees)
        for bytes: [UInt8] in [
            [0x22, 0xFF, 0x22], [0x22, 0xC0, 0x80, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22],
            [0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], [0x22, 0xE2, 0x82, 0x22],
        ] {
            let client = try server.client()
            try client.send(
                Array(
                    "POST /v1/diff HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: \(bytes.count)\r\n\r\n"
                        .utf8) + bytes)
            let response = try client.receive()
            #expect(response.status == 400)
            #expect(response.object["type"] as? String == "/problems/invalid-json")
        }
    }
}

import Foundation
import Testing

/// What to do about common mistakes.
@Suite(.serialized) struct MessageTests {
    private static func detail(_ answer: HTTPClient.Response) -> String { answer.object["detail"] as? String ?? "" }

    @Test(
        "An operator of another language is answered with the one that is meant",
        arguments: [
            ("a <> 1", "!="), ("a === 1", "=="), ("a !== 1", "!="), ("a = 1", "=="), ("a & b", "&&"), ("a | b", "||"),
            ("a and b", "&&"), ("a or b", "||"),
        ])
    func operators(expression: String, meant: String) throws {
        let client = try ServerProcess().keptClient(), written = expression.split(separator: " ")[1]
        let answer = try client.request("POST", "/v1/render", #"{"template":{"$eval":"\#(expression)"}}"#)
        #expect(Self.detail(answer).contains("found '\(written)', write '\(meant)'"), "\(answer.text)")
    }

    @Test("A path and a member with a typing mistake are answered with the one that is meant")
    func spelling() throws {
        let client = try ServerProcess(ServerProcess.attendees).keptClient()
        for (path, meant) in [
            ("/v1/sessions/party/move", "/v1/sessions/party/moves"), ("/v1/session", "/v1/sessions"),
            ("/v1/sesions/a%20b/snapshto", "/v1/sessions/a%20b/snapshot"), ("/v1/tables/", "/v1/tables"),
            ("/raedyz", "/readyz"),
        ] {
            #expect(Self.detail(try client.get(path)).hasSuffix(" Did you mean \(meant)?"), "\(path)")
        }
        for path in ["/v1/sessions/party/nothing", "/v1", "/v2/sessions/party/other", "/"] where path != "/" {
            #expect(!Self.detail(try client.get(path)).contains("Did you mean"), "\(path)")
        }
        for (method, path, body, pointer, meant) in [
            ("POST", "/v1/sessions", #"{"tabel":"attendees"}"#, "/tabel", "table"),
            ("POST", "/v1/sessions", #"{"table":"attendees","modles":{}}"#, "/modles", "models"),
            ("POST", "/v1/sessions/party/edits", #"{"delte":{}}"#, "/delte", "delete"),
            ("POST", "/v1/render", #"{"templaet":1}"#, "/templaet", "template"),
            (
                "PUT", "/v1/tables/t",
                #"{"tabel":"t","table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[]}]}"#, "/tabel", "table"
            ),
        ] {
            let answer = try client.request(method, path, body)
            let errors = answer.object["errors"] as? [[String: Any]] ?? []
            #expect(errors.first?["pointer"] as? String == pointer, "\(answer.text)")
            #expect(Self.detail(answer).hasSuffix("did you mean `\(meant)`?"), "\(answer.text)")
        }
    }

    @Test("The problem of a malformed target names the target")
    func malformedTarget() throws {
        let server = try ServerProcess()
        for (target, instance) in [
            ("*bad", "*bad"), ("/v1/%zz?a=%", "/v1/%25zz"), ("/v1/a b", "/v1/a%20b"), ("/v1/%", "/v1/%25"),
            ("/v1/é#x", "/v1/%C3%A9%23x"), ("/v1/%00", "/v1/%00"),
        ] {
            let client = try server.client()
            try client.send("GET \(target) HTTP/1.1\r\nHost: x\r\n\r\n")
            let answer = try client.receive()
            #expect(answer.status == 400 && answer.object["instance"] as? String == instance, "\(answer.text)")
        }
    }

    @Test("A page that may not use the API is logged with the option that allows it, also for its preflight")
    func refusedPages() throws {
        for method in ["POST", "OPTIONS"] {
            let client = try ServerProcess().keptClient()
            try client.request(
                method, "/v1/sessions", nil,
                headers: ["Origin": "http://app.example", "Access-Control-Request-Method": "POST"])
            #expect(
                client.server.waitForLog {
                    $0.contains(
                        " warning web page refused origin=http://app.example host=127.0.0.1")
                        && $0.contains(" option=--allow-origin=http://app.example times=1 ")
                }, "\(client.server.log)")
        }
        let client = try ServerProcess(["--allow-origin", "http://app.example"]).keptClient()
        try client.request(
            "OPTIONS", "/v1/sessions", nil,
            headers: ["Origin": "http://app.example", "Access-Control-Request-Method": "POST"])
        client.server.stop()
        #expect(!client.server.log.contains("web page refused"))
    }
}

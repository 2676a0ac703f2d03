import Foundation
import Testing

/// Of request bodies.
@Suite struct MediaTypeTests {
    @Test("A PATCH accepts a merge patch under both of its media types, and no other kind of patch")
    func mergePatch() throws {
        let client = try ServerProcess().keptClient()
        _ = try client.request("POST", "/v1/sessions", #"{"id":"s","rows":[]}"#)
        func patch(_ type: String, _ body: String) throws -> HTTPClient.Response {
            try client.request("PATCH", "/v1/sessions/s/state", body, headers: ["Content-Type": type])
        }
        for (n, type) in [
            "application/json", "application/merge-patch+json", "Application/Merge-Patch+JSON; charset=utf-8",
        ].enumerated() {
            #expect(try patch(type, #"{"n":\#(n)}"#).status == 200, "\(type)")
        }
        let before = try client.get("/v1/sessions/s/snapshot").text
        for type in [
            "application/json-patch+json", "application/merge-patch", "application/vnd.acme+json", "text/plain",
        ] {
            let refused = try patch(type, #"{"n":9}"#)
            #expect(
                refused.status == 415 && refused.object["type"] as? String == "/problems/unsupported-media-type",
                "\(type): \(refused.text)")
            #expect(refused.header("accept-patch") == "application/json, application/merge-patch+json", "\(type)")
            #expect(
                (refused.object["detail"] as? String)?.hasPrefix(
                    "The body must be application/json or application/merge-patch+json, not \(type).") == true,
                "\(refused.text)")
        }
        #expect(try client.get("/v1/sessions/s/snapshot").text == before)
    }

    @Test(
        "Requests other than PATCH accept only `application/json`, and the refusal names this type",
        arguments: [
            ("POST", "/v1/sessions", #"{"rows":[]}"#), ("PUT", "/v1/sessions/s/models", "{}"),
            ("POST", "/v1/render", #"{"template":1}"#), ("PUT", "/v1/tables/list", APITests.list),
        ])
    func othersAcceptJSON(method: String, path: String, body: String) throws {
        let client = try ServerProcess().keptClient()
        _ = try client.request("POST", "/v1/sessions", #"{"id":"s","table":\#(APITests.list)}"#)
        for type in [
            "application/merge-patch+json", "application/json-patch+json", "application/problem+json",
            "application/x-ndjson", "text/json",
        ] {
            let refused = try client.request(method, path, body, headers: ["Content-Type": type])
            #expect(
                refused.status == 415 && refused.header("accept") == "application/json"
                    && refused.header("accept-patch") == nil, "\(type): \(refused.text)")
        }
        #expect(
            try client.request(method, path, body, headers: ["Content-Type": "application/json;charset=UTF-8"]).status
                < 300)
    }

    @Test("The answer to OPTIONS names the media types that a PATCH of the resource accepts")
    func optionsNamesPatchTypes() throws {
        let client = try ServerProcess().keptClient()
        let patchable = try client.request("OPTIONS", "/v1/sessions/s/state")
        #expect(patchable.status == 204 && patchable.header("allow") == "OPTIONS, PATCH, PUT")
        #expect(patchable.header("accept-patch") == "application/json, application/merge-patch+json")
        #expect(try client.request("OPTIONS", "/v1/sessions/s/displayed-sections").header("accept-patch") == nil)
    }
}

import Foundation
import Testing

/// `GET /v1/sessions/{id}/models`.
@Suite(.serialized) struct ModelPageTests {
    private static let path = "/v1/sessions/s/models"
    private static let table =
        #"{"table":"t","sections":["a","none","b"],"cells":{"C":{}},"bindings":[{"on":{"section":"a"},"cell":"C","models":[{"id":"1","done":true},{"id":"2","done":false}],"shown":"model.done == false"},{"on":"allOtherSections","cell":"C","models":{"b":[{"id":3},{"id":4}]}}]}"#

    private func opened(_ options: [String] = [], _ opening: String? = nil) throws -> KeptClient {
        let client = try ServerProcess(options).keptClient()
        let body = opening ?? #"{"id":"s","table":\#(Self.table)}"#
        #expect(try client.request("POST", "/v1/sessions", body).status == 201)
        return client
    }

    private func ids(_ response: HTTPClient.Response) -> [String] {
        (response.object["models"] as? [[String: Any]] ?? []).map { "\($0["section"] ?? "") \($0["id"] ?? "")" }
    }

    @Test("All stored models are there, with hidden rows, hidden sections and unpublished changes")
    func everything() throws {
        let client = try opened()
        _ = try client.request("PUT", "/v1/sessions/s/displayed-sections", #"["a"]"#)
        _ = try client.request("PUT", "/v1/sessions/s/sections/b/rows/3?notify=false", #"{"id":3,"n":1.0}"#)
        #expect(try client.get("/v1/sessions/s").object["totalRowCount"] as? Int == 1)
        let page = try client.get(Self.path)
        let epoch = try #require(page.object["epoch"] as? String)
        #expect(
            page.text
                == #"{"session":"s","epoch":"\#(epoch)","revision":2,"models":[{"section":"a","id":"1","model":{"id":"1","done":true}},{"section":"a","id":"2","model":{"id":"2","done":false}},{"section":"b","id":"3","model":{"id":3,"n":1.0}},{"section":"b","id":"4","model":{"id":4}}]}"#
        )
        #expect(page.header("etag") == #""\#(epoch).2""#)
        #expect(try client.get(Self.path, headers: ["If-None-Match": page.header("etag") ?? ""]).status == 304)
        #expect(try client.request("HEAD", Self.path).header("etag") == page.header("etag"))
        #expect(try client.request("OPTIONS", Self.path).header("allow") == "GET, HEAD, OPTIONS, PATCH, PUT")
        #expect(try client.get(Self.path + "?pretty").text.contains("\n  \"models\": [\n"))
        let nameless = try opened([], #"{"id":"s","rows":[7,null]}"#).get(Self.path)
        #expect(nameless.text.contains(#""models":[{"section":"s1","model":7},{"section":"s1","model":null}]"#))
    }

    @Test("A page has `limit` models of the section or of all, and `next` if there are more")
    func pages() throws {
        let client = try opened()
        var found: [String] = [], query = "?limit=1", count = 0
        while count < 9 {
            let page = try client.get(Self.path + query)
            found += ids(page)
            count += 1
            guard let next = page.object["next"] as? String else { break }
            query = "?limit=1&after=\(next)"
        }
        #expect(found == ["a 1", "a 2", "b 3", "b 4"] && count == 4)
        let first = try client.get(Self.path + "?section=b&limit=1")
        let next = try #require(first.object["next"] as? String)
        let second = try client.get(Self.path + "?section=b&limit=1&after=\(next)")
        #expect(ids(first) == ["b 3"] && ids(second) == ["b 4"] && second.object["next"] == nil)
        #expect(try ids(client.get(Self.path + "?section=none")).isEmpty)
        #expect(try ids(client.get(Self.path + "?section=a&after=\(next)")).isEmpty, "a is before it")
        let missing = try client.get(Self.path + "?section=x")
        #expect(missing.status == 404 && missing.text.contains("/problems/section-not-found"))
        let many = (0..<1_001).map { #"{"id":"\#($0)"}"# }.joined(separator: ",")
        _ = try client.request("PATCH", Self.path, #"{"b":[\#(many)]}"#)
        #expect(
            try ids(client.get(Self.path)).count == 100 && ids(client.get(Self.path + "?limit=1000")).count == 1_000)
    }

    @Test("A page ends behind the model that fills a mebibyte")
    func largeModels() throws {
        let text = String(repeating: "x", count: 300_000)
        let rows = (0..<6).map { #"{"id":"\#($0)","text":"\#(text)"}"# }.joined(separator: ",")
        let client = try opened([], #"{"id":"s","rows":[\#(rows)]}"#)
        let page = try client.get(Self.path), next = try #require(page.object["next"] as? String)
        #expect(ids(page) == ["s1 0", "s1 1", "s1 2", "s1 3"])
        #expect(try ids(client.get(Self.path + "?after=\(next)")) == ["s1 4", "s1 5"])
    }

    @Test("Other parameters and values are refused, and a page of another epoch is not continued")
    func refusals() throws {
        let client = try opened()
        for query in [
            "limit=0", "limit=1001", "limit=x", "limit=", "after=", "after=1", "after=e.1.1.1.1", "after=e.1.1.1.1.x",
            "offset=1", "section=a&section=b",
        ] {
            let refused = try client.get("\(Self.path)?\(query)")
            #expect(
                refused.status == 400 && refused.text.contains("/problems/bad-request"), "\(query): \(refused.text)")
        }
        let other = try client.get(Self.path + "?after=e.1.1.1.1.-1")
        #expect(other.status == 410 && other.text.contains("/problems/revision-not-available"), "\(other.text)")
        #expect(try client.get("/v1/sessions/gone/models").status == 404)
    }

    @Test("Participants and viewers read no stored models")
    func roles() throws {
        let server = try AccessTests.server()
        for role in ["participant", "viewer"] {
            let token = AccessTests.bearer(try AccessTests.token(role, on: server).token)
            let refused = try server.client().get("/v1/sessions/mine/models", headers: token)
            #expect(refused.status == 403 && refused.text.contains("/problems/role"))
        }
        #expect(
            try ids(server.client().get("/v1/sessions/mine/models", headers: AccessTests.controller)).count == 3)
    }
}

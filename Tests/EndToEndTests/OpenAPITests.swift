import Foundation
import Testing

/// `GET /openapi.json` on the real binary. What it says is tested beside the router, and by schemathesis.
@Suite struct OpenAPITests {
    @Test("The API's description is there for who has no token, has a strong ETag, and is not sent twice")
    func theDescriptionIsForEveryone() throws {
        let client = try AccessTests.server().keptClient()
        let response = try client.get("/openapi.json")
        #expect(response.status == 200 && response.header("content-type") == "application/json")
        #expect(response.object["openapi"] as? String == "3.1.0")
        let etag = try #require(response.header("etag"))
        #expect(etag.wholeMatch(of: /"[0-9a-f]{16}"/) != nil)
        let known = try client.get("/openapi.json", headers: ["If-None-Match": "\"x\", W/\(etag)"])
        #expect(known.status == 304 && known.header("etag") == etag && known.text.isEmpty)
        let other = try client.get("/openapi.json?pretty", headers: ["If-None-Match": "\"x\""])
        #expect(other.status == 200 && other.text.hasPrefix("{\n"))
        #expect(try client.request("POST", "/openapi.json", "{}").status == 405)
    }
}

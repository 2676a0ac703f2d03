import Foundation
import TestSupport
import Testing

/// Ids of rows and sections.
@Suite(.serialized) struct IDTests {
    /// At the bound in bytes, with the longest percent-encoding, and others that need it.
    private static let ids =
        [
            String(repeating: "é", count: 200), String(repeating: "\u{1F600}", count: 100),
            String(repeating: "x", count: 400), String(repeating: "9", count: 400), "a/b", "a b", "%", "%2E", "%zz",
            "...",
            ".a", "a.", "ä", "e\u{301}", "?", "#", "+", "\n", "\u{1}", "&=;", "\\", "\"", "0",
        ]
    private static let refused =
        ["", ".", "..", "\u{0}", "a\u{0}b", String(repeating: "x", count: 401), String(repeating: "é", count: 201)]

    private static func json(_ text: String) throws -> String {
        String(decoding: try JSONEncoder().encode(text), as: UTF8.self)
    }

    private static func encoded(_ text: String) -> String {
        let letters = CharacterSet(charactersIn: "\u{0}"..."\u{7F}").intersection(.alphanumerics)
        return text.addingPercentEncoding(withAllowedCharacters: letters) ?? ""
    }

    @Test("A row can be read at its path and be the anchor of two windows in one request, whatever its id is")
    func reachable() throws {
        let client = try ServerProcess().keptClient()
        for id in Self.ids {
            let text = try Self.json(id), encoded = Self.encoded(id), session = "s-\(Self.ids.firstIndex(of: id) ?? 0)"
            let opened = try client.request(
                "POST", "/v1/sessions", #"{"id":"\#(session)","sections":[{"id":\#(text),"rows":[]}]}"#)
            #expect(opened.status == 201, "\(opened.text)")
            let path = "/v1/sessions/\(session)"
            let made = try client.request(
                "POST", "\(path)/sections/\(encoded)/rows", #"{"model":{"id":\#(text)}}"#)
            #expect(made.status == 201, "\(made.text)")
            let read = try client.get(try #require(made.header("location")))
            #expect(read.status == 200 && read.object["id"] as? String == id, "\(id): \(read.text)")
            let window = "section=\(encoded)&around=\(encoded)&aroundSection=\(encoded)&before=10000&after=10000"
            let snapshot = try client.get("\(path)/snapshot?\(window)")
            #expect(snapshot.status == 200 && snapshot.object["totalRowCount"] as? Int == 1, "\(id)")
            let from = "around=\(encoded)&aroundSection=\(encoded)&before=10000&after=10000"
            let updates = try client.get("\(path)/updates?since=1&wait=0&\(from)&from=\(Self.encoded(from))")
            #expect(updates.status == 200, "\(id): \(updates.text)")
            #expect(try client.request("DELETE", "\(path)/sections/\(encoded)/rows/\(encoded)").status == 200)
        }
    }

    /// `ID` stands for a row's or section's id, in the session of `opened`.
    private static let ways: [(method: String, path: String, body: String)] = [
        ("POST", "/v1/sessions", #"{"sections":[{"id":"a","rows":[{"id":ID}]}]}"#),
        ("POST", "/v1/sessions", #"{"sections":[{"id":ID,"rows":[]}]}"#),
        ("POST", "/v1/sessions", #"{"row":{"id":ID}}"#),
        ("POST", "/v1/sessions", #"{"table":"t","models":{"a":[{"id":ID}]}}"#),
        ("POST", "/v1/sessions", #"{"table":"t","models":{ID:[]}}"#),
        ("POST", "/v1/sessions", #"{"table":"t","models":{"derived":[]},"state":{"derived":ID}}"#),
        (
            "POST", "/v1/sessions",
            #"{"table":{"table":"i","sections":["a",ID],"cells":{"C":{}},"bindings":[{"on":"allOtherSections","cell":"C"}]}}"#
        ),
        ("PUT", "/v1/sessions/s/models", #"{"a":[{"id":1},{"id":ID}]}"#),
        ("PATCH", "/v1/sessions/s/models", #"{ID:[]}"#),
        ("PATCH", "/v1/sessions/s/state", #"{"derived":ID}"#),
        ("POST", "/v1/sessions/s/edits", #"{"insert":{"section":"a","row":0},"model":{"id":ID}}"#),
        ("POST", "/v1/sessions/s/rows", #"{"at":[0,0],"model":{"id":ID}}"#),
        ("PUT", "/v1/sessions/s/rows/0/0", #"{"model":{"id":ID}}"#),
        ("PATCH", "/v1/sessions/s/rows", #"{"rows":[{"at":[0,0],"model":{"id":ID}}]}"#),
        ("PUT", "/v1/sessions/s/sections/0/rows", #"{"rows":[{"id":ID}]}"#),
        ("POST", "/v1/sessions/s/sections", #"{"section":{"id":ID,"rows":[]},"at":0}"#),
        ("PUT", "/v1/sessions/s/sections/0", #"{"rows":[{"id":ID}]}"#),
        ("PUT", "/v1/sessions/s/sections", #"{"sections":[{"id":"a","rows":[{"id":ID}]}]}"#),
        ("POST", "/v1/sessions/s/sections/a/rows", #"{"model":{"id":ID}}"#),
        (
            "POST", "/v1/sessions/s/transactions",
            #"{"commands":[{"dataSource":{"putRow":{"section":ID,"rowId":"x","model":{"id":"x"}}}}]}"#
        ),
        (
            "POST", "/v1/sessions/s/transactions",
            #"{"commands":[{"dataSource":{"putRow":{"section":"a","rowId":ID,"model":{"id":ID}}}}]}"#
        ),
    ]

    @Test("An id that no request can name is refused wherever it comes from, and changes nothing")
    func refusedEverywhere() throws {
        let client = try ServerProcess().keptClient()
        let table =
            #"{"table":"t","sections":"dynamic","state":{"derived":"d"},"cells":{"C":{}},"bindings":[{"on":"allOtherSections","cell":"C","models":{"a":[{"id":"x"}]},"editing":"insert"},{"on":{"section":"derived"},"cell":"C","modelsFrom":[{"id":"${state.derived}"}]},{"on":{"section":"made"},"cell":"C","models":[{"id":"made"}],"onTap":[STEP]}]}"#
        let steps = [
            #"{"insert":{"section":"a","model":{"id":{"$eval":"state.id"}}}}"#,
            #"{"update":{"merge":{"id":{"$eval":"state.id"}}}}"#, #"{"replace":{"model":{"id":{"$eval":"state.id"}}}}"#,
            #"{"setModels":{"a":[{"id":{"$eval":"state.id"}}]}}"#, #"{"setModels":{"${state.id}":[]}}"#,
        ]
        func described(_ step: String) -> String { table.replacingOccurrences(of: "STEP", with: step) }
        #expect(try client.request("PUT", "/v1/tables/t", described(steps[0])).status == 201)
        #expect(
            try client.request("POST", "/v1/sessions", #"{"id":"s","table":"t","models":{"derived":[]}}"#).status == 201
        )
        let before = try client.get("/v1/sessions/s/snapshot").text
        for id in Self.refused {
            let text = try Self.json(id)
            for (method, path, body) in Self.ways {
                let answer = try client.request(
                    method, path, body.replacingOccurrences(of: "ID", with: text))
                #expect(
                    answer.status == 422 && answer.text.contains("/problems/id-invalid"),
                    "\(method) \(path) \(body) \(id.prefix(4)): \(answer.status) \(answer.text)")
            }
            for (index, step) in steps.enumerated() {
                let name = "h\(index)"
                _ = try client.request("DELETE", "/v1/sessions/\(name)")
                let opened = try client.request(
                    "POST", "/v1/sessions",
                    #"{"id":"\#(name)","table":\#(described(step)),"state":{"id":\#(text)}}"#)
                #expect(opened.status == 201, "\(opened.text)")
                let tapped = try client.request("POST", "/v1/sessions/\(name)/taps", #"{"at":{"id":"made"}}"#)
                #expect(tapped.status == 422 && tapped.text.contains("/problems/id-invalid"), "\(step): \(tapped.text)")
            }
            for (place, description) in [
                (
                    "/sections/1",
                    #"{"table":"u","sections":["a",ID],"cells":{"C":{}},"bindings":[{"on":"allOtherSections","cell":"C"}]}"#
                ),
                (
                    "/bindings/0/models/1",
                    #"{"table":"u","cells":{"C":{}},"bindings":[{"cell":"C","models":[{"id":"a"},{"id":ID}]}]}"#
                ),
            ] {
                let answer = try client.request(
                    "PUT", "/v1/tables/u", description.replacingOccurrences(of: "ID", with: text))
                #expect(
                    answer.status == 422 && answer.text.contains("/problems/description-invalid")
                        && answer.text.contains(#""pointer":"\#(place)""#), "\(answer.text)")
            }
        }
        #expect(try client.get("/v1/sessions/s/snapshot").text == before)
        #expect(try client.get("/v1/tables/u").status == 404)
    }
}

import Foundation
import TestSupport
import Testing

/// Rows at paths of section id and row id.
@Suite(.serialized) struct RowsByIDTests {
    private static let opening =
        #"{"id":"s","sections":[{"id":"open","rows":[{"id":"a/b é"},{"id":2}]},{"id":"done","rows":[]}]}"#
    private static let row = "/v1/sessions/s/sections/open/rows/a%2Fb%20%C3%A9"

    private func opened(_ options: [String] = []) throws -> KeptClient {
        let client = try ServerProcess(options).keptClient()
        #expect(try client.request("POST", "/v1/sessions", Self.opening).status == 201)
        return client
    }

    @Test("A row can be read, put, patched and deleted at its path, whose parts are percent-decoded")
    func oneRow() throws {
        let client = try opened()
        let read = try client.get(Self.row)
        #expect(read.status == 200 && read.text == #"{"id":"a/b é"}"#)
        let tag = try #require(read.header("etag"))
        #expect(try client.get(Self.row, headers: ["If-None-Match": tag]).status == 304)
        let put = try client.request("PUT", Self.row, #"{"id":"a/b é","n":1.0}"#, headers: ["If-Match": tag])
        #expect(put.status == 200 && put.header("location") == nil)
        #expect(put.text.contains(#""outcome":"applied","notification":{"rows":[[0,0]]}"#), "\(put.text)")
        #expect(try client.request("PUT", Self.row, #"{"id":"a/b é"}"#, headers: ["If-Match": tag]).status == 412)
        #expect(
            try client.request("PUT", Self.row, #"{"id":"a/b é","n":1.0}"#).object["outcome"] as? String == "unchanged")
        let patched = try client.request(
            "PATCH", Self.row, #"{"n":null,"m":[1]}"#, headers: ["Content-Type": "application/merge-patch+json"])
        #expect(patched.status == 200)
        #expect(try client.get(Self.row).text == #"{"id":"a/b é","m":[1]}"#)
        #expect(try client.request("DELETE", Self.row).status == 200)
        for method in ["GET", "DELETE"] {
            let gone = try client.request(method, Self.row)
            #expect(gone.status == 404 && gone.text.contains("/problems/row-not-found"))
        }
        let nowhere = try client.get("/v1/sessions/s/sections/none/rows/2")
        #expect(nowhere.status == 404 && nowhere.text.contains("/problems/section-not-found"))
        #expect(try client.get("/v1/sessions/s/sections/open/rows/2").text == #"{"id":2}"#)
    }

    @Test("Inserting a row gets 201 with the row's path, and putting it again gets 200")
    func created() throws {
        let client = try opened()
        for (method, path, body) in [
            ("PUT", "/v1/sessions/s/sections/done/rows/x%2Fy", #"{"id":"x/y"}"#),
            ("POST", "/v1/sessions/s/sections/new%20one/rows", #"{"model":{"id":"%é"},"at":"start"}"#),
        ] {
            let dry = try client.request(method, path + "?dryRun", body)
            #expect(dry.status == 201)
            for preference in ["return=minimal", "return=representation", "none"] {
                let client = try opened()
                let made = try client.request(
                    method, path, body, headers: ["Prefer": preference, "Idempotency-Key": "k"])
                #expect(made.status == (preference == "return=minimal" ? 204 : 201), "\(made.text)")
                let location = try #require(made.header("location"))
                #expect(try client.get(location).status == 200)
                let again = try client.request(
                    method, path, body, headers: ["Prefer": preference, "Idempotency-Key": "k"])
                #expect(again.status == made.status && again.header("location") == location)
                #expect(again.header("idempotent-replayed") == "true")
            }
            _ = try client.request(method, path, body)
        }
        #expect(try client.request("PUT", "/v1/sessions/s/sections/done/rows/x%2Fy", #"{"id":"x/y"}"#).status == 200)
    }

    @Test("A model whose id differs from its path, or is a duplicate, is refused and changes nothing")
    func refused() throws {
        let client = try opened()
        let snapshot = try client.get("/v1/sessions/s/snapshot").text
        for (method, path, body, status, problem, pointer) in [
            ("PUT", Self.row, #"{"id":"b"}"#, 422, "model-invalid", #""pointer":"/id""#),
            ("PATCH", Self.row, #"{"id":"b"}"#, 422, "model-invalid", #""pointer":"/id""#),
            ("POST", "/v1/sessions/s/sections/open/rows", #"{"model":{"id":2}}"#, 422, "duplicate-row-id", ""),
            (
                "POST", "/v1/sessions/s/sections/open/rows", #"{"at":"x","model":1}"#, 400, "bad-request",
                #""pointer":"/at""#
            ),
            (
                "POST", "/v1/sessions/s/sections/open/rows", #"{"section":"x","model":1}"#, 400, "bad-request",
                "/section"
            ),
            ("PUT", Self.row, "", 400, "invalid-json", ""),
            ("PUT", Self.row + "?notify=x", #"{"id":"a/b é"}"#, 400, "bad-request", ""),
        ] {
            let refused = try client.request(method, path, body)
            #expect(
                refused.status == status && refused.text.contains(problem)
                    && (pointer == "" || refused.text.contains(pointer)),
                "\(method) \(path) \(body): \(refused.text)")
        }
        #expect(try client.get("/v1/sessions/s/snapshot").text == snapshot)
    }

    @Test("Calls by ids can be in a transaction or unpublished, and a replay of their journal gives the same snapshot")
    func journalled() throws {
        let client = try opened()
        #expect(
            try client.request(
                "POST", "/v1/sessions/s/transactions",
                #"{"commands":[{"dataSource":{"putRow":{"section":"open","rowId":7,"model":{"id":7}}}},{"dataSource":{"patchRow":{"section":"open","rowId":"7","patch":{"n":1}}}},{"dataSource":{"insertRow":{"section":"done","at":{"before":"none"},"model":1}}}]}"#
            ).status == 404)
        #expect(
            try client.request(
                "POST", "/v1/sessions/s/transactions",
                #"{"commands":[{"dataSource":{"putRow":{"section":"open","rowId":7,"model":{"id":7}}}},{"dataSource":{"patchRow":{"section":"open","rowId":"7","patch":{"n":1}}}},{"dataSource":{"deleteRow":{"section":"open","rowId":"2"}}}]}"#
            ).status == 200)
        let silent = try client.request("PUT", "/v1/sessions/s/sections/open/rows/8?notify=false", #"{"id":8}"#)
        #expect(silent.status == 201 && silent.text.contains(#""notification":null"#))
        #expect(!(try client.get("/v1/sessions/s/snapshot").text.contains(#""id":"8""#)))
        #expect(try client.get("/v1/sessions/s/sections/open/rows/8").status == 200)
        #expect(
            try client.request(
                "POST", "/v1/sessions/s/sections/open/rows", #"{"at":{"after":"8"},"model":{"id":9},"notify":true}"#
            ).status == 201)
        let snapshot = try client.get("/v1/sessions/s/snapshot").text
        let journal = try client.get("/v1/sessions/s/journal", headers: ["Accept": "application/x-ndjson"]).text
        let directory = try TemporaryDirectory(), path = directory.path("journal.ndjson")
        try journal.write(toFile: path, atomically: true, encoding: .utf8)
        let run = try CommandRun(["replay", path])
        #expect(run.status == 0 && run.output == snapshot + "\n", "\(run.errors)")
    }
}

import Foundation
import Testing

@Suite(.serialized) struct TemplateFailureTests {
    private static let table =
        #"{"table":"t","cells":{"C":{},"D":{"viewModel":{"properties":{"n":{"type":"uint8"}}}}},"templates":{"by":{"name":"by ${model.by.name}"}},"bindings":[{"on":{"section":"a"},"cell":"C","models":[],"viewModel":{"title":"${model.id}","detail":"by ${model.by.name}"},"onTap":[{"setState":{"tapped":{"$eval":"1 / model.by.zero"}}}]},{"on":{"section":"b"},"cell":"C","models":[],"viewModel":[{"$template":"by"}]},{"on":{"section":"c"},"cell":"D","models":[],"viewModel":{"n":{"$eval":"model.n"}},"header":"${count / count}"}],"sections":["a","b","c"]}"#

    private static func start(_ options: [String] = [], environment: [String: String] = [:]) throws -> KeptClient {
        let client = try ServerProcess(options, environment: environment).keptClient()
        let opened = try client.request(
            "POST", "/v1/sessions", #"{"id":"s","table":\#(table),"models":{"c":[{"id":"1","n":1}]}}"#,
            headers: AccessTests.controller)
        #expect(opened.status == 201, "\(opened.text)")
        return client
    }

    private static func patch(
        _ client: KeptClient, _ models: [String: [[String: Any]]], headers: [String: String] = [:]
    ) throws -> HTTPClient.Response {
        let body = String(decoding: try JSONSerialization.data(withJSONObject: models), as: UTF8.self)
        let answer = try client.request("PATCH", "/v1/sessions/s/models", body, headers: headers)
        #expect(answer.status == 422 && answer.text.contains("/problems/template-failed"), "\(answer.text)")
        return answer
    }

    private static func errors(_ answer: HTTPClient.Response) -> [[String: Any]] {
        answer.object["errors"] as? [[String: Any]] ?? []
    }

    @Test("A failed template names the section, the row's id, and its place in the description and the expression")
    func namesTheRow() throws {
        let client = try Self.start()
        var rows: [[String: Any]] = (0..<3_000).map { ["id": "r\($0)", "by": ["name": "x"]] }
        rows[1_234]["by"] = "Ada"
        rows[2_345]["by"] = nil
        let answer = try Self.patch(client, ["a": rows]), errors = Self.errors(answer)
        #expect(errors.map { $0["id"] as? String } == ["r1234", "r2345"])
        #expect(errors.map { $0["row"] as? Int } == [1_234, 2_345])
        for error in errors {
            #expect(error["pointer"] as? String == "/bindings/0/viewModel/detail" && error["section"] as? String == "a")
            let detail = error["detail"] as? String ?? ""
            #expect(
                detail.contains("in ${model.by.name}, for the row \"r\(error["row"] ?? "")\" of the section \"a\""),
                "\(detail)")
        }
        let detail = answer.object["detail"] as? String ?? ""
        #expect(
            detail.contains("from /bindings/0/viewModel/detail") && detail.contains("the row \"r1234\"")
                && detail.contains("`errors` lists 2 failures"), "\(detail)")
    }

    @Test("The failures of several sections are listed, up to ten")
    func upToTen() throws {
        let client = try Self.start()
        func rows(_ count: Int) -> [[String: Any]] { (0..<count).map { ["id": "r\($0)", "by": "x"] } }
        for (a, b, named) in [(0, 1, 1), (2, 3, 5), (9, 1, 10), (9, 2, 10), (10, 1, 10), (30, 30, 10)] {
            let errors = Self.errors(try Self.patch(client, ["a": rows(a), "b": rows(b)]))
            #expect(errors.count == named, "\(a) and \(b)")
            #expect(errors.filter { $0["section"] as? String == "a" }.count == min(a, 10), "\(a) and \(b)")
        }
    }

    @Test("In a named template, a view model, a title and a handler, the place is that of what failed")
    func places() throws {
        let client = try Self.start()
        func only(_ answer: HTTPClient.Response) -> [String: Any] {
            #expect(Self.errors(answer).count == 1, "\(answer.text)")
            return Self.errors(answer).first ?? [:]
        }
        let named = only(try Self.patch(client, ["b": [["id": "1"]]]))
        #expect(named["pointer"] as? String == "/templates/by/name" && named["id"] as? String == "1", "\(named)")
        let mismatch = only(try Self.patch(client, ["c": [["id": "1", "n": 256]]]))
        #expect(
            mismatch["pointer"] as? String == "/cells/D/viewModel/properties/n/type"
                && mismatch["id"] as? String == "1",
            "\(mismatch)")
        let title = only(try Self.patch(client, ["c": []]))
        #expect(
            title["pointer"] as? String == "/bindings/2/header" && title["section"] as? String == "c"
                && title["row"] == nil, "\(title)")
        #expect(
            try client.request(
                "PATCH", "/v1/sessions/s/models", #"{"a":[{"id":"1","by":{"name":"x","zero":0}}]}"#
            ).status == 200)
        let tap = only(try client.request("POST", "/v1/sessions/s/taps", #"{"at":{"id":"1","section":"a"}}"#))
        #expect(
            tap["pointer"] as? String == "/bindings/0/onTap/0/setState/tapped/$eval" && tap["id"] as? String == "1",
            "\(tap)")
        // In a transaction, first the command.
        let inTransaction = Self.errors(
            try client.request(
                "POST", "/v1/sessions/s/transactions",
                #"{"commands":[{"patchState":{}},{"taps":{"at":{"id":"1","section":"a"}}}]}"#))
        #expect(
            inTransaction.map { $0["pointer"] as? String } == [
                "/commands/1", "/bindings/0/onTap/0/setState/tapped/$eval",
            ], "\(inTransaction)")
    }

    @Test("Only a controller gets to know the row for which a template failed")
    func participants() throws {
        let client = try Self.start(environment: ["BRAID_TOKEN": "secret-of-the-controller"])
        #expect(
            try client.request(
                "PATCH", "/v1/sessions/s/models", #"{"a":[{"id":"r1","by":{"name":"x","zero":0}}]}"#,
                headers: AccessTests.controller
            ).status == 200)
        let token = try AccessTests.token("participant", on: client.server, session: "s").token
        for key in [nil, "k", "k"] {
            let answer = try client.request(
                "POST", "/v1/sessions/s/taps", #"{"at":[0,0]}"#,
                headers: AccessTests.bearer(token).merging(key.map { ["Idempotency-Key": $0] } ?? [:]) { $1 })
            #expect(answer.status == 422 && answer.text.contains("division by zero"), "\(answer.text)")
            #expect(!answer.text.contains("r1") && Self.errors(answer).isEmpty, "\(answer.text)")
        }
    }
}

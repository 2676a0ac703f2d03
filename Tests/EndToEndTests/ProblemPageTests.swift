import Foundation
import Testing

/// The pages' examples must be like real answers.
@Suite struct ProblemPageTests {
    /// Its sections fail for different reasons.
    static let table = """
        {"table": "contacts", "sections": ["friends", "blocked", "notes"],
         "modelTypes": {
           "Contact": {"schema": {"properties": {"id": {"type": "string"}, "name": {"type": "string"}}}},
           "Note": {}},
         "cells": {"ContactCell": {"events": {"called": {"properties": {"minutes": {"type": "uint8"}}}}}, "NoteCell": {}},
         "bindings": [
           {"on": {"section": "friends"}, "cell": "ContactCell", "modelType": "Contact",
            "models": [{"id": "ada", "name": "Ada"}, {"id": "bob", "name": "Bob"}, {"id": "carl", "name": "Carl"}],
            "editing": "delete", "moving": {"to": ["blocked"]},
            "onDelete": [{"if": "model.id == 'bob'", "do": [{"reject": "Bob cannot be removed."}]},
                         {"if": "model.id == 'ada'", "do": [{"insert": {"section": "friends", "model": {"id": "dan", "name": "Dan"}}}]}]},
           {"on": {"section": "blocked"}, "cell": "ContactCell", "modelType": "Contact",
            "models": [{"id": "bob", "name": "Bob"}], "editing": "insert"},
           {"on": {"section": "notes"}, "cell": "NoteCell", "modelType": "Note", "models": [{"id": "n1"}],
            "moving": {"to": "anySection"}}]}
        """

    static let session = "/v1/sessions/contacts"

    struct Cause: CustomTestStringConvertible {
        var problem: String
        var method = "POST"
        var path: String
        var body: String?
        var headers: [String: String] = [:]

        var testDescription: String { problem }
    }

    /// Their answers are the pages' examples, except for the request id.
    static let exact: [Cause] = [
        Cause(problem: "ambiguous-row", path: "\(session)/edits", body: #"{"delete": {"id": "bob"}}"#),
        Cause(problem: "bad-request", path: "\(session)/edits", body: #"{"delete": {"id": "ada", "index": 0}}"#),
        Cause(
            problem: "description-invalid", method: "PUT", path: "/v1/tables/contacts",
            body: #"{"table": "contacts", "cells": {"ContactCell": {}}, "bindings": [{"cell": "ContactCel"}]}"#),
        Cause(
            problem: "duplicate-row-id", method: "PUT", path: "\(session)/models",
            body: #"{"friends": [{"id": "ada", "name": "Ada"}, {"id": "ada", "name": "Ada"}]}"#),
        Cause(
            problem: "editing-not-allowed", path: "\(session)/edits",
            body: #"{"delete": {"section": "notes", "row": 0}}"#
        ),
        Cause(
            problem: "event-invalid", path: "\(session)/events",
            body: #"{"at": {"id": "ada"}, "event": {"called": {"minutes": 300}}}"#),
        Cause(
            problem: "event-undeclared", path: "\(session)/events",
            body: #"{"at": {"id": "ada"}, "event": {"messaged": {}}}"#),
        Cause(problem: "expectation-failed", path: "/v1/sessions", body: "{}", headers: ["Expect": "100-maybe"]),
        Cause(problem: "handler-contract", path: "\(session)/edits", body: #"{"delete": {"id": "ada"}}"#),
        Cause(
            problem: "id-invalid", method: "PUT", path: "\(session)/models",
            body: #"{"friends": [{"id": "..", "name": "Eve"}]}"#),
        Cause(problem: "invalid-json", path: "/v1/render", body: #"{"template": }"#),
        Cause(
            problem: "models-do-not-fit", method: "PUT", path: "\(session)/table",
            body:
                #"{"table": {"table": "contacts", "sections": ["friends", "blocked"], "cells": {"C": {}}, "bindings": [{"on": "allOtherSections", "cell": "C"}]}}"#
        ),
        Cause(problem: "method-not-allowed", method: "PUT", path: "\(session)/snapshot", body: "{}"),
        Cause(
            problem: "model-invalid", method: "PUT", path: "\(session)/models",
            body: #"{"friends": [{"id": "eve", "name": 5}]}"#),
        Cause(
            problem: "model-required", path: "\(session)/edits", body: #"{"insert": {"section": "blocked", "row": 0}}"#),
        Cause(
            problem: "model-type-mismatch", path: "\(session)/moves",
            body: #"{"from": {"section": "notes", "row": 0}, "to": {"section": "friends", "row": 0}}"#),
        Cause(
            problem: "move-not-allowed", path: "\(session)/moves",
            body: #"{"from": {"section": "friends", "row": 0}, "to": {"section": "notes", "row": 0}}"#),
        Cause(problem: "not-acceptable", method: "GET", path: "/v1/tables", headers: ["Accept": "text/html"]),
        Cause(problem: "no-such-resource", method: "GET", path: "/v1/session"),
        Cause(problem: "session-not-found", method: "GET", path: "/v1/sessions/contact"),
        Cause(problem: "table-not-found", method: "GET", path: "/v1/tables/contact"),
        Cause(problem: "token-not-found", method: "DELETE", path: "\(session)/tokens/t1"),
        Cause(
            problem: "origin-not-allowed", method: "GET", path: "/v1/tables",
            headers: ["Origin": "https://shop.example"]
        ),
        Cause(
            problem: "precondition-failed", method: "DELETE", path: "/v1/tables/contacts", headers: ["If-Match": "*"]),
        Cause(
            problem: "rejected", path: "\(session)/edits", body: #"{"delete": {"id": "bob", "section": "friends"}}"#),
        Cause(problem: "row-gone", path: "\(session)/taps?base=0", body: #"{"at": {"id": "carl"}}"#),
        Cause(problem: "row-not-found", path: "\(session)/taps", body: #"{"at": {"id": "nobody"}}"#),
        Cause(problem: "section-not-found", method: "PUT", path: "\(session)/models", body: #"{"invited": []}"#),
        Cause(problem: "sections-are-declared", path: "\(session)/sections", body: #"{"section": {"rows": []}}"#),
        Cause(problem: "session-exists", path: "/v1/sessions", body: #"{"table": "contacts", "id": "contacts"}"#),
        Cause(problem: "table-in-use", method: "DELETE", path: "/v1/tables/contacts"),
        Cause(problem: "template-failed", path: "/v1/render", body: #"{"template": {"price": {"$eval": "1 / 0"}}}"#),
        Cause(
            problem: "idempotency-key-reused", path: "\(session)/taps", body: #"{"at": {"id": "nobody"}}"#,
            headers: ["Idempotency-Key": "order-17"]),
        Cause(
            problem: "unsupported-media-type", path: "/v1/render", body: "{}", headers: ["Content-Type": "text/plain"]),
    ]

    /// With the session `contacts`, from which a request with the key `order-17` has deleted Carl.
    static func server(_ options: [String] = []) throws -> ServerProcess {
        let server = try ServerProcess(options)
        let client = try server.client()
        try #require(try client.request("PUT", "/v1/tables/contacts", table).status == 201)
        let opened = try client.request("POST", "/v1/sessions", #"{"table": "contacts", "id": "contacts"}"#)
        try #require(opened.status == 201, "\(opened.text)")
        let deleted = try client.request(
            "POST", "\(session)/edits", #"{"delete": {"id": "carl"}}"#, headers: ["Idempotency-Key": "order-17"])
        try #require(deleted.status == 200, "\(deleted.text)")
        return server
    }

    private func example(_ problem: String, _ server: ServerProcess) throws -> [String: Any] {
        let page = try server.client().get("/problems/\(problem)").object
        return try #require(page["example"] as? [String: Any])
    }

    @Test("The example on a problem's page is the answer to a request that causes this problem")
    func examplesAreReal() throws {
        let server = try Self.server()
        for cause in Self.exact {
            var expected = try example(cause.problem, server)
            let answer = try server.client().request(cause.method, cause.path, cause.body, headers: cause.headers)
            var real = answer.object
            #expect(real["requestId"] is String)
            expected["requestId"] = nil
            real["requestId"] = nil
            #expect(
                NSDictionary(dictionary: real) == NSDictionary(dictionary: expected), "\(cause.problem): \(answer.text)"
            )
        }
    }

    @Test("The example of `misdirected-request` is the answer to a request with an unknown host")
    func misdirectedExampleIsReal() throws {
        let server = try ServerProcess()
        let client = try server.client()
        try client.send("GET /v1/tables HTTP/1.1\r\nHost: intranet.example\r\n\r\n")
        let expected = try example("misdirected-request", server)
        #expect(try client.receive().object["detail"] as? String == expected["detail"] as? String)
    }

    @Test("Requests without a token, or with a token of a lower role, get the examples of the problems' pages")
    func accessExamplesAreReal() throws {
        let server = try AccessTests.server()
        let none = try server.client().get("/v1/tables")
        #expect(none.object["detail"] as? String == (try example("unauthorized", server))["detail"] as? String)
        let viewer = try AccessTests.token("viewer", on: server)
        let refused = try server.client().request(
            "PATCH", "/v1/sessions/mine/state", "{}", headers: AccessTests.bearer(viewer.token))
        #expect(refused.object["detail"] as? String == (try example("role", server))["detail"] as? String)
        let participant = try AccessTests.token("participant", on: server)
        let undo = try server.client().request(
            "POST", "/v1/sessions/mine/undo", #"{"last":"mine"}"#, headers: AccessTests.bearer(participant.token))
        #expect(undo.object["detail"] as? String == (try example("undo-not-allowed", server))["detail"] as? String)
    }

    @Test("A request beyond a limit gets the example of the problem's page, with other numbers")
    func limitExamplesAreReal() throws {
        let server = try Self.server([
            "--max-rows", "6", "--max-transaction", "1", "--max-sessions", "1", "--max-body-bytes", "2000",
            "--journal-limit", "1",
        ])
        let six = (0..<6).map { #"{"id":"\#($0)","name":"x"}"# }.joined(separator: ",")
        let tap = #"{"taps":{"at":{"id":"ada"}}}"#
        let causes: [Cause] = [
            Cause(
                problem: "too-many-rows", method: "PATCH", path: "\(Self.session)/models",
                body: #"{"friends":[\#(six)]}"#
            ),
            Cause(
                problem: "transaction-too-long", path: "\(Self.session)/transactions",
                body: #"{"commands":[\#(tap),\#(tap)]}"#),
            Cause(problem: "too-many-sessions", path: "/v1/sessions", body: #"{"table":"contacts"}"#),
            Cause(problem: "content-too-large", path: "/v1/render", body: String(repeating: " ", count: 2_001)),
            Cause(
                problem: "etag-mismatch", method: "PATCH", path: "\(Self.session)/state", body: "{}",
                headers: ["If-Match": "\"x.1\""]),
            Cause(problem: "base-too-old", path: "\(Self.session)/taps?base=x.0", body: #"{"at":{"id":"ada"}}"#),
            Cause(problem: "target-too-long", method: "GET", path: "/\(String(repeating: "a", count: 9_000))"),
            Cause(
                problem: "headers-too-large", method: "GET", path: "/healthz",
                headers: ["X": String(repeating: "a", count: 40_000)]),
        ]
        for cause in causes {
            let expected = try example(cause.problem, server)
            let answer = try server.client().request(cause.method, cause.path, cause.body, headers: cause.headers)
            #expect(answer.status == expected["status"] as? Int, "\(cause.problem): \(answer.text)")
            for member in ["type", "title"] {
                #expect(
                    answer.object[member] as? String == expected[member] as? String, "\(cause.problem): \(answer.text)")
            }
            // The example up to its first number or quotation mark.
            let words = (expected["detail"] as? String)?.prefix { !$0.isNumber && $0 != "\"" } ?? ""
            if cause.problem != "base-too-old" {
                #expect(
                    (answer.object["detail"] as? String)?.hasPrefix(words) == true, "\(cause.problem): \(answer.text)")
            }
        }
    }
}

import Foundation
import Testing

/// `POST …/undo` and `POST …/redo`.
@Suite(.serialized) struct UndoTests {
    /// A delete in `a` runs a handler that also changes the state and a title, and appends to `b`.
    static func table(_ more: String = "") -> String {
        """
        {"table":"t","sections":["a","b"],"cells":{"C":{}},"state":{"deleted":0},\(more)"bindings":[
          {"on":{"sections":["a","b"]},"cell":"C","editing":"delete","moving":{"to":"anySection"},
           "models":{"a":[{"id":"a0","n":0},{"id":"a1","n":0},{"id":"a2","n":0}],"b":[{"id":"b0","n":0}]},
           "onTap":[{"update":{"merge":{"n":{"$eval":"model.n + 1"}}}}],
           "onDelete":[{"if":"section == 'a' && reason == 'editing'","do":[{"setState":{"deleted":{"$eval":"state.deleted + 1"}}},
             {"setHeaders":{"a":"${state.deleted} deleted"}},{"insert":{"section":"b","model":{"id":"x${model.id}","n":0}}}]}]}]}
        """
    }

    static func open(_ client: KeptClient, _ more: String = "") throws {
        let opened = try client.request("POST", "/v1/sessions", #"{"id":"x","table":\#(table(more))}"#)
        try #require(opened.status == 201, "\(opened.text)")
    }

    static func delete(_ client: KeptClient, _ id: String, of session: String = "x") throws {
        let done = try client.request("POST", "/v1/sessions/\(session)/edits", #"{"delete":{"id":"\#(id)"}}"#)
        try #require(done.object["outcome"] as? String == "applied", "\(done.text)")
    }

    /// Without revision and session.
    static func content(_ client: KeptClient, _ session: String = "x") throws -> String {
        try client.get("/v1/sessions/\(session)/snapshot").text
            .replacing(/"(session|epoch)":"[^"]*",|"revision":[0-9]*,/, with: "")
    }

    @discardableResult
    private func undo(
        _ client: KeptClient, _ body: String = #"{"last":"mine"}"#, query: String = "", _ command: String = "undo",
        of session: String = "x", headers: [String: String] = [:]
    ) throws -> HTTPClient.Response {
        try client.request("POST", "/v1/sessions/\(session)/\(command)\(query)", body, headers: headers)
    }

    private func outcome(_ response: HTTPClient.Response) -> String {
        response.object["outcome"] as? String ?? response.text
    }

    @Test("An undo takes back a command with its handlers' effects, and a redo does it again, after restarts, too")
    func undoAndRedo() throws {
        let directory = try TemporaryDirectory(), database = directory.path("braid.sqlite")
        var server = try ServerProcess(database: database), client = try server.keptClient()
        try Self.open(client)
        var tables = [try Self.content(client)]
        for id in ["a1", "a0"] {
            try Self.delete(client, id)
            tables.append(try Self.content(client))
        }
        #expect(tables[2].contains("2 deleted") && tables[2].contains("xa0"))
        func restart() throws {
            _ = server.stop()
            server = try ServerProcess(database: database)
            client = try server.keptClient()
        }
        let first = try undo(client)
        #expect(try outcome(first) == "applied" && Self.content(client) == tables[1], "\(first.text)")
        try restart()
        #expect(try outcome(undo(client)) == "applied" && Self.content(client) == tables[0])
        let none = try undo(client)
        #expect(outcome(none) == "ignored" && none.object["reason"] != nil)
        try restart()
        #expect(try outcome(client.request("POST", "/v1/sessions/x/redo")) == "applied")
        #expect(try Self.content(client) == tables[1])
        #expect(try outcome(undo(client, "{}", "redo")) == "applied" && Self.content(client) == tables[2])
        #expect(try outcome(undo(client, "{}", "redo")) == "ignored")
        // After another command, there is nothing to do again.
        try undo(client)
        try Self.delete(client, "a2")
        #expect(try outcome(undo(client, "{}", "redo")) == "ignored")
        #expect(try client.get("/v1/sessions/x").object["revision"] as? Int == 8)
    }

    @Test("A conflict lists what later revisions changed, and nothing changes; moves are no conflict")
    func conflicts() throws {
        let client = try ServerProcess().keptClient()
        try Self.open(client)
        try client.request("POST", "/v1/sessions/x/taps", #"{"at":{"id":"a0"}}"#)
        try client.request("POST", "/v1/sessions/x/moves", #"{"from":{"id":"a0"},"to":{"id":"b0"}}"#)
        try Self.delete(client, "a1")
        try Self.delete(client, "a2")
        let before = try Self.content(client)
        let conflict = try undo(client, #"{"revision":3}"#)
        #expect(conflict.status == 409 && conflict.object["type"] as? String == "/problems/undo-conflict")
        let pointers = (conflict.object["errors"] as? [[String: Any]] ?? []).compactMap { $0["pointer"] as? String }
        #expect(pointers.sorted() == ["/sections/a/header", "/state/deleted"], "\(conflict.text)")
        #expect(try Self.content(client) == before)
        #expect(try outcome(undo(client, #"{"revision":1}"#)) == "applied", "the row has only moved since")
        let again = try undo(client, #"{"revision":1}"#)
        #expect(again.status == 409 && again.text.contains("taken back already"))
        #expect(try undo(client, #"{"revision":99}"#).status == 400)
        #expect(try undo(client, "{}").status == 400)
        #expect(try undo(client, #"{"revision":1,"last":"mine"}"#).status == 400)
        #expect(try undo(client, #"{"last":"yours"}"#).status == 400)
    }

    @Test("Dry runs, conditions and idempotency keys work as for other commands")
    func parameters() throws {
        let client = try ServerProcess().keptClient()
        try Self.open(client)
        let start = try Self.content(client)
        try Self.delete(client, "a1")
        let deleted = try Self.content(client)
        let dry = try undo(client, query: "?dryRun")
        #expect(try dry.status == 200 && Self.content(client) == deleted)
        #expect(try undo(client, headers: ["If-Match": #""other.1""#]).status == 412)
        let key = ["Idempotency-Key": "\"k\""]
        let done = try undo(client, headers: key)
        #expect(try done.text == dry.text && Self.content(client) == start)
        #expect(try undo(client, headers: key).text == done.text, "stored once")
        #expect(try client.get("/v1/sessions/x").object["revision"] as? Int == 2)
        let transaction = try client.request(
            "POST", "/v1/sessions/x/transactions", #"{"commands":[{"undo":{"last":"mine"}}]}"#)
        #expect(transaction.status == 400)
    }

    @Test("Participants may take back what the description allows, and controllers everything")
    func whoMay() throws {
        for (policy, allows) in [("", false), (#""undo":"any","#, true)] {
            let server = try ServerProcess(environment: ["BRAID_TOKEN": "secret-of-the-controller"])
            let client = try server.keptClient()
            func send(_ method: String, _ path: String, _ body: String, _ token: String = "secret-of-the-controller")
                throws -> HTTPClient.Response
            {
                try client.request(
                    method, "/v1/sessions\(path)", body, headers: ["Authorization": "Bearer \(token)"])
            }
            try #require(try send("POST", "", #"{"id":"x","table":\#(Self.table(policy))}"#).status == 201)
            func token(_ role: String) throws -> String {
                try #require(
                    try send("POST", "/x/tokens", #"{"role":"\#(role)","expiresIn":600}"#).object["token"] as? String)
            }
            let participant = try token("participant"), viewer = try token("viewer")
            #expect(try send("POST", "/x/taps", #"{"at":{"id":"a0"}}"#, participant).status == 200)
            #expect(try send("PATCH", "/x/state", #"{"hidden":1}"#).status == 200)
            #expect(try send("POST", "/x/undo", #"{"revision":1}"#, viewer).status == 403)
            let own = try send("POST", "/x/undo", #"{"revision":1}"#, participant)
            #expect(own.status == (allows ? 200 : 403), "\(own.text)")
            let others = try send("POST", "/x/undo", #"{"revision":2}"#, participant)
            #expect(others.object["type"] as? String == "/problems/undo-not-allowed", "\(others.text)")
            #expect(try send("POST", "/x/undo", #"{"revision":2}"#).status == 200)
            guard allows else { continue }
            #expect(try send("POST", "/x/edits", #"{"delete":{"id":"a1"}}"#, participant).status == 200)
            #expect(try send("PATCH", "/x/state", #"{"deleted":9}"#).status == 200)
            let conflict = try send("POST", "/x/undo", #"{"revision":5}"#, participant)
            #expect(conflict.status == 409 && conflict.text.contains("/state/deleted"), "\(conflict.text)")
        }
    }

    @Test("With \"own\", people take back what they did, with any token of theirs, and walk past what others did")
    func own() throws {
        let server = try ServerProcess(environment: ["BRAID_TOKEN": "secret-of-the-controller"])
        let client = try server.keptClient()
        func send(_ path: String, _ body: String, _ token: String = "secret-of-the-controller") throws
            -> HTTPClient.Response
        {
            try client.request("POST", "/v1\(path)", body, headers: ["Authorization": "Bearer \(token)"])
        }
        try #require(try send("/sessions", #"{"id":"x","table":\#(Self.table(#""undo":"own","#))}"#).status == 201)
        func token(_ more: String, at path: String = "/sessions/x/tokens") throws -> String {
            let made = try send(path, #"{"role":"participant","expiresIn":600\#(more)}"#)
            return try #require(made.object["token"] as? String, "\(made.text)")
        }
        let kim = try token(#","user":"kim""#), ada = try token(#","user":"ada""#), nobody = try token("")
        let kimToo = try token(#","user":"kim","sessions":["x"]"#, at: "/tokens")
        let taps = [(kim, "a0"), (ada, "a1"), (kim, "a1"), (nobody, "a2"), (ada, "b0")]
        for (token, id) in taps {
            #expect(try send("/sessions/x/taps", #"{"at":{"id":"\#(id)"}}"#, token).status == 200)
        }
        let others = try send("/sessions/x/undo", #"{"revision":2}"#, kim)
        #expect(others.status == 403, "\(others.text)")
        // Ada's tap at `a1` is followed by Kim's.
        let conflict = try send("/sessions/x/undo", #"{"revision":2}"#, ada)
        #expect(conflict.object["type"] as? String == "/problems/undo-conflict", "\(conflict.text)")
        let mine = #"{"last":"mine"}"#
        let walked = try [kimToo, kim, kim].map { try outcome(send("/sessions/x/undo", mine, $0)) }
        #expect(walked == ["applied", "applied", "ignored"])
        let again = try [kim, kimToo, kim].map { try outcome(send("/sessions/x/redo", mine, $0)) }
        #expect(again == ["applied", "applied", "ignored"])
        // Without a user, nothing is one's own, and not what a controller without one sent either.
        #expect(try outcome(send("/sessions/x/undo", mine, nobody)) == "ignored")
        #expect(try send("/sessions/x/undo", #"{"revision":4}"#, nobody).status == 403)
        #expect(try outcome(send("/sessions/x/undo", mine)) == "ignored")
    }

    @Test("A replay of the journal, also of a trimmed one, leads to the same table as its undos")
    func replays() throws {
        let directory = try TemporaryDirectory()
        let client = try ServerProcess(["--journal-limit", "20"]).keptClient()
        try Self.open(client)
        for id in ["a1", "a0"] { try Self.delete(client, id) }
        for round in 0..<8 {
            #expect(try outcome(undo(client)) == "applied", "\(round)")
            #expect(try outcome(undo(client, "{}", "redo")) == "applied", "\(round)")
        }
        let journal = try client.get("/v1/sessions/x/journal", headers: ["Accept": "application/x-ndjson"]).text
        let path = directory.path("journal.ndjson")
        try journal.write(toFile: path, atomically: true, encoding: .utf8)
        let run = try CommandRun(["replay", path])
        #expect(try run.output == client.get("/v1/sessions/x/snapshot").text + "\n", "\(run.errors)")
        for number in 0..<20 { try client.request("PATCH", "/v1/sessions/x/state", #"{"n":\#(number)}"#) }
        let trimmed = try undo(client, #"{"revision":1}"#)
        #expect(trimmed.status == 410, "\(trimmed.text)")
    }

    @Test("Two users who deleted neighbours take it back in either order, and the rows are where they were")
    func neighbours() throws {
        let client = try ServerProcess().keptClient()
        try Self.open(client)
        let start = try Self.content(client)
        for session in ["x1", "x2"] {
            let body = #"{"id":"\#(session)","from":{"session":"x"}}"#
            #expect(try client.request("POST", "/v1/sessions", body).status == 201)
        }
        for (session, first, second) in [("x1", 1, 2), ("x2", 2, 1)] {
            // Not in `a`, where the handler counts.
            for id in ["a2", "b0"] {
                try client.request(
                    "POST", "/v1/sessions/\(session)/moves", #"{"from":{"id":"\#(id)"},"to":{"section":"a","row":0}}"#)
            }
            let before = try Self.content(client, session)
            let ids = ["b0", "a2"]
            for id in ids {
                let row = try client.request("DELETE", "/v1/sessions/\(session)/sections/a/rows/\(id)")
                try #require(row.status == 200, "\(row.text)")
            }
            for number in [first, second] {
                #expect(try outcome(undo(client, #"{"revision":\#(number + 2)}"#, of: session)) == "applied")
            }
            #expect(try Self.content(client, session) == before)
        }
        #expect(try Self.content(client) == start)
    }

    @Test("A fork takes back its own commands, not those of its original")
    func forks() throws {
        let client = try ServerProcess().keptClient()
        try Self.open(client)
        try Self.delete(client, "a1")
        let start = try Self.content(client)
        #expect(try client.request("POST", "/v1/sessions", #"{"id":"f","from":{"session":"x"}}"#).status == 201)
        try Self.delete(client, "a0", of: "f")
        #expect(try outcome(undo(client, of: "f")) == "applied")
        #expect(try Self.content(client, "f") == start)
        #expect(try outcome(undo(client, of: "f")) == "ignored")
        #expect(try outcome(undo(client)) == "applied")
    }

    @Test("An imported archive takes back and does again what was done before the export")
    func archives() throws {
        let directory = try TemporaryDirectory()
        let database = try TestDatabase.address(of: directory.path("braid.sqlite"))
        let archive = directory.path("archive.jsonl")
        var tables: [String] = []
        do {
            let server = try ServerProcess(database: database), client = try server.keptClient()
            try Self.open(client)
            tables = [try Self.content(client)]
            for id in ["a1", "a0"] {
                try Self.delete(client, id)
                tables.append(try Self.content(client))
            }
            #expect(try outcome(undo(client)) == "applied")
            _ = server.stop()
        }
        let exported = try CommandRun(["export", database, archive])
        try #require(exported.status == 0, "\(exported)")
        var places = [try TestDatabase.address(of: directory.path("copy.sqlite"))]
        if PostgresCluster.isPossible { places.append(try TestDatabase.schema()) }
        for place in places {
            let imported = try CommandRun(["import", archive, place])
            try #require(imported.status == 0, "\(imported)")
            let client = try ServerProcess(database: place).keptClient()
            #expect(try Self.content(client) == tables[1])
            #expect(try undo(client, #"{"revision":2}"#).text.contains("taken back already"))
            #expect(try outcome(undo(client, "{}", "redo")) == "applied" && Self.content(client) == tables[2])
            #expect(try outcome(undo(client, #"{"revision":4}"#)) == "applied" && Self.content(client) == tables[1])
            #expect(try outcome(undo(client)) == "applied" && Self.content(client) == tables[0])
        }
    }

    @Test("After a change of the description, what does not fit it any more is refused")
    func rebinding() throws {
        let client = try ServerProcess().keptClient()
        try Self.open(client)
        try Self.delete(client, "b0")
        let strict = Self.table().replacingOccurrences(
            of: #""cells":{"C":{}}"#,
            with:
                #""cells":{"C":{}},"modelTypes":{"M":{"schema":{"properties":{"id":{"type":"string"},"n":{"type":"string"}}}}}"#
        ).replacingOccurrences(of: #""n":0"#, with: #""n":"0""#)
            .replacingOccurrences(of: #""cell":"C","editing""#, with: #""cell":"C","modelType":"M","editing""#)
        let put = try client.request(
            "PUT", "/v1/sessions/x/table", #"{"table":\#(strict),"discard":["a"]}"#)
        try #require(put.status == 200, "\(put.text)")
        let refused = try undo(client, #"{"revision":1}"#)
        #expect(refused.status == 409, "\(refused.text)")
        #expect(refused.object["type"] as? String == "/problems/models-do-not-fit")
        let faults = refused.object["errors"] as? [[String: Any]] ?? []
        #expect(faults.compactMap { $0["pointer"] as? String } == ["/b/b0"], "\(refused.text)")
        #expect(try client.get("/v1/sessions/x").object["revision"] as? Int == 2)
        #expect(try undo(client, #"{"revision":2}"#).status == 403, "another description is not taken back")
        #expect(try undo(client).status == 409, "the last command, which is not the change of the description")
    }

    @Test("An undo publishes unpublished changes, which can be taken back, too")
    func unpublished() throws {
        let client = try ServerProcess().keptClient()
        try Self.open(client)
        let start = try Self.content(client)
        #expect(
            try client.request("PUT", "/v1/sessions/x/rows/0/0?notify=false", #"{"model":{"id":"a0","n":7}}"#).status
                == 200)
        #expect(try Self.content(client) == start)
        let done = try undo(client)
        #expect(try outcome(done) == "applied" && Self.content(client) == start, "\(done.text)")
        #expect(try outcome(undo(client, "{}", "redo")) == "applied")
        #expect(try Self.content(client).contains(#""n":7"#))
    }
}

@Suite(.serialized, .enabled(if: PostgresCluster.isPossible, PostgresCluster.needs)) struct ClusterUndoTests {
    @Test("Each server takes back what another one did, and all show the same")
    func servers() throws {
        let cluster = try ServerCluster(), clients = try cluster.clients()
        try UndoTests.open(clients[0])
        let start = try UndoTests.content(clients[0])
        try UndoTests.delete(clients[0], "a1")
        let deleted = try UndoTests.content(clients[2])
        for round in 0..<6 {
            let undo = try clients[(round + 1) % 3].request("POST", "/v1/sessions/x/undo", #"{"last":"mine"}"#)
            #expect(undo.object["outcome"] as? String == "applied", "\(undo.text)")
            for client in clients { #expect(try UndoTests.content(client) == start) }
            let redo = try clients[(round + 2) % 3].request("POST", "/v1/sessions/x/redo")
            #expect(redo.object["outcome"] as? String == "applied", "\(redo.text)")
            for client in clients { #expect(try UndoTests.content(client) == deleted) }
        }
        #expect(Set(try clients.map { try $0.get("/v1/sessions/x/journal?limit=100").text }).count == 1)
    }
}

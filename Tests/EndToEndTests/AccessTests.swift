import Foundation
import Testing

/// What a controller may do, what a token for one session allows, and what is left for anyone else.
@Suite(.serialized) struct AccessTests {
    static let table =
        #"{"table":"t","sections":["a"],"cells":{"C":{"events":{"go":{}}}},"bindings":[{"on":{"section":"a"},"cell":"C","models":[{"id":"1"},{"id":"2"},{"id":"3"}],"editing":"delete","moving":{"to":"anySection"}}]}"#
    static let controller = ["Authorization": "Bearer secret-of-the-controller"]
    static func bearer(_ token: String) -> [String: String] { ["Authorization": "Bearer \(token)"] }

    /// With a token and the sessions `mine` and `theirs`.
    static func server(_ options: [String] = [], database: String = ":memory:") throws -> ServerProcess {
        let server = try ServerProcess(
            database: database, options, environment: ["BRAID_TOKEN": "secret-of-the-controller"])
        for id in ["mine", "theirs"] {
            let opened = try server.client().request(
                "POST", "/v1/sessions", #"{"table":\#(table),"id":"\#(id)"}"#, headers: controller)
            try #require(opened.status == 201)
        }
        return server
    }

    static func token(_ role: String, on server: ServerProcess, session: String = "mine", expiresIn: Int = 600) throws
        -> (token: String, id: String)
    {
        let made = try server.client().request(
            "POST", "/v1/sessions/\(session)/tokens", #"{"role":"\#(role)","expiresIn":\#(expiresIn)}"#,
            headers: controller)
        try #require(made.status == 201, "\(made.text)")
        return (try #require(made.object["token"] as? String), try #require(made.object["tokenId"] as? String))
    }

    @Test("Every request to /v1 without a valid token gets 401, with the challenge of RFC 6750")
    func nothingWithoutAToken() throws {
        let server = try Self.server()
        for (method, path) in [
            ("GET", "/v1/tables"), ("GET", "/v1/sessions/mine"), ("DELETE", "/v1/sessions/mine"),
            ("GET", "/v1/sessions/mine/updates"),
        ] {
            let none = try server.client().request(method, path)
            #expect(none.status == 401 && none.object["type"] as? String == "/problems/unauthorized", "\(path)")
            #expect(none.header("www-authenticate") == #"Bearer realm="braid""#, "without a token, no error")
        }
        for wrong in [
            "x", "secret-of-the-controlle", "secret-of-the-controllerr", "braid_abc.def", "braid_.", "braid_x",
        ] {
            let response = try server.client().get("/v1/tables", headers: Self.bearer(wrong))
            #expect(response.status == 401, "\(wrong)")
            #expect(response.header("www-authenticate")?.contains(#"error="invalid_token""#) == true, "\(wrong)")
        }
        #expect(
            try server.client().get("/v1/tables", headers: ["Authorization": "Basic eDp5"]).header("www-authenticate")
                == #"Bearer realm="braid""#)
        // A forged token, wrong in its last character: before and after the server has seen the valid one.
        let token = try Self.token("viewer", on: server).token,
            forged = String(token.dropLast()) + (token.hasSuffix("0") ? "1" : "0")
        for _ in 0..<2 {
            #expect(try server.client().get("/v1/sessions/mine", headers: Self.bearer(forged)).status == 401)
            #expect(try server.client().get("/v1/sessions/mine", headers: Self.bearer(token)).status == 200)
        }
        for malformed in ["Bearer", "Bearer ", "Bearer a b", "Bearer é"] {
            let response = try server.client().get("/v1/tables", headers: ["Authorization": malformed])
            #expect(
                response.status == 400
                    && response.header("www-authenticate")?.contains(#"error="invalid_request""#) == true,
                "\(malformed)")
        }
        #expect(
            try server.client().get("/v1/tables", headers: ["Authorization": "bearer  secret-of-the-controller"]).status
                == 200, "the scheme's case is free")
        let twice = try server.client()
        try twice.send(
            "GET /v1/tables HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\nAuthorization: Bearer secret-of-the-controller\r\n\r\n"
        )
        #expect(try twice.receive().status == 400)
        for open in ["/healthz", "/problems/role"] {
            #expect(try server.client().get(open).status == 200, "\(open)")
        }
        #expect(try server.readiness().status == 200)
    }

    @Test("A participant's dry runs and transactions show and change only published rows")
    func participantsAndUnpublishedChanges() throws {
        let server = try Self.server(), client = try server.client(), session = "/v1/sessions/mine"
        let participant = Self.bearer(try Self.token("participant", on: server).token)
        func ask(_ path: String, _ body: String, _ headers: [String: String], prefer: String? = nil) throws
            -> HTTPClient.Response
        {
            try client.request(
                "POST", "\(session)/\(path)", body,
                headers: headers.merging(prefer.map { ["Prefer": "return=\($0)"] } ?? [:]) { $1 })
        }
        for (method, path, body) in [
            ("POST", "rows", #"{"at":[0,0],"model":{"id":"unseen"}}"#), ("DELETE", "rows/0/3", nil),
        ] as [(String, String, String?)] {
            #expect(
                try client.request(method, "\(session)/\(path)?notify=false", body, headers: Self.controller).status
                    == 200)
        }
        let published = try client.get("\(session)/snapshot", headers: participant)

        for prefer in ["representation", nil] {
            for (path, body) in [
                ("edits", #"{"delete":{"id":"1"}}"#), ("taps", #"{"at":{"section":0,"row":0}}"#),
                ("events", #"{"at":{"id":"2"},"event":{"go":{}}}"#),
                ("moves", #"{"from":{"id":"1"},"to":{"section":"a","row":2}}"#),
                ("transactions", #"{"commands":[{"delete":{"id":"1"}}]}"#),
            ] {
                let answer = try ask("\(path)?dryRun", body, participant, prefer: prefer)
                #expect(answer.status == 200 && !answer.text.contains("unseen"), "\(path): \(answer.text)")
                #expect(try ask("\(path)?dryRun&form=sequential", body, participant).text.contains("unseen") == false)
                #expect(
                    try ask("\(path)?dryRun", body, Self.controller, prefer: prefer).text.contains("unseen"),
                    "the controller's tells what the command publishes")
            }
        }
        // `3` is removed and `unseen` added, both unpublished. Commands on them are refused, and so are dry runs.
        for (path, body) in [
            ("edits", #"{"delete":{"id":"unseen"}}"#), ("transactions", #"{"commands":[{"delete":{"id":"unseen"}}]}"#),
            ("transactions", #"{"commands":[{"delete":{"id":"1"}},{"delete":{"id":"unseen","section":"a"}}]}"#),
            ("edits", #"{"delete":{"id":"3"}}"#), ("edits", #"{"delete":{"section":"a","row":2}}"#),
            ("transactions", #"{"commands":[{"delete":{"id":"3"}}]}"#),
        ] {
            for query in ["", "?dryRun"] {
                for headers in [participant, Self.controller] {
                    let answer = try ask("\(path)\(query)", body, headers)
                    #expect(
                        answer.status == 404 && answer.object["type"] as? String == "/problems/row-not-found",
                        "\(path) \(body): \(answer.text)")
                }
            }
        }
        #expect(
            try client.get("\(session)/snapshot", headers: participant).text == published.text,
            "nothing of this changed anything")
        #expect(
            try ask("transactions", #"{"commands":[{"delete":{"id":"1"}}]}"#, participant, prefer: "representation")
                .text.contains("unseen"), "it is published now")
    }

    @Test("Each role may send exactly its requests, and gets 403 `role` for all others")
    func rolesAreKept() throws {
        let server = try Self.server()
        let viewer = Self.bearer(try Self.token("viewer", on: server).token),
            participant = Self.bearer(try Self.token("participant", on: server).token)
        let session = "/v1/sessions/mine"
        func check(
            _ method: String, _ path: String, _ body: String? = nil, viewer seen: Int, participant done: Int,
            line: SourceLocation = #_sourceLocation
        ) throws {
            for (headers, status) in [(viewer, seen), (participant, done)] {
                let response = try server.client().request(method, path, body, headers: headers)
                #expect(response.status == status, "\(method) \(path): \(response.text)", sourceLocation: line)
                if status == 403 {
                    #expect(response.object["type"] as? String == "/problems/role", sourceLocation: line)
                    #expect(
                        response.header("www-authenticate")?.contains(#"error="insufficient_scope""#) == true,
                        sourceLocation: line)
                }
            }
        }
        try check("GET", session, viewer: 200, participant: 200)
        try check("HEAD", "\(session)/snapshot", viewer: 200, participant: 200)
        try check("GET", "\(session)/updates?since=0", viewer: 200, participant: 200)
        try check("POST", "\(session)/taps", #"{"at":{"id":"1"}}"#, viewer: 403, participant: 200)
        try check("POST", "\(session)/events", #"{"at":{"id":"1"},"event":{"go":{}}}"#, viewer: 403, participant: 200)
        try check(
            "POST", "\(session)/moves", #"{"from":{"id":"1"},"to":{"section":"a","row":1}}"#, viewer: 403,
            participant: 200)
        try check("POST", "\(session)/edits", #"{"delete":{"id":"1"}}"#, viewer: 403, participant: 200)
        try check(
            "POST", "\(session)/transactions", #"{"commands":[{"edits":{"delete":{"id":"2"}}}]}"#, viewer: 403,
            participant: 200)
        try check(
            "POST", "\(session)/transactions",
            #"{"commands":[{"edits":{"delete":{"id":"3"}}},{"patchState":{"x":1}}]}"#,
            viewer: 403, participant: 403)
        let forbidden = try server.client().request(
            "POST", "\(session)/edits", #"{"insert":{"section":"a","row":0},"model":{"id":"9"}}"#, headers: participant)
        #expect(
            forbidden.status == 403 && forbidden.object["type"] as? String == "/problems/editing-not-allowed",
            "the table's policy binds a participant")
        for (method, path, body) in [
            ("PATCH", "models", "{}"), ("PATCH", "headers", "{}"), ("PATCH", "footers", "{}"),
            ("PUT", "displayed-sections", "[]"), ("PATCH", "state", "{}"),
            ("POST", "reset", nil), ("GET", "journal", nil), ("GET", "models", nil), ("GET", "tokens", nil),
            ("POST", "tokens", #"{"role":"viewer","expiresIn":9}"#), ("DELETE", "tokens/x", nil),
            ("POST", "rows", #"{"at":[0,0],"model":{}}"#), ("DELETE", "sections", nil),
        ] {
            try check(method, "\(session)/\(path)", body, viewer: 403, participant: 403)
        }
        try check("DELETE", session, viewer: 403, participant: 403)
        for path in ["/v1/sessions", "/v1/tables", "/v1/tables/t"] {
            try check("GET", path, viewer: 403, participant: 403)
        }
        for path in ["/v1/render", "/v1/diff", "/v1/tables/validate", "/v1/sessions"] {
            try check("POST", path, "{}", viewer: 403, participant: 403)
        }
        // The refused transaction has not changed the state.
        #expect(
            try server.client().get("\(session)/journal", headers: Self.controller).text.contains(#""state":{"x":1}"#)
                == false)
    }

    @Test("For a session's token, another session and a session that does not exist get the same answer, byte for byte")
    func otherSessions() throws {
        let server = try Self.server()
        for role in ["viewer", "participant"] {
            let headers = Self.bearer(try Self.token(role, on: server).token).merging(["X-Request-Id": "r"]) { $1 }
            for (method, path, body) in [
                ("GET", "", nil), ("GET", "/snapshot", nil), ("GET", "/updates?since=0", nil),
                ("POST", "/edits", #"{"delete":{"id":"1"}}"#), ("POST", "/edits", "no JSON"),
                ("POST", "/transactions", #"{"commands":[]}"#), ("DELETE", "", nil), ("PATCH", "/models", "{}"),
                ("GET", "/journal", nil), ("GET", "/snapshot?section=none", nil),
            ] {
                let answers = try ["theirs", "nobody"].map { id in
                    let response = try server.client().request(
                        method, "/v1/sessions/\(id)\(path)", body, headers: headers)
                    return
                        "\(response.status) \(response.headers.filter { $0.key != "date" && $0.key != "content-length" }.sorted { $0.key < $1.key }) \(response.text.replacingOccurrences(of: id, with: "ID"))"
                }
                #expect(answers[0] == answers[1], "\(method) \(path)")
                #expect(answers[0].hasPrefix("404 "), "\(method) \(path): \(answers[0])")
            }
        }
    }

    @Test("The list of tokens contains no secrets, and the database contains only hashes of them")
    func tokensAreNotKept() throws {
        let directory = try TemporaryDirectory()
        let server = try Self.server(database: directory.path("db"))
        let made = try server.client().request(
            "POST", "/v1/sessions/mine/tokens", #"{"role":"viewer","expiresIn":600}"#, headers: Self.controller)
        #expect(made.header("cache-control") == "no-store")
        let token = try #require(made.object["token"] as? String), id = try #require(made.object["tokenId"] as? String)
        #expect(made.header("location") == "/v1/sessions/mine/tokens/\(id)")
        #expect(
            made.object["role"] as? String == "viewer" && (made.object["expires"] as? String)?.hasSuffix("Z") == true)
        let secret = try #require(token.split(separator: ".").last)
        #expect(secret.count == 43, "256 bits in base64url")
        let others = try (0..<4).map { _ in try Self.token("participant", on: server).id }
        let list = try server.client().get("/v1/sessions/mine/tokens", headers: Self.controller)
        #expect(
            Set((list.object["tokens"] as? [[String: Any]] ?? []).compactMap { $0["tokenId"] as? String })
                == Set([id] + others))
        #expect(!list.text.contains(secret))
        let page = try server.client().get("/v1/sessions/mine/tokens?limit=2", headers: Self.controller).object
        let next = try #require(page["next"] as? String)
        #expect(
            (try server.client().get("/v1/sessions/mine/tokens?limit=3&after=\(next)", headers: Self.controller).object[
                "tokens"] as? [Any])?.count == 3)
        #expect(
            try server.client().get("/v1/sessions/theirs/tokens", headers: Self.controller).text == #"{"tokens":[]}"#)
        server.stop()
        for file in try FileManager.default.contentsOfDirectory(atPath: directory.url.path) {
            let bytes = try Data(contentsOf: directory.url.appendingPathComponent(file))
            #expect(bytes.range(of: Data(secret.utf8)) == nil, "\(file)")
        }
        #expect(!server.log.contains(secret))
        let again = try ServerProcess(database: directory.path("db"), environment: ["BRAID_TOKEN": "another"])
        #expect(
            try again.client().get("/v1/sessions/mine", headers: Self.bearer(token)).status == 200,
            "tokens outlive the process")
        #expect(try again.client().get("/v1/sessions/mine", headers: Self.controller).status == 401)
    }

    @Test("A request for a token with a wrong role or lifetime, or for a missing session, is refused")
    func badTokenRequests() throws {
        let server = try Self.server()
        for body in [
            #"{"role":"controller","expiresIn":1}"#, #"{"role":"viewer"}"#, #"{"role":"viewer","expiresIn":0}"#,
            #"{"role":"viewer","expiresIn":1.5}"#, #"{"role":"viewer","expiresIn":"1"}"#,
            #"{"role":"viewer","expiresIn":315360001}"#, #"{"expiresIn":5}"#, #"{"role":"viewer","expiresIn":5,"x":1}"#,
            "[]",
        ] {
            #expect(
                try server.client().request("POST", "/v1/sessions/mine/tokens", body, headers: Self.controller).status
                    == 400, "\(body)")
        }
        #expect(
            try server.client().request(
                "POST", "/v1/sessions/none/tokens", #"{"role":"viewer","expiresIn":5}"#, headers: Self.controller
            ).status == 404)
        #expect(try server.client().get("/v1/sessions/none/tokens", headers: Self.controller).status == 404)
        let (_, id) = try Self.token("viewer", on: server)
        #expect(
            try server.client().request("DELETE", "/v1/sessions/theirs/tokens/\(id)", headers: Self.controller).status
                == 404, "of another session")
        #expect(
            try server.client().request("DELETE", "/v1/sessions/mine/tokens/\(id)", headers: Self.controller).status
                == 204)
        #expect(
            try server.client().request("DELETE", "/v1/sessions/mine/tokens/\(id)", headers: Self.controller).status
                == 404)
    }

    @Test("Revoking a token ends its streams and long polls at once, and those of other tokens continue")
    func revocationIsAtOnce() throws {
        let server = try Self.server()
        let (token, id) = try Self.token("viewer", on: server), other = try Self.token("viewer", on: server).token
        let streams = try [token, token, other].map {
            try EventStreamClient(port: server.port, "/v1/sessions/mine/updates", headers: Self.bearer($0))
        }
        for stream in streams { _ = try stream.events(through: "caught-up") }
        let poll = try server.client()
        try poll.send(
            "GET /v1/sessions/mine/updates?since=0&wait=60 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(token)\r\n\r\n"
        )
        #expect(try server.client().get("/v1/sessions/mine", headers: Self.bearer(token)).status == 200)
        #expect(
            try server.client().request("DELETE", "/v1/sessions/mine/tokens/\(id)", headers: Self.controller).status
                == 204)
        #expect(try server.client().get("/v1/sessions/mine", headers: Self.bearer(token)).status == 401)
        for stream in streams[..<2] { #expect(throws: EventStreamClient.Ended.self) { try stream.next() } }
        #expect(try poll.receive().status == 401)
        try server.client().request("PATCH", "/v1/sessions/mine/state", #"{"x":1}"#, headers: Self.controller)
        #expect(try streams[2].next().name == "update")
        // A session's tokens end with it, and stay invalid if its id is used again.
        #expect(try server.client().request("DELETE", "/v1/sessions/mine", headers: Self.controller).status == 204)
        #expect(try streams[2].next().name == "ended")
        #expect(
            try server.client().request(
                "POST", "/v1/sessions", #"{"table":\#(Self.table),"id":"mine"}"#, headers: Self.controller
            ).status == 201)
        #expect(try server.client().get("/v1/sessions/mine", headers: Self.bearer(other)).status == 401)
    }

    @Test("A token that has expired is refused, and its streams and long polls end")
    func expiryIsKept() throws {
        let server = try Self.server()
        func follow(_ token: String) throws -> EventStreamClient {
            let stream = try EventStreamClient(
                port: server.port, "/v1/sessions/mine/updates", headers: Self.bearer(token))
            _ = try stream.events(through: "caught-up")
            return stream
        }
        // On a busy machine a token can expire before its stream begins: try a longer lifetime.
        var (token, id) = ("", ""), following: EventStreamClient?, lifetime = 2
        while following == nil, lifetime <= 32 {
            (token, id) = try Self.token("viewer", on: server, expiresIn: lifetime)
            following = try? follow(token)
            lifetime *= 4
        }
        let stream = try #require(following), poll = try server.client()
        try poll.send(
            "GET /v1/sessions/mine/updates?since=0&wait=60 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(token)\r\n\r\n"
        )
        #expect(throws: EventStreamClient.Ended.self) { try stream.next() }
        #expect(try poll.receive().status == 401)
        #expect(try server.client().get("/v1/sessions/mine", headers: Self.bearer(token)).status == 401)
        #expect(!(try server.client().get("/v1/sessions/mine/tokens", headers: Self.controller).text.contains(id)))
    }

    @Test("Controllers receive taps and cell events, and viewers do not")
    func controllerEventsAreForControllers() throws {
        let server = try Self.server()
        let viewer = try EventStreamClient(
            port: server.port, "/v1/sessions/mine/updates",
            headers: Self.bearer(try Self.token("viewer", on: server).token))
        let controller = try EventStreamClient(port: server.port, "/v1/sessions/mine/updates", headers: Self.controller)
        for stream in [viewer, controller] { _ = try stream.events(through: "caught-up") }
        try server.client().request(
            "POST", "/v1/sessions/mine/events", #"{"at":{"id":"1"},"event":{"go":{}}}"#, headers: Self.controller)
        try server.client().request("POST", "/v1/sessions/mine/taps", #"{"at":{"id":"1"}}"#, headers: Self.controller)
        try server.client().request("PATCH", "/v1/sessions/mine/state", #"{"x":1}"#, headers: Self.controller)
        #expect(try controller.next().name == "cellEvent")
        #expect(try controller.next().name == "tap")
        #expect(try controller.next().name == "update")
        #expect(try viewer.next().name == "update")
    }

    @Test("A client without a token cannot send a large body")
    func strangersSendNoLargeBodies() throws {
        let server = try Self.server()
        let small = try server.client()
        #expect(try small.request("POST", "/v1/diff", "{}").status == 401)
        #expect(try small.get("/healthz").status == 200, "the connection goes on")
        let large = try server.client()
        try large.send("POST /v1/diff HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10000000\r\n\r\n{")
        let refused = try large.receive()
        #expect(
            refused.status == 401 && refused.header("www-authenticate") != nil
                && refused.header("connection") == "close")
    }

    @Test(
        "Without a token the server accepts only a loopback address, and the error of the start says what is missing",
        arguments: [
            (["--hostname", "0.0.0.0"], [:], "--allow-anonymous"),
            (["--hostname", "::"], [:], "not a loopback address"),
            (["--hostname", ""], [:], "--hostname must not be empty"),
            (["--database", ""], [:], "--database must not be empty"),
            ([], ["BRAID_TOKEN": ""], "BRAID_TOKEN is empty"), ([], ["BRAID_TOKEN": "a b"], "one word"),
            (["--token-file", "/nowhere"], [:], "does not exist"),
            (["--token-file", "/dev/null"], ["BRAID_TOKEN": "x"], "two tokens"),
            (["--allow-origin", "app.example"], [:], "--allow-origin must be an origin"),
        ])
    func wrongStartsAreRefused(options: [String], environment: [String: String], says: String) throws {
        do {
            _ = try ServerProcess(options, environment: environment)
            Issue.record("it started")
        } catch let failure as ServerProcess.StartFailure {
            #expect(failure.status != 0)
            #expect(failure.errors.contains(says), "\(failure.errors)")
        }
    }

    @Test("With a token file or --allow-anonymous, the server listens on any address")
    func rightStartsServe() throws {
        let directory = try TemporaryDirectory()
        try "  from-a-file\n".write(toFile: directory.path("token"), atomically: true, encoding: .utf8)
        let withFile = try ServerProcess(["--hostname", "0.0.0.0", "--token-file", directory.path("token")])
        #expect(try withFile.client().get("/v1/tables").status == 401)
        #expect(try withFile.client().get("/v1/tables", headers: Self.bearer("from-a-file")).status == 200)
        #expect(
            try ServerProcess(["--hostname", "0.0.0.0", "--allow-anonymous"]).keptClient().get("/v1/tables").status
                == 200)
        #expect(try ServerProcess(["--hostname", "127.0.0.2", "--port", "0"]).port > 0)
    }
}

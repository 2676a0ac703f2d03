import BraidEngine
import BraidHTTP
import BraidRuntime
import BraidSessions
import BraidStore
import Testing

@testable import BraidServer
@testable import BraidTestMode

/// Every route against every kind of sender, up to its handler. The expected answers come from the route's admission
/// and the sender's own rights only.
@Suite struct TokenMatrixTests {
    /// Who sends a request. The tables of the sessions `mine` and `theirs` are `t` and `u`; `gone` does not exist.
    private struct Sender: CustomStringConvertible {
        var description: String
        var role = Role.controller
        /// It is for this one only.
        var session: String?
        var scope = TokenScope.all
        /// In `Authorization`; `nil`: none.
        var token: String?
        /// In the query.
        var ticket: String?
        var isKnown = true

        func covers(session id: String) -> Bool {
            if let session { return session == id }
            let table = ["mine": "t", "theirs": "u"][id]
            let isCovered = scope.sessions.map { $0.contains(id) || $0.contains("\(id.prefix(1))*") } ?? true
            return isCovered && (scope.tables.map { table != nil && $0.contains(table ?? "") } ?? true)
        }

        func covers(table: String) -> Bool { scope.tables?.contains(table) ?? true }
        var isLimited: Bool { scope.sessions != nil || scope.tables != nil }
    }

    /// Outside of sessions and tables, what tokens with limits may use: it shows and opens only what they cover, or
    /// reads nothing.
    private static let filtered: Set = [
        "GET /v1/sessions", "POST /v1/sessions", "GET /v1/tables", "POST /v1/tables/validate", "GET /v1/fixtures",
        "POST /v1/diff", "POST /v1/render",
    ]

    /// `nil`: the handler decides.
    private func expected(_ sender: Sender, _ route: Route, session: String, table: String) -> Problem? {
        let isOfSession = route.name.contains(" /v1/sessions/{id}"), isOfTable = route.name.contains("{table}")
        if route.admission == .everyone { return nil }
        guard sender.isKnown else { return .unauthorized }
        if sender.ticket != nil, !isOfSession || route.method != "GET" { return .unauthorized }
        if isOfSession, !sender.covers(session: session) { return .sessionNotFound }
        if isOfTable, !sender.covers(table: table) { return .tableNotFound }
        if let least = route.admission.leastRole, sender.role < least { return .role }
        if sender.isLimited, !isOfSession, !isOfTable, !Self.filtered.contains(route.name) { return .scope }
        if isOfTable, route.method != "GET", sender.scope.sessions != nil, sender.scope.tables == nil { return .scope }
        return nil
    }

    private func check(_ app: App, _ sender: Sender) async {
        for route in app.router.routes {
            for (session, table) in [("mine", "t"), ("theirs", "u"), ("gone", "x")] {
                let expected = expected(sender, route, session: session, table: table)
                let found = await refusal(app, route, path(route, session: session, table: table), sender)
                // The role comes before the look for the table of a session.
                let isHidden = expected == .sessionNotFound && found == .role && sender.scope.tables != nil
                #expect(found == expected || isHidden, "\(sender) \(route.name) \(session)")
            }
        }
    }

    // MARK: Senders

    private static let scopes = [[String]?.none, ["mine"], ["m*", "x*"], []].flatMap { sessions in
        [[String]?.none, ["t"], ["u", "v"], []].map { TokenScope(sessions: sessions, tables: $0) }
    }

    private static func stored(_ app: App, lasting seconds: Int = 600) async throws -> [Sender] {
        var senders: [Sender] = []
        func add(_ role: Role, session: String?, _ scope: TokenScope) async throws {
            let grant = TokenGrant(user: User(id: "kim", role: role), scope: scope)
            let token = try await app.sessions.tokens.create(grant, for: session, lasting: seconds).token
            senders.append(
                Sender(
                    description: "\(role) \(session ?? "") \(scope)", role: role, session: session, scope: scope,
                    token: token))
        }
        for role in Role.allCases {
            for session in ["mine", "theirs"] where role != .controller {
                try await add(role, session: session, .all)
            }
            for scope in scopes { try await add(role, session: nil, scope) }
        }
        return senders
    }

    private static func app(signed: (any SignedTokens)? = nil, clock: Clock = Clock()) async throws -> App {
        let store = try SQLiteStore(path: ":memory:")
        let app = App(
            store: store, clock: clock, controllers: ControllerTokens(["server"]), signed: signed,
            routes: TestMode.forTests(of: store).routes)
        for (session, table) in [("mine", "t"), ("theirs", "u")] {
            let description = try JSONText(parsing: #"{"table":"\#(table)","bindings":[{"cell":"C"}]}"#)
            _ = try await store.putTable(table, description: description, at: 0)
            let body = try JSONText(parsing: #"{"id":"\#(session)","table":"\#(table)"}"#)
            _ = try await app.sessions.open(SessionOpening(body), text: body)
        }
        return app
    }

    /// `nil` if the request gets to the handler, or would but for its body or query.
    private func refusal(_ app: App, _ route: Route, _ path: String, _ sender: Sender) async -> Problem? {
        let head = parsedHead(
            route.method, path + (sender.ticket.map { "?ticket=\($0)" } ?? ""),
            [("Host", "localhost")] + (sender.token.map { [("Authorization", "Bearer \($0)")] } ?? []))
        var exchange = app.receive(head)
        do {
            _ = try await exchange.decode()
            return nil
        } catch {
            let problem = ProblemError(error)?.problem
            let refusals: [Problem?] = [.unauthorized, .role, .scope, .sessionNotFound, .tableNotFound]
            return refusals.contains(problem) ? problem : nil
        }
    }

    private func path(_ route: Route, session: String, table: String) -> String {
        String(route.name.drop { $0 != "/" }).replacing("{id}", with: session).replacing("{table}", with: table)
            .replacing(/\{[A-Za-z]+\}/, with: "1")
    }

    // MARK: Claims

    @Test("A token gets to the handlers that its role and its scope allow, and to no other")
    func everyRouteWithEveryToken() async throws {
        let app = try await Self.app()
        for sender in try await Self.stored(app) { await check(app, sender) }
        await check(app, Sender(description: "the server's token", token: "server"))
    }

    @Test("Without a token, or with an unknown, expired or revoked one, no route that needs one gets to its handler")
    func strangers() async throws {
        let clock = Clock(), app = try await Self.app(clock: clock)
        for token in [nil, "braid_x.y", "serve"] {
            await check(app, Sender(description: "\(token ?? "no token")", token: token, isKnown: false))
        }
        let expired = try await Self.stored(app, lasting: 60)
        clock.set(to: clock.now() + 60_000)
        let revoked = try await Self.stored(app)
        for sender in revoked {
            let id = try #require(sender.token?.dropFirst("braid_".count).prefix { $0 != "." })
            #expect(try await app.sessions.tokens.revoke(String(id), of: sender.session))
        }
        for var sender in expired + revoked {
            sender.isKnown = false
            await check(app, sender)
        }
    }

    @Test("A ticket gets to the handlers of its session's GET routes that its token gets to, and to no other")
    func tickets() async throws {
        let app = try await Self.app()
        let senders = try await Self.stored(app) + [Sender(description: "the server's token", token: "server")]
        for var sender in senders where sender.covers(session: "mine") {
            let head = parsedHead(
                "POST", "/v1/sessions/mine/tickets",
                [("Host", "localhost"), ("Authorization", "Bearer \(sender.token ?? "")")])
            let exchange = await app.receive(head).identified()
            let session = try await exchange.summary(app.sessions)
            let ticket = try await app.access.makeTicket(for: session, by: exchange.requester).text
            sender.description += " with a ticket"
            (sender.token, sender.ticket, sender.session) = (nil, ticket, "mine")
            await check(app, sender)
        }
    }

    @Test(
        "A session that was ended and opened again is another one: no route uses it for a token that was for the first")
    func reopenedSessions() async throws {
        let app = try await Self.app()
        let first = try #require(try await app.sessions.summary("mine")).number
        try await app.sessions.end("mine")
        let body = try JSONText(parsing: #"{"id":"mine","table":"t","models":{"table":[{"id":"1"},{"id":"2"}]}}"#)
        let (reopened, _) = try await app.sessions.open(SessionOpening(body), text: body)
        _ = try await app.sessions.tokens.create(TokenGrant(user: User(role: .viewer)), for: "mine", lasting: 600)
        let paths = try #require(try JSONText(parsing: Asset.openAPI.bytes.plain)["paths"])
        for route in app.router.routes where route.isOfSession {
            let pattern = String(route.name.drop { $0 != "/" })
            let operation = paths[pattern]?[route.method.lowercased()]
            let example = operation?["requestBody"]?["content"]?["application/json"]?["example"]
            #expect((example != nil) == (route.takesBody && !route.streamsBody), "\(route.name)")
            let query = route.query.contains("since") ? "?since=0" : ""
            let head = parsedHead(
                route.method, path(route, session: "mine", table: "t") + query,
                [("Host", "localhost"), ("Authorization", "Bearer server")])
            var exchange = app.receive(head).begun(with: example?.bytes ?? [], reading: HTTPBodyReader())
            // As after the look for the session's table, or with the first session's own token.
            var requester = Requester(role: .controller)
            requester.sessionNumber = first
            exchange.verdict = .admitted(requester)
            if let atOnce = route.atOnce {
                #expect(throws: SessionError.self, "\(route.name)") { try atOnce(exchange) }
            }
            do {
                let response = try await route.handle(exchange)
                Issue.record("\(route.name): \(response.status)")
            } catch {
                let expected: Problem = route.name.hasSuffix("/tokens/{token}") ? .tokenNotFound : .sessionNotFound
                #expect(ProblemError(error)?.problem == expected, "\(route.name): \(error)")
            }
        }
        #expect(try await app.sessions.summary("mine")?.number == reopened.number)
        #expect(reopened.position.revision == 0)
        #expect(try await app.sessions.tokens.list(of: "mine", after: nil, limit: 10).count == 1)
    }

    @Test("Lists contain what the token covers, in the order of the whole list, and pages do not change that")
    func lists() async throws {
        let app = try await Self.app()
        for id in ["m", "m1", "m2", "mine2", "n", "team-1", "team-2", "x"] {
            let table = id.hasSuffix("2") ? "u" : "t"
            let body = try JSONText(parsing: #"{"id":"\#(id)","table":"\#(table)"}"#)
            _ = try await app.sessions.open(SessionOpening(body), text: body)
        }
        let all = try await app.sessions.summaries(of: nil, after: nil, limit: 100)
        let patterns: [[String]?] = [
            nil, [], ["m"], ["m*"], ["m*", "m1", "mi*"], ["team-*", "x", "none"], ["theirs", "m2*", "n*"],
        ]
        for sessions in patterns {
            for tables in [nil, ["t"], ["u"], ["t", "u"], []] as [[String]?] {
                let scope = TokenScope(sessions: sessions, tables: tables)
                for table in [nil, "t", "u"] as [String?] {
                    let expected = all.filter {
                        scope.covers(session: $0.id) && scope.covers(table: $0.table) && (table ?? $0.table) == $0.table
                    }
                    for limit in [1, 2, 100] {
                        var found: [SessionSummary] = []
                        while case let page = try await app.sessions.summaries(
                            of: table, after: found.last?.id, limit: limit, within: scope), !page.isEmpty
                        {
                            #expect(page.count <= limit)
                            found += page
                        }
                        #expect(found == expected, "\(scope) \(table ?? "-") \(limit)")
                    }
                }
            }
        }
    }
}

#if JWT
import BraidJWT
import Foundation

extension TokenMatrixTests {
    @Test("A JSON Web Token, and a ticket of one, gets to the handlers that its role and its scope allow")
    func webTokens() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "secret-\(UUID().uuidString)")
        let secret = "a-secret-of-at-least-32-characters"
        try secret.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let files = KeyFiles(jwks: nil, secret: file.path())
        let app = try await Self.app(signed: WebTokens(files, rules: TokenRules(), clock: Clock()))
        for role in Role.allCases {
            for scope in Self.scopes {
                let grant = JSONText.object {
                    $0.member("role", role.rawValue)
                    $0.member("sessions", scope.sessions)
                    $0.member("tables", scope.tables)
                }
                let claims = #"{"sub":"kim","exp":4000000000,"braid":\#(grant)}"#
                let text = [#"{"alg":"HS256"}"#, claims].map { Base64URL.text(Array($0.utf8)) }.joined(separator: ".")
                let mac = SHA256Digest(authenticating: Array(text.utf8), key: Array(secret.utf8))
                var sender = Sender(
                    description: "JWT \(role) \(scope)", role: role, scope: scope,
                    token: "\(text).\(Base64URL.text(mac.bytes))")
                await check(app, sender)
                guard sender.covers(session: "mine") else { continue }
                let token = PresentedToken(sender.token ?? "")
                let session = try #require(try await app.sessions.summary("mine"))
                let ticket = try await app.access.makeTicket(for: session, by: app.access.requester(token)).text
                (sender.token, sender.ticket, sender.session) = (nil, ticket, "mine")
                sender.description += " with a ticket"
                await check(app, sender)
            }
        }
    }
}
#endif

import BraidEngine
import BraidHTTP
import BraidSessions
import BraidStore
import Testing

@testable import BraidServer
@testable import BraidTestMode

/// Every route against every kind of token, up to its handler. The expected answers come from the token's own members
/// only.
@Suite struct TokenMatrixTests {
    /// A kind of token. `session`: it is for this one.
    private struct Kind: CustomStringConvertible {
        var role: Role
        var session: String?
        var scope = TokenScope.all
        var description: String { "\(role) \(session ?? "") \(scope)" }

        /// The tables of the sessions `mine` and `theirs` are `t` and `u`; `gone` does not exist.
        func covers(session id: String) -> Bool {
            if let session { return session == id }
            let table = ["mine": "t", "theirs": "u"][id]
            let isCovered = scope.sessions.map { $0.contains(id) || $0.contains("\(id.prefix(1))*") } ?? true
            return isCovered && (scope.tables.map { table != nil && $0.contains(table ?? "") } ?? true)
        }

        func covers(table: String) -> Bool { scope.tables?.contains(table) ?? true }
        var isLimited: Bool { scope.sessions != nil || scope.tables != nil }
    }

    private static let kinds: [Kind] =
        [Role.viewer, .participant].flatMap { role in
            ["mine", "theirs"].map { Kind(role: role, session: $0) }
        }
        + Role.allCases.flatMap { role in
            [[String]?.none, ["mine"], ["m*", "x*"], []].flatMap { sessions in
                [[String]?.none, ["t"], ["u", "v"], []].map { tables in
                    Kind(role: role, scope: TokenScope(sessions: sessions, tables: tables))
                }
            }
        }

    private static func app() async throws -> App {
        let store = try SQLiteStore(path: ":memory:")
        let app = App(
            store: store, controllers: ControllerTokens(["server"]), routes: TestMode.forTests(of: store).routes)
        for (session, table) in [("mine", "t"), ("theirs", "u")] {
            let description = try JSONText(parsing: #"{"table":"\#(table)","bindings":[{"cell":"C"}]}"#)
            _ = try await store.putTable(table, description: description, at: 0)
            let body = try JSONText(parsing: #"{"id":"\#(session)","table":"\#(table)"}"#)
            _ = try await app.sessions.open(SessionOpening(body), text: body)
        }
        return app
    }

    /// `nil` if the request gets to the handler, or would but for its body or query.
    private func refusal(_ app: App, _ route: Route, _ path: String, _ token: String?) async -> Problem? {
        let head = parsedHead(
            route.method, path,
            [("Host", "localhost")] + (token.map { [("Authorization", "Bearer \($0)")] } ?? []))
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

    @Test("A token gets to the handlers that its role and its scope allow, and to no other")
    func everyRouteWithEveryToken() async throws {
        let app = try await Self.app()
        for kind in Self.kinds {
            let grant = TokenGrant(user: User(id: "kim", role: kind.role), scope: kind.scope)
            let token = try await app.sessions.tokens.create(grant, for: kind.session, lasting: 60).token
            for route in app.router.routes {
                let name = route.name
                for (session, table) in [("mine", "t"), ("theirs", "u"), ("gone", "x")] {
                    let expected: Problem? =
                        if route.admission == .everyone {
                            nil
                        } else if name.contains("/v1/sessions/{id}"), !kind.covers(session: session) {
                            .sessionNotFound
                        } else if name.contains("{table}"), !kind.covers(table: table) {
                            .tableNotFound
                        } else if let least = route.admission.leastRole, kind.role < least {
                            .role
                        } else if kind.isLimited, name.contains("/v1/test/") || name.contains("/v1/tokens") {
                            .scope
                        } else {
                            nil
                        }
                    // The role comes before the look for the table of a session.
                    let found = await refusal(app, route, path(route, session: session, table: table), token)
                    let isHidden = expected == .sessionNotFound && found == .role && kind.scope.tables != nil
                    #expect(found == expected || isHidden, "\(kind) \(name) \(session)")
                }
            }
        }
    }

    @Test("Without a token, or with an unknown one, no route that needs one gets to its handler")
    func strangers() async throws {
        let app = try await Self.app()
        for route in app.router.routes {
            let path = path(route, session: "mine", table: "t")
            for token in [nil, "braid_x.y", "serve"] {
                let expected: Problem? = route.admission == .everyone ? nil : .unauthorized
                #expect(await refusal(app, route, path, token) == expected, "\(route.name)")
            }
            #expect(await refusal(app, route, path, "server") == nil, "\(route.name)")
        }
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

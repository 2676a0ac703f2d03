import BraidEngine
import BraidHTTP
import BraidSessions
import BraidStore
import Foundation
import Testing

@testable import BraidServer
@testable import BraidTestMode

@Suite struct AdmissionTests {
    private static func app() throws -> App {
        let store = try SQLiteStore(path: ":memory:")
        return App(
            store: store, controllers: ControllerTokens(["t"]), routes: TestMode.forTests(of: store).routes)
    }

    @Test("No two routes have the same method and path")
    func routesAreDistinct() throws {
        let routes = try Self.app().router.routes.map(\.name)
        #expect(Set(routes).count == routes.count)
    }

    @Test("A route that does not declare a role is only for controllers")
    func theDefaultIsClosed() {
        #expect(Route("GET", "/v1/new") { _ in HTTPResponse(status: 200) }.admission == .role(.controller))
    }

    @Test("Only these routes need no token, and none of them reveals anything about a session or a table")
    func publicRoutes() throws {
        let routes = try Self.app().router.routes.filter { $0.admission == .everyone }.map(\.name)
        #expect(
            Set(routes) == [
                "GET /healthz", "GET /readyz", "GET /metrics", "GET /openapi.json", "GET /problems/{name}", "GET /",
                "GET /inspector.js", "GET /inspector/{file}", "GET /inspector.css", "GET /braid.js", "GET /braid.d.ts",
            ])
    }

    @Test("The roles of the routes are those in docs/http-api/README.md")
    func theTableIsTheDocuments() throws {
        let file = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../../docs/http-api/README.md")
            .standardized
        var documented: [String: String] = [:]
        for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") where line.hasPrefix("| `") {
            let cells = line.dropFirst().split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 3 else { continue }
            documented[cells[0].filter { $0 != "`" }] = cells[2]
        }
        #expect(documented.count > 20)
        let expected: [String: Admission] = [
            "no token": .everyone, "viewer": .role(.viewer), "participant": .role(.participant),
            "controller": .role(.controller),
            "the highest of its commands": .commands,
        ]
        for (name, admission) in try Self.app().router.routes.map({ ($0.name, $0.admission) }) {
            let role = try #require(documented[name], "\(name) is not in the document")
            #expect(expected[role] == admission, "\(name)")
        }
    }

    @Test("A command needs the role of its resource, and a transaction the highest role that its commands need")
    func rolesOfCommands() throws {
        let bodies: [(kind: String, body: String)] = [
            ("edits", #"{"delete":{"id":"a"}}"#), ("edits", #"{"insert":{"id":"a"}}"#),
            ("moves", #"{"from":{"id":"a"},"to":{"section":0,"row":0}}"#),
            ("taps", #"{"at":{"id":"a"}}"#), ("events", #"{"at":{"id":"a"},"event":{"e":{}}}"#),
            ("displayedRows", #"{"rows":[]}"#),
            ("models", #"{"s":[]}"#), ("headers", #"{"s":null}"#), ("footers", #"{"s":null}"#),
            ("patchModels", #"{"s":null}"#), ("patchHeaders", #"{"s":null}"#), ("patchFooters", #"{"s":null}"#),
            ("displayedSections", "[]"), ("state", "{}"), ("patchState", "{}"),
        ]
        let routes = try Self.app().router.routes
        for (name, body) in bodies {
            let command = try Command(kind: name, body: JSONText(parsing: body)), kind = command.kind
            #expect(kind.name == name)
            let route = try #require(
                routes.first { $0.name == "\(kind.method?.rawValue ?? "") /v1/sessions/{id}/\(kind.path)" })
            #expect(route.admission == .role(command.role), "\(name)")
        }
        func role(_ commands: String) throws -> Role {
            try Command(kind: "transactions", body: JSONText(parsing: #"{"commands":[\#(commands)]}"#)).role
        }
        #expect(try role(#"{"taps":{"at":{"id":"a"}}},{"edits":{"delete":{"id":"a"}}}"#) == .participant)
        #expect(try role(#"{"taps":{"at":{"id":"a"}}},{"patchState":{}}"#) == .controller)
        #expect(try role(#"{"dataSource":{"removeAllSections":{}}}"#) == .controller)
    }
}

import BraidEngine
import BraidStore
import Foundation
import Testing

@testable import BraidServer
@testable import BraidTestMode

/// `/openapi.json` and the routes, in both directions.
@Suite struct OpenAPITests {
    private let document: JSONText
    private let routes: [Route]

    init() throws {
        document = try JSONText(parsing: Asset.openAPI.bytes.plain)
        let store = try SQLiteStore(path: ":memory:")
        routes =
            App(store: store, controllers: ControllerTokens(["t"]), routes: TestMode.forTests(of: store).routes)
            .router.routes
    }

    /// With the parameters that its path declares.
    private struct Operation {
        var json: JSONText
        var parameters: [JSONText]

        func names(in place: String) -> Set<String> {
            Set(parameters.filter { $0["in"]?.stringValue == place }.compactMap { $0["name"]?.stringValue })
        }

        func mediaTypes(_ member: String) -> Set<String> { Set(json[member]?["content"]?.members()?.map(\.name) ?? []) }
    }

    /// By `Route.name`: method and path.
    private func operations() throws -> [String: Operation] {
        var operations: [String: Operation] = [:]
        for (path, item) in try #require(document["paths"]?.members()) {
            let shared = item["parameters"]?.elements() ?? []
            for (method, operation) in item.members() ?? [] where method != "parameters" {
                let parameters = try (shared + (operation["parameters"]?.elements() ?? [])).map { try resolved($0) }
                operations["\(method.uppercased()) \(path)"] = Operation(json: operation, parameters: parameters)
            }
        }
        return operations
    }

    private func resolved(_ value: JSONText) throws -> JSONText {
        guard let reference = value["$ref"]?.stringValue else { return value }
        let path = reference.dropFirst(2).split(separator: "/").map(String.init)
        return try #require(document[path.reduce(JSONPointer.root) { $0.appending($1) }], "\(reference) leads nowhere")
    }

    @Test("Every route is an operation in openapi.json, and every operation is a route")
    func theOperationsAreTheRoutes() throws {
        #expect(try operations().keys.sorted() == routes.map(\.name).sorted())
    }

    @Test("An operation in openapi.json has the parameters, body, media types and role of its route")
    func eachOperationIsItsRoute() throws {
        let operations = try operations()
        for route in routes {
            let operation = try #require(operations[route.name], "\(route.name)")
            #expect(
                operation.names(in: "path")
                    == Set(route.pattern.filter { $0.first == "{" }.map { String($0.dropFirst().dropLast()) }),
                "\(route.name)")
            #expect(operation.names(in: "query") == route.query.union(["pretty"]), "\(route.name)")
            #expect(operation.names(in: "header").contains("If-Match") == route.obeysIfMatch, "\(route.name)")
            #expect(
                operation.mediaTypes("requestBody") == (route.takesBody ? Set(route.bodyTypes) : []), "\(route.name)")
            #expect(operation.names(in: "header").contains("Idempotency-Key") == route.takesKey, "\(route.name)")
            for (status, response) in try #require(operation.json["responses"]?.members()) {
                let content = try resolved(response)["content"]?.members()?.map(\.name) ?? []
                switch status.first {
                case "2" where status != "204":
                    #expect(
                        Set(content) == Set([route.produces] + [route.alternative].compactMap { $0 }),
                        "\(route.name) \(status)")
                case "2", "3": #expect(content.isEmpty, "\(route.name) \(status)")
                default: #expect(content == ["application/problem+json"], "\(route.name) \(status)")
                }
            }
            let role =
                switch route.admission {
                case .everyone: "everyone"
                case .role(let role): role.rawValue
                case .commands: "commands"
                }
            #expect(operation.json["x-role"]?.stringValue == role, "\(route.name)")
            #expect((operation.json["security"] == .emptyArray) == (route.admission == .everyone), "\(route.name)")
        }
    }

    @Test(
        "Every operation in openapi.json lists the answers that any request can get"
    )
    func commonAnswers() throws {
        for (name, operation) in try operations() {
            let statuses = Set(operation.json["responses"]?.members()?.compactMap { Int($0.name) } ?? [])
            #expect(statuses.isSuperset(of: [400, 406, 408, 413, 414, 417, 421, 431, 500, 503, 505]), "\(name)")
            #expect(statuses.isSuperset(of: [401, 403]) == name.contains(" /v1/"), "\(name)")
            #expect(statuses.contains(429) == name.contains(" /v1/"), "\(name)")
            #expect(statuses.contains(412) == !name.hasPrefix("GET "), "\(name)")
            #expect(statuses.contains(415) == (operation.json["requestBody"] != nil), "\(name)")
            #expect(statuses.contains(404) || !name.contains("{") || name == "PUT /v1/tables/{table}", "\(name)")
        }
    }

    @Test("openapi.json lists all problems of the server, and all of their statuses except 405 and 501")
    func theProblemsAreTheServers() throws {
        let schemas = try #require(document["components"]?["schemas"])
        let names = schemas["ProblemName"]?["enum"]?.elements()?.compactMap(\.stringValue)
        #expect(names == Problem.allCases.map(\.rawValue).sorted())
        #expect(
            schemas["ProblemType"]?["enum"]?.elements()?.compactMap(\.stringValue) == names?.map { "/problems/\($0)" })
        var statuses: Set<Int> = []
        for operation in try operations().values {
            statuses.formUnion(operation.json["responses"]?.members()?.compactMap { Int($0.name) } ?? [])
        }
        // 405 and 501 are for methods that are not accepted, so belong to no operation.
        #expect(Set(Problem.allCases.map(\.status)).subtracting(statuses) == [405, 501])
    }

    @Test("openapi.json and error-codes.md list exactly the fault codes of the engine")
    func faultCodes() throws {
        let codes = Refusal.Fault.Code.allCases.map(\.rawValue)
        let listed = try #require(document["components"]?["schemas"]?["FaultCode"]?["enum"]?.elements())
        #expect(listed.compactMap(\.stringValue) == codes.sorted())
        let page = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../docs/http-api/error-codes.md").standardizedFileURL
        let rows = try String(contentsOf: page, encoding: .utf8).split(separator: "\n").filter { $0.hasPrefix("| `") }
        let told = rows.compactMap { $0.split(separator: "`").dropFirst().first.map(String.init) }
        #expect(told.filter { !["pointer", "code", "detail"].contains($0) } == codes)
    }

    @Test("Every reference in openapi.json has a target, and every component is the target of a reference")
    func referencesLeadSomewhere() throws {
        var references: Set<String> = []
        func gather(_ value: JSONText) throws {
            for (name, member) in value.members() ?? [] {
                if name == "$ref", let reference = member.stringValue {
                    references.insert(reference)
                    _ = try resolved(value)
                }
                try gather(member)
            }
            for element in value.elements() ?? [] { try gather(element) }
        }
        try gather(document)
        for (kind, components) in try #require(document["components"]?.members()) where kind != "securitySchemes" {
            for (name, _) in components.members() ?? [] {
                #expect(references.contains("#/components/\(kind)/\(name)"), "\(kind)/\(name)")
            }
        }
    }

    @Test("openapi.json lists exactly the commands and data source calls of the engine")
    func theCommandsAreTheEngines() throws {
        let schemas = try #require(document["components"]?["schemas"])
        #expect(
            schemas["DataSourceCall"]?["properties"]?.members()?.map(\.name)
                == DataSourceCommand.Call.allCases.map(\.rawValue))
        let named = try #require(schemas["NamedCommand"]?["properties"]?.members()).map(\.name)
        let nested = Set(CommandKind.all.map(\.name)).subtracting(["transactions", "undo", "redo", "reset", "table"])
        #expect(Set(named) == nested)
    }

    @Test("The version in openapi.json is the version of the server")
    func version() throws {
        #expect(document["openapi"]?.stringValue == "3.1.0")
        #expect(document["info"]?["version"]?.stringValue == App.version)
    }
}

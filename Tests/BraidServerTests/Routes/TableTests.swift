import BraidEngine
import BraidHTTP
import BraidStore
import TestSupport
import Testing

@testable import BraidServer
@testable import BraidSessions

@Suite struct TableTests {
    private static func send(_ method: String, _ target: String, _ body: String, to app: App) async -> Int {
        let fields = [("Host", "localhost"), ("Content-Type", "application/json"), ("Authorization", "Bearer t")]
        return switch app.receive(parsedHead(method, target, fields)).reply(to: Array(body.utf8)) {
        case .ready(let response): response.status
        case .task(_, _, let work): await work().status
        }
    }

    @Test("A registered description is compiled once for the PUT and all sessions that are opened with it")
    func compiledOnce() async throws {
        let store = try SQLiteStore(path: ":memory:"), app = App(store: store, controllers: ControllerTokens(["t"]))
        let padding = String(repeating: "x", count: 100_000)
        let table =
            #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[{"id":"1","text":"\#(padding)"}]}]}"#
        #expect(await Self.send("PUT", "/v1/tables/t", table, to: app) == 201)
        for _ in 0..<3 { #expect(await Self.send("POST", "/v1/sessions", #"{"table":"t"}"#, to: app) == 201) }
        #expect(app.sessions.descriptions.compilations.value == 1)
        await store.close()
    }

    @Test("The cache of compiled descriptions is bounded by their number and by their text")
    func bounded() throws {
        let descriptions = CompiledDescriptions()
        func compilations(of name: String, _ padding: Int = 0) throws -> Int {
            let before = descriptions.compilations.value
            let text = String(repeating: "x", count: padding)
            let table = #""table":"\#(name)","cells":{"C":{}},"bindings":[{"cell":"C"}],"state":{"x":"\#(text)"}"#
            _ = try descriptions.compiled(JSONText(parsing: "{\(table)}"))
            return descriptions.compilations.value - before
        }
        #expect(try [compilations(of: "a"), compilations(of: "a")] == [1, 0])
        for number in 1..<CompiledDescriptions.most { _ = try compilations(of: "b\(number)") }
        #expect(try compilations(of: "a") == 0)
        #expect(try compilations(of: "c") == 1)
        #expect(try compilations(of: "a") == 1)
        // Larger than the whole cache: not kept, and the others stay.
        #expect(try compilations(of: "d", CompiledDescriptions.mostBytes) == 1)
        #expect(try [compilations(of: "d", CompiledDescriptions.mostBytes), compilations(of: "a")] == [1, 0])
        #expect(try compilations(of: "e", CompiledDescriptions.mostBytes / 2) == 1)
        #expect(try compilations(of: "a") == 0)
        #expect(try compilations(of: "f", CompiledDescriptions.mostBytes / 2) == 1)
        #expect(try compilations(of: "a") == 1)
    }
}

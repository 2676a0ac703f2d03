import BraidEngine
import BraidHTTP
import BraidRuntime
import BraidSessions
import BraidStore
import Testing

@testable import BraidServer

@Suite struct LargeAnswerTests {
    private let buffers = Quota(20_000)
    private let app: App

    init() throws {
        var limits = ServerLimits()
        limits.prettyBytes = 10_000
        app = App(
            store: try SQLiteStore(path: ":memory:"), limits: limits, controllers: ControllerTokens(["t"]),
            streams: StreamLimits(largeBytes: 1_000, buffers: buffers))
    }

    private func answer(_ method: String, _ target: String, _ body: String = "") async -> HTTPResponse {
        let fields = [("Host", "localhost"), ("Authorization", "Bearer t"), ("Content-Type", "application/json")]
        switch app.receive(parsedHead(method, target, fields)).reply(to: Array(body.utf8)) {
        case .ready(let response): return response
        case .task(_, _, let work): return await work()
        }
    }

    /// `s`, with one row of about 6,000 bytes.
    private func openSession() async throws {
        let text = String(repeating: "x", count: 6_000)
        let table =
            #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[{"id":"1","text":"\#(text)"}]}]}"#
        let response = await answer("POST", "/v1/sessions", #"{"id":"s","table":\#(table)}"#)
        try #require(response.status == 201)
    }

    @Test(
        "A large answer is refused before it is built if there is no memory, and otherwise has a lease of its memory",
        arguments: [
            "snapshot?offset=0&limit=1", "snapshot?at=0&offset=0&limit=1", "updates?since=bogus.1",
            "updates?since=bogus.1&offset=0&limit=1", "models", "rows/0/0", "sections/table/rows/1",
        ])
    func largeAnswers(target: String) async throws {
        try await openSession()
        // A quota without leases grants any.
        let other = try buffers.lease(18_000)
        let refusal = await answer("GET", "/v1/sessions/s/\(target)")
        #expect(refusal.status == 503 && refusal.headers.contains { $0 == ("Retry-After", "1") })
        let document = try JSONText(parsing: refusal.body.bytes ?? [])
        #expect(document["type"]?.stringValue == "/problems/unavailable")
        other.end()
        let response = await answer("GET", "/v1/sessions/s/\(target)")
        #expect(response.status == 200 && response.body.count ?? 0 > 6_000)
        #expect(response.lease != nil && buffers.taken >= 6_000)
        response.lease?.end()
        #expect(buffers.taken == 0)
    }

    @Test(
        "An event loop answers a window of few rows itself, and leaves one of many rows to a worker",
        arguments: [(50, true), (1_500, false)])
    func windows(limit: Int, isReady: Bool) async throws {
        let models = (0..<1_500).map { #"{"id":"\#($0)"}"# }.joined(separator: ",")
        let table = #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[\#(models)]}]}"#
        try #require(await answer("POST", "/v1/sessions", #"{"id":"s","table":\#(table)}"#).status == 201)
        let fields = [("Host", "localhost"), ("Authorization", "Bearer t")]
        let exchange = app.receive(parsedHead("GET", "/v1/sessions/s/snapshot?limit=\(limit)", fields))
        if case .ready = exchange.reply(to: []) {
            #expect(isReady)
        } else {
            #expect(!isReady)
        }
        let window = await answer("GET", "/v1/sessions/s/snapshot?limit=\(limit)")
        let section = try JSONText(parsing: window.body.bytes ?? [])["sections"]?.elements()?.first
        #expect(window.status == 200 && section?["rows"]?.elements()?.count == limit)
    }

    @Test("A large stream of known size is gathered for `pretty` if there is memory, and otherwise sent as it is")
    func streamedPrettyAnswers() async throws {
        let buffers = Quota(10 << 20)
        let app = App(
            store: try SQLiteStore(path: ":memory:"), controllers: ControllerTokens(["t"]),
            streams: StreamLimits(buffers: buffers))
        let exchange = app.receive(parsedHead("GET", "/v1/sessions/s?pretty", [("Host", "localhost")]))
        let text = Array("[\(String(repeating: "1,", count: 600_000))1]".utf8)
        func answer(_ stream: ByteStream) async -> HTTPResponse {
            stream.onAttach { [weak stream] in
                stream?.write(text)
                stream?.finish()
            }
            return await exchange.present(HTTPResponse(status: 200, body: .stream(stream)))
        }
        func stream() -> ByteStream { ByteStream(isEndless: false, estimate: { text.count }) }
        let other = try buffers.lease(8 << 20)
        let plain = await answer(stream())
        #expect(plain.body.bytes == nil && plain.lease == nil)
        other.end()
        let pretty = await answer(stream())
        #expect(pretty.body.bytes?.starts(with: Array("[\n  1,\n  1,".utf8)) == true && pretty.body.bytes?.last == 10)
        #expect(pretty.lease != nil && buffers.taken >= text.count)
        pretty.lease?.end()
        #expect(buffers.taken == 0)
        #expect(await answer(ByteStream(isEndless: false)).body.bytes == nil, "of unknown size")
    }

    @Test("An answer that would become too long with `pretty` stays compact")
    func longPrettyAnswers() async {
        func finished(_ count: Int) async -> String {
            let ones = [String](repeating: "1", count: count).joined(separator: ",")
            let text = String(repeating: "[", count: 20) + ones + String(repeating: "]", count: 20)
            let head = parsedHead("GET", "/v1/sessions/s?pretty", [("Host", "localhost")])
            let response = await app.receive(head).present(HTTPResponse(status: 200, body: .bytes(Array(text.utf8))))
            return String(decoding: response.body.bytes ?? [], as: UTF8.self)
        }
        // With `pretty`, each number 1 becomes a line of 43 bytes.
        #expect(await finished(1).hasPrefix("[\n  [\n"))
        let long = await finished(1_000)
        #expect(long.hasPrefix("[[") && long.contains("1,1]]") && !long.contains("\n"))
    }
}

import BraidHTTP
import BraidRuntime
import BraidStore
import TestSupport
import Testing

@testable import BraidServer

@Suite struct RequestQuotaTests {
    private func reply(
        of app: App, _ method: String, _ target: String, _ fields: [(String, String)] = [], _ body: [UInt8] = []
    ) -> HTTPReply {
        let fields = [("Host", "localhost"), ("Content-Type", "application/json")] + fields
        return app.receive(parsedHead(method, target, fields)).reply(to: body)
    }

    @Test("While the server answers as many requests as it may, only probes and answers from memory begin")
    func everyRouteIsCounted() throws {
        var limits = ServerLimits()
        limits.requests = 1
        let app = App(store: try SQLiteStore(path: ":memory:"), limits: limits, controllers: ControllerTokens([]))
        // Its task never runs, so it is never answered.
        let held = reply(of: app, "POST", "/v1/render", [], Array("{}".utf8))
        for route in app.router.routes where !route.streamsBody {
            let path = route.pattern.map { $0.first == "{" ? "x" : $0 }.joined(separator: "/")
            for target in ["/\(path)", "/\(path)?pretty"] {
                switch reply(of: app, route.method, target, [("Accept-Encoding", "gzip")]) {
                case .ready(let response):
                    #expect(!route.isProbe || route.atOnce != nil, "\(route.name)")
                    let isRefused = response.status == 503 && response.headers.contains { $0.0 == "Retry-After" }
                    #expect(isRefused || route.atOnce != nil, "\(route.name) \(response.status)")
                case .task: #expect(route.isProbe, "\(route.name)")
                }
            }
        }
        withExtendedLifetime(held) {}
    }

    @Test(
        "A body in gzip for which there is no memory gets 503 or 429 with Retry-After, as a plain one does",
        arguments: [("POST", "/v1/render"), ("PATCH", "/v1/sessions/s/state")])
    func compressedBodies(method: String, target: String) async throws {
        var limits = ServerLimits()
        limits.bodies = Quota(400_000, resourcePart: 4)
        let app = App(store: try SQLiteStore(path: ":memory:"), limits: limits, controllers: ControllerTokens([]))
        let body = ContentCoding.gzip.compress(Array("{}".utf8) + [UInt8](repeating: UInt8(ascii: " "), count: 100_000))
        func expectRefusal(_ status: Int) async {
            guard
                case .task(_, _, let work) = reply(of: app, method, target, [("Content-Encoding", "gzip")], body)
            else { return #expect(Bool(false), "no task") }
            let response = await work()
            #expect(response.status == status && response.headers.contains { $0 == ("Retry-After", "1") })
        }
        let all = try limits.bodies.lease(390_000)
        await expectRefusal(503)
        all.end()
        guard target != "/v1/render" else { return }
        let own = try limits.bodies.lease(90_000, to: Quota.Account(resource: "s"))
        await expectRefusal(429)
        own.end()
    }
}

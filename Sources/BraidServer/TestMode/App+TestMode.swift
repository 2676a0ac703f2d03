import BraidHTTP

extension App {
    /// Handles a request in test mode. If a fault rule applies to the request, injects the rule's fault. Delays the
    /// request while the server is being reset.
    func test(
        _ request: HTTPRequest, _ exchange: HandledRequest, _ testMode: TestMode,
        _ handle: (HTTPRequest, HandledRequest, Gate.Pass) async -> HTTPResponse
    ) async -> HTTPResponse {
        var request = request, exchange = exchange
        let head = request.head, route = try? route(of: head)
        exchange.route = route
        if let route { exchange.requester = try? await access.requester(access.claim(head, for: route.admission)) }
        var plain = request
        _ = try? plain.decompressBody(limit: limits.bodyBytes, memory: limits.bodies, for: exchange.account)
        let tested = testMode.meets(TestedRequest(plain, route, exchange.requester))
        exchange.tested = tested
        let pass = await testMode.gate.enter()
        defer { pass.leave() }
        do {
            if let response = await testMode.delay(tested, in: pass) { return finish(response, exchange) }
            if let response = try await testMode.begins(tested, &request.head, in: sessions) {
                return finish(response, exchange)
            }
            return await handle(request, exchange, pass)
        } catch {
            return finish(response(to: error, exchange), exchange)
        }
    }
}

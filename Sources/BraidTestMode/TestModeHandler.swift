import BraidHTTP
import BraidRuntime
import BraidServer

/// Injects faults into the API's requests, and records them.
struct TestModeHandler: HTTPHandler {
    let testMode: TestMode
    let app: App

    func receive(_ head: HTTPRequestHead) -> TestModeExchange {
        TestModeExchange(testMode: testMode, exchange: app.receive(head))
    }

    func refusal(for failure: HTTPFailure, unreadable head: HTTPRequestHead) -> HTTPResponse {
        TestModeExchange(testMode: testMode, exchange: app.unreadable(head, failure))
            .refusal(for: failure, isHandled: false)
    }
}

struct TestModeExchange: HTTPExchange {
    let testMode: TestMode
    var exchange: Exchange

    var head: HTTPRequestHead { exchange.head }
    var isProbe: Bool { exchange.isProbe }

    /// Not the test mode's own routes, probes, assets and documents.
    private var isTested: Bool { head.path.first == "v1" && head.path.dropFirst().first != "test" }

    var disposition: HTTPBodyDisposition {
        switch exchange.disposition {
        case .refuse(let response): .refuse(refused(response))
        case .undecided(let executor, _):
            .undecided(on: executor) { TestModeExchange(testMode: testMode, exchange: await exchange.identified()) }
        case let other: other
        }
    }

    func refusal(for failure: HTTPFailure, isHandled: Bool) -> HTTPResponse {
        let response = exchange.refusal(for: failure, isHandled: isHandled)
        return isHandled ? marked(response) : refused(response)
    }

    func reply(to body: [UInt8]) -> HTTPReply {
        guard isTested else {
            switch exchange.reply(to: body) {
            case .ready(let response): return .ready(marked(response))
            case .task(let executor, let endsAtStop, let work):
                return .task(on: executor, endsAtStop: endsAtStop) { marked(await work()) }
            }
        }
        let endsAtStop = exchange.route?.endsAtStop ?? false
        return .task(on: Workers.shared.short, endsAtStop: endsAtStop) {
            await answer(exchange.begun(with: body)) { exchange, pass in
                guard endsAtStop else { return await exchange.handle() }
                return await pass.waiting { [exchange] in
                    var exchange = exchange
                    return await exchange.handle()
                }
            }
        }
    }

    func respond(reading body: HTTPBodyReader) async -> HTTPResponse {
        await withTaskExecutorPreference(Workers.shared.short) {
            guard isTested else { return marked(await exchange.respond(reading: body)) }
            return await answer(exchange.begun(reading: body)) { exchange, pass in
                pass.onClose {
                    body.fail(HTTPFailure(status: 503, detail: "The server was reset while it read the body."))
                }
                return await exchange.handle()
            }
        }
    }

    /// The stages, with the fault and the record of the answer between them. Waits during a reset.
    private func answer(
        _ exchange: Exchange, _ handle: (inout Exchange, Gate.Pass) async -> HTTPResponse
    ) async -> HTTPResponse {
        var exchange = await exchange.identified()
        defer { exchange.endLease() }
        var tested = TestedRequest(exchange)
        tested.fault = testMode.faults.fault(for: tested)
        let pass = await testMode.gate.enter()
        defer { pass.leave() }
        var response: HTTPResponse
        do {
            if let withheld = await testMode.delay(tested, in: pass) {
                response = withheld
            } else if let answer = try await testMode.begins(tested, &exchange.head, in: exchange.app.sessions) {
                response = answer
            } else {
                response = await handle(&exchange, pass)
            }
        } catch {
            response = exchange.problemDocument(of: error)
        }
        response = marked(await exchange.present(response))
        response = testMode.answers(tested, id: exchange.requestID, start: exchange.start, with: response)
        return exchange.count(await exchange.compress(response))
    }

    private func refused(_ response: HTTPResponse) -> HTTPResponse {
        let response = marked(response)
        guard isTested else { return response }
        return testMode.answers(
            TestedRequest(head), id: exchange.requestID, start: monotonicNanoseconds(), with: response)
    }

    private func marked(_ response: HTTPResponse) -> HTTPResponse {
        var response = response
        response.headers.append(("Braid-Test-Mode", "true"))
        return response
    }
}

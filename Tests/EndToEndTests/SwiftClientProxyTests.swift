import BraidClient
import Foundation
import Synchronization
import TestSupport
import Testing

/// Proxies that answer themselves, such as a network's log-in page.
@Suite(.serialized) struct SwiftClientProxyTests {
    private static func answer(_ status: String, _ fields: [String] = [], _ body: String = "") -> String {
        "HTTP/1.1 \(status)\r\n"
            + (fields + ["Content-Length: \(body.utf8.count)", "Connection: close"]).map { "\($0)\r\n" }.joined()
            + "\r\n\(body)"
    }

    /// `client` is behind a proxy that answers everything with `text`; `direct` is not.
    private func answering(_ text: String, _ body: (_ client: BraidClient, _ direct: BraidClient) async throws -> Void)
        async throws
    {
        let server = try ServerProcess(ServerProcess.attendees)
        let proxy = try LossyProxy(to: server.port) { $0 ? .answer(text) : .pass }
        try await body(SwiftClientTests.client(proxy.url), SwiftClientTests.client(server))
        #expect(server.isRunning && proxy.lost > 0)
    }

    @Test("If a proxy answers with a web page, every request of the client fails, also those without a result")
    func pages() async throws {
        try await answering(Self.answer("200 OK", ["Content-Type: text/html"], "<html>Log in")) { client, direct in
            let party = client.session("party")
            await #expect(throws: ConnectionFailure.self) { try await party.end() }
            await #expect(throws: ConnectionFailure.self) { try await party.revokeToken("x") }
            await #expect(throws: ConnectionFailure.self) { try await client.deleteTable("attendees") }
            await #expect(throws: ConnectionFailure.self) { try await client.validate([:]) }
            await #expect(throws: ConnectionFailure.self) { try await client.checkHealth() }
            await #expect(throws: ConnectionFailure.self) { try await party.journalFile() }
            let summary = try await direct.session("party").summary()
            #expect(summary.revision == 0)
        }
    }

    @Test("If a proxy asks for a password, the client throws a problem and does not try again")
    func passwords() async throws {
        try await answering(
            Self.answer("401 Unauthorized", ["WWW-Authenticate: Basic realm=\"staff\""], "Who are you?")
        ) { client, _ in
            let refused = await #expect(throws: Problem.self) { try await client.session("party").summary() }
            #expect(refused?.status == 401 && refused?.type == "about:blank")
            let ended = await #expect(throws: Problem.self) {
                for try await _ in client.session("party").subscribe() {}
            }
            #expect(ended?.status == 401)
        }
    }

    @Test("After 503, the client repeats a request as often as configured, and not before the time in Retry-After")
    func busy() async throws {
        let server = try ServerProcess(ServerProcess.attendees), tries = Mutex(0)
        let proxy = try LossyProxy(to: server.port) { toServer in
            guard toServer else { return .pass }
            let number = tries.withLock { tries in
                tries += 1
                return tries
            }
            return number > 3
                ? .pass : .answer(Self.answer("503 Service Unavailable", number == 1 ? ["Retry-After: 1"] : []))
        }
        let client = SwiftClientTests.client(proxy.url, retries: 2), start = ContinuousClock.now
        let refused = await #expect(throws: Problem.self) { try await client.tables() }
        let tried = tries.withLock { $0 }
        #expect(refused?.status == 503 && tried == 3)
        #expect(ContinuousClock.now - start >= .seconds(1))
        #expect(try await !client.tables().isEmpty)
    }

    @Test("After `outcome-unknown`, the client repeats only requests that the server carries out once")
    func unknownOutcome() async throws {
        let server = try ServerProcess(ServerProcess.attendees), isUnknown = Flag()
        let unknown = Self.answer(
            "503 Service Unavailable", ["Content-Type: application/problem+json"],
            #"{"type":"/problems/outcome-unknown"}"#)
        let proxy = try LossyProxy(to: server.port) { toServer in
            guard toServer, isUnknown.isSet else { return .pass }
            isUnknown.set(false)
            return .answer(unknown)
        }
        let party = SwiftClientTests.client(proxy.url).session("party")
        isUnknown.set()
        let refused = await #expect(throws: Problem.self) { try await party.makeToken(.viewer, expiringIn: 60) }
        #expect(refused?.kind == "outcome-unknown" && !isUnknown.isSet)
        isUnknown.set()
        #expect(try await party.perform(.patchState(["n": 1])).revision == 1)
        #expect(!isUnknown.isSet)
    }

    @Test("The client skips an informational answer such as 103 before the real one")
    func earlyHints() async throws {
        let health = Self.answer("200 OK", ["Content-Type: application/json"], #"{"status":"ready"}"#)
        try await answering("HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n" + health) { client, _ in
            try await client.checkHealth()
        }
    }

    @Test("A client can follow 80 sessions at once, and send requests at the same time")
    func manyFollowed() async throws {
        let server = try ServerProcess(ServerProcess.attendees),
            party = try SwiftClientTests.client(server).session("party")
        let count = 80
        var followed = (0..<count).map { _ in party.subscribe().makeAsyncIterator() }
        for index in followed.indices {
            while case let event? = try await followed[index].next() { if case .live = event { break } }
        }
        #expect(try await party.perform(.patchModels(["invited": [["name": "Ann"]]])).revision == 1)
        for index in followed.indices {
            guard case .update(let update, _, _) = try await followed[index].next() else {
                Issue.record("no update came")
                return
            }
            #expect(update.to == 1)
        }
    }
}

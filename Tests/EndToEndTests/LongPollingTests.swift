import Foundation
import Synchronization
import TestSupport
import Testing

@Suite(.serialized) struct LongPollingTests {
    /// `body` runs while the request waits.
    private func polling(_ client: KeptClient, _ target: String, _ body: () throws -> Void) async throws -> (
        text: String, took: Duration
    ) {
        let port = client.server.port
        let answer = Task.detached {
            await withCheckedContinuation { (done: CheckedContinuation<Result<(String, Duration), any Error>, Never>) in
                Thread.detachNewThread {
                    let start = ContinuousClock.now
                    done.resume(
                        returning: Result { (try HTTPClient(port: port).get(target).text, ContinuousClock.now - start) }
                    )
                }
            }
        }
        // Until the metrics count the poll. If they never do, its answer shows why.
        _ = try await eventually { try Self.polls(client) == 1 }
        try body()
        let result = try await answer.value.get()
        return (result.0, result.1)
    }

    /// As the metrics count them.
    private static func polls(_ client: KeptClient) throws -> Int? {
        let name = #"braid_subscribers{by="poll"} "#
        let line = try client.get("/metrics").text.split(separator: "\n").first { $0.hasPrefix(name) }
        return line.flatMap { Int($0.dropFirst(name.count)) }
    }

    @Test("A long poll is answered as soon as there is an update")
    func newUpdate() async throws {
        let (client, epoch) = try StreamTests.start()
        let answer = try await polling(client, "/v1/sessions/s/updates?since=\(epoch).0&wait=60") {
            let revision = try client.perform(("PATCH", "state", #"{"n":1}"#))
            #expect(revision == 1)
        }
        #expect(
            answer.text
                == #"{"from":0,"to":1,"updates":[{"from":0,"to":1,"stages":[],"totalRowCount":3,"state":{"n":1}}]}"#)
        #expect(answer.took < .seconds(50))
        let sequential = try await polling(client, "/v1/sessions/s/updates?since=1&wait=60&form=sequential") {
            let revision = try client.perform(("POST", "edits", #"{"delete":{"id":"1"}}"#))
            #expect(revision == 2)
        }
        #expect(
            sequential.text
                == #"{"from":1,"to":2,"updates":[{"from":1,"to":2,"operations":[{"deleteRow":[0,0]}],"totalRowCount":2}]}"#
        )
    }

    @Test("A long poll does not wait if there are updates already, or if its position has another epoch")
    func existingUpdates() throws {
        let (client, _) = try StreamTests.start()
        #expect(try client.perform(("PATCH", "state", #"{"n":1}"#)) == 1)
        let start = ContinuousClock.now
        #expect(try client.get("/v1/sessions/s/updates?since=0&wait=60").object["to"] as? Int == 1)
        #expect(try client.get("/v1/sessions/s/updates?since=other.1&wait=60").object["reset"] as? Bool == true)
        #expect(ContinuousClock.now - start < .seconds(50))
    }

    @Test("A long poll without an update gets an empty list at the end of its wait")
    func noUpdate() throws {
        let (client, epoch) = try StreamTests.start()
        let start = ContinuousClock.now
        let answer = try client.get("/v1/sessions/s/updates?since=0&wait=1")
        #expect(answer.text == #"{"from":0,"to":0,"updates":[]}"#)
        #expect(answer.header("etag") == "\"\(epoch).0\"")
        #expect(ContinuousClock.now - start >= .seconds(1))
        #expect(ContinuousClock.now - start < .seconds(50))
    }

    @Test("A long poll is refused if `wait` is not a whole number from 0 to 60")
    func invalidWait() throws {
        let (client, _) = try StreamTests.start()
        for wait in ["61", "-1", "1.5", "", "x"] {
            #expect(try client.get("/v1/sessions/s/updates?since=0&wait=\(wait)").status == 400, "\(wait)")
        }
        #expect(try client.get("/v1/sessions/s/updates?since=0&wait=0").text == #"{"from":0,"to":0,"updates":[]}"#)
    }

    @Test("If a session ends, its waiting long polls are answered with `session-not-found`")
    func endedSession() async throws {
        let (client, _) = try StreamTests.start()
        let answer = try await polling(client, "/v1/sessions/s/updates?since=0&wait=60") {
            let status = try client.request("DELETE", "/v1/sessions/s").status
            #expect(status == 204)
        }
        #expect(answer.text.contains("/problems/session-not-found"))
        #expect(answer.took < .seconds(50))
    }

    @Test("If the server stops, a waiting long poll gets an empty list")
    func stoppedServer() async throws {
        let (client, _) = try StreamTests.start()
        let answer = try await polling(client, "/v1/sessions/s/updates?since=0&wait=60") {
            #expect(client.server.stop() == 0)
        }
        #expect(answer.text == #"{"from":0,"to":0,"updates":[]}"#)
    }

    @Test("An update answers a thousand long polls, and the connections of clients that have left are closed")
    func thousandPolls() throws {
        let (client, _) = try StreamTests.start()
        func startPolls() throws -> [HTTPClient] {
            let polls = try (0..<1_000).map { _ in try client.server.client() }
            for poll in polls {
                try poll.send("GET /v1/sessions/s/updates?since=0&wait=60 HTTP/1.1\r\nHost: localhost\r\n\r\n")
            }
            #expect(try eventually { try Self.polls(client) == 1_000 })
            return polls
        }
        // First those that leave, until their connections are closed; then the others, which must not end during this
        // wait.
        do {
            let leaving = try startPolls()
            withExtendedLifetime(leaving) {}
        }
        #expect(try eventually { try client.server.openSockets() <= 10 })
        let polls = try startPolls()
        #expect(try client.perform(("PATCH", "state", #"{"n":1}"#)) == 1)
        for poll in polls { #expect(try poll.receive().object["to"] as? Int == 1) }
    }
}

import BraidRuntime
import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import BraidHTTP

/// With clients that are slow, greedy or too many, or that disappear.
struct HTTPUnderAttackTests {
    @Test("The server answers 408 if a request's head is not complete within the time limit")
    func slowHeads() async throws {
        var limits = HTTPServer.Limits.short
        limits.idleTime = .seconds(600)
        limits.lingerTime = .seconds(600)
        try await withServer(limits) { server, _ in
            let clients = try (0..<50).map { _ in try Client(server) }
            let started = ContinuousClock.now
            // A byte now and then, for longer than the limit of 400 ms.
            for _ in 0..<10 {
                for client in clients { try? client.send("G") }
                usleep(50_000)
            }
            for client in clients { #expect(status(try client.receive(until: "\r\n\r\n")) == 408) }
            #expect(started.duration(to: .now) < .seconds(100))
        }
    }

    @Test("The server closes an idle connection without an answer, before and after the connection's first request")
    func silentConnections() async throws {
        try await withServer(.short) { server, _ in
            let silent = try Client(server)
            // If this thread stands still, the server can close a connection before its first request: open another.
            var used: Client?
            let isAnswered = eventually {
                used = try? Client(server)
                return (try? used?.get("/x?n=1")) != nil && (try? used?.answer()) != nil
            }
            #expect(isAnswered)
            #expect(silent.isClosedByServer(within: 60))
            #expect(used?.isClosedByServer(within: 60) == true)
        }
    }

    @Test("The server answers 408 if a body arrives more slowly than the minimum rate") func slowBodies() async throws {
        var limits = HTTPServer.Limits.short
        limits.leastBodyBytesPerSecond = 200
        limits.idleTime = .seconds(600)
        limits.writeTime = .seconds(600)
        limits.lingerTime = .seconds(600)
        try await withServer(limits) { server, _ in
            let slow = try Client(server)
            let steady = try Client(server)
            let absent = try Client(server)
            let head = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 90600\r\n\r\n"
            for client in [slow, absent] { try client.send(head) }
            // Enough for 450 seconds at the minimum rate, even if this thread stands still.
            try steady.send(head + String(repeating: "f", count: 90_000))
            // For longer than the grace period of 400 ms.
            for _ in 0..<15 {
                try? slow.send("s")
                try steady.send(String(repeating: "f", count: 40))
                usleep(40_000)
            }
            #expect(try steady.answer().body.count == 90_600)
            #expect(status(try slow.receive(until: "\r\n\r\n")) == 408)
            #expect(status(try absent.receive(until: "\r\n\r\n")) == 408)
        }
    }

    @Test("While memory is short, the minimum rate of a body is higher") func slowBodiesInShortMemory() async throws {
        var limits = HTTPServer.Limits.short
        limits.leastBodyBytesPerSecond = 1
        limits.idleTime = .seconds(600)
        try await withServer(limits) { server, _ in
            let others = try server.configuration.incoming.lease(200 << 20)
            let client = try Client(server)
            // Enough for 130 seconds at the usual rate. While memory is short, the server requires more.
            try client.send(
                "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 600\r\n\r\n" + String(repeating: "s", count: 130))
            #expect(status(try client.receive(until: "\r\n\r\n")) == 408)
            others.end()
        }
    }

    @Test("A streamed body may arrive slowly, but the server answers 408 after a long pause")
    func slowStreamedBodies() async throws {
        var limits = HTTPServer.Limits.short
        limits.idleTime = .seconds(600)
        // Pauses of this thread are longer on a busy machine.
        limits.streamedBodyPause = .seconds(600)
        try await withServer(limits) { server, _ in
            let client = try Client(server)
            try client.send("POST /count HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            // Longer than the grace period of 400 ms of other bodies.
            for _ in 0..<6 {
                try client.send("1\r\nx\r\n")
                usleep(100_000)
            }
            try client.send("0\r\n\r\n")
            #expect(try client.answer().body == "counted 6")
        }
        limits.streamedBodyPause = .milliseconds(400)
        try await withServer(limits) { server, application in
            let client = try Client(server)
            try client.send("POST /count HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            #expect(status(try client.receive(until: "\r\n\r\n")) == 408)
            #expect(application.readFailures.wait { $0.count == 1 })
        }
    }

    @Test(
        "The queue for a client that stops reading is bounded, and the server closes the client's connection",
        arguments: [
            HTTPAddress.tcp(host: "127.0.0.1", port: 0),
            .unix(path: NSTemporaryDirectory() + "braid-stalled-\(getpid()).sock"),
        ])
    func stalledReaders(_ address: HTTPAddress) async throws {
        var limits = HTTPServer.Limits.short
        limits.idleTime = .seconds(600)
        try await withServer(limits, address: address) { server, application in
            let large = try Client(server, receiveBuffer: 4_096)
            try large.get("/large?n=50000000")
            let stream = try Client(server, receiveBuffer: 4_096)
            try stream.get("/stream")
            #expect(application.streams.wait { $0.count == 1 })
            let events = application.streams.value[0]
            var accepted = 0
            var refusals = 0
            // After 200 ms of refusals, the reader has stopped and is not just slower than this thread.
            while refusals < 200, accepted < 100_000_000 {
                switch events.write([UInt8](repeating: 101, count: 500)) {
                case .accepted:
                    accepted += 500
                    refusals = 0
                default:
                    refusals += 1
                    usleep(1_000)
                }
            }
            #expect(refusals == 200, "the queue is bounded: \(accepted) bytes were taken")
            #expect(application.closedStreams.wait { $0 == 1 })
            #expect(eventually { server.connectionStatistics?.open == 0 })
            // With TCP, the kernel may close the stalled client's connection first.
            guard case .unix = address else { return }
            let facts = try #require(server.connectionStatistics)
            #expect(facts.stalled == 2 && facts.stalledStreams == 1)
        }
    }

    @Test("A download that takes longer than the write time is completed if the client continues to read")
    func slowDownload() async throws {
        var limits = HTTPServer.Limits.short
        limits.idleTime = .seconds(600)
        limits.writeTime = .seconds(2)
        try await withServer(limits) { server, _ in
            var download = try Self.download(from: server)
            // A client that stood still did not go on reading: repeat.
            while download.received <= 8_000_000, download.longestPause > .seconds(1) {
                download = try Self.download(from: server)
            }
            #expect(download.received > 8_000_000)
        }
    }

    /// Downloads 8 MB. For three seconds it reads so slowly that the socket does not become writable within the write
    /// time of two.
    private static func download(from server: HTTPServer) throws -> (received: Int, longestPause: Duration) {
        let client = try Client(server, receiveBuffer: 16_384)
        try client.get("/large?n=8000000")
        let started = ContinuousClock.now
        var last = started, received = 0, longestPause = Duration.zero
        while received <= 8_000_000 {
            let isSlow = started.duration(to: .now) < .seconds(3)
            let count = (try? client.receive(isSlow ? 16_384 : 1 << 20).count) ?? 0
            longestPause = max(longestPause, last.duration(to: .now))
            last = .now
            if count == 0 { break }
            received += count
            if isSlow { usleep(50_000) }
        }
        return (received, longestPause)
    }

    @Test("The server refuses an endless header, an endless chunk extension and endless trailers")
    func endlessInput() async throws {
        try await withServer { server, _ in
            let line = try Client(server)
            try? line.send("GET / HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "x", count: 10 << 20))
            #expect(status(try line.receive(until: "\r\n\r\n")) == 431)
            let extensions = try Client(server)
            try? extensions.send(
                "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;"
                    + String(repeating: "x", count: 1 << 20))
            #expect(status(try extensions.receive(until: "\r\n\r\n")) == 400)
            let trailers = try Client(server)
            try? trailers.send(
                "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
                    + String(repeating: "T: x\r\n", count: 100_000))
            #expect(status(try trailers.receive(until: "\r\n\r\n")) == 431)
        }
    }

    /// Each follows a stream, so none is idle.
    private static func fill(_ server: HTTPServer) throws -> [Client] {
        var clients: [Client] = []
        // If this thread stands still, a crowded server can close a connection before its first request: open
        // another.
        _ = eventually {
            if let client = try? Client(server), (try? client.get("/stream")) != nil,
                let head = try? client.receive(until: "\r\n\r\n"), status(head) == 200
            {
                clients.append(client)
            }
            return clients.count == server.configuration.maxConnections
        }
        try #require(clients.count == server.configuration.maxConnections)
        return clients
    }

    @Test("A connection beyond the limit may send one probe. Any other request is refused, and closes the connection")
    func reservedConnections() async throws {
        try await withServer(maxConnections: 4) { server, application in
            let clients = try Self.fill(server)
            for _ in 0..<2 * HTTPServer.reservedConnections {
                let probe = try Client(server)
                try probe.get("/probe?n=9")
                let answer = try probe.receiveAll()
                #expect(answer.hasPrefix("HTTP/1.1 200") && answer.hasSuffix("ready 9"), "\(answer)")
                #expect(answer.contains("\r\nConnection: close\r\n"), "\(answer)")
            }
            let asked = application.requests.value.count
            for request in [
                "GET /x HTTP/1.1\r\nHost: a\r\n\r\n", "POST /probe HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n",
                "POST /count HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
            ] {
                let other = try Client(server)
                try other.send(request)
                let answer = try other.receiveAll()
                #expect(answer.hasPrefix("HTTP/1.1 503") && answer.contains("\r\nConnection: close\r\n"), "\(answer)")
            }
            #expect(application.requests.value.count == asked)
            #expect(server.connectionStatistics?.open == 4 && server.connectionStatistics?.refused == 3)
            withExtendedLifetime(clients) {}
        }
    }

    @Test("A connection beyond the limit becomes a normal connection when another connection is closed")
    func promotedConnection() async throws {
        try await withServer(maxConnections: 4) { server, _ in
            var clients = try Self.fill(server)
            let next = try Client(server)
            #expect(eventually { server.connectionStatistics?.accepted == 5 })
            clients.removeFirst()
            #expect(eventually { server.connectionStatistics?.open == 3 })
            for _ in 0..<2 {
                try next.get("/x?n=9")
                #expect(try next.answer().body == "ready 9")
            }
            #expect(server.connectionStatistics?.open == 4)
            withExtendedLifetime(clients) {}
        }
    }

    @Test("Connections that occupy the whole reserve are closed, so that a waiting probe is answered")
    func occupiedReserve() async throws {
        var limits = HTTPServer.Limits()
        limits.sweep = .milliseconds(50)
        limits.reservedTime = .milliseconds(200)
        try await withServer(limits, maxConnections: 1) { server, _ in
            let clients = try Self.fill(server)
            let silent = try (0..<HTTPServer.reservedConnections).map { number in
                let client = try Client(server)
                if number % 2 == 0 { try? client.send("GET /probe HTTP/1.1\r\nHo") }
                return client
            }
            // As above, for the probe.
            let isAnswered = eventually {
                guard let probe = try? Client(server), (try? probe.get("/probe?n=9")) != nil else { return false }
                return (try? probe.receiveAll())?.hasSuffix("ready 9") == true
            }
            #expect(isAnswered)
            for client in silent { #expect(client.isClosedByServer(within: 60)) }
            #expect(server.connectionStatistics?.open == 1)
            withExtendedLifetime(clients) {}
        }
    }

    @Test("A server with the maximum number of connections closes idle ones to make room for a new one")
    func idleConnections() async throws {
        var limits = HTTPServer.Limits()
        limits.sweep = .milliseconds(50)
        limits.idleTime = .seconds(3_600)
        try await withServer(limits, maxConnections: 2) { server, _ in
            let idle = try (0..<2).map { _ in try Client(server) }
            #expect(eventually { server.connectionStatistics.map { $0.accepted == 2 && $0.open < 2 } ?? false })
            // As above.
            let isAnswered = eventually {
                guard let next = try? Client(server), (try? next.get("/x?n=9")) != nil else { return false }
                return (try? next.answer().body) == "ready 9"
            }
            #expect(isAnswered)
            withExtendedLifetime(idle) {}
        }
    }

    @Test("A body of many tiny chunks arrives complete") func tinyChunks() async throws {
        try await withServer { server, _ in
            let client = try Client(server)
            for target in ["/echo", "/count", "/slow-reader"] {
                try client.send("POST \(target) HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
                try client.send(String(repeating: "1\r\nx\r\n", count: 90_000) + "0\r\n\r\n")
                #expect(
                    try client.answer().body
                        == (target == "/echo" ? String(repeating: "x", count: 90_000) : "counted 90000"))
            }
        }
    }

    @Test("After clients disappear in the middle of requests, no connection and no stream stays open")
    func vanishedClients() async throws {
        try await withServer { server, application in
            for number in 0..<200 {
                let client = try Client(server)
                switch number % 5 {
                case 0: try client.get("/later?n=30")
                case 1: try client.get("/large?n=3000000")
                case 2: try client.send("POST /count HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\nx")
                case 3: try client.get("/download?n=4000000")
                default: try client.get("/stream")
                }
                if number % 2 == 0 {
                    // Resets the connection.
                    var linger = linger(l_onoff: 1, l_linger: 0)
                    setsockopt(
                        client.socket, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
                }
            }
            // The server may not have accepted the last ones yet.
            #expect(eventually { server.connectionStatistics.map { $0.accepted == 200 && $0.open == 0 } ?? false })
            #expect(eventually { application.streams.withLock { $0.allSatisfy { $0.write([1]) == .closed } } })
        }
    }
}

struct HTTPStopTests {
    private func started(_ limits: HTTPServer.Limits = .patient) throws -> (HTTPServer, TestApplication) {
        let application = TestApplication()
        let server = HTTPServer(
            configuration: .init(address: .tcp(host: "127.0.0.1", port: 0), limits: limits, loops: 2),
            handler: application)
        try server.start()
        return (server, application)
    }

    @Test("A stopping server completes running answers and downloads, and ends event streams cleanly")
    func runningAnswers() async throws {
        // Sweeps after the stop close the test's lingering connections.
        var limits = HTTPServer.Limits.patient
        limits.sweep = .milliseconds(100)
        let (server, application) = try started(limits)
        // Dealt in turn: one for each of the two loops.
        let idle = [try Client(server), try Client(server)]
        let held = try Client(server)
        let stream = try Client(server)
        let download = try Client(server)
        let large = try Client(server, receiveBuffer: 16_384)
        let clients: [Client] = await onThread {
            try? held.get("/held")
            try? stream.get("/stream")
            _ = try? stream.receive(until: "\r\n\r\n")
            try? download.get("/download?n=8000000")
            try? large.get("/large?n=8000000")
            _ = application.requests.wait { $0.count == 4 }
            return [held, stream, download, large]
        }
        application.streams.withLock { _ = $0[0].write([UInt8]("last".utf8)) }
        async let stopped: Void = server.stop(grace: .seconds(120))
        let received = await onThread {
            // Only now do both loops know of the stop, so the held answer contains `Connection: close`.
            let closed = idle.allSatisfy { $0.isClosedByServer(within: 60) } ? "closed" : "open"
            application.gate.continuation.finish()
            return [closed] + clients.map { (try? $0.receiveAll()) ?? "error" }
        }
        await stopped
        #expect(received[0] == "closed")
        #expect(received[1].hasSuffix("held") && received[1].contains("Connection: close\r\n"))
        #expect(received[2] == "4\r\nlast\r\n0\r\n\r\n", "the event stream ends cleanly")
        #expect(application.closedStreams.value == 1)
        #expect(received[3].utf8.count { $0 == UInt8(ascii: "y") } >= 8_000_000 && received[3].hasSuffix("0\r\n\r\n"))
        #expect(received[4].utf8.count > 8_000_000)
        #expect(server.address == nil)
    }

    @Test("When the grace period ends, a stopping server cuts off a running download so that it does not look complete")
    func gracePeriod() async throws {
        let (server, application) = try started()
        let client = try Client(server)
        let later = try Client(server), soon = try Client(server)
        await onThread {
            try? client.get("/download?n=400000000")
            try? later.get("/later?n=5000")
            try? soon.get("/soon?n=800")
            _ = application.requests.wait { $0.count == 3 }
        }
        let start = ContinuousClock.now
        await server.stop(grace: .milliseconds(300))
        #expect(start.duration(to: .now) < .seconds(100))
        #expect(application.closedStreams.value == 1)
        #expect(
            await application.answeredSoon.wait { $0 == 1 },
            "a task outlives the connection that it answers")
        let rest = await onThread { (try? client.receiveAll()) ?? "" }
        #expect(!rest.hasSuffix("0\r\n\r\n"), "a download that was cut must not look whole")
    }

    @Test("An idle server can be stopped twice and then started again") func repeatedStop() async throws {
        let (server, _) = try started()
        let start = ContinuousClock.now
        await server.stop(grace: .seconds(10))
        await server.stop(grace: .seconds(10))
        #expect(start.duration(to: .now) < .seconds(100))
        try server.start()
        #expect(server.address != nil)
        await server.stop(grace: .zero)
    }
}

import BraidRuntime
import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import BraidHTTP

/// Over real sockets.
struct HTTPServerTests {
    @Test("The server answers many requests on one connection") func keepAlive() async throws {
        try await withServer { server, _ in
            let client = try Client(server)
            for number in 0..<20 {
                try client.get("/x?n=\(number)")
                let answer = try client.answer()
                #expect(answer.head.hasPrefix("HTTP/1.1 200 OK\r\nDate: "))
                #expect(answer.body == "ready \(number)")
            }
        }
    }

    @Test("The server answers pipelined requests in the order in which they were sent") func pipelining() async throws {
        try await withServer { server, _ in
            let client = try Client(server)
            let all = (0..<100).map { number in
                switch number % 4 {
                case 0: "GET /\(number % 8 == 0 ? "later" : "soon")?n=\(number % 7) HTTP/1.1\r\nHost: a\r\n\r\n"
                case 1: "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n\(1_000 + number)"
                case 2:
                    "POST /count HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"
                default: "GET /x?n=\(number) HTTP/1.1\r\nHost: a\r\n\r\n"
                }
            }
            try client.send(all.joined())
            for number in 0..<100 {
                let expected = [
                    "\(number % 8 == 0 ? "later" : "soon") \(number % 7)", "\(1_000 + number)", "counted 3",
                    "ready \(number)",
                ][number % 4]
                #expect(try client.answer().body == expected)
            }
        }
    }

    @Test("The server answers a request that arrives byte by byte") func singleBytes() async throws {
        try await withServer { server, _ in
            let client = try Client(server)
            for byte in "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n".utf8
            {
                try client.send([byte])
                // Otherwise the server receives several bytes at once.
                usleep(500)
            }
            #expect(try client.answer().body == "abc")
        }
    }

    @Test("The server sends 100 Continue only before a body that it accepts") func expectations() async throws {
        try await withServer { server, _ in
            let client = try Client(server)
            try client.send("POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
            #expect(try client.receive(until: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
            try client.send("ok")
            #expect(try client.answer().body == "ok")
            try client.send("GET /x?n=1 HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n")
            #expect(try client.answer().body == "ready 1", "there is no body to go on with")
            try client.send("POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 100001\r\n\r\n")
            #expect(status(try client.receiveAll()) == 413)
        }
    }

    @Test("A client that has closed its sending side receives complete answers. Only an endless stream is ended")
    func halfClosedConnections() async throws {
        try await withServer { server, application in
            for target in ["/x?n=5", "/later?n=100", "/large?n=3000000"] {
                let client = try Client(server)
                try client.get(target)
                client.endSending()
                let all = try client.receiveAll()
                #expect(status(all) == 200)
                if target.hasPrefix("/large") { #expect(all.utf8.count > 3_000_000) }
            }
            let client = try Client(server)
            try client.get("/stream")
            client.endSending()
            #expect(try client.receiveAll().hasSuffix("\r\n\r\n0\r\n\r\n"), "an endless stream ends")
            #expect(application.closedStreams.wait { $0 == 1 })
            let download = try Client(server)
            try download.get("/download?n=5000000")
            download.endSending()
            #expect(
                try download.receiveAll().utf8.count { $0 == UInt8(ascii: "y") } >= 5_000_000,
                "one with an end is sent whole")
        }
    }

    @Test("The server answers 400 if a client closes its sending side within a request")
    func incompleteRequests() async throws {
        try await withServer { server, _ in
            for text in ["GET / HTTP/1.1\r\nHo", "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabc"] {
                let client = try Client(server)
                try client.send(text)
                client.endSending()
                #expect(status(try client.receiveAll()) == 400)
            }
        }
    }

    @Test("Answers to HEAD, and answers with status 204 or 304, are sent without a body") func noBody() async throws {
        try await withServer { server, _ in
            let client = try Client(server)
            try client.send("HEAD /large?n=70000 HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try client.answer(isHead: true).head.contains("Content-Length: 70000\r\n"))
            try client.send("HEAD /stream HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try client.answer(isHead: true).head.contains("Transfer-Encoding: chunked\r\n"))
            try client.get("/none?n=204")
            #expect(status(try client.answer(isHead: true).head) == 204)
            try client.get("/none?n=304")
            #expect(status(try client.answer(isHead: true).head) == 304)
            try client.get("/x?n=1")
            #expect(try client.answer().body == "ready 1")
        }
    }

    @Test("An HTTP/1.0 client receives answers without chunks, and its connection stays open only on request")
    func oldClients() async throws {
        try await withServer { server, application in
            let once = try Client(server)
            try once.send("GET /x?n=1 HTTP/1.0\r\n\r\n")
            #expect(try once.receiveAll().hasSuffix("Connection: close\r\n\r\nready 1"))
            let twice = try Client(server)
            for _ in 0..<2 {
                try twice.send("GET /x?n=1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
                #expect(try twice.answer().head.contains("Connection: keep-alive\r\n"))
            }
            try twice.send("GET /download?n=16384 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            let all = try twice.receiveAll()
            #expect(
                !all.contains("chunked") && all.contains("Connection: close\r\n")
                    && all.hasSuffix("\r\n\r\n" + String(repeating: "y", count: 16_384)))
        }
    }

    @Test("Large answers arrive complete, even if the client reads them late") func largeBodies() async throws {
        try await withServer { server, _ in
            let client = try Client(server)
            try client.get("/large?n=2000000")
            #expect(try client.answer().body.utf8.count == 2_000_000)
            try client.get("/download?n=4194304")
            let all = try client.receive(until: "\r\n0\r\n\r\n")
            #expect(all.utf8.count { $0 == UInt8(ascii: "y") } == 4_194_304)
            // Unread answers stop the server's reading, but it loses no request.
            let sender = Thread {
                try? client.send(String(repeating: "GET /large?n=50000 HTTP/1.1\r\nHost: a\r\n\r\n", count: 200))
            }
            sender.start()
            usleep(100_000)
            for _ in 0..<200 { #expect(try client.answer().body.utf8.count == 50_000) }
        }
    }

    @Test("A malformed request receives one answer, and the server does not read the bytes after it as a request")
    func malformedRequests() async throws {
        try await withServer { server, application in
            for (text, expected) in malformed {
                let client = try Client(server)
                try? client.send(text + "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n")
                client.endSending()
                let all = try client.receiveAll()
                #expect(status(all) == expected, "\(text.prefix(80))")
                #expect(all.components(separatedBy: "\r\nDate: ").count == 2, "one answer and no more")
            }
            #expect(!application.requests.value.contains("GET /smuggled"))
        }
    }

    @Test("A client that sends the whole of a body that is too long still receives the answer 413")
    func oversizedBodies() async throws {
        try await withServer { server, _ in
            for head in ["Content-Length: 30000000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n1C9C380\r\n"] {
                let client = try Client(server)
                try client.send("POST /echo HTTP/1.1\r\nHost: a\r\n" + head)
                // Like a simple client: the whole body before the answer.
                try client.send([UInt8](repeating: 97, count: 30_000_000))
                #expect(status(try client.receive(until: "\r\n\r\n")) == 413)
            }
        }
    }

    @Test("The server accepts a body that is exactly as long as the limit") func longestBodies() async throws {
        try await withServer { server, application in
            let limit = application.bodyLimit, body = String(repeating: "b", count: limit)
            for framed in [
                "Content-Length: \(limit)\r\n\r\n\(body)",
                "Transfer-Encoding: chunked\r\n\r\n\(String(limit, radix: 16))\r\n\(body)\r\n0\r\n\r\n",
            ] {
                let client = try Client(server)
                try client.send("POST /echo HTTP/1.1\r\nHost: a\r\n\(framed)")
                #expect(try client.answer().body == body)
            }
        }
    }

    @Test("The server never reads the rest of an unread body as the next request", arguments: ["/early", "/echo"])
    func unreadBodies(_ target: String) async throws {
        try await withServer { server, application in
            let client = try Client(server)
            let smuggled = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
            let body = String(repeating: smuggled, count: 10_000)
            try client.send(
                "POST \(target) HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.utf8.count)\r\n\r\n" + body + smuggled)
            let all = try client.receiveAll()
            #expect(status(all) == (target == "/early" ? 403 : 413))
            #expect(all.contains("Connection: close\r\n"))
            #expect(all.components(separatedBy: "HTTP/1.1 ").count == 2)
            #expect(!application.requests.value.contains("GET /smuggled"))
        }
    }

    @Test("The server stops reading a streamed body from the socket while the body's reader is busy")
    func busyReaders() async throws {
        try await withServer { server, _ in
            let client = try Client(server)
            let body = [UInt8](repeating: 97, count: 40_000_000)
            let started = ContinuousClock.now
            try client.send("POST /slow-reader HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.count)\r\n\r\n")
            try client.send(body)
            // The kernel's buffers hold less than 40 MB, so the sender had to wait for the reader.
            #expect(started.duration(to: .now) > .milliseconds(400))
            #expect(try client.answer().body == "counted 40000000")
            try client.get("/x?n=1")
            #expect(try client.answer().body == "ready 1")
        }
    }

    @Test("The reader of a streamed body receives an error if the body breaks off or is malformed")
    func brokenBodies() async throws {
        try await withServer { server, application in
            let client = try Client(server)
            try client.send("POST /count HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab")
            #expect(application.readers.wait { $0 == 1 })
            client.endSending()
            _ = try client.receiveAll()
            let faulty = try Client(server)
            try faulty.send("POST /count HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\nx")
            #expect(status(try faulty.receiveAll()) == 400)
            #expect(application.readFailures.wait { $0.count == 2 })
        }
    }

    @Test("200 streams receive the same events, and their connections serve requests after the streams have ended")
    func manyStreams() async throws {
        try await withServer { server, application in
            let clients = try (0..<200).map { _ in try Client(server) }
            for client in clients { try client.get("/stream") }
            #expect(application.streams.wait { $0.count == 200 })
            for client in clients { #expect(try client.receive(until: "\r\n\r\n").contains("chunked")) }
            for number in 0..<10 {
                let event = [UInt8]("data: \(number)\n\n".utf8)
                application.streams.withLock { for stream in $0 { #expect(stream.write(event) == .accepted) } }
            }
            application.streams.withLock { for stream in $0 { stream.finish() } }
            for client in clients {
                let all = try client.receive(until: "0\r\n\r\n")
                for number in 0..<10 { #expect(all.contains("data: \(number)\n\n")) }
                try client.get("/x?n=2")
                #expect(try client.answer().body == "ready 2", "the connection goes on after the stream")
            }
        }
    }

    @Test("When a client disconnects, the server closes its stream and its connection")
    func disconnects() async throws {
        try await withServer { server, application in
            var client: Client? = try Client(server)
            try client?.get("/stream")
            _ = try client?.receive(until: "\r\n\r\n")
            client = nil
            #expect(application.closedStreams.wait { $0 == 1 })
            #expect(application.streams.withLock { $0[0].write([1]) } == .closed)
            #expect(eventually { server.connectionStatistics?.open == 0 })
        }
    }

    @Test("A stream that fails ends without the last chunk, so that the client sees that it is incomplete")
    func failedStreams() async throws {
        try await withServer { server, application in
            let client = try Client(server)
            try client.get("/stream")
            _ = try client.receive(until: "\r\n\r\n")
            application.streams.withLock { $0[0].fail() }
            #expect(try client.receiveAll() == "")
        }
    }

    @Test("When a stream fails, its queued bytes are sent, and then the connection is closed")
    func brokenStreams() async throws {
        try await withServer { server, application in
            for (target, body) in [("/stream", "5\r\nstart\r\n"), ("/sized?n=9", "start")] {
                let client = try Client(server)
                try client.get(target)
                _ = try client.receive(until: "\r\n\r\n")
                application.streams.withLock { streams in
                    streams.last?.write([UInt8]("start".utf8))
                    streams.last?.fail()
                }
                #expect(try client.receiveAll() == body)
            }
        }
    }

    @Test("A stream of known length is sent with a Content-Length and without chunks, and the connection stays open")
    func sizedStreams() async throws {
        try await withServer { server, application in
            let client = try Client(server)
            for number in 1...3 {
                try client.get("/sized?n=10")
                let head = try client.receive(until: "\r\n\r\n")
                #expect(head.contains("Content-Length: 10\r\n") && !head.contains("chunked"))
                application.streams.withLock { streams in
                    for _ in 0..<2 { streams.last?.write([UInt8]("12345".utf8)) }
                    streams.last?.finish()
                }
                #expect(try client.receive(until: "1234512345").hasSuffix("1234512345"), "\(number)")
            }
        }
    }

    @Test("No byte of a withheld answer is sent, but the answers before it are sent")
    func withheldAnswers() async throws {
        try await withServer { server, application in
            let client = try Client(server)
            try client.send("GET /x?n=1 HTTP/1.1\r\nHost: a\r\n\r\nGET /withheld HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try client.answer().body == "ready 1")
            #expect(client.isClosedByServer(within: 60))
            #expect(application.requests.value == ["GET /x?n=1", "GET /withheld"])
        }
    }
}

struct RefusedConnectionTests {
    enum Place: CaseIterable {
        case four, six, unix

        /// Tests run at the same time.
        var address: HTTPAddress {
            switch self {
            case .four: .tcp(host: "127.0.0.1", port: 0)
            case .six: .tcp(host: "::1", port: 0)
            case .unix: .unix(path: NSTemporaryDirectory() + "braid-\(UInt32.random(in: 0..<UInt32.max)).sock")
            }
        }
    }

    private func started(_ place: Place) throws -> HTTPServer {
        let server = HTTPServer(configuration: .init(address: place.address, loops: 2), handler: TestApplication())
        try server.start()
        return server
    }

    /// Each with one request. Blocks, so not for tasks.
    private func clients(of server: HTTPServer) throws -> [Client] {
        let clients = try (0..<8).map { _ in try Client(server) }
        for client in clients {
            try client.get("/x?n=1")
            #expect(try client.answer().body == "ready 1")
        }
        return clients
    }

    @Test("Refusing connections closes open ones, and new ones are refused at once", arguments: Place.allCases)
    func refusal(place: Place) async throws {
        let server = try started(place), address = try #require(server.address)
        let open = await onThread { Result { try clients(of: server) } }
        await server.refuseConnections(for: .seconds(3_600))
        await server.refuseConnections(for: .milliseconds(1))
        await onThread {
            for client in (try? open.get()) ?? [] { #expect(client.isClosedByServer(within: 60)) }
            #expect(server.connectionStatistics?.open == 0)
            for _ in 0..<3 {
                let error = #expect(throws: ClientError.self) { _ = try Client(server) }
                #expect(error?.code == (place == .unix ? ENOENT : ECONNREFUSED))
            }
        }
        await server.stop()
        if case .unix(let path) = address {
            #expect(access(path, F_OK) != 0 && access(path + ".suspended", F_OK) != 0)
        }
    }

    @Test("After the set time, the server accepts connections again at the same address", arguments: Place.allCases)
    func resumption(place: Place) async throws {
        let server = try started(place), address = server.address
        for _ in 0..<3 {
            let open = await onThread { Result { try clients(of: server) } }
            await server.refuseConnections(for: .milliseconds(20))
            await onThread {
                for client in (try? open.get()) ?? [] { #expect(client.isClosedByServer(within: 60)) }
                #expect(eventually { (try? Client(server)) != nil })
            }
            #expect(server.address == address)
        }
        let last = await onThread { Result { try clients(of: server) } }
        #expect(try last.get().count == 8)
        await server.stop()
    }
}

struct HTTPAddressTests {
    @Test("The server listens on a Unix socket, which no second server can take, and removes the socket when it stops")
    func unixSockets() async throws {
        let path = NSTemporaryDirectory() + "braid-\(UInt32.random(in: 0..<UInt32.max)).sock"
        try await withServer(address: .unix(path: path)) { server, application in
            let client = try Client(server)
            try client.get("/x?n=3")
            #expect(try client.answer().body == "ready 3")
            #expect(throws: HTTPServerError.self, "somebody listens there") {
                try HTTPServer(configuration: .init(address: .unix(path: path)), handler: application).start()
            }
            try client.get("/large?n=3000000")
            #expect(try client.answer().body.utf8.count == 3_000_000)
            let half = try Client(server)
            try half.get("/later?n=50")
            half.endSending()
            #expect(status(try half.receiveAll()) == 200)
        }
        #expect(access(path, F_OK) != 0)
    }

    @Test("The server replaces a socket file at which no server listens") func unusedSockets() async throws {
        let path = NSTemporaryDirectory() + "braid-\(UInt32.random(in: 0..<UInt32.max)).sock"
        let left = try Listener(.unix(path: path), backlog: 1, userTimeout: 0)
        Glibc.close(left.socket)
        #expect(access(path, F_OK) == 0)
        try await withServer(address: .unix(path: path)) { server, _ in
            let client = try Client(server)
            try client.get("/x?n=3")
            #expect(try client.answer().body == "ready 3")
        }
    }

    @Test("The server refuses to listen at the path of a file that is not a socket, and does not change the file")
    func otherFiles() throws {
        let path = NSTemporaryDirectory() + "braid-\(UInt32.random(in: 0..<UInt32.max)).txt"
        try Data("precious".utf8).write(to: URL(filePath: path))
        defer { unlink(path) }
        #expect(throws: HTTPServerError.self) { _ = try Listener(.unix(path: path), backlog: 1, userTimeout: 0) }
        #expect(try Data(contentsOf: URL(filePath: path)) == Data("precious".utf8))
    }

    @Test("If an event loop's thread cannot be started, the server does not run and does not listen")
    func noThread() async {
        await #expect(processExitsWith: .exitCode(3)) {
            refuseThreads()
            let path = "/tmp/braid-\(getpid())-no-thread"
            let configuration = HTTPServer.Configuration(address: .unix(path: path), loops: 2)
            let server = HTTPServer(configuration: configuration, handler: TestApplication())
            do {
                try server.start()
            } catch {
                exit(server.address == nil && access(path, F_OK) != 0 ? 3 : 4)
            }
        }
    }

    @Test(
        "An answer for whose body a lease was taken before counts once in the quota, with its own size",
        arguments: [2_000_000, 1_000])
    func leasedAnswers(size: Int) async throws {
        let outgoing = Quota(4 << 20)
        try await withServer(outgoing: outgoing) { server, application in
            // An only lease is always granted.
            let other = try outgoing.lease(1 << 20), lease = try outgoing.lease(3 << 20)
            application.lease.withLock { $0 = lease }
            let client = try Client(server)
            try client.get("/large?n=\(size)")
            let answer = try client.answer()
            #expect(status(answer.head) == 200 && answer.body.utf8.count == size)
            #expect(eventually { outgoing.taken == 1 << 20 })
            try client.send("HEAD /large?n=2000000 HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(status(try client.answer(isHead: true).head) == 200)
            #expect(eventually { outgoing.taken == 1 << 20 })
            withExtendedLifetime((other, lease)) {}
        }
    }

    @Test("The server answers requests at an IPv6 address") func ipv6() async throws {
        try await withServer(address: .tcp(host: "::1", port: 0)) { server, _ in
            let client = try Client(server)
            try client.get("/x?n=6")
            #expect(try client.answer().body == "ready 6")
            #expect(server.address?.description.hasPrefix("http://[::1]:") == true)
        }
    }

    @Test("The error for a port that is in use contains the address and the reason") func usedPorts() async throws {
        try await withServer { server, application in
            guard let address = server.address else { return }
            let second = HTTPServer(configuration: .init(address: address), handler: application)
            let error = #expect(throws: HTTPServerError.self) { try second.start() }
            #expect(error?.description == "cannot listen on \(address): Address already in use")
        }
    }
}

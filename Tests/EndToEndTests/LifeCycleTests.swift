import Foundation
import Synchronization
import TestSupport
import Testing

@Suite(.serialized) struct LifeCycleTests {
    private static func bearer(_ token: String) -> [String: String] { ["Authorization": "Bearer \(token)"] }

    // MARK: Start

    @Test(
        "The binary finds its command-line arguments even if /proc is not mounted",
        .enabled(if: ContainerRoot.isPossible, "needs root, and mounts in a namespace of their own"))
    func argumentsWithoutProc() throws {
        let run = Process(), output = Pipe()
        run.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
        run.arguments = [
            "--mount", "--propagation", "private", "/bin/sh", "-c",
            #"umount -l /proc && ! [ -e /proc/self ] && exec "$0" check /nowhere"#, ServerProcess.binary.path,
        ]
        run.standardOutput = output
        try run.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        run.waitUntilExit()
        #expect(run.terminationStatus == 1 && text == "/nowhere: does not exist\n", "\(text)")
    }

    // MARK: The end of the standard input

    /// With `input` as standard input.
    private static func start(input: Any, _ options: [String], log: URL) throws -> (Process, HTTPClient) {
        let run = Process(), output = Pipe()
        run.executableURL = ServerProcess.binary
        run.arguments = ["serve", "--port", "0", "--database", ":memory:"] + options
        run.environment = ServerProcess.environment()
        (run.standardInput, run.standardOutput) = (input, output)
        _ = FileManager.default.createFile(atPath: log.path, contents: nil)
        run.standardError = try FileHandle(forWritingTo: log)
        try run.run()
        let port = try #require(Int(output.line().split(separator: ":").last ?? ""))
        return (run, try HTTPClient(port: port))
    }

    @Test("With --exit-with-stdin, the server stops when its standard input ends, after answering open requests")
    func endOfInput() throws {
        let directory = try TemporaryDirectory(), log = directory.url.appendingPathComponent("log"), input = Pipe()
        let (run, client) = try Self.start(input: input, ["--exit-with-stdin"], log: log)
        // Bytes on stdin are ignored.
        try input.fileHandleForWriting.write(contentsOf: Data("anything\n".utf8))
        try client.request("POST", "/v1/sessions", #"{"id":"s","rows":[]}"#)
        try client.send("GET /v1/sessions/s/updates?since=0&wait=60 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        try input.fileHandleForWriting.close()
        #expect(try client.receive().status == 200)
        run.waitUntilExit()
        #expect(run.terminationReason == .exit && run.terminationStatus == 0)
        let text = try String(contentsOf: log, encoding: .utf8)
        #expect(text.contains("the standard input has ended") && text.contains("stopped"), "\(text)")
    }

    @Test("With --exit-with-stdin, the server ends when the process that started it is killed")
    func endOfParent() throws {
        let directory = try TemporaryDirectory(), parent = Process(), output = Pipe()
        parent.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        parent.arguments = [
            "python3", "-c",
            """
            import signal, subprocess, sys
            server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            print(server.pid, server.stdout.readline(), flush=True)
            signal.pause()
            """, ServerProcess.binary.path, "serve", "--port", "0", "--database", directory.path("braid.sqlite"),
            "--exit-with-stdin", "--log-level", "warning",
        ]
        parent.environment = ServerProcess.environment()
        parent.standardOutput = output
        try parent.run()
        let server = try #require(try output.line().split(separator: " ").first.flatMap { pid_t($0) })
        kill(parent.processIdentifier, SIGKILL)
        parent.waitUntilExit()
        #expect(eventually { kill(server, 0) != 0 }, "the end of the server")
    }

    @Test("Without --exit-with-stdin, the server continues when its standard input ends")
    func inputIgnored() throws {
        let directory = try TemporaryDirectory(), log = directory.url.appendingPathComponent("log")
        let (run, client) = try Self.start(input: FileHandle.nullDevice, [], log: log)
        #expect(try client.get("/readyz").status == 200)
        run.terminate()
        run.waitUntilExit()
        #expect(try !String(contentsOf: log, encoding: .utf8).contains("standard input"))
    }

    @Test("A process that is started with an empty program name does not start a server")
    func noCommandLine() throws {
        let run = Process(), output = Pipe(), errors = Pipe()
        run.executableURL = URL(fileURLWithPath: "/bin/bash")
        run.arguments = ["-c", #"exec -a "" "$0""#, ServerProcess.binary.path]
        run.environment = ServerProcess.environment()
        run.standardOutput = output
        run.standardError = errors
        try run.run()
        #expect(output.fileHandleForReading.readDataToEndOfFile().isEmpty)
        let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        run.waitUntilExit()
        #expect(run.terminationStatus == 64 && text.contains("command line of this process cannot be read"), "\(text)")
    }

    @Test(
        "Only the server's user may use its files and its socket, whatever the umask of the process is",
        .enabled(if: TestDatabase.isSQLite), arguments: ["0000", "0022", "0777"])
    func filesArePrivate(umask: String) throws {
        let directory = try TemporaryDirectory(), database = directory.path("braid.sqlite")
        func launch(_ arguments: String) throws -> Process {
            let run = Process()
            run.executableURL = URL(fileURLWithPath: "/bin/bash")
            run.arguments = ["-c", "umask \(umask); exec \"$0\" \(arguments)", ServerProcess.binary.path, database]
            run.environment = ServerProcess.environment()
            run.standardOutput = FileHandle.nullDevice
            try run.run()
            return run
        }
        let server = try launch(
            "serve --database \"$1\" --socket \"$1-socket\" --log-file \"$1-log\" --fixtures \(ServerProcess.attendees[1])"
        )
        defer { server.terminate() }
        #expect(
            eventually { connectedSocket(path: database + "-socket").map { close($0) } == 0 }, "the server listens")
        let backup = try launch("backup \"$1\" \"$1-copy\"")
        backup.waitUntilExit()
        #expect(backup.terminationStatus == 0)
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.url.path).sorted()
        #expect(
            names == ["", "-copy", "-lock", "-log", "-reserve", "-shm", "-socket", "-wal"].map { "braid.sqlite" + $0 })
        for name in names {
            let mode = try FileManager.default.attributesOfItem(atPath: directory.path(name))[.posixPermissions] as? Int
            #expect(mode == 0o600, "\(name): \(String(mode ?? -1, radix: 8))")
        }
    }

    @Test(
        "The option --socket-access decides which users may connect to the socket",
        arguments: [("group", 0o660), ("everyone", 0o666)])
    func socketAccess(access: String, mode: Int) throws {
        let directory = try TemporaryDirectory(), socket = directory.path("socket"), run = Process()
        run.executableURL = ServerProcess.binary
        run.environment = ServerProcess.environment()
        run.arguments = ["serve", "--database", ":memory:", "--socket", socket, "--socket-access", access]
        run.standardOutput = FileHandle.nullDevice
        try run.run()
        defer { run.terminate() }
        #expect(eventually { connectedSocket(path: socket).map { close($0) } == 0 }, "the server listens")
        #expect(try FileManager.default.attributesOfItem(atPath: socket)[.posixPermissions] as? Int == mode)
    }

    // MARK: Signals

    @Test("Signals other than SIGTERM, SIGINT, SIGQUIT and SIGKILL do not end the server")
    func otherSignals() throws {
        let server = try ServerProcess(), client = try server.client()
        #expect(try client.request("POST", "/v1/sessions", #"{"id":"s","rows":[]}"#).status == 201)
        let named = [
            SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGPIPE, SIGXFSZ, SIGPOLL, SIGPWR, SIGSTKFLT,
            SIGCHLD, SIGURG, SIGWINCH, SIGCONT,
        ]
        for _ in 0..<3 {
            for number in named + [34, 50, 64] {
                kill(server.processIdentifier, number)
                #expect(try client.get("/v1/sessions/s").status == 200, "signal \(number)")
            }
        }
        #expect(server.stop() == 0)
    }

    @Test("After SIGHUP, the server writes to a new log file, and the renamed one is complete")
    func rotatedLog() throws {
        let directory = try TemporaryDirectory(), log = directory.path("braid.log")
        let server = try ServerProcess(["--log-file", log, "--log-level", "info"]), client = try server.client()
        func lines(_ path: String) -> [Substring] {
            ((try? String(contentsOfFile: path, encoding: .utf8)) ?? "").split(separator: "\n")
        }
        func request(_ id: String) throws { _ = try client.get("/v1/sessions", headers: ["X-Request-Id": id]) }
        try request("first")
        try FileManager.default.moveItem(atPath: log, toPath: log + ".1")
        try request("second")
        kill(server.processIdentifier, SIGHUP)
        #expect(eventually { lines(log).contains { $0.contains(" notice SIGHUP: ") } }, "the log is there again")
        try request("third")
        #expect(eventually { lines(log).contains { $0.contains("requestId=third") } }, "the line")
        #expect(
            lines(log + ".1").filter { $0.contains("requestId=first") || $0.contains("requestId=second") }.count == 2)
        #expect(!lines(log + ".1").contains { $0.contains("requestId=third") } && server.log.isEmpty)

        // If the new file cannot be opened, the old one stays.
        try FileManager.default.moveItem(atPath: log, toPath: log + ".2")
        try FileManager.default.createDirectory(atPath: log, withIntermediateDirectories: false)
        kill(server.processIdentifier, SIGHUP)
        #expect(
            eventually { lines(log + ".2").contains { $0.contains("error SIGHUP: The log file") } }, "the error")
        try request("fourth")
        #expect(eventually { lines(log + ".2").contains { $0.contains("requestId=fourth") } }, "the line")
        #expect(server.stop() == 0)
    }

    @Test("If the log file cannot be opened, the server does not start")
    func wrongLogFile() throws {
        let run = try CommandRun(["serve", "--port", "0", "--database", ":memory:", "--log-file", "/no/such/log"])
        #expect(
            run.status == 1
                && run.errors == "Error: The log file /no/such/log cannot be opened: No such file or directory.\n")
    }

    // MARK: Tokens

    /// The steps of docs/life-cycle.md.
    @Test("An operator can replace a controller's token in use without any request being refused")
    func rotatedToken() async throws {
        let directory = try TemporaryDirectory(), file = directory.path("token")
        func write(_ tokens: String...) throws {
            try (tokens.joined(separator: "\n") + "\n").write(toFile: file, atomically: true, encoding: .utf8)
        }
        try write("old")
        let server = try ServerProcess(["--token-file", file]), asker = try server.client(), port = server.port
        func status(_ token: String) throws -> Int {
            try asker.get("/v1/tables", headers: Self.bearer(token)).status
        }
        #expect(try status("old") == 200 && status("new") == 401)
        #expect(
            try asker.request("POST", "/v1/sessions", #"{"id":"s","rows":[]}"#, headers: Self.bearer("old")).status
                == 201)

        // Four clients send all the time, with the operator's current token.
        let token = Mutex("old"), isOver = Mutex(false), group = DispatchGroup()
        let answers = Watched<(statuses: Set<Int>, counts: [Int])>(([], Array(repeating: 0, count: 4)))
        for index in 0..<4 {
            DispatchQueue.global().async(group: group) {
                while !isOver.withLock({ $0 }) {
                    let given = token.withLock { $0 }
                    let status =
                        (try? HTTPClient(port: port))
                        .flatMap {
                            try? $0.request(
                                "PATCH", "/v1/sessions/s/state", #"{"n":1}"#, headers: Self.bearer(given)
                            )
                        }?.status ?? 0
                    answers.withLock {
                        $0.statuses.insert(status)
                        $0.counts[index] += 1
                    }
                }
            }
        }
        /// Until each client has sent five more requests.
        func traffic() {
            let before = answers.value.counts
            #expect(answers.wait { zip($0.counts, before).allSatisfy { $0 >= $1 + 5 } })
        }
        let oldStream = try EventStreamClient(
            port: port, "/v1/sessions/s/updates?since=0", headers: Self.bearer("old"))
        _ = try oldStream.next()
        traffic()
        // Step 1: both tokens in the file.
        try write("new", "old")
        kill(server.processIdentifier, SIGHUP)
        #expect(try await eventually { try status("new") == 200 }, "the new token is accepted")
        #expect(try status("old") == 200)
        traffic()
        // Step 2: clients use the new one.
        token.withLock { $0 = "new" }
        let newStream = try EventStreamClient(
            port: port, "/v1/sessions/s/updates?since=0", headers: Self.bearer("new"))
        traffic()
        // Step 3: the old one is removed.
        try write("new")
        kill(server.processIdentifier, SIGHUP)
        #expect(try await eventually { try status("old") == 401 }, "the old token is refused")
        traffic()
        isOver.withLock { $0 = true }
        await withCheckedContinuation { done in group.notify(queue: .global()) { done.resume() } }
        #expect(answers.value.statuses == [200])

        // The old token's stream ends, the new one's goes on.
        #expect(throws: EventStreamClient.Ended.self) { while true { _ = try oldStream.next() } }
        let patched = try asker.request(
            "PATCH", "/v1/sessions/s/state", #"{"n":2}"#, headers: Self.bearer("new"))
        _ = try newStream.events(throughRevision: try #require(patched.object["revision"] as? Int))

        // With a faulty file, the tokens stay.
        for wrong in ["", "a b", "one\ntwo\nthree", "naïve"] {
            try wrong.write(toFile: file, atomically: true, encoding: .utf8)
            let before = server.log.split(separator: "\n").count
            kill(server.processIdentifier, SIGHUP)
            #expect(await eventually { server.log.split(separator: "\n").count > before }, "an error")
            #expect(server.log.split(separator: "\n").last?.contains("error SIGHUP: The token file") == true)
            #expect(try status("new") == 200 && status("one") == 401)
        }
        #expect(!server.log.contains("naïve") && !server.log.contains("three"), "tokens are not logged")
    }

    @Test("The variable BRAID_TOKEN may contain only one token")
    func variable() throws {
        let run = try CommandRun(
            ["serve", "--port", "0", "--database", ":memory:"], environment: ["BRAID_TOKEN": "one\ntwo"])
        #expect(
            run.status == 1 && run.errors.contains("BRAID_TOKEN must contain one word of visible ASCII characters. "))
    }

    // MARK: Stop

    @Test("After SIGTERM, the server still answers requests during the drain time, but is not ready")
    func drain() throws {
        let directory = try TemporaryDirectory(), database = directory.path("braid.sqlite")
        let server = try ServerProcess(database: database, ["--drain-time", "3600", "--log-level", "notice"]),
            client = try server.client()
        #expect(try client.request("POST", "/v1/sessions", #"{"id":"s","rows":[]}"#).status == 201)
        #expect(try client.get("/readyz").status == 200)
        kill(server.processIdentifier, SIGTERM)
        #expect(try eventually { try client.get("/readyz").status == 503 }, "not ready")
        let answer = try server.client().request("POST", "/v1/sessions/s/rows", #"{"at":[0,0],"model":1}"#)
        #expect(answer.status == 200 && answer.header("connection") != "close")
        #expect(try server.client().get("/healthz").status == 200)
        #expect(
            try client.get("/readyz").object["detail"] as? String
                == "The server is stopping. Send new requests to another server.")
        // SIGHUP works while draining.
        kill(server.processIdentifier, SIGHUP)
        #expect(eventually { server.log.contains(" notice SIGHUP: received") }, "the reload")
        // A second signal ends it at once, and loses nothing acknowledged.
        let stream = try EventStreamClient(port: server.port, "/v1/sessions/s/updates")
        _ = try stream.events(through: "caught-up")
        #expect(server.stop() == 128 + SIGTERM)
        let next = try ServerProcess(database: database, ["--drain-time", "1"]), other = try next.client()
        #expect(try other.get("/v1/sessions/s").object["revision"] as? Int == 1)
        #expect(next.stop() == 0)
    }

    @Test("A second signal ends the server even while a request is unfinished")
    func secondSignal() throws {
        let server = try ServerProcess(), client = try server.client(), idle = try server.client()
        _ = try idle.get("/healthz")
        try client.send(
            "POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
        )
        kill(server.processIdentifier, SIGINT)
        #expect(idle.isClosed, "the stop has begun")
        kill(server.processIdentifier, SIGINT)
        #expect(client.isClosed)
        #expect(server.ended() == 128 + SIGINT)
    }

    // MARK: The service manager

    @Test("The server notifies its service manager that it is ready, alive and stopping", arguments: [false, true])
    func notifications(isAbstract: Bool) throws {
        let directory = try TemporaryDirectory()
        let path = isAbstract ? "@\(directory.url.lastPathComponent)" : directory.path("notify")
        let socket = try NotifySocket(path)
        let server = try ServerProcess(environment: ["NOTIFY_SOCKET": path, "WATCHDOG_USEC": "30000"])
        #expect(try socket.receive() == "READY=1")
        for _ in 0..<3 { #expect(try socket.receive() == "WATCHDOG=1") }
        kill(server.processIdentifier, SIGTERM)
        var last = try socket.receive()
        while last == "WATCHDOG=1" { last = try socket.receive() }
        #expect(last == "STOPPING=1")
        #expect(server.ended() == 0)
    }

    @Test("The server sends no watchdog notifications if WATCHDOG_PID names another process")
    func otherWatchdog() throws {
        let directory = try TemporaryDirectory(), path = directory.path("notify"), socket = try NotifySocket(path)
        let server = try ServerProcess(
            environment: ["NOTIFY_SOCKET": path, "WATCHDOG_USEC": "30000", "WATCHDOG_PID": "1"])
        #expect(try socket.receive() == "READY=1")
        _ = server.stop()
        #expect(try socket.receive() == "STOPPING=1")
    }

    /// For sd_notify(3).
    private final class NotifySocket {
        private let descriptor: Int32

        struct Failure: Error { var code: Int32 }

        init(_ path: String) throws {
            descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            var name = Array(path.utf8)
            if name.first == UInt8(ascii: "@") { name[0] = 0 }
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
            let bound = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sa_family_t>.size + name.count))
                }
            }
            guard bound == 0 else { throw Failure(code: errno) }
        }

        deinit { close(descriptor) }

        func receive() throws -> String {
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = recv(descriptor, &bytes, bytes.count, 0)
            guard count >= 0 else { throw Failure(code: errno) }
            return String(decoding: bytes[..<count], as: UTF8.self)
        }
    }
}

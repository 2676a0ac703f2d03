import Foundation
import Testing

/// Runs the binary as the image does: with the Dockerfile's settings, as another user, on a read-only root with the
/// binary, its libraries, the examples, /proc and a writable volume.
///
/// Needs no container engine: chroot, and mounts in a namespace of their own. Skipped where that is not allowed.
@Suite(.serialized, .enabled(if: ContainerRoot.isPossible, "needs root, and mounts in a namespace of their own"))
struct ContainerTests {
    @Test("With the settings of the image, the server runs as another user and can write only to its volume")
    func readOnlyRoot() throws {
        let root = try ContainerRoot(), image = try Dockerfile()
        #expect(image.volume == "/data" && image.user == "10001" && image.entrypoint == ["braid-server"])
        // Without a token, not on addresses that other machines can reach.
        let open = try root.run(
            image.entrypoint + image.command, as: image.user,
            environment: image.environment.merging(["BRAID_PORT": "0"]) { $1 })
        #expect(
            open.process.terminationReason == .exit && open.status == 1 && open.errors.contains("--allow-anonymous"),
            "\(open.errors)")

        let environment = image.environment.merging([
            "BRAID_PORT": "0", "BRAID_TOKEN": "secret", "BRAID_FIXTURES": "/fixtures",
        ]) { $1 }
        let server = try root.start(image.entrypoint + image.command, as: image.user, environment: environment)
        defer { server.process.terminate() }
        let line = try server.standardOutput.line()
        let port = try #require(line.split(separator: ":").last.flatMap { Int($0) }, "\(line)")
        #expect(line == "listening on http://0.0.0.0:\(port)")
        let status = try String(contentsOfFile: "/proc/\(server.process.processIdentifier)/status", encoding: .utf8)
        #expect(
            status.contains("Uid:\t10001\t10001\t10001\t10001\n")
                && status.contains("Gid:\t10001\t10001\t10001\t10001\n"))
        // Soon after the start, hence the short start interval.
        #expect(
            image.healthcheckOptions["start-interval"] == "250ms" && image.healthcheckOptions["start-period"] == "30s")
        var inside = image.environment
        inside["BRAID_PORT"] = "\(port)"
        var health = try root.run(image.healthcheck, as: image.user, environment: inside)
        // Again, if a busy server or its database needs too long.
        for _ in 0..<20
        where health.errors.contains("no answer within 5 seconds") || health.output.hasSuffix(": 503\n") {
            health = try root.run(image.healthcheck, as: image.user, environment: inside)
        }
        #expect(health.status == 0 && health.output.hasSuffix("/readyz: 200\n"), "\(health.output)\(health.errors)")

        let client = try HTTPClient(port: port), token = ["Authorization": "Bearer secret"]
        #expect(try client.get("/v1/sessions").status == 401)
        let answer = try client.request(
            "POST", "/v1/sessions/party/edits", #"{"delete":{"section":"attending","row":1}}"#, headers: token)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(try client.get("/metrics").status == 200)

        // To the volume, and nowhere else.
        let copied = try root.run(
            ["braid-server", "backup", "/data/braid.sqlite", "/data/copy.sqlite"], as: image.user, environment: inside)
        #expect(copied.status == 0, "\(copied.errors)")
        for place in ["/copy.sqlite", "/fixtures/copy.sqlite", "/usr/local/bin/copy.sqlite"] {
            let refused = try root.run(
                ["braid-server", "backup", "/data/braid.sqlite", place], as: image.user, environment: inside)
            #expect(refused.status == 1, "\(place)")
        }
        server.process.terminate()
        server.process.waitUntilExit()
        #expect(server.process.terminationStatus == 0)
        #expect(
            try root.volume().sorted() == ["braid.sqlite", "braid.sqlite-lock", "braid.sqlite-reserve", "copy.sqlite"])
        // After the stop, it fails.
        #expect(try root.run(image.healthcheck, as: image.user, environment: inside).status == 1)
    }
}

/// How a container starts, and how its health is checked.
struct Dockerfile {
    private(set) var environment: [String: String] = [
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    ]
    private(set) var user = "", volume = ""
    private(set) var entrypoint: [String] = [], command: [String] = [], healthcheck: [String] = []
    private(set) var healthcheckOptions: [String: String] = [:]

    init() throws {
        let text = try String(contentsOf: ServerProcess.package.appendingPathComponent("Dockerfile"), encoding: .utf8)
        func list(_ text: Substring) throws -> [String] {
            try JSONDecoder().decode([String].self, from: Data(text.utf8))
        }
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 1)
            guard words.count == 2 else { continue }
            switch words[0] {
            case "ENV":
                for pair in words[1].split(separator: " ") {
                    environment[String(pair.prefix { $0 != "=" })] = String(pair.drop { $0 != "=" }.dropFirst())
                }
            case "USER": user = String(words[1])
            case "VOLUME": volume = String(words[1])
            case "ENTRYPOINT": entrypoint = try list(words[1])
            case "CMD": command = try list(words[1])
            case "HEALTHCHECK":
                healthcheck = try list(words[1].drop { $0 != "[" })
                for option in words[1].split(separator: " ") where option.hasPrefix("--") {
                    healthcheckOptions[String(option.dropFirst(2).prefix { $0 != "=" })] = String(
                        option.drop { $0 != "=" }.dropFirst())
                }
            default: break
            }
        }
    }
}

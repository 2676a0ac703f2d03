import Foundation

/// An nginx for comparisons. It has as many workers as the server has event loops, and writes an access log to
/// /dev/null, as the server does.
final class Nginx {
    let port: Int
    private let process = Process()
    private let directory: String

    /// Starts nginx with the files in `directory` + "/files". For `/healthz`, nginx has the same answer as the server.
    init(directory: String, sendfile: Bool) throws {
        let binary = ProcessInfo.processInfo.environment["NGINX_BINARY"] ?? "/usr/sbin/nginx"
        guard FileManager.default.isExecutableFile(atPath: binary) else {
            throw Missing("nginx is not at \(binary); NGINX_BINARY can name it")
        }
        self.directory = directory
        port = 30_000 + Int(getpid()) % 10_000 + (sendfile ? 0 : 1)
        try FileManager.default.createDirectory(atPath: directory + "/files", withIntermediateDirectories: true)
        let configuration = """
            daemon off; worker_processes \(ProcessInfo.processInfo.activeProcessorCount); pid \(directory)/nginx-\(port).pid; error_log /dev/null;
            worker_rlimit_nofile 16384;
            events { worker_connections 4096; }
            http {
              access_log /dev/null; sendfile \(sendfile ? "on" : "off"); tcp_nopush on; tcp_nodelay on; keepalive_requests 1000000000; etag on;
              open_file_cache max=100; default_type application/json; output_buffers 2 128k; sendfile_max_chunk 2m;
              client_body_temp_path \(directory)/b; proxy_temp_path \(directory)/p; fastcgi_temp_path \(directory)/f; uwsgi_temp_path \(directory)/u; scgi_temp_path \(directory)/s;
              server {
                listen 127.0.0.1:\(port) backlog=1024;
                location = /healthz { return 200 '{"status":"ok"}'; }
                location / { root \(directory)/files; }
              }
            }
            """
        let path = "\(directory)/nginx-\(port).conf"
        try configuration.write(toFile: path, atomically: true, encoding: .utf8)
        process.executableURL = URL(fileURLWithPath: binary)
        process.arguments = ["-c", path, "-p", directory]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        for _ in 0..<100 where (try? Connection(port: port)) == nil { usleep(20_000) }
    }

    func stop() {
        process.terminate()
        process.waitUntilExit()
    }
}

/// Measures reads of the server. For comparison, nginx serves the same bytes. The runs of both alternate.
func nginxBenchmark() throws {
    print(
        "\nnginx: requests/s, p50 / p99 in microseconds, this server and nginx in turn (medians of 5 runs of 1 s each)")
    let directory = try scratchDirectory()
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let server = try Server(database: ":memory:")
    defer { server.stop() }
    let models = (0..<752).map { #"{"id":"row-\#($0)","name":"\#(String(repeating: "x", count: 24))"}"# }.joined(
        separator: ",")
    let table = #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[\#(models)]}]}"#
    let connection = try Connection(port: server.port)
    guard try connection.exchange("POST", "/v1/sessions", #"{"table":\#(table),"id":"s"}"#) == 201 else {
        throw Fault("the session was not opened")
    }
    let nginx = try Nginx(directory: directory, sendfile: true)
    defer { nginx.stop() }
    let snapshot = try connection.get("/v1/sessions/s/snapshot")
    try Data(snapshot.body).write(to: URL(fileURLWithPath: directory + "/files/snapshot"))
    print("  (the snapshot has \(snapshot.body.count) bytes)")
    let etag = try snapshot.header("ETag"), nginxETag = try Connection(port: nginx.port).get("/snapshot").header("ETag")
    let cases = [
        ("healthz", 200, Connection.request("GET", "/healthz"), Connection.request("GET", "/healthz")),
        ("snapshot", 200, Connection.request("GET", "/v1/sessions/s/snapshot"), Connection.request("GET", "/snapshot")),
        (
            "304", 304, Connection.request("GET", "/v1/sessions/s/snapshot", fields: ["If-None-Match: \(etag)"]),
            Connection.request("GET", "/snapshot", fields: ["If-None-Match: \(nginxETag)"])
        ),
    ]
    for (name, status, ours, theirs) in cases {
        for connections in [1, 32, 256] {
            var runs: [[LoadResult]] = [[], []]
            for _ in 0..<Size.count(5, small: 1) {
                runs[0].append(
                    try load(ports: [server.port], connections: connections, seconds: 1, expecting: status) { _, _ in
                        ours
                    })
                runs[1].append(
                    try load(ports: [nginx.port], connections: connections, seconds: 1, expecting: status) { _, _ in
                        theirs
                    })
            }
            let figures = runs.map { runs in
                (
                    rate: median(runs.map(\.rate)), p50: median(runs.map { $0.latency(0.5) }),
                    p99: median(runs.map { $0.latency(0.99) })
                )
            }
            let texts = figures.map { "\(Int($0.rate))/s \(Int($0.p50)) / \(Int($0.p99)) us" }
            print(
                "  \(name), \(connections) connections: \(texts[0]); nginx \(texts[1]); \(String(format: "%.2fx, p99 %.2fx", figures[0].rate / figures[1].rate, figures[0].p99 / figures[1].p99))"
            )
        }
    }
}

/// Creates a directory for the files of one benchmark.
func scratchDirectory() throws -> String {
    let directory =
        FileManager.default.currentDirectoryPath + "/.build/benchmark-\(getpid())-\(Int.random(in: 0..<1_000_000))"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    return directory
}

struct Answer {
    var head: String
    var body: [UInt8]

    func header(_ name: String) throws -> String {
        for line in head.components(separatedBy: "\r\n") where line.lowercased().hasPrefix(name.lowercased() + ": ") {
            return String(line.dropFirst(name.count + 2))
        }
        throw Fault("the answer has no \(name): \(head)")
    }
}

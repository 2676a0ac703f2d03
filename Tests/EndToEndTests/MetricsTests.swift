import Foundation
import TestSupport
import Testing

/// With Prometheus' own parser (python3-prometheus-client).
@Suite(.serialized) struct MetricsTests {
    struct Sample: Decodable {
        var family: String
        var type: String
        var name: String
        var labels: [String: String]
        var value: Double
    }

    /// Throws if it is not Prometheus' format.
    static func parse(_ text: String) throws -> [Sample] {
        let process = Process(), input = Pipe(), output = Pipe()
        // Debian's, which has that package.
        process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
        process.arguments = [
            "-c",
            """
            import json, sys
            from prometheus_client.parser import text_string_to_metric_families as families
            print(json.dumps([dict(family=f.name, type=f.type, name=s.name, labels=s.labels, value=s.value if s.value != float("inf") else -1)
                              for f in families(sys.stdin.read()) for s in f.samples]))
            """,
        ]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        input.fileHandleForWriting.write(Data(text.utf8))
        try input.fileHandleForWriting.close()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return try JSONDecoder().decode([Sample].self, from: data)
    }

    private static func scrape(_ client: KeptClient) throws -> [Sample] { try parse(try client.get("/metrics").text) }

    private static func value(_ samples: [Sample], _ name: String, _ labels: [String: String] = [:]) -> Double? {
        let found = samples.filter { $0.name == name && $0.labels == labels }
        return found.count == 1 ? found[0].value : nil
    }

    @Test("The metrics count requests, commands, commits, sessions, subscribers and connections")
    func counts() throws {
        let directory = try TemporaryDirectory()
        let server = try ServerProcess(database: directory.path("braid.sqlite"))
        let client = try server.keptClient()
        let first = try client.get(
            "/metrics",
            headers: [
                "Accept": "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
            ])
        #expect(first.status == 200 && first.header("content-type") == "text/plain; version=0.0.4; charset=utf-8")
        #expect(try Self.value(Self.parse(first.text), "braid_sessions") == 0)

        try ConcurrencyTests.open(client, rows: 3)
        for _ in 0..<3 { try client.request("POST", "/v1/sessions/x/taps", #"{"at":{"section":0,"row":0}}"#) }
        #expect(
            try client.request("POST", "/v1/sessions/x/taps?dryRun", #"{"at":{"section":0,"row":0}}"#).status == 200)
        #expect(try client.request("POST", "/v1/sessions/x/taps", #"{"at":{"section":0,"row":99}}"#).status == 404)
        #expect(try client.request("PATCH", "/v1/sessions/x/state", "{}").status == 200)
        #expect(
            try client.request("POST", "/v1/sessions/x/transactions", #"{"commands":[{"patchState":{"a":1}}]}"#).status
                == 200)
        #expect(try client.request("POST", "/v1/sessions/x/reset").status == 200)
        #expect(try client.get("/v1/nothing").status == 404)
        let reader = try EventStreamClient(port: server.port, "/v1/sessions/x/updates")
        defer { withExtendedLifetime(reader) {} }

        let samples = try Self.scrape(client)
        func requests(_ method: String, _ route: String, _ status: Int) -> Double? {
            Self.value(samples, "braid_http_requests_total", ["method": method, "route": route, "status": "\(status)"])
        }
        #expect(
            requests("POST", "/v1/sessions/{id}/taps", 200) == 4 && requests("POST", "/v1/sessions/{id}/taps", 404) == 1
        )
        #expect(
            requests("POST", "/v1/sessions", 201) == 1 && requests("GET", "/metrics", 200) == 1
                && requests("", "", 404) == 1)
        let taps = ["method": "POST", "route": "/v1/sessions/{id}/taps"]
        #expect(Self.value(samples, "braid_http_request_duration_seconds_count", taps) == 5)
        #expect(
            Self.value(samples, "braid_http_request_duration_seconds_bucket", taps.merging(["le": "+Inf"]) { $1 }) == 5)
        for (kind, outcome, count) in [
            ("taps", "applied", 3.0), ("taps", "dry-run", 1), ("taps", "refused", 1), ("patchState", "unchanged", 1),
            ("transactions", "applied", 1), ("reset", "applied", 1),
        ] {
            #expect(
                Self.value(samples, "braid_commands_total", ["kind": kind, "outcome": outcome]) == count,
                "\(kind) \(outcome)")
        }
        #expect(
            Self.value(samples, "braid_subscribers", ["by": "stream"]) == 1
                && Self.value(samples, "braid_subscribers", ["by": "poll"]) == 0)
        #expect(Self.value(samples, "braid_sessions") == 1 && Self.value(samples, "braid_sessions_in_memory") == 1)
        #expect(Self.value(samples, "braid_http_connections") == 2)
        // The opening and five revisions, each alone.
        #expect(
            Self.value(samples, "braid_commit_group_size_sum") == 6
                && Self.value(samples, "braid_commit_duration_seconds_count") == 6)
        for name in [
            "braid_database_bytes", "process_resident_memory_bytes", "process_open_fds", "process_max_fds",
            "process_start_time_seconds",
        ] {
            #expect((Self.value(samples, name) ?? 0) > 0, "\(name)")
        }
        #expect(((Self.value(samples, "braid_database_log_bytes") ?? 0) > 0) == TestDatabase.isSQLite)
        for name in [
            "braid_commit_failures_total", "braid_subscribers_behind_total", "braid_subscribers_dropped_total",
            "braid_http_connections_stalled_total",
        ] {
            #expect(Self.value(samples, name) == 0, "\(name)")
        }
    }

    @Test("For each limited resource, the metrics contain a gauge with its use and a gauge with its limit")
    func saturation() throws {
        let server = try ServerProcess([
            "--max-connections", "10", "--max-subscribers", "7", "--max-requests", "5", "--max-sessions", "3",
            "--max-buffered-bytes", "8000000",
        ])
        let client = try server.keptClient()
        try ConcurrencyTests.open(client, rows: 3)
        let reader = try EventStreamClient(port: server.port, "/v1/sessions/x/updates")
        defer { withExtendedLifetime(reader) {} }
        let body = try server.client()
        try body.send("POST /v1/render HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2000000\r\n\r\n")
        try body.send([UInt8](repeating: UInt8(ascii: " "), count: 1_000_000))
        func bodyBytes() throws -> Double {
            try Self.value(Self.scrape(client), "braid_buffered_bytes", ["of": "bodies"]) ?? 0
        }
        #expect(try eventually { try bodyBytes() >= 1_000_000 })
        #expect(try bodyBytes() <= 2_000_000)
        let samples = try Self.scrape(client)
        #expect(Self.value(samples, "braid_buffered_bytes", ["of": "answers"]) == 0)
        for of in ["bodies", "answers"] {
            #expect(Self.value(samples, "braid_buffered_bytes_max", ["of": of]) == 8_000_000)
        }
        #expect(Self.value(samples, "braid_http_connections") == 3)
        #expect(Self.value(samples, "braid_http_connections_max") == 10)
        #expect(Self.value(samples, "braid_http_connections_refused_total") == 0)
        #expect(Self.value(samples, "braid_subscribers", ["by": "stream"]) == 1)
        #expect(Self.value(samples, "braid_subscribers_max") == 7)
        #expect(Self.value(samples, "braid_http_requests_in_progress") == 0)
        #expect(Self.value(samples, "braid_http_requests_in_progress_max") == 5)
        #expect(Self.value(samples, "braid_sessions") == 1 && Self.value(samples, "braid_sessions_max") == 3)
        #expect(Self.value(samples, "braid_database_up") == 1)
        #expect(Self.value(samples, "braid_database_read_only") == 0)
    }

    @Test(
        "While a command waits for the disk, the metrics are answered and count the command as in progress",
        .enabled(if: TestDatabase.isSQLite && HeldFlush.compiler != nil))
    func requestsInProgress() throws {
        let flush = try HeldFlush(), directory = try TemporaryDirectory()
        let server = try ServerProcess(database: directory.path("braid.sqlite"), environment: flush.environment)
        let client = try server.keptClient(), other = try server.client()
        try ConcurrencyTests.open(client, rows: 3)
        flush.close()
        let tap = #"{"at":{"section":0,"row":0}}"#
        try other.send(
            "POST /v1/sessions/x/taps HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(tap.utf8.count)\r\n\r\n\(tap)")
        func inProgress() throws -> Double? { try Self.value(Self.scrape(client), "braid_http_requests_in_progress") }
        #expect(try eventually { try inProgress() == 1 })
        flush.open()
        #expect(try other.receive().status == 200)
        #expect(try inProgress() == 0)
    }

    @Test("The buckets of each histogram are cumulative, and each metric has a help text and a type")
    func histogramBuckets() throws {
        let client = try ServerProcess().keptClient()
        for _ in 0..<20 { _ = try client.get("/healthz") }
        let text = try client.get("/metrics").text, samples = try Self.parse(text)
        for family in Set(samples.map(\.family)) {
            #expect(
                text.contains("# HELP \(family)") && samples.first { $0.family == family }?.type != "unknown",
                "\(family)")
        }
        let histograms = samples.filter { $0.type == "histogram" && $0.name.hasSuffix("_bucket") }
        #expect(!histograms.isEmpty)
        for (_, buckets) in Dictionary(
            grouping: histograms, by: { "\($0.name)\($0.labels.filter { $0.key != "le" }.sorted { $0.key < $1.key })" })
        {
            #expect(buckets.last?.labels["le"] == "+Inf")
            for (low, high) in zip(buckets, buckets.dropFirst()) { #expect(low.value <= high.value) }
        }
    }

    @Test("The metrics do not contain text that a client has sent")
    func clientText() throws {
        let client = try ServerProcess().keptClient()
        for odd in ["needle", "%22needle%7B", "needle%0A"] {
            for path in [
                "/\(odd)", "/v1/sessions/\(odd)", "/v1/sessions/\(odd)/snapshot", "/v1/tables/\(odd)",
                "/problems/\(odd)",
            ] { _ = try client.get(path) }
        }
        try client.request("NEEDLE", "/healthz")
        try client.request(
            "POST", "/v1/sessions", #"{"id":"needle","rows":[]}"#,
            headers: ["X-Request-Id": "needle", "Authorization": "Bearer needle"])
        let metrics = try client.get("/metrics").text
        #expect(!metrics.lowercased().contains("needle"))
        #expect(
            try Self.value(
                Self.parse(metrics), "braid_http_requests_total", ["method": "", "route": "", "status": "405"]) == 1)
    }

    @Test("`/metrics` is available only as plain text, and `/healthz` is not available as plain text")
    func contentTypes() throws {
        let client = try ServerProcess().keptClient()
        #expect(try client.get("/metrics", headers: ["Accept": "application/json"]).status == 406)
        for accepted in ["text/plain", "text/*", "*/*"] {
            #expect(try client.get("/metrics", headers: ["Accept": accepted]).status == 200)
        }
        #expect(try client.request("POST", "/metrics", "{}").status == 405)
        #expect(try client.get("/healthz", headers: ["Accept": "text/plain"]).status == 406)
    }
}

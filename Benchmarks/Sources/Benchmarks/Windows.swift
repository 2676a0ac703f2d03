import BraidEngine
import Foundation

/// Measures the cost of windows in two ways: in the engine alone, and on a server with 1,000 viewers of a table of
/// about 1,000,000 rows.
func windowBenchmark() throws {
    try windowEngineBenchmark()
    try windowServerBenchmark()
}

/// Measures the work for one viewer and one revision: finding the window after the revision, computing the window's
/// update, and writing the update as JSON.
private func windowEngineBenchmark() throws {
    print("\nwindows: one revision for a viewer of 100 rows, engine only, microseconds (median of 5 runs)")
    let now = "2000-01-01T00:00:00.000Z"
    let description = try TableDescription(
        JSONText(
            parsing: Array(
                #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[],"viewModel":{"title":"${model.name}"},"editing":"delete","moving":{"to":"anySection"}}]}"#
                    .utf8)))
    var first: [Double] = []
    for count in Size.counts([1_000, 10_000, 100_000, 1_000_000]) {
        let models = try (0..<count).map {
            try JSONText(parsing: Array(#"{"id":"row-\#($0)","name":"Name of \#($0)"}"#.utf8))
        }
        let table = try description.openingTable(models: [("table", models)])
        let snapshot = try description.binder.snapshot(of: table, revision: 0, now: now)
        let middle = count / 2
        /// Moves rows 200 times, near the row that is `offset` rows after the window's first row. Returns the snapshot
        /// and the update after each move.
        func edits(at offset: Int) throws -> [(Snapshot, BatchUpdate)] {
            var table = table, snapshot = snapshot
            return try (0..<200).map { number in
                let outcome = try description.binder.applying(
                    .move(
                        .at(.displayed(0), row: middle + offset + number % 40),
                        to: .at(.displayed(0), row: middle + offset + (number * 7) % 40)),
                    to: table, shown: snapshot, unpublished: nil, now: now)
                (table, snapshot) = (outcome.table, outcome.snapshot)
                return (outcome.snapshot, outcome.update)
            }
        }
        func time(_ edits: [(Snapshot, BatchUpdate)], anchored: Bool) throws -> Double {
            let tables = edits.map { (WindowSource($0.0), RowFollower($0.1)) }
            let source = WindowSource(snapshot)
            let start =
                anchored
                ? source.cut(
                    around: .init(section: "table", id: RowID("row-\(middle + 50)")), before: 50, after: 49)
                : source.cut(offset: middle, limit: 100)
            guard let start else { throw Fault("there is no anchor") }
            return try (0..<5).map { _ in
                var window = start, bytes = 0
                let begin = ContinuousClock.now
                for (source, follower) in tables {
                    let next = window.following(follower, to: source)
                    let update = try WindowUpdate(from: window, to: next)
                    if !update.isEmpty { bytes += update.json.bytes.count }
                    window = next
                }
                guard bytes >= 0 else { throw Fault("no bytes") }
                return (ContinuousClock.now - begin) / .microseconds(tables.count)
            }.sorted()[2]
        }
        let inside = try edits(at: 20), outside = try edits(at: -middle)
        let times = try [
            time(inside, anchored: false), time(inside, anchored: true), time(outside, anchored: false),
            time(outside, anchored: true),
        ]
        if first.isEmpty { first = times }
        let ratios = zip(times, first).map { String(format: "%.1f (%.2fx)", $0, $0 / $1) }
        print(
            "  \(count) rows: a move inside by position \(ratios[0]), anchored \(ratios[1]); outside \(ratios[2]), \(ratios[3])"
        )
    }
}

private func windowServerBenchmark() throws {
    // A table has at most 1,000,000 rows. The table starts with one row less, because each second command inserts a
    // row.
    let rows = Size.count(999_999, small: 2_000), viewers = Size.count(1_000, small: 10)
    print("\nwindows: \(viewers) viewers of a table of \(rows) rows, each with a window of 100 rows of its own")
    let server = try Server(database: ":memory:", arguments: LargeSession.arguments)
    defer { server.stop() }
    let connection = try Connection(port: server.port)
    try LargeSession.open("s", rows: rows, on: connection)

    let whole = try time(connection, Connection.request("GET", "/v1/sessions/s/snapshot"))
    let firsts = try (0..<20).map { _ in
        try time(connection, Connection.request("GET", "/v1/sessions/s/snapshot?offset=\(rows / 2)&limit=50"))
    }
    print(
        String(
            format: "  first 50 rows: %.2f ms, %d bytes, 1/%d of the whole snapshot", median(firsts.map(\.total)) / 1e3,
            firsts[0].bytes, whole.bytes / max(1, firsts[0].bytes)))

    func command(_ number: Int) -> [UInt8] {
        // Each command inserts or deletes a row at the start of the table. So every window with a fixed offset changes.
        number % 2 == 0
            ? Connection.request(
                "POST", "/v1/sessions/s/rows", #"{"at":[0,0],"model":\#(LargeSession.model(rows + number))}"#)
            : Connection.request("DELETE", "/v1/sessions/s/rows/0/0", "")
    }
    for (name, query) in [
        ("by position", { (viewer: Int) in "offset=\(viewer * (rows / viewers))&limit=100" }),
        ("anchored", { (viewer: Int) in "section=s0&around=row-\(viewer * (rows / viewers))&before=50&after=49" }),
        ("the same window", { (_: Int) in "offset=\(rows / 2)&limit=100" }),
    ] {
        let readers = try StreamReaders(port: server.port, mark: "\nevent: update")
        let before = settledKilobytes(server.processIdentifier)
        for viewer in 0..<viewers {
            try readers.open(
                1,
                Array(
                    "GET /v1/sessions/s/updates?\(query(viewer)) HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"
                        .utf8), until: "event: caught-up")
        }
        let memory = settledKilobytes(server.processIdentifier) - before
        let result = try FanOut(
            readers, commands: Size.count(100, small: 4), readers: viewers, pause: Size.seconds(0.05)
        ) { command($0) }
        print(
            "  \(name): told after \(result.receiptText), answered after \(result.answerText) (p50 / p99); \(String(format: "%.1f", Double(memory) / Double(viewers))) KiB a viewer, \(String(format: "%.1f", Double(settledKilobytes(server.processIdentifier) - before) / Double(viewers))) after the load"
        )
        _ = readers.pump(milliseconds: 100)
    }
}

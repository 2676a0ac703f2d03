import Foundation

/// Measures the cost of a fork of a session of 100,000 rows. For comparison, it measures the cost of opening a session
/// with the same rows.
func forkBenchmark() throws {
    let rows = Size.count(100_000, small: 1_000)
    print("\nforks: a fork of a session of \(rows) rows, and opening the same rows")
    let directory = try scratchDirectory()
    defer { try? FileManager.default.removeItem(atPath: directory) }
    try forks(":memory:", "in memory", rows: rows, memoryForks: Size.count(500, small: 20))
    try forks(
        directory + "/braid.sqlite", "on disk (synchronous=FULL)", rows: rows, memoryForks: Size.count(5, small: 2))
}

private func forks(_ database: String, _ name: String, rows: Int, memoryForks: Int) throws {
    let server = try Server(database: database, arguments: LargeSession.arguments)
    defer { server.stop() }
    let connection = try Connection(port: server.port)
    func milliseconds(_ path: String, _ body: String, isMinimal: Bool = true, expecting status: Int = 201) throws -> (
        first: Double, total: Double
    ) {
        let fields = isMinimal ? ["Prefer: return=minimal"] : []
        let time = try time(
            connection, Connection.request(body.isEmpty ? "GET" : "POST", path, body, fields: fields), expecting: status
        )
        return (time.first / 1e3, time.total / 1e3)
    }
    var count = 0
    func fork(_ revision: Int? = nil, isMinimal: Bool = true) throws -> (first: Double, total: Double) {
        count += 1
        let origin = #"{"session":"s0"\#(revision.map { #","revision":\#($0)"# } ?? "")}"#
        return try milliseconds("/v1/sessions", #"{"id":"f\#(count)","from":\#(origin)}"#, isMinimal: isMinimal)
    }
    func edit(_ session: String, _ round: Int) throws -> Double {
        try milliseconds(
            "/v1/sessions/\(session)/moves",
            #"{"from":{"section":0,"row":\#(round * 7_919 % rows)},"to":{"section":0,"row":0}}"#, expecting: 204
        ).total
    }
    let openings = try (0..<3).map {
        try milliseconds("/v1/sessions", LargeSession.opening(id: "s\($0)", rows: rows)).total
    }
    for round in 0..<100 { _ = try edit("s0", round) }
    for id in ["s1", "s2"] { _ = try connection.exchange("DELETE", "/v1/sessions/\(id)") }
    let minimal = try (0..<9).map { _ in try fork().total }
    let whole = try (0..<5).map { _ in try fork(isMinimal: false) }
    let edits = (try edit("s0", 1), try edit("f1", 1), try edit("f1", 2))
    let earlier = try (0..<3).map { _ in try fork(50).total }
    let snapshots = try (0..<3).map { _ in
        try milliseconds("/v1/sessions/s0/snapshot?at=50", "", expecting: 200).total
    }
    print("  \(name)")
    print(
        String(
            format: "    opened in %.0f ms, forked in %.2f ms (p50 of 9), %.2f ms at most", median(openings),
            median(minimal), minimal.max() ?? 0))
    print(
        String(
            format: "    with the snapshot in the answer: first byte after %.2f ms, all after %.0f ms",
            median(whole.map(\.first)), median(whole.map(\.total))))
    print(
        String(
            format: "    forked 50 revisions ago in %.0f ms, the snapshot of then in %.0f ms", median(earlier),
            median(snapshots)))
    print(
        String(
            format: "    one move: in the original %.2f ms, the fork's first %.2f ms, its second %.2f ms", edits.0,
            edits.1, edits.2))
    settle(3)
    let before = mebibytes(server), start = count
    for _ in 0..<memoryForks { _ = try fork() }
    settle(3)
    let forked = mebibytes(server)
    for number in 1...memoryForks { _ = try edit("f\(start + number)", number) }
    settle(3)
    let edited = mebibytes(server)
    print(
        String(
            format: "    memory for each of \(memoryForks) forks: %.0f KiB, after one edit of each %.0f KiB",
            (forked - before) * 1024 / Double(memoryForks), (edited - before) * 1024 / Double(memoryForks)))
}

import Foundation

/// Measures how times grow with the number of rows, sections and sessions, and how memory grows with the number of rows
/// and sessions. The benchmark `streams` measures the growth with the number of subscribers.
func curveBenchmark() throws {
    print("\ncurves: over HTTP, one client, in memory (no disk in the way); microseconds, p50")
    try rowCurve()
    try sectionCurve()
    try sessionCurve()
}

private func commands(
    _ connection: Connection, _ session: String, count: Int, _ request: (Int) -> (String, String, String)
) throws -> Double {
    median(
        try (0..<count).map { round in
            let (method, resource, body) = request(round)
            return try time(connection, Connection.request(method, "/v1/sessions/\(session)/\(resource)", body)).total
        })
}

private func rowCurve() throws {
    for rows in Size.counts([100, 1_000, 10_000, 100_000, 1_000_000]) {
        let server = try Server(database: ":memory:", arguments: LargeSession.arguments)
        defer { server.stop() }
        let connection = try Connection(port: server.port)
        let before = residentKilobytes(server.processIdentifier)
        let opening = Connection.request("POST", "/v1/sessions", LargeSession.opening(id: "s", rows: rows))
        let opened = try time(connection, opening, expecting: 201)
        let move = try commands(connection, "s", count: 200) {
            (
                "POST", "moves",
                #"{"from":{"section":0,"row":\#($0 * 7_919 % rows)},"to":{"section":0,"row":\#($0 * 104_729 % rows)}}"#
            )
        }
        let tap = try commands(connection, "s", count: 50) {
            ("POST", "edits?dryRun", #"{"delete":{"section":0,"row":\#($0 * 7_919 % rows)}}"#)
        }
        let snapshot = try time(connection, Connection.request("GET", "/v1/sessions/s/snapshot"))
        sleep(1)
        let memory = residentKilobytes(server.processIdentifier) - before
        print(
            "  \(rows) rows: opened in \(Int(opened.total / 1e3)) ms, move \(Int(move)), delete (dry run) \(Int(tap)), snapshot \(Int(snapshot.total)) (\(snapshot.bytes) bytes), memory \(memory) KiB (\(String(format: "%.2f", Double(memory * 1024) / Double(snapshot.bytes)))x)"
        )
    }
}

private func sectionCurve() throws {
    for sections in Size.counts([1, 10, 100, 1_000, 10_000]) {
        let server = try Server(database: ":memory:", arguments: LargeSession.arguments)
        defer { server.stop() }
        let connection = try Connection(port: server.port)
        try LargeSession.open("s", rows: 10_000, sections: sections, on: connection)
        let each = 10_000 / sections
        let move = try commands(connection, "s", count: 200) { round in
            let section = round * 7_919 % sections
            return (
                "POST", "moves",
                #"{"from":{"section":\#(section),"row":0},"to":{"section":\#(section),"row":\#(each - 1)}}"#
            )
        }
        let header = try commands(connection, "s", count: 100) {
            ("PATCH", "headers", #"{"s\#($0 % sections)":"Title \#($0)"}"#)
        }
        let models = try commands(connection, "s", count: 100) {
            ("PATCH", "models", #"{"s\#($0 % sections)":[\#(LargeSession.model(1_000_000 + $0))]}"#)
        }
        print(
            "  \(sections) sections (10,000 rows in all): move \(Int(move)), header \(Int(header)), models of one \(Int(models))"
        )
    }
}

private func sessionCurve() throws {
    for sessions in Size.counts([1, 10, 100, 1_000, 10_000, 100_000]) {
        let directory = try scratchDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        var server = try Server(
            database: directory + "/braid.sqlite", arguments: LargeSession.arguments + ["--synchronous", "normal"])
        defer { server.stop() }
        let before = residentKilobytes(server.processIdentifier)
        try openMany(sessions, port: server.port)
        let memory = residentKilobytes(server.processIdentifier) - before
        var connection = try Connection(port: server.port)
        func edit(_ round: Int) throws -> Double {
            try time(
                connection,
                Connection.request(
                    "POST", "/v1/sessions/m\(round * 7_919 % sessions)/edits?dryRun",
                    #"{"delete":{"section":0,"row":0}}"#)
            ).total
        }
        let command = median(try (0..<200).map(edit))
        let list = median(
            try (0..<20).map { _ in
                try time(connection, Connection.request("GET", "/v1/sessions?limit=100&after=m\(sessions / 2)")).total
            })
        server.stop()
        let start = monotonicNanoseconds()
        server = try Server(database: directory + "/braid.sqlite", arguments: LargeSession.arguments)
        let started = (monotonicNanoseconds() - start) / 1_000
        connection = try Connection(port: server.port)
        let reopened = median(try (0..<min(200, sessions)).map(edit))
        print(
            "  \(sessions) sessions of 20 rows: command (dry run) \(Int(command)), a page of the list \(Int(list)), started again in \(started), first command of a session then \(Int(reopened)); memory \(memory) KiB"
        )
    }
}

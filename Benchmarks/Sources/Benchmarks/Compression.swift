import Foundation

/// Measures, for each coding, the size and the time of a snapshot of 278 KB, and the memory that a stream needs.
func compressionBenchmark() throws {
    print("\ncompression: in memory (no disk in the way), medians of 19")
    let codings = ["identity", "gzip", "zstd"]
    for coding in codings {
        let server = try Server(database: ":memory:", arguments: LargeSession.arguments)
        defer { server.stop() }
        let connection = try Connection(port: server.port)
        let opening = Connection.request("POST", "/v1/sessions", guests())
        try connection.send(opening)
        guard try connection.receive().status == 201 else { throw Fault("the session was not opened") }
        let get = Connection.request("GET", "/v1/sessions/s/snapshot", fields: ["Accept-Encoding: \(coding)"])
        var first: [Double] = [], again: [Double] = [], bytes = 0
        for number in 0..<Size.count(19, small: 1) {
            guard try connection.exchange("PATCH", "/v1/sessions/s/state", #"{"n":\#(number)}"#) == 200 else {
                throw Fault("the command was refused")
            }
            let answer = try time(connection, get)
            first.append(answer.total)
            bytes = answer.bytes
            again.append(try time(connection, get).total)
        }
        print(
            "  \(coding): \(bytes) bytes with the head, \(Int(median(first))) µs after a command, \(Int(median(again))) µs unchanged"
        )
        let stream = Connection.request(
            "GET", "/v1/sessions/s/updates?since=0",
            fields: ["Accept: text/event-stream", "Accept-Encoding: \(coding)"])
        let count = Size.count(2_000, small: 10)
        func open() throws -> [Connection] {
            try (0..<count).map { _ in
                let reader = try Connection(port: server.port)
                try reader.send(stream)
                try reader.waitForBytes()
                return reader
            }
        }
        // The streams of the warm-up make the allocator get the memory that opening a stream needs anyway. Only the
        // memory of the other streams is measured.
        let warmUp = try open()
        sleep(2)
        let before = residentKilobytes(server.processIdentifier), readers = try open()
        sleep(2)
        let memory = residentKilobytes(server.processIdentifier) - before
        print("    \(String(format: "%.2f", Double(memory) / Double(readers.count))) KiB for each idle stream")
        withExtendedLifetime(warmUp) {}
    }
}

/// The request that opens a session with a snapshot of 278 KB. The rows are those of a guest list, with names,
/// addresses and notes.
private func guests() -> String {
    let names = ["Ada", "Grace", "Barbara", "Radia", "Frances", "Omar", "Yvonne", "Linus", "Ken", "Dennis", "Edsger"]
    let words =
        "the a of meeting room table moved later please bring your own slides we will start at nine and end before lunch ask me for details thanks see you there draft final review"
        .split(separator: " ")
    var state: UInt64 = 7
    func random(_ limit: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int(state >> 33) % limit
    }
    let models = (0..<1_265).map { _ in
        let name = names[random(names.count)], note = (0..<2 + random(7)).map { _ in words[random(words.count)] }
        return
            #"{"id":"\#(String(random(1 << 30), radix: 16))","name":"\#(name) \#(names[random(names.count)])","email":"\#(name.lowercased())\#(random(1_000))@example.org","joined":"2026-0\#(1 + random(9))-1\#(random(10))","note":"\#(note.joined(separator: " "))"}"#
    }
    return
        #"{"id":"s","table":{"table":"guests","sections":["a"],"cells":{"C":{}},"bindings":[{"cell":"C","editing":"delete","models":{"a":[\#(models.joined(separator: ","))]},"viewModel":{"title":{"$eval":"model.name"}}}]}}"#
}

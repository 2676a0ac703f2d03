import Foundation
import Testing

/// Many readers, and readers that stop.
@Suite(.serialized) struct StreamLoadTests {
    private static let table =
        #"{"table":"t","sections":["a"],"cells":{"C":{}},"bindings":[{"on":{"section":"a"},"cell":"C","models":[{"id":"1"}]}]}"#

    private func model(_ number: Int, bytes: Int) -> (method: String, resource: String, body: String) {
        ("PATCH", "models", #"{"a":[{"id":"1","n":\#(number),"text":"\#(String(repeating: "x", count: bytes))"}]}"#)
    }

    @Test("A stream whose reader stalls delays no other stream, and continues with a snapshot")
    func stalledReader() throws {
        // With a short journal, only streams can grow the memory. One arena: otherwise glibc keeps freed memory for
        // each thread.
        let (client, _) = try StreamTests.start(
            ["--journal-limit", "5"], table: Self.table, environment: ["MALLOC_ARENA_MAX": "1"])
        let warmUp = 100, rounds = 300, bytes = 60_000
        let others = try (0..<3).map { _ in try client.stream() }
        for stream in others { #expect(try stream.events(through: "caught-up").count == 2) }
        // In the first 100 updates the server takes what it needs anyway; growth is measured after that.
        var stalled: EventStreamClient?
        var read: [EventStreamClient.Event] = []
        var memory = 0, slowest = Duration.zero
        for round in 1...rounds {
            if round == warmUp {
                let stream = try client.stream(receiveBuffer: 4_096)
                #expect(try stream.events(through: "caught-up").map(\.name) == ["snapshot", "caught-up"])
                stalled = stream
                memory = try client.server.residentBytes()
            }
            let start = ContinuousClock.now
            #expect(try client.perform(model(round, bytes: bytes)) == round)
            slowest = max(slowest, ContinuousClock.now - start)
            guard round % 10 == 0 else { continue }
            for stream in others {
                let events = try stream.events(throughRevision: round)
                #expect(events.map(\.name) == Array(repeating: "update", count: 10))
                #expect(events.map(\.revision) == Array(round - 9...round), "the others are told everything, in order")
            }
            // The server closes a stream that reads nothing for 30 seconds, so this one reads an event in 40.
            if round % 40 == 0, let stalled { read.append(try stalled.next()) }
        }
        let growth = try client.server.residentBytes() - memory, unread = (rounds - warmUp) * bytes
        #expect(growth < 4 << 20, "memory grew by \(growth) bytes while \(unread) bytes were not read")
        #expect(slowest < .seconds(28), "a command took \(slowest)")

        // It reads on: first what was queued, then a snapshot for what is missing.
        let reader = try #require(stalled)
        var revision = warmUp - 1, snapshots = 0
        while revision < rounds {
            let event = try read.isEmpty ? reader.next() : read.removeFirst()
            #expect(event.revision > revision)
            if event.name == "snapshot" { snapshots += 1 } else { #expect(event.revision == revision + 1) }
            revision = event.revision
        }
        #expect(snapshots >= 1)
        #expect(try client.perform(model(0, bytes: 10)) == rounds + 1)
        #expect(try reader.next().object["to"] as? Int == rounds + 1, "and then it is live again")
    }

    @Test("A thousand streams receive every update in order")
    func thousandReaders() throws {
        let (client, _) = try StreamTests.start(table: Self.table)
        let streams = try (0..<1_000).map { try client.stream($0 % 2 == 0 ? "" : "?form=sequential") }
        for stream in streams { #expect(try stream.events(through: "caught-up").count == 2) }
        let revisions = 20
        for round in 1...revisions { #expect(try client.perform(model(round, bytes: 100)) == round) }
        for stream in streams {
            let events = try stream.events(throughRevision: revisions)
            #expect(events.map(\.revision) == Array(1...revisions))
            #expect(events.allSatisfy { $0.name == "update" })
        }
    }

    @Test("The server closes the sockets of streams whose readers have left")
    func leavingReaders() throws {
        let (client, _) = try StreamTests.start(table: Self.table)
        for round in 1...20 {
            let streams = try (0..<50).map { _ in try client.stream() }
            #expect(try client.perform(model(round, bytes: 10)) == round)
            #expect(try streams[0].events(throughRevision: round).last?.revision == round)
        }
        #expect(try client.server.openSockets() < 150, "of a thousand")
    }
}

extension ServerProcess {
    /// `RssAnon` of proc(5): allocated, without the program's pages.
    func residentBytes() throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(processIdentifier)/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
        return (line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 1_024
    }

    func openSockets() throws -> Int {
        let directory = "/proc/\(processIdentifier)/fd"
        return try FileManager.default.contentsOfDirectory(atPath: directory).count {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(directory)/\($0)"))?.hasPrefix("socket:")
                == true
        }
    }
}

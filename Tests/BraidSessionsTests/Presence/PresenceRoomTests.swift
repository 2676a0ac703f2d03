import BraidEngine
import BraidRuntime
import TestSupport
import Testing

@testable import BraidSessions

/// What a reader knows who applies each event.
private struct Reader {
    var seen: Int?
    var present: [String: JSONText] = [:]

    mutating func read(_ room: PresenceRoom) throws {
        let news = room.news(after: seen)
        if let all = news["present"] {
            present = [:]
            for entry in try #require(all.elements()) { present[try #require(entry["id"]?.stringValue)] = entry }
        } else {
            for id in try #require(news["left"]?.elements()) { present[try #require(id.stringValue)] = nil }
            for entry in try #require(news["changed"]?.elements()) {
                present[try #require(entry["id"]?.stringValue)] = entry
            }
        }
        seen = room.version
    }
}

struct PresenceRoomTests {
    private let quota = Quota(1_000_000)

    private func entry(_ id: String, _ data: Int = 0, put: Int = 0) throws -> PresenceEntry {
        PresenceEntry(
            id: id, json: try JSONText(parsing: #"{"id":"\#(id)","data":\#(data)}"#), since: "2026", stamp: put,
            put: put, lease: try quota.lease())
    }

    @Test("Whoever applies each event, read as rarely as ever, has what the list has", arguments: 0..<100)
    func events(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed), room = PresenceRoom(), readers = [Reader(), Reader(), Reader()]
        for step in 0..<400 {
            let id = "c\(Int.random(in: 0..<12, using: &random))"
            if Int.random(in: 0..<3, using: &random) == 0 {
                _ = room.remove(id)
            } else {
                room.put(try entry(id, Int.random(in: 0..<3, using: &random)))
            }
            for (place, rarity) in [1, 7, 97].enumerated() where step.isMultiple(of: rarity) {
                try readers[place].read(room)
                #expect(readers[place].present == room.entries.mapValues(\.json), "step \(step)")
            }
        }
    }

    @Test("After so many departures that they are not kept, a slow reader gets the whole list")
    func manyDepartures() throws {
        var room = PresenceRoom(), slow = Reader(), quick = Reader()
        room.put(try entry("first"))
        try slow.read(room)
        for number in 0..<5_000 {
            room.put(try entry("c\(number)"))
            try quick.read(room)
            _ = room.remove("c\(number)")
        }
        #expect(room.news(after: slow.seen)["present"] != nil)
        #expect(room.news(after: quick.seen)["left"]?.elements()?.count == 1)
        try slow.read(room)
        #expect(slow.present.keys.sorted() == ["first"])
    }

    @Test("Of 1,000 clients, an event has only those that changed")
    func sizeOfEvents() throws {
        var room = PresenceRoom()
        for number in 0..<1_000 { room.put(try entry("c\(number)")) }
        let seen = room.version
        room.put(try entry("c500", 1))
        room.put(try entry("c501"))
        #expect(room.news(after: seen) == (try JSONText(parsing: #"{"changed":[{"id":"c500","data":1}],"left":[]}"#)))
    }

    @Test(
        "A client ends 30 seconds after it was put, also if the clock was set back, and one that another server holds later"
    )
    func life() throws {
        for (now, isPresent) in [(0, true), (29_999, true), (30_000, false), (-29_999, true), (-30_000, false)] {
            var room = PresenceRoom(), held = try entry("held")
            held.holders["other"] = 60_000
            room.put(try entry("own"))
            room.put(held)
            room.expire(at: now)
            #expect((room.entries["own"] != nil) == isPresent, "\(now)")
            #expect((room.entries["held"] != nil) == isPresent || now == 30_000, "\(now)")
        }
    }

    @Test("When a client leaves, its place is free") func places() throws {
        var room = PresenceRoom()
        for number in 0..<10 { room.put(try entry("c\(number)", put: number)) }
        #expect(quota.taken == 10)
        room.expire(at: 30_004)
        #expect(quota.taken == 5)
        room.removeAll()
        #expect(quota.taken == 0 && !room.isUsed)
    }
}

import Foundation
import TestSupport
import Testing

@Suite(.serialized) struct StreamTests {
    static let table = #"""
        {"table":"list","sections":["a","b","c"],"cells":{"C":{"events":{"go":{}}}},"bindings":[
          {"on":{"sections":["a","b","c"]},"cell":"C","models":{"a":[{"id":"1"},{"id":"2"}],"b":[{"id":"3"}],"c":[]},"editing":"delete","moving":{"to":"anySection"}}]}
        """#

    /// Opens `s`.
    static func start(
        _ options: [String] = [], table: String = table, database: String = ":memory:",
        environment: [String: String] = [:]
    ) throws -> (KeptClient, epoch: String) {
        let client = try ServerProcess(database: database, options, environment: environment).keptClient()
        let opened = try client.request("POST", "/v1/sessions", #"{"table":\#(table),"id":"s"}"#)
        return (client, try #require(opened.object["epoch"] as? String, "\(opened.text)"))
    }

    @Test("A stream has the headers of an event stream, and starts with the snapshot")
    func beginning() throws {
        let (client, epoch) = try Self.start()
        let stream = try client.stream()
        #expect(stream.head.contains("Content-Type: text/event-stream\r\n"))
        #expect(stream.head.contains("Cache-Control: no-store\r\n"))
        #expect(stream.head.contains("X-Accel-Buffering: no\r\n"))
        let events = try stream.events(through: "caught-up")
        #expect(events.map(\.name) == ["snapshot", "caught-up"])
        #expect(events.map(\.id) == ["\(epoch).0", "\(epoch).0"])
        #expect(events[0].data == (try client.get("/v1/sessions/s/snapshot").text), "byte for byte")
        #expect(stream.retry == "2000")
    }

    @Test("Only the updates of a session can be requested as a stream, and a malformed request is refused")
    func streamRequests() throws {
        let (client, _) = try Self.start()
        let accept = ["Accept": "text/event-stream"]
        #expect(try client.get("/v1/sessions/s/snapshot", headers: accept).status == 406)
        #expect(try client.get("/v1/sessions/s/updates?since=0", headers: ["Accept": "text/html"]).status == 406)
        #expect(
            try client.get("/v1/sessions/s/updates?since=0", headers: ["Accept": "*/*"]).header("content-type")
                == "application/json")
        #expect(try client.get("/v1/sessions/none/updates", headers: accept).status == 404)
        #expect(try client.get("/v1/sessions/s/updates?since=x", headers: accept).status == 400)
        #expect(try client.get("/v1/sessions/s/updates?since=0&wait=1", headers: accept).status == 400)
        #expect(try client.get("/v1/sessions/s/updates?form=other", headers: accept).status == 400)
        let head = try client.request("HEAD", "/v1/sessions/s/updates", headers: accept)
        #expect(head.status == 200 && head.header("content-type") == "text/event-stream")
    }

    @Test(
        "A client that applies a stream to its first snapshot always has the session's table",
        arguments: ["stages", "sequential"])
    func appliedStream(form: String) throws {
        let (client, _) = try Self.start()
        let stream = try client.stream("?form=\(form)")
        var replica = TableReplica(snapshot: try stream.next().object)
        #expect(try stream.next().name == "caught-up")
        var commands = RandomCommands(seed: 7)
        for round in 0..<220 {
            // First read after each command, later only after many, of which the last is always visible.
            let isInStep = round < 60 || round % 40 == 39
            let command = isInStep && round >= 60 ? ("PATCH", "state", #"{"round":\#(round)}"#) : commands.next()
            guard let revision = try client.perform(command), isInStep else { continue }
            let snapshot = try client.get("/v1/sessions/s/snapshot").object
            let updates =
                try client.get("/v1/sessions/s/updates?since=\(revision - 1)").object["updates"] as? [[String: Any]]
                ?? []
            let isShown = updates.contains {
                ($0["stages"] as? [Any])?.isEmpty == false || $0["state"] != nil || $0["empty"] != nil
            }
            while isShown, replica.revision < revision {
                let event = try stream.next()
                #expect(event.name == "update")
                try replica.apply(event.object)
                #expect(event.revision == replica.revision, "the id is the position behind the event")
            }
            if !isShown { replica.pass(to: revision) }
            #expect(replica.text == TableReplica.text(snapshot), "round \(round), revision \(revision)")
        }
    }

    @Test("A client that reconnects at any position receives each remaining event exactly once")
    func reconnection() throws {
        let (client, epoch) = try Self.start()
        let live = try client.stream()
        #expect(try live.events(through: "caught-up").count == 2)
        var commands = RandomCommands(seed: 3)
        var revision = 0
        for round in 0..<150 {
            // Some are transactions with two cell events in one revision; half of them change the state.
            let events =
                #"{"events":{"at":{"section":0,"row":0},"event":{"go":{}}}},{"events":{"at":{"section":0,"row":0},"event":{"go":{"n":\#(round)}}}}"#
            let command =
                switch round % 10 {
                case 0: ("POST", "transactions", #"{"commands":[\#(events)]}"#)
                case 1: ("POST", "transactions", #"{"commands":[\#(events),{"patchState":{"round":\#(round)}}]}"#)
                case 2: ("POST", "taps", #"{"at":{"section":0,"row":0}}"#)
                default: commands.next()
                }
            revision = try client.perform(command) ?? revision
        }
        revision = try #require(try client.perform(("PATCH", "state", #"{"last":true}"#)))
        let told = try live.events(throughRevision: revision)
        #expect(told.contains { $0.name == "cellEvent" } && told.contains { $0.name == "tap" })
        // From each event with a new position, a stream must deliver the rest.
        for (index, event) in told.enumerated() where event.id != (index == 0 ? "\(epoch).0" : told[index - 1].id) {
            let again = try client.stream(lastEventID: event.id)
            let events = try again.events(through: "caught-up")
            #expect(Array(events.dropLast()) == Array(told[(index + 1)...]), "from \(event.id)")
            #expect(events.last?.id == "\(epoch).\(revision)")
        }
        // `since` works, too, but Last-Event-ID goes first.
        #expect(try client.stream("?since=\(revision)").next().name == "caught-up")
        #expect(try client.stream("?since=0", lastEventID: "\(epoch).\(revision)").next().name == "caught-up")
        #expect(try client.stream("?since=0", lastEventID: "").events(through: "caught-up").count > told.count)
        for position in ["other.1", "\(epoch).\(revision + 1)", "garbage", "\(epoch).\(Int.max)0", "0.-1"] {
            let events = try client.stream(lastEventID: position).events(through: "caught-up")
            #expect(events.map(\.name) == ["snapshot", "caught-up"], "\(position)")
        }
    }

    @Test("If the journal does not reach back to the client's position, the stream starts with a snapshot")
    func shortJournal() throws {
        let (client, epoch) = try Self.start(["--journal-limit", "3"])
        for number in 1...6 { _ = try client.perform(("PATCH", "state", #"{"n":\#(number)}"#)) }
        #expect(try client.stream("?since=2").events(through: "caught-up").map(\.name) == ["snapshot", "caught-up"])
        let reached = try client.stream("?since=\(epoch).3").events(through: "caught-up")
        #expect(reached.map(\.revision) == [4, 5, 6, 6])
        #expect(reached.map(\.name) == ["update", "update", "update", "caught-up"])
    }

    @Test("A client that reconnects after a restart of the server receives the events that it has missed")
    func restart() throws {
        let directory = try TemporaryDirectory()
        let database = directory.path("braid.sqlite")
        var last = ""
        do {
            let (client, _) = try Self.start(database: database)
            let stream = try client.stream()
            _ = try client.perform(("PATCH", "state", #"{"n":1}"#))
            last = try #require(try stream.events(throughRevision: 1).last).id
            _ = try client.perform(("POST", "events", #"{"at":{"id":"1"},"event":{"go":{}}}"#))
            _ = try client.perform(("POST", "taps", #"{"at":{"id":"1"}}"#))
            client.server.kill()
        }
        let client = try ServerProcess(database: database).keptClient()
        let events = try client.stream(lastEventID: last).events(through: "caught-up")
        #expect(
            events.map(\.name) == ["cellEvent", "tap", "caught-up"], "a controller misses no tap and no cell event")
        #expect(events[0].data == #"{"at":[0,0],"id":"1","cell":"C","event":{"go":{}},"model":{"id":"1"}}"#)
        #expect(events[1].data == #"{"at":[0,0],"id":"1","cell":"C","model":{"id":"1"}}"#)
        #expect(
            try client.stream(lastEventID: events[0].id).events(through: "caught-up").map(\.name) == [
                "tap", "caught-up",
            ])
    }

    @Test("A stream contains a cell event before the update that the event has caused")
    func cellEventOrder() throws {
        let table =
            #"{"table":"t","cells":{"C":{"events":{"go":{}}}},"bindings":[{"cell":"C","models":[{"id":"1"},{"id":"2"}],"onEvent":{"C":{"go":[{"remove":{"section":"table","row":{"$eval":"row"}}}]}}}]}"#
        let (client, _) = try Self.start(table: table)
        let stream = try client.stream()
        _ = try stream.events(through: "caught-up")
        let answer = try client.request(
            "POST", "/v1/sessions/s/events", #"{"at":{"id":"2"},"event":{"go":{"why":"x"}}}"#)
        #expect(answer.object["revision"] as? Int == 1, "\(answer.text)")
        let events = [try stream.next(), try stream.next()]
        #expect(events.map(\.name) == ["cellEvent", "update"])
        #expect(events[0].data == #"{"at":[0,1],"id":"2","cell":"C","event":{"go":{"why":"x"}},"model":{"id":"2"}}"#)
        #expect(events.map(\.revision) == [0, 1], "who is cut off between the two is told both again")
    }

    @Test("Controllers receive a tap even if it has no handler, and receive it before the update that it causes")
    func tapsReachControllers() throws {
        let table =
            #"{"table":"t","sections":["a","b"],"cells":{"C":{}},"bindings":[{"on":{"section":"a"},"cell":"C","models":[{"id":"1"}]},{"on":{"section":"b"},"cell":"C","models":[{"id":"2"},{"id":"3"}],"onTap":[{"remove":{"section":"b","row":{"$eval":"row"}}}]}]}"#
        let (client, _) = try Self.start(table: table)
        let stream = try client.stream()
        _ = try stream.events(through: "caught-up")
        #expect(try client.perform(("POST", "taps", #"{"at":{"section":0,"row":0}}"#)) == 1)
        #expect(try client.perform(("POST", "taps", #"{"at":{"id":"3"}}"#)) == 2)
        let events = [try stream.next(), try stream.next(), try stream.next()]
        #expect(events.map(\.name) == ["tap", "tap", "update"])
        #expect(events[0].data == #"{"at":[0,0],"id":"1","cell":"C","model":{"id":"1"}}"#)
        #expect(events[1].data == #"{"at":[1,1],"id":"3","cell":"C","model":{"id":"3"}}"#)
        #expect(
            events.map(\.revision) == [1, 1, 2],
            "a reader that loses the connection between the two receives both again")
    }

    @Test("A stream contains the update that a prefetch handler has caused")
    func prefetch() throws {
        let table =
            #"{"table":"t","cells":{"C":{}},"bindings":[{"cell":"C","models":[{"id":"1"},{"id":"2"},{"id":"3"}],"prefetch":{"cellsFromEnd":1},"onPrefetch":[{"setState":{"wantedFrom":{"$eval":"count"}}}]}]}"#
        let (client, _) = try Self.start(table: table)
        let stream = try client.stream()
        _ = try stream.events(through: "caught-up")
        #expect(
            try client.perform(("POST", "displayed-rows", #"{"rows":[{"section":0,"row":0},{"section":0,"row":2}]}"#))
                == 1)
        #expect(try stream.next().data.contains(#""state":{"wantedFrom":3}"#))
    }

    @Test("If a session ends, its streams end with the event `ended`")
    func endedSession() throws {
        let (client, _) = try Self.start()
        let streams = [try client.stream(), try client.stream("?form=sequential")]
        _ = try client.perform(("PATCH", "state", #"{"n":1}"#))
        #expect(try client.request("DELETE", "/v1/sessions/s").status == 204)
        for stream in streams {
            let events = try stream.events(through: "ended")
            #expect(events.suffix(1).map(\.data) == ["{}"])
            #expect(throws: EventStreamClient.Ended.self, "the body ends cleanly") { try stream.next() }
        }
    }

    @Test("A client that reconnects to a new session with the old id receives a snapshot with another epoch")
    func newEpoch() throws {
        let (client, epoch) = try Self.start()
        _ = try client.perform(("PATCH", "state", #"{"n":1}"#))
        #expect(try client.request("DELETE", "/v1/sessions/s").status == 204)
        #expect(try client.get("/v1/sessions/s/updates", headers: ["Accept": "text/event-stream"]).status == 404)
        #expect(try client.request("POST", "/v1/sessions", #"{"table":\#(Self.table),"id":"s"}"#).status == 201)
        _ = try client.perform(("PATCH", "state", #"{"n":1}"#))
        let events = try client.stream(lastEventID: "\(epoch).1").events(through: "caught-up")
        #expect(events.map(\.name) == ["snapshot", "caught-up"])
        #expect(!events[0].id.hasPrefix(epoch))
    }

    @Test("If the server stops, its streams end properly and without the event `ended`")
    func stoppedServer() throws {
        let (client, _) = try Self.start()
        let stream = try client.stream()
        _ = try stream.events(through: "caught-up")
        #expect(client.server.stop() == 0)
        #expect(throws: EventStreamClient.Ended.self) { try stream.next() }
    }
}

extension KeptClient {
    func stream(_ query: String = "", lastEventID: String? = nil, receiveBuffer: Int32? = nil) throws
        -> EventStreamClient
    {
        try EventStreamClient(
            port: server.port, "/v1/sessions/s/updates\(query)", lastEventID: lastEventID, receiveBuffer: receiveBuffer)
    }

    /// To `s`. `nil` if it was refused or made no revision.
    func perform(_ command: (method: String, resource: String, body: String)) throws -> Int? {
        let response = try request(command.method, "/v1/sessions/s/\(command.resource)", command.body)
        let answer = response.object
        return answer["outcome"] as? String == "applied" ? answer["revision"] as? Int : nil
    }
}

/// For `StreamTests.table`; some fit, others are refused.
struct RandomCommands {
    private var generator: SeededGenerator

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    private mutating func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &generator) }

    mutating func next() -> (method: String, resource: String, body: String) {
        switch number(0..<10) {
        case 0: ("PATCH", "headers", #"{"\#(section())":"H\#(number(0..<5))"}"#)
        case 1:
            (
                "PUT", "displayed-sections",
                "[\(["a", "b", "c"].shuffled(using: &generator).prefix(number(1..<4)).map { "\"\($0)\"" }.joined(separator: ","))]"
            )
        case 2: ("PATCH", "state", #"{"n":\#(number(0..<9))}"#)
        case 3, 4:
            (
                "POST", "moves",
                #"{"from":{"section":\#(number(0..<3)),"row":\#(number(0..<4))},"to":{"section":\#(number(0..<3)),"row":\#(number(0..<3))}}"#
            )
        case 5: ("POST", "edits", #"{"delete":{"section":\#(number(0..<3)),"row":\#(number(0..<4))}}"#)
        case 6:
            (
                "POST", "transactions",
                #"{"commands":[{"patchModels":{"\#(section())":\#(models())}},{"displayedSections":["c","a","b"]},{"patchFooters":{"b":"F\#(number(0..<3))"}}]}"#
            )
        default: ("PATCH", "models", #"{"\#(section())":\#(models())}"#)
        }
    }

    private mutating func section() -> String { ["a", "b", "c"][number(0..<3)] }

    private mutating func models() -> String {
        let ids = (0..<number(0..<7)).map { _ in number(0..<12) }
        var seen: Set<Int> = []
        return "["
            + ids.filter { seen.insert($0).inserted }.map { #"{"id":"\#($0)","n":\#(number(0..<3))}"# }.joined(
                separator: ",") + "]"
    }
}

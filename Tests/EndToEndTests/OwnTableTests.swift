import Foundation
import TestSupport
import Testing

/// People whose tables differ, through the real server.
@Suite(.serialized) struct OwnTableTests {
    static let controller = ["Authorization": "Bearer secret"]
    static let table = #"""
        {"table":"t","sections":["open","done"],"cells":{"C":{"events":{"e":{}}}},"undo":"own","authors":true,
         "view":{"hideDone":false,"sort":null},"sectionDisplay":{"behavior":"hidesSectionsWithNoCellData"},
         "bindings":[
          {"on":{"sections":["open","done"]},"cell":"C",
           "where":"user.role == 'controller' || model['owner'] == null || model['owner'] == user.id",
           "sortedBy":{"$eval":"view.sort"},"shown":"section == 'open' || !(view.hideDone)",
           "editing":{"$if":"model['v'] == 0","then":"insert","else":"delete"},
           "moving":{"to":"anySection","merge":{"v":{"$if":"above","then":{"$eval":"above['v']"},"else":1}}},
           "headers":{"open":"${count} for ${user.name}"},"models":{"open":[],"done":[]},
           "onTap":[{"update":{"merge":{"v":7}}}],"onEvent":{"C":{"e":[{"emit":{"name":"e"}}]}},
           "onInsert":[{"if":"model['bad'] == true","do":[{"insert":{"section":"done","model":{"id":"clash"}}}]}]}]}
        """#

    struct Person {
        var name: String
        var headers: [String: String]
        var view: String?
        var stream: EventStreamClient?
        var replica: TableReplica?
        var query: String {
            view.map { "view=" + ($0.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "") } ?? ""
        }
    }

    private static let names = ["ada", "ben", "cy"]
    static let views = [nil, #"{"hideDone":true}"#, #"{"sort":"-v"}"#, #"{"sort":["v","id"],"hideDone":true}"#]

    /// With rows of everybody. A row's mark is in no other row and in no request.
    static func open(_ client: HTTPClient) throws -> [Person] {
        var models: [String: [String]] = [:]
        for index in 0..<24 {
            let owner = (names + [nil])[index % 4]
            let model =
                #"{"id":"\#(index)","v":\#(index % 5),"mark":"mark-\#(owner ?? "all")-\#(index)"\#(owner.map { #","owner":"\#($0)""# } ?? "")}"#
            models[index % 3 == 0 ? "done" : "open", default: []].append(model)
        }
        let rows = models.map { #""\#($0)":[\#($1.joined(separator: ","))]"# }.joined(separator: ",")
        let opened = try client.request(
            "POST", "/v1/sessions", #"{"id":"s","table":\#(table),"models":{\#(rows)}}"#, headers: controller)
        try #require(opened.status == 201, "\(opened.text)")
        return try names.map { name in
            let made = try client.request(
                "POST", "/v1/sessions/s/tokens",
                #"{"role":"participant","expiresIn":6000,"user":"\#(name)","name":"\#(name)"}"#, headers: controller)
            try #require(made.status == 201, "\(made.text)")
            return Person(name: name, headers: ["Authorization": "Bearer \(made.object["token"] as? String ?? "")"])
        }
    }

    private static func start(_ database: String) throws -> ServerProcess {
        try ServerProcess(database: database, ["--test-mode"], environment: ["BRAID_TOKEN": "secret"])
    }

    /// What others' rows contain, and the person may not learn.
    private static func foreign(_ person: Person) -> [String] {
        names.filter { $0 != person.name }.map { "mark-\($0)-" }
    }

    static func snapshot(_ client: HTTPClient, _ person: Person) throws -> [String: Any] {
        try client.get("/v1/sessions/s/snapshot?\(person.query)", headers: person.headers).object
    }

    @Test("Whatever people send, nobody learns of others' rows, and streams lead to what a snapshot shows")
    func randomRequests() throws {
        var random = SeededGenerator(seed: 40)
        let directory = try TemporaryDirectory()
        var server = try Self.start(directory.path("db")), client = try server.client()
        var people = try Self.open(client)
        var statuses: [Int: Int] = [:], events = 0
        func reference(_ person: Person) -> String {
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                #"{"section":\#(Int.random(in: 0..<3, using: &random)),"row":\#(Int.random(in: 0..<9, using: &random))}"#
            case 1: #"{"section":"\#(["open", "done", "none"].randomElement(using: &random) ?? "")","row":0}"#
            default: #"{"id":"\#(Int.random(in: 0..<30, using: &random))"}"#
            }
        }
        let path = "/v1/sessions/s/"
        for number in 0..<TestEffort.cases(2_000) {
            let index = Int.random(in: 0..<people.count, using: &random), person = people[index]
            var query = person.query
            if Bool.random(using: &random) { query += "&dryRun" }
            let request: (String, String, String?)
            switch Int.random(in: 0..<16, using: &random) {
            case 0...1: request = ("POST", "edits?\(query)", #"{"delete":\#(reference(person))}"#)
            case 2...3:
                let bad = Int.random(in: 0..<8, using: &random) == 0 ? #","bad":true"# : ""
                request = (
                    "POST", "edits?\(query)",
                    #"{"insert":\#(reference(person)),"model":{"id":"\#(Int.random(in: 0..<40, using: &random))","v":0,"owner":"\#(person.name)"\#(bad)}}"#
                )
            case 4...6:
                request = ("POST", "moves?\(query)", #"{"from":\#(reference(person)),"to":\#(reference(person))}"#)
            case 7: request = ("POST", "taps?\(query)", #"{"at":\#(reference(person))}"#)
            case 8: request = ("POST", "events?\(query)", #"{"at":\#(reference(person)),"event":{"e":{}}}"#)
            case 9: request = ("POST", "undo?\(query)", "{}")
            case 10:
                request = (
                    "POST", "transactions?\(query)",
                    #"{"commands":[{"edits":{"delete":\#(reference(person))}},{"taps":{"at":\#(reference(person))}}]}"#
                )
            case 11: request = ("PUT", "presence?\(person.query)", #"{"at":\#(reference(person))}"#)
            case 12: request = ("GET", "presence?\(person.query)", nil)
            case 13:
                request = (
                    "GET",
                    "snapshot?\(person.query)&around=\(Int.random(in: 0..<30, using: &random))&before=1&after=1", nil
                )
            case 14:
                let since = max(0, number / 8 - Int.random(in: 0..<9, using: &random))
                request = ("GET", "updates?\(person.query)&since=\(since)", nil)
            default: request = ("GET", "snapshot?\(person.query)&at=\(Int.random(in: 0..<9, using: &random))", nil)
            }
            let answer = try client.request(request.0, path + request.1, request.2, headers: person.headers)
            statuses[answer.status, default: 0] += 1
            #expect(answer.status < 500, "\(request): \(answer.text)")
            let bytes = answer.text + answer.headers.map { "\($0): \($1)" }.joined(separator: "\n")
            for mark in Self.foreign(person) { #expect(!bytes.contains(mark), "\(request): \(bytes)") }
            // Follow, with another view now and then, and after a restart.
            if number % 40 == 0 {
                people[index].view = Self.views.randomElement(using: &random) ?? nil
                people[index].stream = try EventStreamClient(
                    port: server.port, "\(path)updates?\(people[index].query)", headers: person.headers)
                people[index].replica = nil
            }
            // Most rows are gone by now.
            if number % 100 == 99 {
                _ = try client.request("POST", path + "reset", headers: Self.controller)
            }
            if number % 500 == 499 {
                _ = server.stop()
                server = try Self.start(directory.path("db"))
                client = try server.client()
                for index in people.indices where people[index].stream != nil {
                    people[index].stream = try EventStreamClient(
                        port: server.port, "\(path)updates?\(people[index].query)",
                        lastEventID: people[index].stream?.lastEventID, headers: people[index].headers)
                }
            }
            if number % 20 == 0 { events += try Self.follow(&people[index], client) }
        }
        #expect((statuses[200] ?? 0) > TestEffort.cases(400), "\(statuses)")
        #expect((statuses[404] ?? 0) > TestEffort.cases(50))
        #expect(events > TestEffort.cases(20))
        // The journal leads to the same table again.
        let journal = try client.get(
            path + "journal", headers: Self.controller.merging(["Accept": "application/x-ndjson"]) { $1 })
        try Data(journal.text.utf8).write(to: URL(fileURLWithPath: directory.path("journal")))
        let run = try CommandRun(["replay", directory.path("journal")])
        #expect(run.status == 0, "\(run.errors)")
    }

    @Test("A client that changes its view gets one update, in a list, in a stream and for a window")
    func changeOfView() throws {
        let server = try Self.start(":memory:"), client = try server.client()
        var person = try Self.open(client)[0]
        let path = "/v1/sessions/s/"
        for (old, new) in [(0, 1), (1, 2), (2, 3), (3, 0)] {
            person.view = Self.views[old]
            let before = try Self.snapshot(client, person)
            let oldQuery = person.query.isEmpty ? "view=%7B%7D" : person.query
            let from = "from=" + (oldQuery.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")
            // Meanwhile somebody taps a row.
            _ = try client.request(
                "POST", path + "taps", #"{"at":{"section":"open","row":0}}"#, headers: person.headers)
            person.view = Self.views[new]
            let after = TableReplica(snapshot: try Self.snapshot(client, person)).text
            let position = "\(before["epoch"] ?? "").\(before["revision"] ?? "")"
            let answer = try client.get(
                path + "updates?\(person.query)&since=\(position)&\(from)", headers: person.headers)
            let updates = answer.object["updates"] as? [[String: Any]] ?? []
            #expect(updates.count == 1, "\(answer.text)")
            var replica = TableReplica(snapshot: before)
            try replica.apply(updates.first ?? [:])
            #expect(Self.withoutEpoch(replica.text) == Self.withoutEpoch(after))
            let stream = try EventStreamClient(
                port: server.port, path + "updates?\(person.query)&since=\(position)&\(from)", headers: person.headers)
            let events = try stream.events(through: "caught-up")
            #expect(events.map(\.name) == ["update", "caught-up"])
            #expect(
                Self.withoutEpoch(events[0].data) == Self.withoutEpoch(TableReplica.text(updates.first ?? [:]))
                    || events[0].object["stages"] != nil)
            // The position is the new view's.
            let again = try client.get(
                path + "updates?\(person.query)&since=\(stream.lastEventID)", headers: person.headers)
            #expect((again.object["updates"] as? [Any])?.isEmpty == true, "\(again.text)")
            // A window of three rows of the one, then of the other.
            person.view = Self.views[old]
            var window = try client.get(path + "snapshot?\(person.query)&offset=1&limit=3", headers: person.headers)
                .object
            let place = "\(window["epoch"] ?? "").\(window["revision"] ?? "")"
            person.view = Self.views[new]
            let moved = try client.get(
                path + "updates?\(person.query)&offset=0&limit=4&since=\(place)&\(from)%26offset%3D1%26limit%3D3",
                headers: person.headers)
            var part = TableReplica(snapshot: window)
            for update in moved.object["updates"] as? [[String: Any]] ?? [] { try part.apply(update) }
            window = try client.get(path + "snapshot?\(person.query)&offset=0&limit=4", headers: person.headers).object
            #expect(Self.withoutEpoch(part.text) == Self.withoutEpoch(TableReplica(snapshot: window).text))
        }
    }

    private static func withoutEpoch(_ text: String) -> String { text.replacing(#/"epoch":"[^"]*"/#, with: "") }

    @Test("A view is checked, only controllers look as others, and a hidden row's id cannot be used")
    func refusals() throws {
        let server = try Self.start(":memory:"), client = try server.client()
        let people = try Self.open(client), path = "/v1/sessions/s/"
        func status(_ view: String) throws -> Int {
            let query = view.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
            return try client.get(path + "snapshot?view=\(query)", headers: people[0].headers).status
        }
        for (view, expected) in [
            ("{}", 200), (#"{"hideDone":true}"#, 200), (#"{"hideDone":1}"#, 400), (#"{"hide":true}"#, 400), ("7", 400),
            ("{", 400), (#"{"sort":[1,{"a":2}]}"#, 200),
            (#"{"sort":"\#(String(repeating: "x", count: 4_085))"}"#, 200),
            (#"{"sort":"\#(String(repeating: "x", count: 4_086))"}"#, 400),
        ] {
            #expect(try status(view) == expected, "\(view.prefix(60))")
        }
        let own = try client.get(path + "snapshot", headers: people[0].headers)
        let seen = try client.get(
            path + "snapshot?as=%7B%22id%22%3A%22ada%22%2C%22name%22%3A%22ada%22%7D", headers: Self.controller)
        #expect(seen.text == own.text && seen.header("etag") == own.header("etag"))
        let other = try client.get(path + "snapshot?as=%7B%7D", headers: people[0].headers)
        #expect(other.status == 403, "\(other.text)")
        #expect(
            try client.get(
                path + "snapshot",
                headers: people[1].headers.merging(["If-None-Match": own.header("etag") ?? ""]) { $1 }
            )
            .status == 200, "another's tag is not theirs")
        // Row 1 is Ben's.
        let edit = #"{"insert":{"section":"open","row":0},"model":{"id":"1","v":0}}"#
        let rows = (own.object["sections"] as? [[String: Any]])?.first?["rows"] as? [[String: Any]] ?? []
        let place = rows.firstIndex { ($0["editing"] as? String) == "insert" } ?? 0
        let taken = try client.request(
            "POST", path + "edits", edit.replacing(#""row":0"#, with: #""row":\#(place)"#), headers: people[0].headers)
        #expect(
            taken.text.contains(#"The id \"1\" cannot be used."#) && !taken.text.contains("already"), "\(taken.text)")
    }

    @Test("A stream of somebody's own table ends when the session is bound to another description, and goes on with it")
    func rebinding() throws {
        let server = try Self.start(":memory:"), client = try server.client()
        var person = try Self.open(client)[0]
        let path = "/v1/sessions/s/updates"
        let stream = try EventStreamClient(port: server.port, path, headers: person.headers)
        _ = try stream.events(through: "caught-up")
        let table = Self.table.replacing("model['owner'] == null ||", with: "")
        let bound = try client.request("PUT", "/v1/sessions/s/table", #"{"table":\#(table)}"#, headers: Self.controller)
        #expect(bound.status == 200, "\(bound.text)")
        #expect(throws: EventStreamClient.Ended.self) { while true { _ = try stream.next() } }
        person.stream = try EventStreamClient(
            port: server.port, path, lastEventID: stream.lastEventID, headers: person.headers)
        _ = try Self.follow(&person, client)
        #expect(person.replica?.rowCount == 6, "only hers")
    }

    /// Reads the person's stream up to what a snapshot shows. Returns the number of updates.
    static func follow(_ person: inout Person, _ client: HTTPClient) throws -> Int {
        guard let stream = person.stream else { return 0 }
        let snapshot = TableReplica(snapshot: try snapshot(client, person))
        var updates = 0
        while (person.replica?.text).map(withoutRevision) != withoutRevision(snapshot.text) {
            let event = try stream.next()
            for mark in foreign(person) { #expect(!event.data.contains(mark), "\(event)") }
            switch event.name {
            case "snapshot": person.replica = TableReplica(snapshot: event.object)
            case "update":
                updates += 1
                try person.replica?.apply(event.object)
            default: break
            }
            try #require(event.revision <= snapshot.revision, "\(person.replica?.text ?? "") is not \(snapshot.text)")
        }
        return updates
    }

    /// Revisions without changes for somebody are not sent to them.
    private static func withoutRevision(_ text: String) -> String { text.replacing(#/"revision":\d+/#, with: "") }
}

@Suite(.serialized, .enabled(if: PostgresCluster.isPossible, PostgresCluster.needs)) struct ClusterOwnTableTests {
    @Test("People on different servers see the same tables of their own") func servers() throws {
        let cluster = try ServerCluster(2, environment: ["BRAID_TOKEN": "secret"])
        let clients = try cluster.indices.map { try cluster[$0].client() }
        var people = try OwnTableTests.open(clients[0]), random = SeededGenerator(seed: 41)
        for index in people.indices {
            people[index].view = OwnTableTests.views[index + 1]
            people[index].stream = try EventStreamClient(
                port: cluster[index % 2].port, "/v1/sessions/s/updates?\(people[index].query)",
                headers: people[index].headers)
        }
        var applied = 0
        for _ in 0..<TestEffort.cases(200) {
            let person = people.randomElement(using: &random) ?? people[0]
            let row = { #"{"section":0,"row":\#(Int.random(in: 0..<6, using: &random))}"# }
            let (path, body) =
                switch Int.random(in: 0..<4, using: &random) {
                case 0: ("edits", #"{"delete":\#(row())}"#)
                case 1: ("taps", #"{"at":\#(row())}"#)
                case 2: ("undo", "{}")
                default: ("moves", #"{"from":\#(row()),"to":\#(row())}"#)
                }
            let client = clients.randomElement(using: &random) ?? clients[0]
            let answer = try client.request(
                "POST", "/v1/sessions/s/\(path)?\(person.query)", body, headers: person.headers)
            #expect(answer.status < 500, "\(answer.text)")
            if answer.status == 200 { applied += 1 }
        }
        #expect(applied > TestEffort.cases(20))
        for index in people.indices {
            let snapshots = try clients.map {
                TableReplica(snapshot: try OwnTableTests.snapshot($0, people[index])).text
            }
            #expect(snapshots[0] == snapshots[1])
            #expect(try OwnTableTests.follow(&people[index], clients[index % 2]) > 0)
        }
    }
}

import Foundation
import TestSupport
import Testing

/// In snapshots, lists of updates, long polls and streams.
@Suite(.serialized) struct WindowStreamTests {
    private static let windows = [
        "offset=0&limit=4", "offset=3&limit=5", "offset=-4&limit=10", "section=b&offset=1&limit=3",
        "around=a2&aroundSection=a&before=2&after=3", "around=b1&section=b&before=1&after=1",
    ]

    private func escaped(_ window: String) -> String {
        window.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }

    private func snapshot(_ client: KeptClient, _ window: String) throws -> [String: Any] {
        let answer = try client.get("/v1/sessions/x/snapshot?\(window)")
        try #require(answer.status == 200, "\(window): \(answer.text)")
        return answer.object
    }

    /// With the anchor of the client's copy.
    private func current(_ window: String, _ replica: TableReplica) -> String {
        guard window.hasPrefix("around"), let anchor = replica.anchor else { return window }
        let others = window.split(separator: "&").filter { !$0.hasPrefix("around") }
        let place = others.contains { $0.hasPrefix("section") } ? "" : "&aroundSection=\(anchor.section)"
        return "around=\(anchor.id)\(place)&" + others.joined(separator: "&")
    }

    private func change(_ client: KeptClient, _ step: Int, _ random: inout SeededGenerator) throws {
        let section = Int.random(in: 0..<3, using: &random), row = Int.random(in: 0..<5, using: &random)
        let name = ["a", "b", "c"][section]
        switch Int.random(in: 0..<9, using: &random) {
        case 0, 1:
            try client.request("POST", "/v1/sessions/x/edits", #"{"delete":{"section":"\#(name)","row":\#(row)}}"#)
        case 2, 3:
            let to = ["a", "b", "c"].randomElement(using: &random) ?? "a"
            try client.request(
                "POST", "/v1/sessions/x/moves",
                #"{"from":{"section":"\#(name)","row":\#(row)},"to":{"section":"\#(to)","row":\#(Int.random(in: 0..<5, using: &random))}}"#
            )
        case 4, 5:
            let silently = Bool.random(using: &random) ? "" : #","notify":false"#
            try client.request(
                "POST", "/v1/sessions/x/rows",
                #"{"at":[\#(section),\#(row)],"model":{"id":"n\#(step)","taps":0}\#(silently)}"#)
        case 6:
            let displayed = ["a", "b", "c"].shuffled(using: &random).prefix(Int.random(in: 1...3, using: &random))
            try client.request(
                "PUT", "/v1/sessions/x/displayed-sections",
                "[\(displayed.map { "\"\($0)\"" }.joined(separator: ","))]")
        case 7: try client.request("PATCH", "/v1/sessions/x/headers", #"{"\#(name)":"H\#(step)"}"#)
        default:
            try client.request("POST", "/v1/sessions/x/taps", #"{"at":{"section":"\#(name)","row":\#(row)}}"#)
        }
    }

    @Test("Applying a window's stream to the window's snapshot gives the window's current snapshot", arguments: 0..<4)
    func streamsAreTheWindow(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let client = try ServerProcess().keptClient()
        try ConcurrencyTests.open(client, rows: 4)
        let form = seed % 2 == 0 ? "" : "&form=sequential"
        var readers = try Self.windows.map { window in
            let stream = try EventStreamClient(port: client.server.port, "/v1/sessions/x/updates?\(window)\(form)")
            let replica = TableReplica(snapshot: try stream.next().object)
            #expect(try stream.next().name == "caught-up")
            return (window: window, stream: stream, replica: replica)
        }
        for round in 0..<60 {
            for step in 0..<Int.random(in: 1...3, using: &random) { try change(client, 10 * round + step, &random) }
            // Every window shows the state, so every stream gets this revision.
            let done = try client.request("PATCH", "/v1/sessions/x/state", #"{"round":\#(round)}"#)
            let revision = try #require(done.object["revision"] as? Int)
            for index in readers.indices {
                while readers[index].replica.revision < revision {
                    let event = try readers[index].stream.next()
                    // A controller's stream has taps, too.
                    if event.name == "update" { try readers[index].replica.apply(event.object) }
                }
                let window = current(readers[index].window, readers[index].replica)
                let replica = readers[index].replica
                guard !window.hasPrefix("around") || replica.anchor != nil else { continue }
                #expect(try replica.text == TableReplica.text(snapshot(client, window)), "round \(round): \(window)")
            }
        }
    }

    @Test(
        "One update can lead from any window at an earlier revision to any window at the current revision",
        arguments: 0..<3)
    func anyWindowToAnyWindow(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(20 + seed))
        let client = try ServerProcess().keptClient()
        try ConcurrencyTests.open(client, rows: 4)
        var seen: [(window: String, snapshot: [String: Any])] = []
        for round in 0..<50 {
            for window in Self.windows {
                let answer = try client.get("/v1/sessions/x/snapshot?\(window)")
                // Without anchor or section, skip this window in this round.
                guard answer.status == 200 else { continue }
                seen.append((window, answer.object))
            }
            try change(client, round, &random)
            for _ in 0..<4 {
                guard let (old, known) = seen.randomElement(using: &random) else { continue }
                var replica = TableReplica(snapshot: known)
                let revision = replica.revision
                let wanted = Self.windows[Int.random(in: 0..<4, using: &random)]
                let form = Bool.random(using: &random) ? "" : "&form=sequential"
                let list = try client.get(
                    "/v1/sessions/x/updates?since=\(revision)&\(wanted)&from=\(escaped(old))\(form)")
                #expect(list.status == 200 && list.object["reset"] == nil, "\(list.text)")
                for update in list.object["updates"] as? [[String: Any]] ?? [] { try replica.apply(update) }
                replica.pass(to: list.object["to"] as? Int ?? -1)
                #expect(
                    try replica.text == TableReplica.text(snapshot(client, wanted)),
                    "from \(old) at \(revision) to \(wanted): \(list.text)")
            }
        }
    }

    @Test("A stream with `since` and `from` starts with the update from the old window to the new one")
    func aStreamMovesTheWindow() throws {
        let client = try ServerProcess().keptClient()
        try ConcurrencyTests.open(client, rows: 4)
        var replica = TableReplica(snapshot: try snapshot(client, "offset=0&limit=3"))
        try client.request("POST", "/v1/sessions/x/edits", #"{"delete":{"section":"a","row":0}}"#)
        let stream = try EventStreamClient(
            port: client.server.port,
            "/v1/sessions/x/updates?since=0&offset=2&limit=3&from=\(escaped("offset=0&limit=3"))")
        let events = try stream.events(through: "caught-up")
        #expect(events.map(\.name) == ["update", "update", "caught-up"])
        #expect(events[0].revision == 0 && events[1].revision == 1)
        for event in events.dropLast() { try replica.apply(event.object) }
        #expect(try replica.text == TableReplica.text(snapshot(client, "offset=2&limit=3")))
    }

    @Test("A move to a window around a row leads to the row that a snapshot around it shows")
    func windowAroundRow() throws {
        let client = try ServerProcess().keptClient()
        try ConcurrencyTests.open(client, rows: 4)
        let old = try snapshot(client, "offset=0&limit=3"), wanted = "around=a2&before=1&after=1"
        // a2 is gone for a revision: nothing leads to the new one.
        try client.request("POST", "/v1/sessions/x/edits", #"{"delete":{"id":"a2"}}"#)
        try client.request("POST", "/v1/sessions/x/rows", #"{"at":[2,1],"model":{"id":"a2","taps":0}}"#)
        let shown = try snapshot(client, wanted)
        let query = "since=0&\(wanted)&from=\(escaped("offset=0&limit=3"))"
        var replica = TableReplica(snapshot: old)
        let list = try client.get("/v1/sessions/x/updates?\(query)").object
        for update in list["updates"] as? [[String: Any]] ?? [] { try replica.apply(update) }
        #expect(replica.text == TableReplica.text(shown) && replica.anchor?.section == "c")
        let stream = try EventStreamClient(port: client.server.port, "/v1/sessions/x/updates?\(query)")
        replica = TableReplica(snapshot: old)
        for event in try stream.events(through: "caught-up").dropLast() {
            if event.name == "snapshot" {
                replica = TableReplica(snapshot: event.object)
            } else {
                try replica.apply(event.object)
            }
        }
        #expect(replica.text == TableReplica.text(shown))
        // Gone for good: followed to its neighbour.
        try client.request("POST", "/v1/sessions/x/edits", #"{"delete":{"id":"a2"}}"#)
        #expect(try client.get("/v1/sessions/x/snapshot?\(wanted)").status == 404)
        let neighbour = try client.get("/v1/sessions/x/updates?\(query)")
        #expect(neighbour.status == 200 && neighbour.text.contains(#""id":"a3""#))
    }

    @Test("A window keeps its anchor when a row without an id makes the section one that is not diffable")
    func anchorOfAReloadedSection() throws {
        let client = try ServerProcess().keptClient()
        try client.request("POST", "/v1/sessions", #"{"id":"x","rows":[{"id":"1"},{"id":"2"},{"id":"3"},{"id":"4"}]}"#)
        let window = "around=3&before=1&after=0"
        var replica = TableReplica(snapshot: try snapshot(client, window))
        for model in [#"{"id":null}"#, #"{"id":"5"}"#] {
            try client.request("POST", "/v1/sessions/x/rows", #"{"at":[0,0],"model":\#(model)}"#)
            let list = try client.get("/v1/sessions/x/updates?since=\(replica.revision)&\(window)").object
            for update in list["updates"] as? [[String: Any]] ?? [] { try replica.apply(update) }
            #expect(replica.anchor?.id == "3")
            #expect(try replica.text == TableReplica.text(snapshot(client, window)))
        }
    }

    @Test("A change outside of a window sends only changed row counts, and nothing if no count has changed")
    func changesOutside() throws {
        let client = try ServerProcess().keptClient()
        try ConcurrencyTests.open(client, rows: 4)
        let window = "around=b1&aroundSection=b&before=1&after=1"
        func list(_ since: Int) throws -> String {
            try client.get("/v1/sessions/x/updates?since=\(since)&\(window)").text
        }
        // Earlier tables are kept while clients read windows: read one first.
        _ = try snapshot(client, window)
        try client.request("PATCH", "/v1/sessions/x/headers", #"{"c":"C"}"#)
        #expect(try list(0) == #"{"from":0,"to":1,"updates":[]}"#)
        try client.request("POST", "/v1/sessions/x/rows", #"{"at":[0,0],"model":{"id":"n","taps":0}}"#)
        #expect(
            try list(1)
                == #"{"from":1,"to":2,"updates":[{"from":1,"to":2,"stages":[],"totalRowCount":13,"window":{"offset":5,"anchor":{"section":"b","id":"b1"}}}]}"#
        )
        try client.request("POST", "/v1/sessions/x/edits", #"{"delete":{"section":"b","row":3}}"#)
        #expect(
            try list(2)
                == #"{"from":2,"to":3,"updates":[{"from":2,"to":3,"stages":[],"totalRowCount":12,"extents":[{"section":0,"offset":0,"rowCount":3}]}]}"#
        )
    }

    @Test("A long poll of a window waits until something changes in this window")
    func longPoll() throws {
        let client = try ServerProcess().keptClient(), writer = try HTTPClient(port: client.server.port)
        try ConcurrencyTests.open(client, rows: 4)
        _ = try snapshot(client, "section=a&offset=0&limit=2")
        let poll = try HTTPClient(port: client.server.port)
        try poll.send(
            "GET /v1/sessions/x/updates?since=0&wait=60&section=a&offset=0&limit=2 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        // Nothing in the window; then something.
        _ = try writer.request("PATCH", "/v1/sessions/x/headers", #"{"c":"C"}"#)
        _ = try writer.request("POST", "/v1/sessions/x/edits", #"{"delete":{"section":"a","row":0}}"#)
        let answer = try poll.receive().object
        #expect(answer["from"] as? Int == 0 && answer["to"] as? Int == 2)
        #expect((answer["updates"] as? [[String: Any]])?.first?["from"] as? Int == 0)
    }

    @Test("Unpublished changes appear in a window all together, when they are published")
    func unpublishedChanges() throws {
        let client = try ServerProcess().keptClient()
        try ConcurrencyTests.open(client, rows: 4)
        let window = "offset=0&limit=2"
        var replica = TableReplica(snapshot: try snapshot(client, window))
        for number in 0..<3 {
            try client.request(
                "POST", "/v1/sessions/x/rows", #"{"at":[0,0],"model":{"id":"n\#(number)","taps":0},"notify":false}"#)
        }
        #expect(try client.get("/v1/sessions/x/updates?since=0&\(window)").text == #"{"from":0,"to":3,"updates":[]}"#)
        try client.request("PATCH", "/v1/sessions/x/state", #"{"n":1}"#)
        let list = try client.get("/v1/sessions/x/updates?since=0&\(window)").object
        for update in list["updates"] as? [[String: Any]] ?? [] { try replica.apply(update) }
        #expect(try replica.text == TableReplica.text(snapshot(client, window)))
        #expect(replica.text.contains("n2"))
    }

    @Test("Windows follow a filter that hides rows, and a section that is hidden and displayed again")
    func filtersAndHiddenSections() throws {
        let client = try ServerProcess().keptClient()
        let table =
            #"{"table":"t","sections":["a","b"],"cells":{"C":{}},"bindings":[{"on":{"sections":["a","b"]},"cell":"C","models":{"a":[{"id":"a1"},{"id":"a2"},{"id":"a3"}],"b":[{"id":"b1"}]},"shown":"!(model.id in state.off)"}],"state":{"off":[]}}"#
        let opened = try client.request("POST", "/v1/sessions", #"{"id":"x","table":\#(table)}"#)
        guard opened.status == 201 else {
            Issue.record("\(opened.text)")
            return
        }
        var windows = try ["offset=0&limit=2", "section=b", "around=a3&before=1&after=1"].map {
            (query: $0, replica: TableReplica(snapshot: try snapshot(client, $0)))
        }
        func follow(_ path: String, _ method: String, _ body: String) throws {
            try #require(client.request(method, "/v1/sessions/x/\(path)", body).status == 200)
            for index in windows.indices {
                let list = try client.get(
                    "/v1/sessions/x/updates?since=\(windows[index].replica.revision)&\(windows[index].query)"
                ).object
                for update in list["updates"] as? [[String: Any]] ?? [] { try windows[index].replica.apply(update) }
                windows[index].replica.pass(to: list["to"] as? Int ?? -1)
                windows[index].query = current(windows[index].query, windows[index].replica)
                #expect(
                    try windows[index].replica.text == TableReplica.text(snapshot(client, windows[index].query)),
                    "\(path): \(windows[index].query)")
            }
        }
        try follow("state", "PATCH", #"{"off":["a1"]}"#)
        try follow("state", "PATCH", #"{"off":["a3"]}"#)
        #expect(windows[2].replica.anchor?.id != "a3")
        try follow("displayed-sections", "PUT", #"["a"]"#)
        #expect(windows[1].replica.rowCount == 0)
        try follow("displayed-sections", "PUT", #"["b","a"]"#)
        #expect(windows[1].replica.rowCount == 1)
        try follow("state", "PATCH", #"{"off":[]}"#)
    }

    @Test("A command with a base names rows by their indexes in the whole section, also if the client sees a window")
    func base() throws {
        let client = try ServerProcess().keptClient()
        try ConcurrencyTests.open(client, rows: 6)
        let seen = try snapshot(client, "section=b&offset=2&limit=2")
        #expect(((seen["sections"] as? [[String: Any]])?.first?["offset"] as? Int) == 2)
        // The window has b2 and b3, at the offset 2. Another client inserts above it.
        try client.request("POST", "/v1/sessions/x/rows", #"{"at":[1,0],"model":{"id":"n","taps":0}}"#)
        let done = try client.request(
            "POST", "/v1/sessions/x/edits?base=\(seen["revision"] ?? "")", #"{"delete":{"section":"b","row":3}}"#)
        #expect(done.status == 200)
        #expect(!(try client.get("/v1/sessions/x/snapshot").text).contains(#""id":"b3""#))
    }

    @Test("After a restart, a window continues if nothing has changed since, and starts with a snapshot otherwise")
    func restart() throws {
        let directory = try TemporaryDirectory()
        let server = try ServerProcess(database: directory.path("braid.sqlite")), client = try server.keptClient()
        try ConcurrencyTests.open(client, rows: 4)
        let window = "around=b1&aroundSection=b&before=1&after=1"
        try client.request("PATCH", "/v1/sessions/x/state", #"{"n":1}"#)
        server.kill()
        let again = try ServerProcess(database: directory.path("braid.sqlite")), other = try again.keptClient()
        #expect(try other.get("/v1/sessions/x/updates?since=1&\(window)").text == #"{"from":1,"to":1,"updates":[]}"#)
        let list = try other.get("/v1/sessions/x/updates?since=0&\(window)").object
        #expect(list["reset"] as? Bool == true)
        #expect(
            TableReplica.text(list["snapshot"] as? [String: Any] ?? [:])
                == (try TableReplica.text(snapshot(other, window))))
        let stream = try EventStreamClient(port: other.server.port, "/v1/sessions/x/updates?since=0&\(window)")
        #expect(try stream.next().name == "snapshot")
        try other.request("POST", "/v1/sessions/x/edits", #"{"delete":{"section":"b","row":1}}"#)
        let gone = try other.get("/v1/sessions/x/updates?since=0&\(window)")
        #expect(gone.status == 404 && gone.text.contains("row-not-found"))
        // Computed at revision 1 since the restart, so its anchor can be followed from there.
        let followed = try other.get("/v1/sessions/x/updates?since=1&\(window)").object
        #expect("\(followed)".contains("b2"))
    }

    @Test("A request with invalid window parameters is refused, and the problem says why")
    func refusals() throws {
        let client = try ServerProcess().keptClient()
        try ConcurrencyTests.open(client, rows: 2)
        for (query, status, word) in [
            ("offset=x", 400, "integer"), ("limit=10001", 400, "10000"), ("limit=-1", 400, "limit"),
            ("around=a1&limit=2", 400, "not both"), ("before=2", 400, "around"), ("aroundSection=a", 400, "around"),
            ("around=a1&section=a&aroundSection=b", 400, "anchor"), ("around=zz", 404, "zz"),
            ("around=a1&aroundSection=b&before=0", 404, "a1"), ("section=zz", 404, "zz"),
        ] {
            for path in ["snapshot?", "updates?since=0&"] {
                let answer = try client.get("/v1/sessions/x/\(path)\(query)")
                #expect(answer.status == status && answer.text.contains(word), "\(path)\(query): \(answer.text)")
            }
            let stream = try client.get(
                "/v1/sessions/x/updates?\(query)", headers: ["Accept": "text/event-stream"])
            #expect(stream.status == status, "\(query): \(stream.text)")
        }
        for query in ["from=offset%3D0", "offset=0&from=", "offset=0&from=row%3D1", "offset=0&from=limit%3Dx"] {
            #expect(try client.get("/v1/sessions/x/updates?since=0&\(query)").status == 400, "\(query)")
        }
    }
}

/// With several servers.
@Suite(.serialized, .enabled(if: PostgresCluster.isPossible, PostgresCluster.needs)) struct WindowClusterTests {
    @Test("A window at one server follows commands that another server has carried out")
    func commandsOfOthers() throws {
        let cluster = try ServerCluster(), clients = try cluster.clients()
        try ConcurrencyTests.open(clients[0], rows: 4)
        let window = "around=b1&aroundSection=b&before=1&after=1"
        let stream = try EventStreamClient(port: clients[0].server.port, "/v1/sessions/x/updates?\(window)")
        var replica = TableReplica(snapshot: try stream.next().object)
        #expect(try stream.next().name == "caught-up")
        for round in 0..<20 {
            try clients[1].request("POST", "/v1/sessions/x/rows", #"{"at":[0,0],"model":{"id":"n\#(round)","taps":0}}"#)
            let done = try clients[2].request(
                "POST", "/v1/sessions/x/taps", #"{"at":{"section":"b","row":\#(round % 4)}}"#)
            let revision = try #require(done.object["revision"] as? Int)
            let state = try clients[1].request("PATCH", "/v1/sessions/x/state", #"{"round":\#(round)}"#)
            let last = try #require(state.object["revision"] as? Int)
            #expect(last == revision + 1)
            while replica.revision < last {
                let event = try stream.next()
                if event.name == "update" { try replica.apply(event.object) }
            }
            let shown = try clients[2].get("/v1/sessions/x/snapshot?\(window)")
            #expect(replica.text == TableReplica.text(shown.object), "round \(round)")
        }
    }
}

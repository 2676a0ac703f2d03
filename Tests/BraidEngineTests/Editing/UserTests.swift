import Testing

@testable import BraidEngine

/// Who sends a command: in expressions, events, updates and journals.
@Suite struct UserTests {
    static let kim = User(
        id: "kim", name: "Kim", role: .participant, claims: .object { $0.member("team", "red") })
    /// All kinds: with and without an id, a name, claims; each role.
    static let all: [User] = [nil, "kim", ""].flatMap { id in
        [nil, "Kim"].flatMap { name in
            [JSONText.emptyObject, kim.claims].flatMap { claims in
                Role.allCases.map { User(id: id, name: name, role: $0, claims: claims) }
            }
        }
    }

    @Test("From its `by` a user is read again, and only a controller without a user has none", arguments: all)
    func journalForm(user: User) {
        #expect(User(by: user.by) == user)
        #expect((user.by == nil) == (user == .controller))
    }

    @Test(
        "What is no `by` is not read as somebody else's",
        arguments: ["{}", #"{"role":"king"}"#, #"{"role":"viewer","claims":[]}"#, "7"])
    func damagedForm(text: String) throws {
        #expect(User(by: try JSONText(parsing: text)) == nil)
    }

    private static let description = """
        {"table":"t","authors":AUTHORS,"cells":{"C":{"events":{"e":{}}}},"state":{},"bindings":[{"cell":"C",
         "models":[{"id":"1"},{"id":"2"}],"editing":{"$if":"row == 0","then":"delete","else":"insert"},
         "insert":{"template":{"id":"new","by":{"$eval":"user"}}},"moving":{"to":"anySection"},
         "onTap":[{"setState":{"tap":[{"$eval":"user"}]}},{"emit":{"name":"tapped"}}],
         "onEvent":{"e":[{"if":"user.role == 'viewer'","do":[{"reject":"No, ${user.name}."}]},
                         {"setState":{"event":[{"$eval":"user"}]}}]},
         "onDelete":[{"setState":{"delete":[{"$eval":"user"}]}}],
         "onInsert":[{"setState":{"insert":[{"$eval":"user"}]}}]}]}
        """

    private static func played(authors: Bool = false) throws -> Played {
        try Played(description.replacing("AUTHORS", with: authors ? "true" : "false"))
    }

    @Test("Every handler and `insert.template` read the user who sends the command", arguments: all)
    func handlersRead(user: User) throws {
        for (command, member) in [
            (#"{"taps":{"at":{"id":"1"}}}"#, "tap"), (#"{"edits":{"delete":{"id":"1"}}}"#, "delete"),
            (#"{"edits":{"insert":{"id":"2"}}}"#, "insert"),
            (#"{"moves":{"from":{"id":"1"},"to":{"section":0,"row":1}}}"#, "delete"),
            (#"{"events":{"at":{"id":"1"},"event":{"e":{}}}}"#, "event"),
        ] where user.role != .viewer || member != "event" {
            for isTransaction in [false, true] {
                var session = try Self.played()
                let single = try Command(json: JSONText(parsing: command))
                _ = try session.perform(isTransaction ? .transaction([single]) : single, by: user)
                // In an array, as a merge patch would drop the nulls.
                #expect(session.table.state[member] == JSONText([user.json]), "\(command)")
            }
        }
        var session = try Self.played()
        _ = try session.perform(Command(json: JSONText(parsing: #"{"edits":{"insert":{"id":"2"}}}"#)), by: user)
        #expect(session.table["table"]?.rows[1].model["by"] == user.json)
    }

    @Test("A handler can refuse a command because of its user, and name them")
    func rejected() throws {
        var session = try Self.played()
        let command = try Command(json: JSONText(parsing: #"{"events":{"at":{"id":"1"},"event":{"e":{}}}}"#))
        let refusal = #expect(throws: Refusal.self) {
            try session.perform(command, by: User(id: "v", name: "Vera", role: .viewer))
        }
        #expect(refusal?.code == .rejected && refusal?.detail == "No, Vera.")
        #expect(throws: Never.self) { try session.perform(command, by: Self.kim) }
    }

    @Test("Taps and emitted events name their user, except a controller without one")
    func events() throws {
        var session = try Self.played()
        let tap = try Command(json: JSONText(parsing: #"{"taps":{"at":{"id":"1"}}}"#))
        let events = try session.perform(tap, by: Self.kim).controllerEvents
        let by = #""by":{"id":"kim","name":"Kim","role":"participant"}}"#
        #expect(events.count == 2 && events.allSatisfy { $0.json(by: Self.kim).text.hasSuffix(by) })
        #expect(events.allSatisfy { $0.json()["by"] == nil })
    }

    @Test("Updates name their user if the description says so, and only somebody with an id", arguments: all)
    func authors(user: User) throws {
        let command = try Command(json: JSONText(parsing: #"{"edits":{"delete":{"id":"1"}}}"#))
        var silent = try Self.played(), telling = try Self.played(authors: true)
        #expect(try silent.perform(command, by: user).update.by == nil)
        let update = try telling.perform(command, by: user).update
        #expect((update.by == nil) == (user.id == nil))
        #expect(update.by?["id"]?.stringValue == user.id && update.by?["claims"] == nil && update.by?["role"] == nil)
        #expect(update.json["by"] == update.by && update.sequentialJSON["by"] == update.by)
        #expect(try BatchUpdate(json: update.json).json == update.json)
        #expect(try BatchUpdate.composing([update]).by == update.by)
        // Of two revisions nobody is the author.
        let next = try telling.perform(Command(json: JSONText(parsing: #"{"patchState":{"x":1}}"#)), by: user).update
        #expect(try BatchUpdate.composing([update, next]).by == nil)
    }
}

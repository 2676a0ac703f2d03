import BraidEngine
import BraidHTTP
import BraidRuntime
import BraidSessions
import BraidStore
import Testing

@testable import BraidServer

/// `POST …/tickets`, and `?ticket=`.
@Suite struct TicketTests {
    private let clock = Clock()
    private let store: SQLiteStore
    private let controllers = ControllerTokens(["server"])
    private let app: App

    init() async throws {
        store = try SQLiteStore(path: ":memory:")
        app = App(store: store, clock: clock, controllers: controllers)
        try await open("mine", in: app)
        try await open("theirs", in: app)
    }

    private func open(_ id: String, in app: App) async throws {
        let body = try JSONText(parsing: #"{"id":"\#(id)","table":{"table":"t","bindings":[{"cell":"C"}]}}"#)
        _ = try await app.sessions.open(SessionOpening(body), text: body)
    }

    private func token(_ role: Role, lasting seconds: Int = 600) async throws -> (text: String, id: String) {
        let user = User(id: "kim", name: "Kim", role: role)
        let made = try await app.sessions.tokens.create(TokenGrant(user: user), for: nil, lasting: seconds)
        return (made.token, made.stored.id)
    }

    private func send(
        _ method: String = "GET", _ target: String, token: String? = nil, to app: App? = nil,
        _ fields: [(String, String)] = []
    ) async -> HTTPResponse {
        let bearer = token.map { [("Authorization", "Bearer \($0)")] } ?? []
        let head = parsedHead(method, target, [("Host", "localhost")] + bearer + fields)
        var exchange = (app ?? self.app).receive(head).begun()
        let response = await exchange.handle()
        return await exchange.present(response)
    }

    private func ticket(_ token: String?, to app: App? = nil) async throws -> String {
        let earliest = Instant(millisecondsSince1970: clock.now() + 30_000).text
        let answer = await send("POST", "/v1/sessions/mine/tickets", token: token, to: app)
        #expect(answer.status == 201)
        #expect(answer.headers.contains { $0 == ("Cache-Control", "no-store") })
        let body = try JSONText(parsing: try #require(answer.body.bytes))
        let expires = try #require(body["expires"]?.stringValue)
        #expect(earliest <= expires && expires <= Instant(millisecondsSince1970: clock.now() + 30_000).text)
        return try #require(body["ticket"]?.stringValue)
    }

    private func status(_ ticket: String, of session: String = "mine", on app: App? = nil) async -> Int {
        await send("GET", "/v1/sessions/\(session)?ticket=\(ticket)", to: app).status
    }

    private func stream(_ ticket: String) async throws -> ByteStream {
        let answer = await send(
            "GET", "/v1/sessions/mine/updates?ticket=\(ticket)", [("Accept", "text/event-stream")])
        guard case .stream(let stream) = answer.body else {
            throw ProblemError(.internalError, "\(answer.status)")
        }
        return stream
    }

    @Test("A ticket reads its session again and again, for 30 seconds of the server's clock, and changes nothing")
    func life() async throws {
        clock.set(to: 1_000_000_000_000)
        let ticket = try await ticket(token(.participant).text)
        #expect(ticket.utf8.allSatisfy { $0.isVisible && !"%&=#?".utf8.contains($0) })
        for _ in 0..<3 { #expect(await status(ticket) == 200) }
        #expect(await send("HEAD", "/v1/sessions/mine?ticket=\(ticket)").status == 200)
        #expect(await status(ticket, of: "theirs") == 404)
        for (method, path) in [
            ("POST", "/v1/sessions/mine/tickets"), ("DELETE", "/v1/sessions/mine/presence"), ("GET", "/v1/sessions"),
        ] { #expect(await send(method, "\(path)?ticket=\(ticket)").status == 401) }
        clock.set(to: 1_000_000_029_000)
        #expect(await status(ticket) == 200)
        clock.set(to: 1_000_000_031_000)
        #expect(await status(ticket) == 401)
    }

    @Test("No text but a ticket itself is one: not another in one character, and no token")
    func forged() async throws {
        let (token, _) = try await token(.viewer), ticket = Array(try await ticket(token))
        for place in ticket.indices {
            var other = ticket
            other[place] = other[place] == "A" ? "B" : "A"
            #expect(await status(String(other)) == 401, "\(place)")
        }
        for text in ["", ".", "A.A", String(ticket.dropLast()), String(ticket) + ".A", token, "server"] {
            #expect(await status(text) == 401, "\(text)")
        }
        let answer = await send("GET", "/v1/sessions/mine?ticket=A.A")
        #expect(answer.headers.contains { $0 == Bearer.invalidChallenge })
        let body = String(decoding: try #require(answer.body.bytes), as: UTF8.self)
        #expect(!body.contains("ticket="), "the query is repeated")
        #expect(await send("GET", "/v1/sessions/mine?ticket=A.A", token: token).status == 200, "the token counts")
    }

    @Test("A ticket ends with its token, with its session, and with the server's token that signs it")
    func ends() async throws {
        let (token, id) = try await token(.viewer), revoked = try await ticket(token)
        #expect(await status(revoked) == 200)
        #expect(try await app.sessions.tokens.revoke(id, of: nil))
        #expect(await status(revoked) == 401)
        let short = try await ticket(self.token(.viewer, lasting: 20).text)
        clock.set(to: clock.now() + 20_000)
        #expect(await status(short) == 401)

        let other = try await ticket(self.token(.viewer).text), controller = try await ticket("server")
        controllers.replace(with: ["new", "server"])
        for ticket in [other, controller] { #expect(await status(ticket) == 200) }
        controllers.replace(with: ["new"])
        for ticket in [other, controller] { #expect(await status(ticket) == 401) }

        let last = try await ticket("new")
        try await app.sessions.end("mine")
        #expect(await status(last) == 404)
        try await open("mine", in: app)
        #expect(await status(last) == 404, "it is another session")
    }

    @Test("A stream that a ticket opened goes on without it, and ends with the token")
    func streams() async throws {
        let (token, id) = try await token(.viewer)
        let stored = try await stream(ticket(token)), controllers = try await stream(ticket("server"))
        clock.set(to: clock.now() + 60_000)
        app.sessions.tokens.endExpired()
        #expect(!stored.isEndedFromServer && !controllers.isEndedFromServer)
        #expect(try await app.sessions.tokens.revoke(id, of: nil))
        #expect(stored.isEndedFromServer && !controllers.isEndedFromServer)
        self.controllers.replace(with: ["new"])
        #expect(controllers.isEndedFromServer)
    }

    @Test("A ticket is as its token: of the same user and role, and no shared cache keeps what it gets")
    func rights() async throws {
        for role in Role.allCases {
            let (token, id) = try await token(role)
            let head = parsedHead(
                "GET", "/v1/sessions/mine?ticket=\(try await ticket(token))", [("Host", "localhost")])
            let exchange = await app.receive(head).identified()
            #expect(exchange.sender?.user == User(id: "kim", name: "Kim", role: role))
            #expect(exchange.account.client == id)
            let path = "/v1/sessions/mine/snapshot"
            let own = await send("GET", path, token: token)
            let lent = await send("GET", "\(path)?ticket=\(try await ticket(token))")
            func field(_ name: String, _ answer: HTTPResponse) -> String? { answer.headers.first { $0.0 == name }?.1 }
            #expect(field("ETag", own) == field("ETag", lent) && field("ETag", own) != nil)
            #expect(field("Cache-Control", own) == "no-cache")
            #expect(field("Cache-Control", lent) == "private, no-cache")
        }
    }

    @Test("Another server on SQLite, or after a restart, accepts no ticket of this one; an open server asks for none")
    func servers() async throws {
        let ticket = try await ticket(token(.viewer).text)
        let second = App(store: store, clock: clock, controllers: ControllerTokens(["server"]))
        #expect(await status(ticket, on: second) == 401)
        let open = App(store: store, clock: clock, controllers: ControllerTokens([]))
        #expect(await status(try await self.ticket(nil, to: open), on: open) == 200)
        #expect(await status("none", on: open) == 200, "a server without tokens asks for none")
    }
}

extension ByteStream {
    fileprivate var isEndedFromServer: Bool { write([]) == .closed }
}

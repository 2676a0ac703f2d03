import BraidEngine
@testable import BraidStore
import Testing

@Suite struct TokenTests {
    private static func token(_ id: String, created: Int = 1000, expires: Int = 5000) -> NewToken {
        NewToken(id: id, role: "viewer", created: created, expires: expires, hash: "h-\(id)")
    }

    @Test(
        "A token can be found by its id, and is listed with its session's other tokens until it expires",
        arguments: StoreKind.forTests)
    func tokensAreKept(kind: StoreKind) async throws {
        let store = try kind.open()
        let number = try await store.createSession(.make("a"))
        _ = try await store.createSession(.make("b"))
        for id in ["z", "x", "y"] { try await store.createToken(Self.token(id), for: "a") }
        try await store.createToken(Self.token("old", created: 0, expires: 900), for: "b")
        #expect(try await store.token("x") == StoredToken(token: Self.token("x"), session: number, sessionID: "a"))
        #expect(try await store.token("none") == nil)
        #expect(try await store.tokens(of: "a", after: nil, limit: 2, now: 0)?.map(\.token.id) == ["x", "y"])
        #expect(try await store.tokens(of: "a", after: "y", limit: 2, now: 4999)?.map(\.token.id) == ["z"])
        #expect(try await store.tokens(of: "a", after: nil, limit: 2, now: 5000) == [])
        #expect(try await store.tokens(of: "none", after: nil, limit: 2, now: 0) == nil)
        await #expect(throws: StoreError.sessionMissing) { try await store.createToken(Self.token("n"), for: "none") }
        try await store.createToken(Self.token("new"), for: "b")
        #expect(try await store.token("old") == nil, "what has expired makes room")
        await store.close()
    }

    @Test("A token is gone when it is deleted, or when its session ends", arguments: StoreKind.forTests)
    func tokensGo(kind: StoreKind) async throws {
        let store = try kind.open()
        for id in ["a", "b"] { _ = try await store.createSession(.make(id)) }
        for id in ["x", "y"] { try await store.createToken(Self.token(id), for: "a") }
        #expect(try await !store.deleteToken("x", of: "b"))
        #expect(try await store.deleteToken("x", of: "a"))
        #expect(try await !store.deleteToken("x", of: "a"))
        #expect(try await store.token("x") == nil)
        _ = try await store.deleteSession("a")
        #expect(try await store.token("y") == nil)
        _ = try await store.createSession(.make("a"))
        #expect(try await store.tokens(of: "a", after: nil, limit: 9, now: 0) == [])
        await store.close()
    }

    @Test("Servers that share a store have the first secret for tickets", arguments: StoreKind.forTests)
    func ticketSecret(kind: StoreKind) async throws {
        let opened = try kind.open()
        guard let store = opened.sharing else { return await opened.close() }
        let first = try await withThrowingTaskGroup(of: String.self) { group in
            for number in 0..<8 { group.addTask { try await store.ticketSecret(orNew: "\(number)") } }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(first.count == 1)
        #expect(try await store.ticketSecret(orNew: "later") == first.first)
        await opened.close()
    }
}

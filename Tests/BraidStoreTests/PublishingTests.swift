import BraidEngine
import BraidStore
import Testing

@Suite struct PublishingTests {
    @Test("The store keeps the published table next to unpublished changes", arguments: StoreKind.forTests)
    func unpublishedChanges(kind: StoreKind) async throws {
        let store = try kind.open()
        let number = try await store.createSession(
            .make(
                displayed: #"["a","b"]"#,
                sections: [
                    .init(number: 1, id: "a", ordinal: 1), .init(number: 2, id: "b", ordinal: 2, header: #""B""#),
                ],
                rows: [(1, .make(1, id: "one")), (1, .make(2)), (2, .make(3, id: "three"))]))
        try await store.commit(
            .make(number, to: 1, at: 1500, publishes: false, nextKey: 5, rows: 3) {
                $0.writtenRows = [(1, .make(4, rank: 1, id: "new")), (1, .make(1, id: "one", "[1]"))]
                $0.placedRows = [(1, 3, 500)]
                $0.removedSections = [2]
                $0.writtenSections = [.init(number: 3, id: "c", ordinal: 0)]
                $0.displayedSections = #"["c","a"]"#
            })
        // Row 1 changes again. Clients must still see it as before the first change.
        try await store.commit(
            .make(number, to: 2, at: 1600, publishes: false, nextKey: 5, rows: 3) {
                $0.writtenRows = [(1, .make(1, id: "one", "[2]"))]
                $0.removedRows = [2, 4]
                $0.writtenSections = [.init(number: 3, id: "c", ordinal: 0, footer: "1")]
            })
        #expect(
            dump(try await store.session("s")) == """
                s table=-/0 e-s.2 1000-1600 rows=3 next=5
                description {"table":"inline"}
                state {}
                displayed ["c","a"]
                [3 c @0 - 1]
                [1 a @1 - -]
                  3 @500 three {}
                  1 @1000 one [2]
                published 1000 displayed ["a","b"]
                [1 a @1 - -]
                  1 @1000 one {}
                  2 @2000 - {}
                [2 b @2 "B" -]
                  3 @3000 three {}
                """)
        try await store.commit(.make(number, to: 3, at: 1700, nextKey: 5))
        #expect(try await store.session("s")?.published.map { _ in 1 } == nil)
        // The old rows that were kept before must not come back.
        try await store.commit(.make(number, to: 4, at: 1800, publishes: false, nextKey: 5) { $0.removedRows = [3] })
        let published = try #require(try await store.session("s")?.published)
        #expect(published.updated == 1700)
        #expect(published.sections.map { $0.rows.map(\.key) } == [[], [3, 1]])
        await store.close()
    }

    @Test(
        "Publishing a session affects no other session, and a new session has no unpublished changes",
        arguments: StoreKind.forTests)
    func otherSessions(kind: StoreKind) async throws {
        let store = try kind.open()
        let one = try await store.createSession(.make("one", rows: [(1, .make(1))]))
        let two = try await store.createSession(.make("two", rows: [(1, .make(1))]))
        for number in [one, two] {
            try await store.commit(.make(number, to: 1, publishes: false) { $0.removedRows = [1] })
        }
        try await store.commit(.make(one, to: 2))
        #expect(try await store.session("one")?.published.map { _ in 1 } == nil)
        #expect(try await store.session("two")?.published?.sections.map(\.rows.count) == [1])
        #expect(try await store.deleteSession("two") != nil)
        _ = try await store.createSession(.make("two"))
        #expect(try await store.session("two")?.published.map { _ in 1 } == nil)
        await store.close()
    }

    @Test(
        "The store keeps a session's registered cells and its section counter, which is limited to 32 bits",
        arguments: StoreKind.forTests)
    func cellsAndSectionCounter(kind: StoreKind) async throws {
        let store = try kind.open()
        let number = try await store.createSession(.make(cells: #"{"a":"A"}"#))
        #expect(try await store.session("s")?.cells == #"{"a":"A"}"#)
        try await store.commit(.make(number, to: 1, nextSection: 77) { $0.cells = #"{"a":"B"}"# })
        let session = try #require(try await store.session("s"))
        #expect(session.cells == #"{"a":"B"}"# && session.nextSection == 77)
        await #expect(throws: StoreError.exhausted) {
            try await store.commit(.make(number, to: 2, nextSection: 1 << 32))
        }
        await store.close()
    }
}

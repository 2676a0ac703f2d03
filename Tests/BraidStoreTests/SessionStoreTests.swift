import BraidEngine
import CSQLite
import Testing

@testable import BraidStore

/// For every kind of store.
@Suite struct SessionStoreTests {
    @Test(
        "The tests of every kind of store include PostgreSQL if its test server runs",
        .enabled(if: PostgresCluster.isThere, "needs `--traits PostgreSQL`, and to be run by Scripts/with-postgres"))
    func postgreSQL() { #expect(StoreKind.forTests.contains(.postgres)) }

    // MARK: SessionHost

    @Test("A session is read as it was stored", arguments: StoreKind.forTests)
    func storedSession(kind: StoreKind) async throws {
        let store = try kind.open()
        let number = try await store.createSession(
            .make(
                "meeting", opening: #"{"table":"x"}"#, state: #"{"n":1.10}"#, displayed: #"["b","a"]"#,
                sections: [
                    .init(number: 2, id: "b", ordinal: 1, header: #"{"title":"B"}"#, footer: "null"),
                    .init(number: 1, id: "a", ordinal: 7),
                ],
                rows: [
                    (1, .make(1, rank: 5, id: "Omar", #"{"big":12345678901234567890,"e":1e400}"#)),
                    (1, .make(2, rank: -5, "[1]")),
                    (2, .make(3, rank: 0, id: "", #""é""#)),
                ]))
        #expect(number > 0)
        #expect(
            dump(try await store.session("meeting")) == """
                meeting table=-/0 e-meeting.0 1000-1000 rows=3 next=4
                description {"table":"inline"}
                state {"n":1.10}
                displayed ["b","a"]
                [2 b @1 {"title":"B"} null]
                  3 @0  "é"
                [1 a @7 - -]
                  2 @-5 - [1]
                  1 @5 Omar {"big":12345678901234567890,"e":1e400}
                """)
        #expect(
            try await store.sessionSummary("meeting")
                == SessionSummary(
                    id: "meeting", number: number, table: nil, tableVersion: nil, epoch: "e-meeting", revision: 0,
                    created: 1000,
                    updated: 1000, totalRowCount: 3))
        let opening = try #require(try await store.opening("meeting"))
        #expect(
            opening.body == #"{"table":"x"}"# && opening.description == #"{"table":"inline"}"#
                && opening.summary.number == number)
        #expect(try await store.opening("other").map { _ in 1 } == nil)
        #expect(try await store.session("other").map { _ in 1 } == nil)
        #expect(try await store.sessionSummary("other") == nil)
        await store.close()
    }

    /// JSON allows "\u0000" in ids. The composed and the decomposed "é" differ.
    @Test("The store keeps every byte of the ids of sessions and rows", arguments: StoreKind.forTests)
    func bytesOfIDs(kind: StoreKind) async throws {
        let store = try kind.open()
        let ids = ["a\0b", "a\0c", "é", "e\u{301}", "", "😀"]
        _ = try await store.createSession(.make("s\0t", rows: ids.enumerated().map { (1, .make($0 + 1, id: $1)) }))
        let rows = try #require(try await store.session("s\0t")).sections[0].rows
        #expect(rows.map(\.id) == ids.map { RowID($0) })
        #expect(try await store.session("s").map { _ in 1 } == nil)
        _ = try await store.createSession(.make("é"))
        _ = try await store.createSession(.make("e\u{301}"))
        #expect(
            try await store.sessions(after: nil, limit: 9).map { Array($0.id.utf8) }
                == ["e\u{301}", "s\0t", "é"].map { Array($0.utf8) })
        await store.close()
    }

    @Test("The time of a session that ends when it is unused is kept and renewed", arguments: StoreKind.forTests)
    func unusedSessions(kind: StoreKind) async throws {
        let store = try kind.open()
        let lasting = try await store.createSession(.make("lasting"))
        var numbers: [Int] = []
        for (id, limit) in [("a", 60), ("b", 900)] {
            var session = NewSession.make(id)
            session.unusedLimit = limit
            numbers.append(try await store.createSession(session))
        }
        func unused() async throws -> [String] {
            try await store.unusedSessions().map { "\($0.summary.id) \($0.limit) \($0.used)" }.sorted()
        }
        #expect(try await unused() == ["a 60 1000", "b 900 1000"])
        try await store.renew([lasting, numbers[1]], at: 2000)
        #expect(try await unused() == ["a 60 1000", "b 900 2000"])
        let summary = try #require(try await store.unusedSessions().first { $0.summary.id == "a" }).summary
        #expect(summary.number == numbers[0] && summary.revision == 0)
        #expect(try await store.deleteSession("a", as: summary) == numbers[0])
        #expect(try await unused() == ["b 900 2000"])
        await store.close()
    }

    @Test("A session with a damaged time of use is not among the unused sessions", arguments: [Int.min, Int.max])
    func damagedUnusedSession(damaged: Int) throws {
        let database = try SQLiteConnection(path: "", mode: .inMemory)
        try database.execute(SQLiteSchema.text)
        var session = NewSession.make()
        session.unusedLimit = 60
        let queries = SQLiteQueries(database)
        _ = try queries.create(session)
        #expect(try queries.unusedSessions().count == 1)
        for column in ["unused_limit", "used"] {
            try database.execute("SAVEPOINT sound; UPDATE session SET \(column) = \(damaged)")
            #expect(try queries.unusedSessions().isEmpty)
            try database.execute("ROLLBACK TO sound; RELEASE sound")
        }
        database.close()
    }

    @Test("A second session with the same id is refused and changes nothing", arguments: StoreKind.forTests)
    func usedID(kind: StoreKind) async throws {
        let store = try kind.open()
        _ = try await store.createSession(.make(rows: [(1, .make(1, id: "first"))]))
        await #expect(throws: StoreError.sessionExists) { try await store.createSession(.make()) }
        #expect(try await store.session("s")?.sections[0].rows.count == 1)
        await store.close()
    }

    @Test(
        "A conditional delete removes only a session that has not changed since its summary was read",
        arguments: StoreKind.forTests)
    func conditionalDelete(kind: StoreKind) async throws {
        let store = try kind.open()
        let number = try await store.createSession(.make(rows: [(1, .make(1))]))
        let opened = try #require(try await store.sessionSummary("s"))
        try await store.commit(.make(number, to: 1))
        #expect(try await store.deleteSession("s", as: opened) == nil)
        let changed = try #require(try await store.sessionSummary("s"))
        #expect(changed.revision == 1)
        #expect(try await store.deleteSession("s", as: changed) == number)
        #expect(try await store.deleteSession("s", as: changed) == nil)
        let again = try await store.createSession(.make())
        #expect(again != number)
        #expect(try await store.deleteSession("s", as: opened) == nil, "another session at the same revision")
        #expect(try await store.sessionSummary("s")?.number == again)
        await store.close()
    }

    @Test("A deleted session is gone, and its number is not used again", arguments: StoreKind.forTests)
    func deletedSession(kind: StoreKind) async throws {
        let store = try kind.open()
        let other = try await store.createSession(.make("other", rows: [(1, .make(1))]))
        let number = try await store.createSession(.make(rows: [(1, .make(1)), (1, .make(2))]))
        try await store.commit(.make(number, to: 1))
        #expect(try await store.deleteSession("s") != nil)
        #expect(try await store.deleteSession("s") == nil)
        #expect(try await store.session("s").map { _ in 1 } == nil)
        #expect(try await store.journal(of: number, after: 0, limit: 10) == [])
        let again = try await store.createSession(.make())
        #expect(again != number)
        // A late commit must not change the session that now has the id.
        await #expect(throws: StoreError.sessionMissing) { try await store.commit(.make(number, to: 1)) }
        #expect(try await store.session("s")?.sections[0].rows.count == 0)
        #expect(try await store.session("other")?.sections[0].rows.count == 1)
        #expect(try await store.sessionSummary("other")?.number == other)
        await store.close()
    }

    @Test("Sessions are listed in pages and sorted by id", arguments: StoreKind.forTests)
    func pages(kind: StoreKind) async throws {
        let store = try kind.open()
        for id in ["b", "a", "Z", "ä", "c"] { _ = try await store.createSession(.make(id)) }
        #expect(try await store.sessions(after: nil, limit: 10).map(\.id) == ["Z", "a", "b", "c", "ä"])
        #expect(try await store.sessions(after: nil, limit: 2).map(\.id) == ["Z", "a"])
        #expect(try await store.sessions(after: "a", limit: 2).map(\.id) == ["b", "c"])
        #expect(try await store.sessions(after: "bb", limit: 1).map(\.id) == ["c"])
        #expect(try await store.sessions(after: "ä", limit: 2).isEmpty)
        await store.close()
    }

    // MARK: Commits

    @Test("A commit stores all parts of its change", arguments: StoreKind.forTests)
    func committedChange(kind: StoreKind) async throws {
        let store = try kind.open()
        let number = try await store.createSession(
            .make(
                sections: [.init(number: 1, id: "a", ordinal: 1), .init(number: 2, id: "b", ordinal: 2)],
                rows: [(1, .make(1, id: "one")), (1, .make(2, id: "two")), (2, .make(3, id: "three"))]))
        try await store.commit(
            .make(number, to: 1, at: 1500, nextKey: 5, rows: 3) {
                $0.writtenRows = [(1, .make(4, rank: 1, id: "new", "[4]")), (1, .make(1, id: "one", "[1]"))]
                $0.placedRows = [(1, 3, 500)]
                $0.removedRows = [2]
                $0.removedSections = [2]
                $0.writtenSections = [
                    .init(number: 1, id: "a", ordinal: 1, header: #""A""#), .init(number: 3, id: "c", ordinal: 0),
                ]
                $0.state = "[true]"
                $0.displayedSections = #"["a"]"#
            })
        #expect(
            dump(try await store.session("s")) == """
                s table=-/0 e-s.1 1000-1500 rows=3 next=5
                description {"table":"inline"}
                state [true]
                displayed ["a"]
                [3 c @0 - -]
                [1 a @1 "A" -]
                  4 @1 new [4]
                  3 @500 three {}
                  1 @1000 one [1]
                """)
        await store.close()
    }

    @Test(
        "A commit that expects another revision than the stored one is refused and changes nothing",
        arguments: StoreKind.forTests)
    func conflictingCommit(kind: StoreKind) async throws {
        let store = try kind.open()
        let number = try await store.createSession(.make())
        try await store.commit(.make(number, to: 1))
        let before = dump(try await store.session("s"))
        for revision in [1, 3] {
            await #expect(throws: StoreError.revisionConflict) {
                try await store.commit(.make(number, to: revision) { $0.writtenRows = [(1, .make(9))] })
            }
        }
        // The time distinguishes two revisions with the same number.
        var late = SessionCommit.make(number, to: 2)
        late.fromTime = .max
        await #expect(throws: StoreError.revisionConflict) { try await store.commit(late) }
        await #expect(throws: StoreError.sessionMissing) { try await store.commit(.make(number + 1, to: 1)) }
        #expect(dump(try await store.session("s")) == before)
        #expect(try await store.journal(of: number, after: 0, limit: 10).map(\.revision) == [1])
        await store.close()
    }

    @Test(
        "A new session or a commit is refused if a row key, section number or revision exceeds 32 bits",
        arguments: StoreKind.forTests)
    func exhaustion(kind: StoreKind) async throws {
        let store = try kind.open()
        let number = try await store.createSession(.make())
        await #expect(throws: StoreError.exhausted) { try await store.commit(.make(number, to: 1, nextKey: 1 << 32)) }
        await #expect(throws: StoreError.exhausted) {
            try await store.commit(.make(number, to: 1, nextSection: 1 << 32))
        }
        await #expect(throws: StoreError.exhausted) { try await store.commit(.make(number, to: 1 << 32)) }
        var rows = NewSession.make("rows"), sections = NewSession.make("sections")
        rows.nextKey = 1 << 32
        sections.nextSection = 1 << 32
        for session in [rows, sections] {
            await #expect(throws: StoreError.exhausted) { try await store.createSession(session) }
        }
        await store.close()
    }

    // MARK: The journal

    @Test(
        "The journal returns the records after a revision, up to a number of records and of bytes",
        arguments: StoreKind.forTests)
    func journalRecords(kind: StoreKind) async throws {
        let store = try kind.open()
        let number = try await store.createSession(.make())
        #expect(try await store.journal(of: number, after: 0, limit: 10) == [])
        for revision in 1...5 {
            try await store.commit(
                .make(number, to: revision, at: revision * 10, command: "\(revision)", update: "[\(revision)]"))
        }
        #expect(try await store.journal(of: number, after: 0, limit: 10).map(\.revision) == [1, 2, 3, 4, 5])
        #expect(
            try await store.journal(of: number, after: 3, limit: 1)
                == [JournalRecord(revision: 4, at: 40, command: "4", update: "[4]")])
        #expect(try await store.journal(of: number, after: 1, limit: 10, bytes: 1).map(\.revision) == [2])
        #expect(
            try await store.journal(of: number, after: 1, limit: 10, bytes: 1 << 20).map(\.revision) == [2, 3, 4, 5])
        #expect(try await store.journal(of: number, after: 5, limit: 10) == [])
        #expect(try await store.journal(of: number, after: .max, limit: 10) == [])
        #expect(try await store.journal(of: number, after: -1, limit: 1).map(\.revision) == [1])
        func undos(_ from: Int, limit: Int = 10, bytes: Int = 1 << 20) async throws -> [Int] {
            try await store.undos(of: number, from: from, limit: limit, bytes: bytes).map(\.revision)
        }
        #expect(try await undos(5) == [5, 4, 3, 2, 1])
        #expect(try await undos(4, limit: 2) == [4, 3])
        #expect(try await undos(4, bytes: 1) == [4])
        #expect(try await undos(0) == [])
        #expect(try await undos(-1) == [])
        #expect(try await undos(.max, limit: 1) == [5])
        #expect(try await store.undos(of: number, from: 2, limit: 1, bytes: 1).first?.command == "2")
        var commit = SessionCommit.make(number, to: 6)
        commit.record.controllerEvents = #"[{"at":[0,0]}]"#
        try await store.commit(commit)
        #expect(
            try await store.journal(of: number, after: 4, limit: 2).map(\.controllerEvents) == [
                nil, #"[{"at":[0,0]}]"#,
            ])
        await store.close()
    }

    @Test("The journal of each session keeps only the newest records, up to the limit", arguments: StoreKind.forTests)
    func journalLength(kind: StoreKind) async throws {
        let store = try kind.open(journalLimit: 3)
        let number = try await store.createSession(.make())
        let other = try await store.createSession(.make("other"))
        for revision in 1...7 {
            try await store.commit(.make(number, to: revision))
            if revision <= 3 { try await store.commit(.make(other, to: revision)) }
        }
        #expect(try await store.journal(of: number, after: 0, limit: 10).map(\.revision) == [5, 6, 7])
        #expect(try await store.journal(of: other, after: 0, limit: 10).map(\.revision) == [1, 2, 3])
        await store.close()
    }

    @Test(
        "A long journal is trimmed only from time to time, and exceeds its limit only slightly",
        arguments: StoreKind.forTests)
    func journalTrimming(kind: StoreKind) async throws {
        let store = try kind.open(journalLimit: 192)
        let number = try await store.createSession(.make())
        var firsts: Set<Int> = []
        for revision in 1...240 {
            try await store.commit(.make(number, to: revision))
            if revision > 200 {
                firsts.insert(
                    revision - (try await store.journal(of: number, after: 0, limit: 1).first?.revision ?? 0) + 1)
            }
        }
        // Old records go from time to time: less than a 64th of the limit too many.
        #expect(firsts == [192, 193, 194])
        #expect(try await store.journal(of: number, after: 0, limit: 1000).map(\.revision) == Array(49...240))
        await store.close()
    }

    @Test(
        "The journal keeps only the newest records, up to the limit of bytes, and always the newest one",
        arguments: StoreKind.forTests)
    func journalSize(kind: StoreKind) async throws {
        let store = try kind.open(journalBytes: 34)
        let number = try await store.createSession(.make())
        for revision in 1...5 {
            try await store.commit(.make(number, to: revision, command: #""12345678""#, update: "{}", undo: "{}"))
        }
        #expect(try await store.journal(of: number, after: 0, limit: 10).map(\.revision) == [4, 5])
        // Kept until the next record, although it alone exceeds the limit.
        try await store.commit(
            .make(number, to: 6, command: #""0123456789012345678901234567890123456789""#, update: "{}", undo: "{}"))
        #expect(try await store.journal(of: number, after: 0, limit: 10).map(\.revision) == [6])
        try await store.commit(.make(number, to: 7, command: "1", update: "{}", undo: "{}"))
        try await store.commit(.make(number, to: 8, command: "1", update: "{}", undo: "{}"))
        #expect(try await store.journal(of: number, after: 0, limit: 10).map(\.revision) == [7, 8])
        // Undo data counts, too.
        try await store.commit(
            .make(number, to: 9, command: "1", update: "{}", undo: #"{"updated":1,"nextKey":1,"nextSection":1}"#))
        #expect(try await store.journal(of: number, after: 0, limit: 10).map(\.revision) == [9])
        await store.close()
    }

    // MARK: Answers

    @Test(
        "An answer is kept for a day, unless its commit is refused or its session ends",
        arguments: StoreKind.forTests)
    func keptAnswers(kind: StoreKind) async throws {
        let store = try kind.open()
        func answer(_ session: Int, _ key: String, at: Int, _ text: JSONText = "1") -> KeptAnswer {
            KeptAnswer(session: session, requester: "", key: key, at: at, request: -7, answer: text)
        }
        var opening = NewSession.make()
        opening.answer = answer(0, "open", at: 1000)
        let number = try await store.createSession(opening)
        #expect(try await store.answer(to: "open", by: "", of: 0, now: 1000) == answer(0, "open", at: 1000))
        var commit = SessionCommit.make(number, to: 1)
        commit.answer = answer(number, "k\u{0}", at: 2000, #"{"a":[1.0]}"#)
        try await store.commit(commit)
        // A refused commit's answer is not kept.
        commit.answer = answer(number, "refused", at: 2000)
        await #expect(throws: StoreError.revisionConflict) { try await store.commit(commit) }
        #expect(try await store.answer(to: "refused", by: "", of: number, now: 2000) == nil)
        try await store.keep(answer(number, "other", at: 3000))
        #expect(try await store.answer(to: "k\u{0}", by: "", of: number, now: 4000)?.answer == #"{"a":[1.0]}"#)
        #expect(try await store.answer(to: "k", by: "", of: number, now: 4000) == nil)
        #expect(try await store.answer(to: "other", by: "", of: number + 1, now: 4000) == nil)
        let later = 2000 + KeptAnswer.lifetime
        #expect(try await store.answer(to: "k\u{0}", by: "", of: number, now: later - 1) != nil)
        #expect(try await store.answer(to: "k\u{0}", by: "", of: number, now: later) == nil)
        // Each new answer removes a few that are older than a day.
        try await store.keep(answer(number, "new", at: later))
        #expect(try await store.answer(to: "k\u{0}", by: "", of: number, now: 4000) == nil)
        #expect(try await store.answer(to: "other", by: "", of: number, now: later) != nil)
        #expect(try await store.deleteSession("s") == number)
        #expect(try await store.answer(to: "other", by: "", of: number, now: 4000) == nil)
        await store.close()
    }

    @Test(
        "Each requester has a quota for kept answers. Beyond it, only that requester's oldest answers are deleted",
        arguments: StoreKind.forTests)
    func answersHaveAQuota(kind: StoreKind) async throws {
        let store = try kind.open()
        let number = try await store.createSession(.make()), other = try await store.createSession(.make("other"))
        func answer(_ session: Int, _ requester: String, _ key: String, bytes: Int) -> KeptAnswer {
            KeptAnswer(
                session: session, requester: requester, key: key, at: 1000, request: 1,
                answer: .string(String(repeating: "x", count: bytes)))
        }
        func kept(_ keys: [String], _ session: Int, _ requester: String) async throws -> [String] {
            var kept: [String] = []
            for key in keys where try await store.answer(to: key, by: requester, of: session, now: 1000) != nil {
                kept.append(key)
            }
            return kept
        }
        for (session, requester) in [(number, ""), (number, "t2"), (other, "t1"), (0, "")] {
            try await store.keep(answer(session, requester, "k0", bytes: 10))
        }
        #expect(answer(number, "", "k", bytes: 10).cost == 1024, "so that many small ones have a quota as well")
        let keys = (0..<20).map { "k\($0)" }
        for key in keys { try await store.keep(answer(number, "t1", key, bytes: 1 << 20)) }
        #expect(
            try await kept(keys, number, "t1") == Array(keys[5...]), "15 of a little more than 1 MiB are within 16 MiB")
        for (session, requester) in [(number, ""), (number, "t2"), (other, "t1"), (0, "")] {
            #expect(try await kept(keys, session, requester) == ["k0"])
        }
        // Kept until the next answer, although it alone exceeds the quota.
        try await store.keep(answer(number, "t1", "large", bytes: 20 << 20))
        #expect(try await kept(keys + ["large"], number, "t1") == ["large"])
        var commit = SessionCommit.make(number, to: 1)
        commit.answer = answer(number, "t1", "next", bytes: 10)
        try await store.commit(commit)
        #expect(try await kept(keys + ["large", "next"], number, "t1") == ["next"])
        await store.close()
    }

    // MARK: Table descriptions

    @Test(
        "Each registered description gets a new version, and a session keeps the version with which it was opened",
        arguments: StoreKind.forTests)
    func descriptionVersions(kind: StoreKind) async throws {
        let store = try kind.open()
        #expect(try await store.putTable("t", description: "1", at: 10) == 1)
        _ = try await store.createSession(.make("old", table: "t", version: 1))
        #expect(try await store.putTable("t", description: "2", at: 20) == 2)
        #expect(try await store.putTable("t", description: "3", at: 30) == 3)
        #expect(try await store.table("t", version: 2).map { [$0.version, $0.updated] } == [2, 20])
        #expect(try await store.table("t", version: 2)?.description == "2")
        #expect(try await store.table("t", version: 4) == nil)
        #expect(
            try await store.versions(ofTable: "t").map { [$0.version, $0.updated] } == [[1, 10], [2, 20], [3, 30]])
        #expect(try await store.versions(ofTable: "none").isEmpty)
        _ = try await store.putTable("b", description: "[]", at: 5)
        #expect(try await store.table("t").map { [$0.version, $0.updated] } == [3, 30])
        #expect(try await store.table("t")?.description == "3")
        #expect(try await store.table("none").map { _ in 1 } == nil)
        #expect(
            try await store.tables()
                == [TableSummary(name: "b", version: 1, updated: 5), TableSummary(name: "t", version: 3, updated: 30)])
        let old = try #require(try await store.session("old"))
        #expect(old.description == "1" && old.summary.tableVersion == 1 && old.summary.table == "t")
        // Version 2 is dropped after 20 newer ones, because no session uses it. A request that has read it before can
        // still open a session with it.
        for version in 4...22 { #expect(try await store.putTable("t", description: "\(version)", at: 30) == version) }
        #expect(try await store.versions(ofTable: "t").map(\.version) == [1] + Array(3...22))
        #expect(try await store.createSession(.make("late", table: "t", version: 2, description: "2")) > 0)
        let late = try #require(try await store.session("late"))
        #expect(late.description == "2" && late.summary.tableVersion == 2)
        #expect(try await store.table("t").map { [$0.version, $0.updated] } == [22, 30])
        // Not if the session's id is taken, and never a deleted table.
        _ = try await store.deleteSession("late")
        await #expect(throws: StoreError.sessionExists) {
            try await store.createSession(.make("old", table: "t", version: 2, description: "2"))
        }
        for session in [
            NewSession.make("new", table: "t", version: 23, description: "23"),
            .make("new", table: "none", version: 1, description: "1"),
        ] {
            await #expect(throws: StoreError.tableMissing) { try await store.createSession(session) }
        }
        #expect(try await store.sessionSummary("new") == nil)
        #expect(try await store.deleteSession("old") != nil)
        #expect(try await store.deleteTable("t") == .deleted)
        await store.close()
    }

    @Test(
        "`putTable` stores a description only if the version `after` is still the latest one",
        arguments: StoreKind.forTests)
    func registeringAfterAVersion(kind: StoreKind) async throws {
        let store = try kind.open()
        #expect(try await store.putTable("t", description: "1", after: 0, at: 10) == 1)
        for latest in [0, 2] {
            await #expect(throws: StoreError.tableChanged) {
                try await store.putTable("t", description: "2", after: latest, at: 20)
            }
        }
        #expect(try await store.table("t")?.version == 1)
        #expect(try await store.putTable("t", description: "2", after: 1, at: 20) == 2)
        await store.close()
    }

    @Test("Sessions can be listed by the name of their table", arguments: StoreKind.forTests)
    func sessionsOfATable(kind: StoreKind) async throws {
        let store = try kind.open()
        try await store.putTable("t", description: "1", at: 10)
        for (id, table, version) in [("b", "t", 1), ("a", "t", nil), ("c", "u", nil), ("d", nil, nil)] {
            _ = try await store.createSession(.make(id, table: table, version: version))
        }
        func list(_ table: String?, after: String? = nil, limit: Int = 9) async throws -> [String] {
            try await store.sessions(of: table, after: after, limit: limit).map(\.id)
        }
        #expect(try await list("t") == ["a", "b"])
        #expect(try await list("t", limit: 1) == ["a"])
        #expect(try await list("t", after: "a") == ["b"])
        #expect(try await list("none") == [])
        #expect(try await list(nil) == ["a", "b", "c", "d"])
        await store.close()
    }

    @Test("A table description that a session uses is not deleted", arguments: StoreKind.forTests)
    func usedDescription(kind: StoreKind) async throws {
        let store = try kind.open()
        _ = try await store.putTable("t", description: "1", at: 10)
        #expect(try await store.deleteTable("none") == .missing)
        _ = try await store.createSession(.make("a", table: "t", version: 1))
        _ = try await store.putTable("t", description: "2", at: 20)
        _ = try await store.createSession(.make("b", table: "t", version: 2))
        // Its inline description has the same name, but is not the registered table.
        _ = try await store.createSession(.make("c", table: "t"))
        #expect(try await store.deleteTable("t") == .inUse(sessions: 2))
        _ = try await store.deleteSession("a")
        #expect(try await store.deleteTable("t") == .inUse(sessions: 1))
        _ = try await store.deleteSession("b")
        #expect(try await store.deleteTable("t") == .deleted)
        #expect(try await store.tables() == [])
        #expect(try await store.putTable("t", description: "3", at: 30) == 1)
        await store.close()
    }

    /// In the file itself: rows that an ended session left would be invisible, and never deleted.
    @Test("Nothing of a session that was ended remains in the database") func endedSession() async throws {
        let place = try StoreKind.file.place(), store = try StoreKind.file.open(at: place)
        _ = try await store.putTable("t", description: "1", at: 10)
        let number = try await store.createSession(
            .make(table: "t", version: 1, description: "1", rows: [(1, .make(1)), (1, .make(2))]))
        _ = try await store.putTable("t", description: "2", at: 20)
        var commit = SessionCommit.make(number, to: 1, publishes: false) {
            $0.removedRows = [1]
            $0.writtenSections = [.init(number: 1, id: "a", ordinal: 1, header: "1")]
        }
        commit.answer = KeptAnswer(session: number, requester: "", key: "k", at: 30, request: 1, answer: "1")
        try await store.commit(commit)
        try await store.createToken(NewToken(id: "x", role: "viewer", created: 30, expires: 40, hash: "h"), for: "s")
        func rows() throws -> [String: Int] {
            var database: OpaquePointer?, counts: [String: Int] = [:]
            try #require(sqlite3_open(place, &database) == SQLITE_OK)
            defer { sqlite3_close(database) }
            for table in [
                "table_description", "session", "opening", "state", "section", "model", "published",
                "published_section", "published_model", "journal", "answer", "token",
            ] {
                var statement: OpaquePointer?
                try #require(
                    sqlite3_prepare_v2(database, "SELECT count(*) FROM \(table)", -1, &statement, nil) == SQLITE_OK)
                if sqlite3_step(statement) == SQLITE_ROW { counts[table] = Int(sqlite3_column_int64(statement, 0)) }
                sqlite3_finalize(statement)
            }
            return counts.filter { $0.value > 0 }
        }
        #expect(try rows().count == 12)
        #expect(try await store.deleteSession("s") == number)
        #expect(try rows() == ["table_description": 2], "the table's latest versions")
        await store.close()
    }

    // MARK: Running

    @Test("A read sees every write that has returned", arguments: StoreKind.forTests)
    func readAfterWrite(kind: StoreKind) async throws {
        let store = try kind.open()
        try await withThrowingTaskGroup { group in
            for session in 0..<8 {
                group.addTask {
                    let number = try await store.createSession(.make("s\(session)"))
                    for revision in 1...20 {
                        try await store.commit(.make(number, to: revision))
                        #expect(try await store.sessionSummary("s\(session)")?.revision == revision)
                    }
                }
            }
            try await group.waitForAll()
        }
        await store.close()
    }

    @Test("A commit in a cancelled task is still carried out", arguments: StoreKind.forTests)
    func cancelledTask(kind: StoreKind) async throws {
        let store = try kind.open()
        let number = try await store.createSession(.make())
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            try await store.commit(.make(number, to: 1))
        }
        task.cancel()
        try await task.value
        #expect(try await store.sessionSummary("s")?.revision == 1)
        await store.close()
    }

    @Test("A closed store refuses reads and writes, and can be closed again", arguments: StoreKind.forTests)
    func closedStore(kind: StoreKind) async throws {
        let store = try kind.open()
        let number = try await store.createSession(.make())
        #expect(try await store.check() == .writable)
        await store.close()
        await store.close()
        await #expect(throws: StoreError.closed) { try await store.commit(.make(number, to: 1)) }
        await #expect(throws: StoreError.closed) { try await store.session("s") }
        await #expect(throws: StoreError.closed) { try await store.check() }
    }
}

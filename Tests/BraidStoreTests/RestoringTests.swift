import BraidEngine
import BraidStore
import TestSupport
import Testing

/// Of test mode.
@Suite struct RestoringTests {
    private static let kinds = StoreKind.allCases.filter { $0 != .postgres }

    /// As text.
    private static func content(of store: any SessionStore) async throws -> String {
        var texts: [String] = []
        for table in try await store.tables() {
            texts.append("\(table) \(try await store.versions(ofTable: table.name))")
        }
        for summary in try await store.sessions(after: nil, limit: 1_000) {
            texts.append(dump(try await store.session(summary.id)))
            let journal = try await store.journal(of: summary.number, after: 0, limit: 1_000, bytes: .max)
            texts.append("\(journal) \(String(describing: try await store.opening(summary.id)))")
            let tokens = try await store.tokens(of: summary.id, after: nil, limit: 1_000, now: 0)
            texts.append(String(describing: tokens))
            for key in 0..<4 {
                let answer = try await store.answer(to: "k\(key)", by: "", of: summary.number, now: 1_000)
                texts.append(String(describing: answer))
            }
        }
        return texts.joined(separator: "\n")
    }

    /// May fail, for example without its session.
    private static func change(_ store: any SessionStore, _ random: inout SeededGenerator) async {
        let id = "s\(Int.random(in: 0..<4, using: &random))"
        let summary = try? await store.sessionSummary(id)
        switch Int.random(in: 0..<8, using: &random) {
        case 0: _ = try? await store.deleteSession(id, as: nil)
        case 1: _ = try? await store.putTable("t", description: .number(Int.random(in: 0..<9, using: &random)), at: 1)
        case 2: _ = try? await store.deleteTable("t")
        case 3:
            let number = Int.random(in: 0..<9, using: &random)
            try? await store.createToken(
                NewToken(id: "t\(number)", role: "viewer", created: 1, expires: 2_000, hash: "h"), for: id)
        case 4:
            guard let number = summary?.number else { return }
            let key = Int.random(in: 0..<4, using: &random)
            try? await store.keep(
                KeptAnswer(session: number, requester: "", key: "k\(key)", at: 1_000, request: 1, answer: "{}"))
        case 5: _ = try? await store.createSession(.make(id, rows: [(1, .make(1, id: "r"))]))
        case 6: _ = try? await store.createSession(.make(id, rows: [(1, .make(1, id: "r"))]).sharing("1"))
        default:
            guard let summary else { return }
            let isRemoved = Bool.random(using: &random)
            try? await store.commit(
                .make(summary.number, to: summary.revision + 1) {
                    if isRemoved { $0.removedRows = [1] } else { $0.placedRows = [(1, 1, summary.revision)] }
                })
        }
    }

    @Test("A store can restore its kept content after any changes", arguments: kinds, 1...4)
    func restoredContent(kind: StoreKind, seed: Int) async throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let place = try kind.place()
        let opened = try kind.open(at: place)
        let store = try #require(opened as? any TestableStore)
        for _ in 0..<30 { await Self.change(store, &random) }
        try store.keepContent()
        let kept = try await Self.content(of: store)
        var numbers: Set<Int> = []
        for _ in 0..<5 {
            for _ in 0..<30 { await Self.change(store, &random) }
            try await store.restoreContent(beginsEpochs: false)
            #expect(try await Self.content(of: store) == kept)
            // The same after each restore.
            numbers.insert(try await store.createSession(.make("new")))
            try await store.restoreContent(beginsEpochs: false)
        }
        #expect(numbers.count == 1)
        await store.close()
        guard kind == .file else { return }
        let again = try kind.open(at: place)
        #expect(try await Self.content(of: again) == kept, "the restored content is on disk")
        await again.close()
    }

    @Test("Content that is kept later replaces the content that was kept before")
    func keptAgain() async throws {
        let store = try SQLiteStore(path: ":memory:")
        try store.keepContent()
        _ = try await store.createSession(.make("a"))
        try store.keepContent()
        _ = try await store.createSession(.make("b"))
        try await store.restoreContent(beginsEpochs: false)
        #expect(try await store.sessions(after: nil, limit: 10).map(\.id) == ["a"])
    }

    @Test("Each restore can give new epochs to all sessions")
    func newEpochs() async throws {
        let store = try SQLiteStore(path: ":memory:")
        _ = try await store.createSession(.make("a"))
        try store.keepContent()
        var epochs: Set<String> = []
        for _ in 0..<4 {
            epochs.insert(try #require(try await store.sessionSummary("a")?.epoch))
            try await store.restoreContent(beginsEpochs: true)
        }
        #expect(epochs.count == 4)
        _ = try await store.createSession(.make("b"))
        #expect(try await store.sessionSummary("b")?.epoch == "e-b", "a session that is opened later has its own epoch")
    }
}

import BraidEngine
import Testing

@testable import BraidStore

/// What one edit writes does not depend on the size of the table, its opening or its state.
@Suite struct GrowthTests {
    private static let edits:
        [(name: String, change: @Sendable (_ rows: Int, _ round: Int, inout TableChange) -> Void)] = [
            (
                "insert at the front",
                { rows, round, change in
                    change.writtenRows = [(1, .make(rows + round, rank: -round, id: "new-\(round)"))]
                }
            ),
            ("delete in the middle", { rows, round, change in change.removedRows = [rows / 2 + round] }),
            (
                "move to the front",
                { rows, round, change in change.placedRows = [(1, rows / 4 + round, -1000 - round)] }
            ),
            ("update", { rows, round, change in change.writtenRows = [(1, .make(rows / 8 + round, "[\(round)]"))] }),
        ]

    /// Pages that 20 commits add to the log, for each kind of edit.
    private func pages(rows: Int, publishes: Bool) async throws -> [Int] {
        let store = try SQLiteStore(path: StoreKind.file.place(), options: StoreOptions(journalLimit: 5))
        let large: JSONText = "\"\(String(repeating: "x", count: rows * 10))\""
        let number = try await store.createSession(
            .make(
                opening: large, state: large,
                rows: (1...rows).map { (1, .make($0, id: "row-\($0)", #"{"name":"Somebody"}"#)) }))
        var revision = 0
        func commit(_ change: (inout TableChange) -> Void) async throws {
            revision += 1
            try await store.commit(
                .make(number, to: revision, publishes: publishes, nextKey: rows + 1000, change: change))
        }
        // Now the journal is full, and the opening's log has been copied into the database.
        for _ in 1...10 { try await commit { _ in } }
        var counts: [Int] = []
        for (_, change) in Self.edits {
            let before = store.database.use { $0.db.logPages }
            for round in 1...20 { try await commit { change(rows, round, &$0) } }
            counts.append(store.database.use { $0.db.logPages } - before)
        }
        await store.close()
        return counts
    }

    @Test(
        "An edit of a large table writes about as many pages as the same edit of a small table",
        arguments: [true, false])
    func largeTable(publishes: Bool) async throws {
        let few = try await pages(rows: 1_000, publishes: publishes)
        let many = try await pages(rows: 100_000, publishes: publishes)
        for (index, edit) in Self.edits.enumerated() {
            #expect(few[index] <= 20 * (publishes ? 4 : 6), "\(edit.name): \(few[index]) pages for 20 commits")
            #expect(
                many[index] <= few[index] + 5,
                "\(edit.name): \(few[index]) pages at 1,000 rows, \(many[index]) at 100,000")
        }
    }
}

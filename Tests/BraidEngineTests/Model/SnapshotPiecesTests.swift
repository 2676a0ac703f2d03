import Testing

@testable import BraidEngine

@Suite struct SnapshotPiecesTests {
    private static func binder() throws -> TableDescription {
        try TableDescription(
            JSONText(
                parsing:
                    #"{"table":"t","sections":["a","b","c"],"empty":"nothing","cells":{"C":{}},"bindings":[{"on":"allOtherSections","cell":"C","models":{},"header":"${section}"}]}"#
            ))
    }

    @Test(
        "The pieces of a snapshot together are the snapshot's bytes, for any size of pieces",
        arguments: [[0, 0, 0], [1, 0, 2], [64, 63, 65], [1_000, 0, 129]], [1, 100, 5_000, 1 << 20])
    func theyAreTheSnapshotsBytes(counts: [Int], size: Int) throws {
        let description = try Self.binder()
        let models = try zip(["a", "b", "c"], counts).map { name, count in
            (
                section: SectionID(name),
                models: try (0..<count).map { try JSONText(parsing: #"{"id":\#($0),"text":"\#(name)"}"#) }
            )
        }
        let snapshot = try description.binder.snapshot(
            of: description.openingTable(models: models), revision: 3, now: "2000-01-01T00:00:00.000Z")
        let pieces = Array(snapshot.encodedPieces(session: "s", table: "t", epoch: "e", size: size))
        #expect(pieces.joined().elementsEqual(snapshot.encoded(session: "s", table: "t", epoch: "e")))
        #expect(pieces.dropLast().allSatisfy { $0.count >= size && $0.count < size + 64 * 64 + 512 })
    }

    @Test("A stored table that shares the models of its snapshot keeps its content")
    func sharedModels() throws {
        let description = try Self.binder()
        let models = try (0..<200).map { try JSONText(parsing: #"{"id":\#($0),"text":"x"}"#) }
        let table = try description.openingTable(models: [("a", models)])
        let now = "2000-01-01T00:00:00.000Z"
        var snapshot = try description.binder.snapshot(of: table, revision: 0, now: now)
        let shared = table.sharingModels(with: &snapshot, by: description.binder)
        for (before, after) in zip(table.sections, shared.sections) {
            #expect(before.summary == after.summary && before.rows.map(\.model) == after.rows.map(\.model))
            #expect(
                before.rows.map(\.key) == after.rows.map(\.key) && before.rows.map(\.rank) == after.rows.map(\.rank))
            #expect(before.index(of: RowID("7")) == after.index(of: RowID("7")))
        }
        let row = try #require(snapshot.sections.first?.rows.first),
            model = try #require(shared.sections.first?.rows.first?.model)
        let isInside = row.json.withBytes { row in
            model.withBytes { model in
                row.baseAddress! <= model.baseAddress!
                    && model.baseAddress! + model.count <= row.baseAddress! + row.count
            }
        }
        #expect(isInside)
        #expect(try description.binder.snapshot(of: shared, revision: 0, now: now).encoded() == snapshot.encoded())
    }
}

import Testing

@testable import BraidEngine

@Suite struct RowContentTests {
    private static let ids: [String?] = [
        nil, "", "a", "ab", "b", "row-12345", "row-12346", "\"", "\\", "\\\"", "\u{0}", "a\nb", "\u{e9}", "e\u{301}",
        "🙂", "cell", "\",\"cell\":\"",
        String(repeating: "x", count: 300), String(repeating: "x", count: 299) + "\"",
    ]

    private static func row(_ id: String?, model: JSONText?, size: Int = 0, movable: Bool = false) -> Row {
        Row(
            parts: RowParts(
                id: id.map { RowID($0) }, cell: "C", model: model,
                viewModel: .string(String(repeating: "v", count: size)), movable: movable))
    }

    /// Offsets take one, two or four bytes, depending on the row's size.
    @Test(
        "The parts of a row can be read back from its bytes",
        arguments: [0, 1, 180, 210, 240, 1_000, 32_700, 65_500], [false, true])
    func itsPartsAreFoundAgain(size: Int, movable: Bool) throws {
        for id in size > 1_000 ? [nil, "a", "\""] : Self.ids {
            for model in [nil, "1", #"{"id":"other","text":"\#(String(repeating: "m", count: size))"}"#] {
                let model = try model.map { try JSONText(parsing: $0) }
                let row = Self.row(id, model: model, size: size, movable: movable)
                #expect(row.id == id.map { RowID($0) } && row.model == model)
                let members = try #require(JSONText(parsing: row.json.bytes).members())
                #expect(members.first { $0.name == "id" }?.value.stringValue.map { RowID($0) } == row.id)
                #expect(members.first { $0.name == "model" }?.value == model)
                #expect(
                    members.map(\.name)
                        == [
                            id.map { _ in "id" }, "cell", model.map { _ in "model" }, "viewModel",
                            movable ? "movable" : nil,
                        ].compactMap { $0 })
                let other = Self.row(id, model: model, size: size, movable: !movable)
                #expect(row.looksSame(as: other) && !row.isSame(as: other))
                #expect(!row.looksSame(as: Self.row(id, model: model, size: size + 1, movable: movable)))
            }
        }
    }

    @Test("Row ids are compared and hashed by their text")
    func equalIDs() {
        for mine in Self.ids {
            let id = mine.map { RowID($0) }
            let row = Self.row(mine, model: nil), stored = StoredRow(key: 1, rank: 1, id: id, model: "2")
            #expect(stored.id == id && stored.model == "2" && stored.content.hasID == (id != nil))
            #expect(
                row.content.idHash == id.map { RowHash.hash($0) } ?? 0 && stored.content.idHash == row.content.idHash)
            #expect(row.marks.idHash == row.content.idHash)
            for others in Self.ids {
                let other = others.map { RowID($0) }
                let isSame = id != nil && id == other
                #expect(row.content.has(other) == (id == other) && stored.content.has(other) == (id == other))
                #expect(row.content.hasSameID(as: Self.row(others, model: "3").content) == isSame)
                #expect(
                    stored.content.hasSameID(as: StoredRow(key: 2, rank: 2, id: other, model: .null).content) == isSame)
                let another = Self.row(others, model: "3")
                withExtendedLifetime((row, another)) {
                    #expect(RowView(row).hasSameID(as: RowView(another)) == isSame)
                }
            }
        }
    }

    /// The diff reads rows through it, without counting references.
    @Test("A `RowView` has the memory layout and the content of its row")
    func rowView() {
        #expect(
            MemoryLayout<RowView>.size == MemoryLayout<Row>.size
                && MemoryLayout<RowView>.stride == MemoryLayout<Row>.stride)
        let rows = (0..<100).map { Self.row("row \($0)", model: .number($0)) }
        withExtendedLifetime(rows) {
            var again = rows.map { RowView($0).row }
            #expect(
                zip(rows, again).allSatisfy {
                    $0.json == $1.json && $0.id == RowView($1).id && RowView($0).looksSame(as: RowView($1))
                })
            again.removeAll()
            #expect(rows.indices.allSatisfy { RowView(rows[$0]).row.model == .number($0) })
        }
        rows.withUnsafeBufferPointer { buffer in
            buffer.withReferences { views in
                #expect(zip(views, rows).allSatisfy { $0.row.json == $1.json && $0.marks.areSame(as: $1.marks) })
            }
        }
    }

    /// A slice would keep the request in memory.
    @Test("A stored row contains a copy of its model's bytes, not a slice of the request")
    func copiedModel() throws {
        let body = try JSONText(
            parsing: "[" + Array(repeating: #"{"id":"a"}"#, count: 100).joined(separator: ",") + "]")
        let model = try #require(body.elements()?[50])
        let stored = StoredRow(key: 1, rank: 1, id: "a", model: model).model
        #expect(stored == model)
        let isOutside = stored.withBytes { stored in
            body.withBytes { body in
                stored.baseAddress! < body.baseAddress! || stored.baseAddress! >= body.baseAddress! + body.count
            }
        }
        #expect(isOutside)
    }
}

extension RowID: ExpressibleByStringLiteral {
    public init(stringLiteral text: String) { self.init(text) }
}

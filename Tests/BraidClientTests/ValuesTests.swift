import Foundation
import Testing

@testable import BraidClient

@Suite struct ValuesTests {
    @Test(
        "Section ids are compared by their bytes: two Unicode spellings of one character are different ids"
    )
    func spellings() {
        let targets = Snapshot.MovesTo.sections(["caf\u{E9}"])
        #expect(targets.allows("caf\u{E9}") && !targets.allows("cafe\u{301}"))
    }

    @Test(
        "A number that no type can hold is rounded, and the rest of the snapshot is decoded",
        arguments: [
            ("1e400", Double.infinity), ("-1e400", -Double.infinity), ("1e-400", 0),
            ("12345678901234567890123", 12_345_678_901_234_567_741_440),
        ])
    func numbers(text: String, rounded: Double) throws {
        let json = """
            {"revision":0,"totalRowCount":1,"state":{"n":\(text)},
             "sections":[{"id":"s","header":null,"footer":null,"rowCount":1,"rows":[{"id":"1","cell":"C","model":[\(text)]}]}]}
            """
        let snapshot = try JSONDecoder().decode(Snapshot.self, from: Data(json.utf8))
        #expect(snapshot.state["n"]?.number == rounded && snapshot.sections[0].rows[0].model?[0]?.number == rounded)
    }
}

@Suite struct TableWindowTests {
    @Test(
        "A window's query contains all parameters that are set, percent-encoded",
        arguments: [
            (TableWindow.rows(), "limit=100&offset=0"),
            (.rows(offset: -5, limit: 5, ofSection: "a&b"), "limit=5&offset=-5&section=a%26b"),
            (.around("é 1"), "after=50&around=%C3%A9%201&before=50"),
            (
                .around("1", inSection: "a", before: 2, after: 3, ofSection: "a"),
                "after=3&around=1&aroundSection=a&before=2&section=a"
            ),
        ])
    func queries(window: TableWindow, query: String) {
        #expect(window.query == query)
    }

    @Test(
        "A window takes its new anchor from the server, or without one becomes the rows that the server shows")
    func anchors() {
        let window = TableWindow.around("1", before: 2, after: 3)
        let anchor = TableWindow.Anchor(section: "b", id: "2")
        #expect(window.at(.init(offset: 9, anchor: anchor)) == .around("2", inSection: "b", before: 2, after: 3))
        #expect(window.at(.init(offset: 0)) == .rows(offset: 0, limit: 4))
        #expect(window.at(nil) == window)
        let rows = TableWindow.rows(offset: -3, limit: 3)
        #expect(rows.at(.init(offset: 97)) == rows)
        #expect(window.withoutAnchor(offset: 7) == .rows(offset: 7, limit: 6))
    }

    @Test("A row's display index and its index path can be converted into each other, and other indexes have no row")
    func indexes() {
        let sections = ["a": 2, "b": 0, "c": 3].sorted { $0.key < $1.key }.map { id, count in
            Snapshot.Section(id: id, rows: (0..<count).map { Snapshot.Row(id: "\($0)", cell: "C") })
        }
        var snapshot = Snapshot(sections: sections)
        for offset in [nil, 0, 7] {
            snapshot.window = offset.map { TableWindow.Place(offset: $0) }
            let start = offset ?? 0
            let paths = (start - 2..<start + 7).map { snapshot.path(atDisplayIndex: $0) }
            #expect(
                paths.map { $0?.description } == [nil, nil, "[0,0]", "[0,1]", "[2,0]", "[2,1]", "[2,2]", nil, nil])
            #expect(paths.compactMap { $0.map(snapshot.displayIndex) } == Array(start..<start + 5))
        }
    }
}

import BraidStore
import TestSupport
import Testing

@testable import BraidEngine
@testable import BraidSessions

@Suite struct ModelPageTests {
    private static let sections: [SectionID] = ["a", "b", "c", "d"]

    @Test(
        "Pages read while rows come, move and go have each row that nothing touched once, in order",
        arguments: 0..<TestEffort.cases(12))
    func whileRowsChange(seed: Int) async throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let sessions = SessionHost(store: try SQLiteStore(path: ":memory:"))
        let table =
            #"{"table":"t","sections":"dynamic","cells":{"C":{}},"bindings":[{"on":"allOtherSections","cell":"C","models":{},"moving":{"to":"anySection"},"shown":"model.n < 3"}]}"#
        let opening = try JSONText(parsing: #"{"id":"s","table":\#(table)}"#)
        _ = try await sessions.open(SessionOpening(opening), text: opening)
        var names = 0, touched: Set<String> = [], start = 0
        func model() -> String {
            names += 1
            touched.insert("\(names)")
            return #"{"id":"\#(names)","n":\#(names % 5)}"#
        }
        func stored() async throws -> [(section: SectionID, id: String)] {
            let table = try await sessions.session("s").current.model
            return table.sections.flatMap { section in section.rows.map { (section.id, $0.id?.text ?? "") } }
        }
        func perform(_ kind: String, _ body: String) async throws {
            let body = try JSONText(parsing: body), text = JSONText(object: [(kind, body)])
            do {
                let command = try Command(kind: kind, body: body)
                _ = try await sessions.execute(CommandRequest(session: "s", command, text: text))
            } catch let refusal as Refusal {
                // Hidden rows are not moved, for example.
                #expect([.rowNotFound, .sectionNotFound, .undoConflict].contains(refusal.code), "\(refusal)")
            }
        }
        func change(near last: (section: SectionID, id: String)) async throws {
            let rows = try await stored()
            let row = Bool.random(using: &random) ? last : rows.randomElement(using: &random) ?? last
            let section = Self.sections.randomElement(using: &random) ?? "a"
            let notify = Int.random(in: 0..<4, using: &random) > 0
            switch Int.random(in: 0..<9, using: &random) {
            case 0, 1:
                // So many at one place need new ranks around it.
                let commands = (0..<[1, 30].randomElement(using: &random)!).map { _ in
                    #"{"dataSource":{"insertRow":{"section":"\#(row.section)","at":{"after":"\#(row.id)"},"model":\#(model())}}}"#
                }
                try await perform("transactions", #"{"commands":[\#(commands.joined(separator: ","))]}"#)
            case 2, 3:
                touched.insert(row.id)
                try await perform(
                    "dataSource",
                    #"{"deleteRow":{"section":"\#(row.section)","rowId":"\#(row.id)","notify":\#(notify)}}"#)
            case 4, 5:
                touched.insert(row.id)
                try await perform(
                    "moves",
                    #"{"from":{"id":"\#(row.id)","section":"\#(row.section)"},"to":{"section":"\#(section)","row":\#(Int.random(in: 0..<9, using: &random))}}"#
                )
            case 6:
                touched.formUnion(rows.filter { $0.section == section }.map(\.id))
                if try await sessions.session("s").current.model[section] != nil {
                    try await perform("dataSource", #"{"removeSection":{"at":"\#(section)","notify":\#(notify)}}"#)
                } else {
                    try await perform(
                        "dataSource",
                        #"{"addSection":{"section":{"id":"\#(section)","rows":[\#(model())]},"at":0,"notify":\#(notify)}}"#
                    )
                }
            case 7:
                let revision = try await sessions.session("s").revision
                guard revision > start else { return }
                try await perform("undo", #"{"revision":\#(Int.random(in: start + 1...revision, using: &random))}"#)
            default:
                for _ in 0..<2 { _ = sessions.unloadIdle(after: 1) }
            }
        }

        var read = 0, lost = 0
        while read < 4, lost < 100 {
            for section in Self.sections {
                let models = (0..<20).map { _ in model() }.joined(separator: ",")
                try await perform("patchModels", #"{"\#(section)":[\#(models)]}"#)
            }
            let before = try await stored().map(\.id)
            try #require(before.count == 80)
            start = try await sessions.session("s").revision
            var seen: [String] = [], next: ModelCursor?
            touched = []
            do {
                repeat {
                    let page = try await sessions.session("s").models(
                        of: nil, after: next.map { try ModelCursor($0.description) },
                        limit: Int.random(in: 1...9, using: &random))
                    seen += page.page.rows.compactMap { $0.row.id?.text }
                    next = page.next
                    if next != nil, let last = page.page.rows.last, let id = last.row.id {
                        try await change(near: (last.section, id.text))
                    }
                } while next != nil
                #expect(seen.filter { !touched.contains($0) } == before.filter { !touched.contains($0) })
                read += 1
            } catch let error as SessionError {
                #expect(error.code == .revisionNotAvailable)
                lost += 1
            }
        }
        #expect(read == 4)
    }

    @Test("A page goes on after a row that has moved or gone, as long as no other row gets a new place")
    func afterMissingRow() async throws {
        let test = try await TestSession()
        try await test.perform("patchModels", #"{"table":[{"id":"1"},{"id":"2"},{"id":"3"},{"id":"4"}]}"#)
        let next = try #require(try test.session.models(of: nil, after: nil, limit: 2).next)
        func rest() throws -> [String?] {
            try test.session.models(of: "table", after: next, limit: 9).page.rows.map { $0.row.id?.text }
        }
        try await test.perform("dataSource", #"{"deleteRow":{"section":"table","rowId":"2"}}"#)
        #expect(try rest() == ["3", "4"])
        // Ranks are used up between two rows.
        for number in 10..<40 {
            try await test.perform(
                "dataSource", #"{"insertRow":{"section":"table","at":{"after":"1"},"model":{"id":"\#(number)"}}}"#)
        }
        #expect(throws: SessionError.self) { try rest() }
    }
}

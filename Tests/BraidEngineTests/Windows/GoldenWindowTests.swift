import Foundation
import TestSupport
import Testing
@testable import BraidEngine

/// Tests/Golden/windows.json, with which the clients test how they apply updates of windows.
///
/// To write it again and review the changes: `BRAID_WRITE_GOLDEN=1 swift test --filter GoldenWindowTests`.
@Suite struct GoldenWindowTests {
    private static let file = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../Golden/windows.json")
        .standardized

    @Test("The file of golden window updates contains exactly the updates that the engine creates today")
    func theEngineMakesThem() throws {
        let text = try Self.golden()
        if environment("BRAID_WRITE_GOLDEN") != nil { try text.write(to: Self.file, atomically: true, encoding: .utf8) }
        #expect(try text == String(contentsOf: Self.file, encoding: .utf8))
    }

    /// Of a window with the rows 1..<4 of "A: a b c", "B: d e f", each with the fault that clients must report.
    private static let faults = [
        (
            #""stages":[],"extents":[{"section":2,"offset":0,"rowCount":1}]"#,
            "`extents` names section 2, but the window has 2"
        ),
        (
            #""stages":[],"extents":[{"section":0,"offset":0,"rowCount":3}]"#,
            "the window is not one run of rows: of the 3 rows of section 0, it has 2 from index 0 on"
        ),
        (
            #""stages":[],"extents":[{"section":1,"offset":1,"rowCount":3}]"#,
            "the window is not one run of rows: of the 3 rows of section 1, it has 1 from index 1 on"
        ),
        (
            #""stages":[],"extents":[{"section":0,"offset":-1,"rowCount":1}]"#,
            "the window is not one run of rows: of the 1 rows of section 0, it has 2 from index -1 on"
        ),
        (
            #""stages":[],"extents":[{"section":1,"offset":0,"rowCount":0}]"#,
            "the window is not one run of rows: of the 0 rows of section 1, it has 1 from index 0 on"
        ),
        (
            #""stages":[{"deleteRows":[[0,1]]}]"#,
            "the window is not one run of rows: of the 3 rows of section 0, it has 1 from index 1 on"
        ),
        (#""stages":[{"deleteRows":[[0,2]]}]"#, "stage 0: there is no row [0,2] to be deleted before the stage"),
    ]

    /// One a line: windows that follow an update, that a client moves at the same revision, and both.
    private static func golden() throws -> String {
        var random = SeededGenerator(seed: 2026)
        var lines: [String] = []
        for number in 0..<60 {
            var table = EditedTable(&random)
            let old = GoldenUpdateTests.wire(table.snapshot).at(6), window = random.window(of: old)
            if number % 3 > 0 { for _ in 0..<1 + random.below(8) { table.edit(&random) } }
            let new = GoldenUpdateTests.wire(table.snapshot).at(number % 3 > 0 ? 7 : 6)
            let next =
                number % 3 < 2
                ? random.window(of: new)
                : try window.following(RowFollower(BatchUpdate(from: old, to: new)), to: WindowSource(new))
            lines.append(try line("random \(number)", window, next))
        }
        let table = GoldenUpdateTests.wire(.make("A: a b c", "B: d e f")).at(6)
        let window = WindowSource(table).cut(offset: 1, limit: 3)
        lines.append(try line("rules", window, WindowSource(table.at(7)).cut(offset: 2, limit: 3), faults: faults))
        return "{\"cases\":[\n" + lines.joined(separator: ",\n") + "\n]}\n"
    }

    private static func line(
        _ name: String, _ before: WindowedSnapshot, _ after: WindowedSnapshot, faults: [(String, String)] = []
    ) throws -> String {
        func text(_ window: WindowedSnapshot) -> String { String(decoding: window.encoded(), as: UTF8.self) }
        let update = try WindowUpdate(from: before, to: after).json.text
        let wrong = faults.map {
            #"{"update":{"from":6,"to":7,"totalRowCount":6,\#($0.0)},"fault":"\#($0.1)"}"#
        }
        return
            #"{"name":"\#(name)","before":\#(text(before)),"update":\#(update),"after":\#(text(after)),"faults":[\#(wrong.joined(separator: ","))]}"#
    }
}

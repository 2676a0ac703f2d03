import Foundation
import Testing

@testable import BraidClient

/// The client applies updates as the engine does, whose tests write Tests/Golden/updates.json and windows.json.
@Suite struct GoldenUpdateTests {
    private struct Golden: Decodable {
        var cases: [Case]

        struct Case: Decodable {
            var name: String
            var before: Snapshot
            var update: Update
            var after: Snapshot
            var faults: [Fault]
        }

        struct Fault: Decodable {
            var update: Update
            var fault: String
        }
    }

    private func data(_ name: String) throws -> Data {
        try Data(
            contentsOf: URL(fileURLWithPath: #filePath).appendingPathComponent("../../Golden/\(name).json").standardized
        )
    }

    private func cases(_ name: String) throws -> [Golden.Case] {
        try JSONDecoder().decode(Golden.self, from: data(name)).cases
    }

    @Test("Each golden update changes `before` into `after`, stage by stage", arguments: ["updates", "windows"])
    func updatesLeadThere(name: String) throws {
        let cases = try cases(name)
        #expect(cases.count > 60)
        for golden in cases {
            #expect(try golden.update.applied(to: golden.before) == golden.after, "\(golden.name)")
            let steps = try golden.update.steps(from: golden.before)
            #expect(steps.map(\.stage) == golden.update.stages)
            #expect(steps.first.map { $0.before == golden.before.sections } ?? true)
            #expect(zip(steps, steps.dropFirst()).allSatisfy { $0.after == $1.before })
        }
    }

    @Test(
        "Each faulty update is refused for the same reason as by the engine",
        arguments: [("updates", 200), ("windows", 6)])
    func faultsAreFound(name: String, least: Int) throws {
        var count = 0
        for golden in try cases(name) {
            for wrong in golden.faults {
                do throws(UpdateFault) {
                    _ = try wrong.update.applied(to: golden.before)
                    Issue.record("\(golden.name): \(wrong.fault)")
                } catch {
                    // The engine's message goes on with both rows, in an order of members that the client does not
                    // know.
                    let parts =
                        wrong.fault.contains("as another row") ? wrong.fault.prefix { $0 != "," } : wrong.fault[...]
                    #expect(error.description.hasPrefix(parts), "\(golden.name): \(wrong.fault)")
                    #expect(error.description.contains("as another row") == wrong.fault.contains("as another row"))
                }
                count += 1
            }
        }
        #expect(count > least)
    }

    @Test(
        "Encoding a decoded snapshot or update gives the same JSON, with nothing lost",
        arguments: ["updates", "windows"])
    func roundTrip(name: String) throws {
        let original = try #require(try JSONDecoder().decode(JSON.self, from: data(name))["cases"])
        for (index, golden) in try cases(name).enumerated() {
            #expect(try JSON(encoding: golden.before) == original[index]?["before"], "\(golden.name)")
            #expect(try JSON(encoding: golden.update) == original[index]?["update"], "\(golden.name)")
            #expect(try JSON(encoding: golden.after) == original[index]?["after"], "\(golden.name)")
        }
    }

    @Test("An update with an unknown operation of a newer server is refused")
    func unknownOperationsAreRefused() {
        let text = #"{"from":0,"to":1,"stages":[{"swapRows":[[0,1]]}],"totalRowCount":0}"#
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(Update.self, from: Data(text.utf8)) }
    }
}
